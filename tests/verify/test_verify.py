"""`verify`: a changed digit anywhere is found out; a forger who mends the hash, by the numbers or by the log."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP, Study
from surepath.errors import StudyError
from surepath.study.certificate import verify
from surepath.study.sheets.export import write_export
from surepath.verify.file import content_hash, statement
from tests.cli.shell import shell
from tests.study.pipelines import new_study, play
from tests.study.worlds import new_study as small_study
from tests.verify.tools import at, changed, leaves, mended, put, says_no


@lru_cache(maxsize=1)
def example() -> tuple[Study, dict[str, Any]]:
    """A finished study with failures, an exclusion and options ruled out, and its certificate."""
    for seed in range(40):
        study = new_study(name="pipeline", epsilon=0.0)
        play(study, trials=20, mishaps=True, means_seed=seed, seed=seed)
        study.exclude({"parse": "z"})
        play(study, trials=300, mishaps=True, means_seed=seed, seed=seed)
        content = study.certificate().to_dict()
        if study.done and content["proof"]["by"] == "moments":
            return study, content
    raise AssertionError("no world needs options ruled out earlier")


def certificate() -> dict[str, Any]:
    return deepcopy(example()[1])


def test_the_example_holds_by_itself_and_by_its_log() -> None:
    study, content = example()
    assert content["proof"]["by"] == "moments"
    assert verify(content).answer == "yes"
    assert verify(content, storage=study.storage).answer == "yes"


@pytest.mark.parametrize("learner", ["EPRL", "WholePlan"])
@pytest.mark.parametrize(
    ("ends", "costs"), [((5, 6), {}), ((-3, -2), {}), ((0, 1), {"costs": {"a": {"x": 5, "y": 2}}, "cost_weight": 1.0})]
)
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_ranges_without_zero_and_costs_that_count_are_verified_for_every_learner(
    learner: str, ends: tuple[int, int], costs: dict[str, Any], direction: str
) -> None:
    mdp = MDP.from_steps({"a": ["x", "y"], "b": ["p", "q"]}, reward_range=ends, direction=direction, **costs)
    study = Study.create(mdp, storage="memory", epsilon=1.0, delta=0.1, learner=learner)
    for i in range(8):
        study.tell(study.ask(), [ends[0] + i % 2, ends[0] + 0.7])
    content = study.certificate().to_dict()
    assert verify(content, storage=study.storage).answer == "yes"
    arc = content["evidence"]["visits"].index(max(content["evidence"]["visits"]))
    content["evidence"]["sums"][arc] += 50.0  # a mean that no score in the range can have
    assert "a mean lies outside the declared range of its scores" in str(verify(mended(content)))


@given(st.data())
def test_a_changed_leaf_anywhere_is_found_out(data: st.DataObject) -> None:
    content = certificate()
    place = data.draw(st.sampled_from(list(leaves(content))))
    put(content, place, changed(at(content, place), data.draw))
    assert says_no(content), place


def test_every_leaf_counts_in_the_hash() -> None:
    content = certificate()
    right = content["sha256"]
    for place in leaves(content):
        if place != ("sha256",):
            old = at(content, place)
            put(content, place, "else" if old != "else" else "or")
            assert content_hash(content) != right, place
            put(content, place, old)
    assert content_hash(content) == right


@given(st.data())
def test_missing_and_additional_parts_are_found_out(data: st.DataObject) -> None:
    content = certificate()
    place = data.draw(st.sampled_from([place for place in leaves(content) if place]))
    cut = data.draw(st.integers(1, len(place)))
    holder = at(content, place[: cut - 1])
    missing = data.draw(st.booleans())
    if missing:
        del holder[place[cut - 1]]
    elif isinstance(holder, list):
        holder.append(deepcopy(holder[-1]))
    else:
        holder["more"] = 1
    assert says_no(content)
    if missing and place[0] not in ("problem", "settings", "study", "warnings", "proof", "sha256"):
        assert says_no(mended(content), storage=example()[0].storage)


# What no log knows, and whether a study with a small enough gap has noticed that it is done.
FREE = {("version",), ("created",), ("done",), ("study", "name"), ("study", "created"), ("study", "version")}


@given(st.data())
def test_with_a_mended_hash_the_log_still_finds_out_every_number(data: st.DataObject) -> None:
    study, _ = example()
    content = certificate()
    places = [place for place in leaves(content) if place not in FREE and place[0] not in ("sha256", "warnings")]
    place = data.draw(st.sampled_from(places))
    put(content, place, changed(at(content, place), data.draw))
    if place == ("certified_gap",):
        return  # a larger gap is proven as well; a smaller one has a test of its own
    if place[:2] == ("proof", "moments") and place[3] in ("path", "ruled_out"):
        return  # another path, or fewer options, may be proven as well
    if place == ("format",):
        put(content, place, 1)  # the second has the same words as the third where a sigma is declared
    if place[:2] == ("proof", "moments") and place[3] == "trials":
        put(content, place, 1)  # the sums are the same before and after a trial that was cancelled
    assert says_no(mended(content), storage=study.storage), place


def test_a_smaller_gap_with_a_mended_hash_is_found_out() -> None:
    study = new_study()
    play(study)
    content = study.certificate().to_dict()
    for share in (0.9, 0.5, 0.0):
        content["certified_gap"] = share * study.certified_gap
        content["statement"] = statement(content)
        verdict = verify(mended(content))
        assert verdict.answer == "no"
        assert f"certified_gap is {content['certified_gap']!r}, but the sums prove a gap of" in verdict.differences[0]
        assert verdict.recomputed_gap == pytest.approx(study.certified_gap, rel=0.01)


def test_better_sums_with_a_mended_hash_are_found_out_by_the_log() -> None:
    study = new_study()
    play(study)
    content = study.certificate().to_dict()
    arc = content["path"][0]
    content["evidence"]["sums"][arc] += 0.05 * content["evidence"]["visits"][arc]
    assert verify(mended(content)).answer == "yes"  # nobody can see from the file that these are not the sums
    verdict = verify(mended(content), storage=study.storage)
    assert verdict.answer == "no"
    assert "the trials give other sums: arc" in verdict.differences[0]


def test_options_said_to_be_ruled_out_must_be_ruled_out() -> None:
    content = certificate()
    first = content["proof"]["moments"][0]
    spare = next(
        arc for arc in range(len(first["visits"])) if arc not in first["ruled_out"] and arc not in first["path"]
    )
    first["ruled_out"] = sorted([*first["ruled_out"], spare])
    verdict = verify(mended(content))
    assert verdict.answer == "no"
    assert any("the sums do not rule out arc" in line for line in verdict.differences)
    early = new_study(name="pipeline", epsilon=0.0)
    play(early, trials=12)
    content = early.certificate().to_dict()
    everything = [arc for arc in range(early.mdp.n_arcs) if arc not in content["path"]]
    content.update(proof={"by": "log", "ruled_out": everything}, certified_gap=0.0)
    content["statement"] = statement(content)
    alone = verify(mended(content))
    assert alone.answer == "open"
    assert "surepath verify certificate.json --storage URL --name pipeline" in alone.differences[0]
    assert verify(mended(content), storage=early.storage).answer == "no"


def test_a_proof_that_rests_on_the_log_is_open_without_it_and_checked_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    study, _ = example()
    monkeypatch.setattr("surepath.study.certificate.MOST_NUMBERS", 0)
    content = study.certificate().to_dict()
    assert content["proof"]["by"] == "log"
    assert verify(content).answer == "open"
    assert not verify(content).holds
    verdict = verify(content, storage=study.storage)
    assert verdict.answer == "yes", verdict


def test_a_moment_made_up_beside_a_true_one_is_found_out() -> None:
    study, content = example()
    content = deepcopy(content)
    first = content["proof"]["moments"][0]
    made_up = deepcopy(first)
    arc = first["path"][0]
    made_up["visits"] = [max(0, n - 1) for n in first["visits"]]
    made_up["sums"][arc] += 1.0
    content["proof"]["moments"].insert(0, made_up)
    verdict = verify(mended(content), storage=study.storage)
    assert any("do not give the sums of that moment" in line for line in verdict.differences), verdict
    made_up["trials"] = content["log"]["trials"] + 1
    verdict = verify(mended(content), storage=study.storage)
    assert any("there is no moment after trial" in line for line in verdict.differences), verdict


def test_entries_of_an_unknown_kind_are_never_proven() -> None:
    study = new_study()
    play(study)
    content = study.certificate().to_dict()
    content["settings"]["bound"]["entries"][0]["kind"] = "divining"
    for proof in ({"by": "sums"}, {"by": "replay", "why": ""}):
        content["proof"] = proof
        verdict = verify(mended(content))
        assert verdict.answer == "no"
        assert verdict.differences == ["no proof: this version cannot check entries of kind divining"]


@pytest.mark.parametrize(
    ("learner", "place", "value", "words"),
    [
        ("challenger", ("bound", "ratio"), 1.0 + 1e-12, "the ratio of slopes between 1.001 and 100"),
        ("eprl", ("prior",), -3.0, "the prior of the widths must be above 0"),
    ],
)
def test_numbers_that_make_no_bound_are_never_proven(
    learner: str, place: tuple[str, ...], value: float, words: str
) -> None:
    study = small_study(epsilon=1.0, learner=learner)
    while not study.done:
        study.tell(study.ask(), [0.5, 0.5])
    content = study.certificate().to_dict()
    put(content["settings"], place, value)
    verdict = verify(mended(content))
    assert verdict.answer == "no"
    assert words in verdict.differences[0]


def exported(study: Study, folder: Path) -> tuple[Path, Path]:
    """Write the log as a table and as lines of JSON."""
    files = folder / "log.csv", folder / "log.jsonl"
    for file in files:
        write_export(study, file)
    return files


def test_an_exported_log_serves_as_well(tmp_path: Path) -> None:
    study, content = example()
    for file in exported(study, tmp_path):
        assert verify(content, log=file).answer == "yes"
        text = file.read_text()
        number = len(study) - 1
        kept = [
            line
            for line in text.splitlines()
            if f'"number": {number},' not in line and not line.startswith(f"{number},")
        ]
        file.write_text("\n".join(kept) + "\n")
        assert "settled trials in a row" in verify(content, log=file).differences[0]
        file.write_text(text.replace("complete", "cancelled", 1))
        assert "the hash over the log differs" in str(verify(content, log=file))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.csv", "number,state\n1,complete\n"),
        ("wide.csv", "number,state\n1," + "x" * 200_000),
        ("log.jsonl", "{"),
        ("deep.jsonl", "[" * 100_000),
        ("x.csv", None),
    ],
    ids=["columns", "wide", "json", "deep", "missing"],
)
def test_a_log_that_cannot_be_read_is_named(tmp_path: Path, name: str, text: str | None) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    verdict = verify(example()[1], log=file)
    assert verdict.answer == "no"
    assert name in verdict.differences[0]


def test_the_log_of_another_study_does_not_fit() -> None:
    other = new_study(name="pipeline")
    play(other)
    verdict = verify(example()[1], storage=other.storage)
    assert verdict.answer == "no"
    assert "the study has other settings" in verdict.differences
    with pytest.raises(StudyError, match="nobody"):
        verify(example()[1], storage=other.storage, name="nobody")


def test_later_exclusions_make_it_a_statement_about_other_plans() -> None:
    study = new_study()
    play(study)
    content = study.certificate().to_dict()
    study.exclude({"parse": next(option for option in "xyz" if option != study.best_plan["parse"])})
    assert "options were excluded since" in str(verify(content, storage=study.storage))


def test_the_command_answers_by_its_exit_code(tmp_path: Path) -> None:
    study = Study.create(
        new_study().mdp, storage=f"sqlite:///{tmp_path / 'study.db'}", name="mine", epsilon=0.3, delta=0.1
    )
    play(study)
    file = tmp_path / "certificate.json"
    study.certificate().save(file)
    done = shell("verify", "certificate.json", folder=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "yes: the certificate holds"), done.stderr
    assert study.certificate()["statement"] in done.stdout
    done = shell("verify", "certificate.json", "--storage", "sqlite:///study.db", "--json", folder=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["answer"] == "yes"
    content = json.loads(file.read_text())
    content["certified_gap"] *= 0.99
    file.write_text(json.dumps(content))
    done = shell("verify", "certificate.json", folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("no: the certificate does not hold\n- sha256 does not match")
    (tmp_path / "none.json").write_text("{}")
    done = shell("verify", "none.json", folder=tmp_path)
    assert done.returncode == 3
    assert "is no certificate" in done.stderr
    assert shell("verify", "certificate.json", "--name", "mine", folder=tmp_path).returncode == 2


@pytest.mark.parametrize("noise", [{"reward_range": (0, 1), "sigma": 0.05}, {"sigma": 0.05}])
@pytest.mark.parametrize("learner", ["uniform", "eprl", "wholeplan", "design"])
def test_no_origin_makes_room_for_other_means(learner: str, noise: dict[str, Any]) -> None:
    """Sums from far away are coarse; what the log gives must not be compared as coarsely as that."""
    mdp = MDP.from_steps({"a": ["x", "y"]}, **noise)
    study = Study.create(mdp, storage="memory", epsilon=0.2, delta=0.1, learner=learner)
    while not study.done:
        trial = study.ask()
        study.tell(trial, [0.7 if trial.plan["a"] == "x" else 0.3])
    content = study.certificate().to_dict()
    assert verify(content, storage=study.storage).answer == "yes"
    evidence = content["evidence"]
    for arc, mean in enumerate((0.3, 0.7)):
        n = evidence["visits"][arc]
        evidence["origin"][arc], evidence["sums"][arc] = 1e12, n * (mean - 1e12)
    assert says_no(mended(content), storage=study.storage)
    content["plan"], content["path"] = {"a": "y"}, [1]
    content["statement"] = statement(content)
    assert says_no(mended(content), storage=study.storage)


@pytest.mark.parametrize("learner", ["Uniform", "BPIUCRL", "EPRL", "WholePlan", "Challenger"])
@pytest.mark.parametrize("scores", [(0.1, 0.7), (3.1, 3.1)])
def test_exact_scores_are_proven_but_for_rounding(learner: str, scores: tuple[float, float]) -> None:
    """With epsilon 0 and no noise a study is done when only rounding is left, and its certificate holds."""
    problem = MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, sigma=0.0)
    study = new_study(problem=problem, learner=learner, epsilon=0.0)
    while not study.done:
        trial = study.ask()
        study.tell(trial, [scores[int(name in "yv")] for name in trial.plan.values()])
    content = study.certificate().to_dict()
    assert content["done"]
    assert verify(content, study.storage).answer == "yes"
    content["certified_gap"] = 1e-6
    content["statement"] = statement(content)
    assert "said to be done" in str(verify(mended(content), study.storage))


def test_rounding_grows_with_the_number_of_steps() -> None:
    problem = MDP.from_steps({f"step {h}": ["x", "y"] for h in range(3000)}, sigma=0.0, depends="none")
    study = new_study(problem=problem, learner="BPIUCRL", epsilon=0.0)
    while not study.done:
        trial = study.ask()
        study.tell(trial, [1.1 if name == "x" else 1.8 for name in trial.plan.values()])
    assert study.certified_gap > 1e-12 * 1.8 * 3000
    assert verify(study.certificate(), study.storage).answer == "yes"
