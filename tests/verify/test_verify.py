"""`verify`: a changed digit anywhere is found out; a forger who mends the hash, by the numbers or by the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Study
from surepath.errors import CertificateError, StudyError
from surepath.model.files import parse_json_problem
from surepath.study.certificate import verify
from surepath.study.export import write_export
from surepath.verify.file import assumptions, statement
from surepath.verify.log import Action, Replay, in_order, read_log
from tests.cli.shell import shell
from tests.study.pipelines import new_study, pipeline, play
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
        if study.done and content["proof"]["moments"]:
            return study, content
    raise AssertionError("no world needs options ruled out earlier")


def certificate() -> dict[str, Any]:
    return deepcopy(example()[1])


def finished(study: Study) -> tuple[Study, dict[str, Any]]:
    """The study, played to its end, and its certificate."""
    play(study)
    return study, study.certificate().to_dict()


@pytest.mark.parametrize(
    ("ends", "costs", "direction"),
    [
        ((5, 6), {}, "maximize"),
        ((-3, -2), {}, "minimize"),
        ((0, 1), {"costs": {"a": {"x": 5, "y": 2}}, "cost_weight": 1.0}, "minimize"),
    ],
)
def test_ranges_without_zero_and_costs_that_count_are_verified(
    ends: tuple[int, int], costs: dict[str, Any], direction: str
) -> None:
    mdp = MDP.from_steps({"a": ["x", "y"], "b": ["p", "q"]}, reward_range=ends, direction=direction, **costs)
    study = Study.create(mdp, storage="memory", epsilon=1.0, delta=0.1)
    for i in range(8):
        study.tell(study.ask(), [ends[0] + i % 2, ends[0] + 0.7])
    content = study.certificate().to_dict()
    assert verify(content, storage=study.storage).answer == "yes"
    arc = content["evidence"]["visits"].index(max(content["evidence"]["visits"]))
    content["evidence"]["sums"][arc] += 50.0  # a mean that no score in the range can have
    assert "a mean lies outside the declared range of its scores" in str(verify(mended(content)))


# What no log knows.
FREE = {("version",), ("created",)}


@settings(max_examples=120)
@given(st.data())
def test_a_changed_digit_is_found_out_by_the_hash_and_with_a_mended_hash_by_the_log(data: st.DataObject) -> None:
    study, content = data.draw(st.sampled_from([example(), *map(learned_example, NOISES)]))
    content = deepcopy(content)
    part = data.draw(st.sampled_from(sorted(content)))
    place = (part, *data.draw(st.sampled_from(list(leaves(content[part])))))
    put(content, place, changed(at(content, place), data.draw))
    assert says_no(content), place
    if place in FREE or part in ("sha256", "warnings"):
        return
    if place == ("certified_gap",):
        return  # a larger gap is proven as well; a smaller one has a test of its own
    if place[:2] == ("proof", "moments") and place[3:4] in (("path",), ("ruled_out",)):
        return  # another path, or fewer options, may be proven as well
    if place[:2] == ("proof", "moments") and place[3:4] == ("trials",):
        put(content, place, 1)  # the sums are the same before and after a trial that was cancelled
    assert says_no(mended(content), storage=study.storage, name=study.name), place


def test_options_said_to_be_ruled_out_must_be_ruled_out() -> None:
    content = certificate()
    first = content["proof"]["moments"][0]
    spare = next(
        arc for arc in range(len(first["visits"])) if arc not in first["ruled_out"] and arc not in first["path"]
    )
    first["ruled_out"] = sorted([*first["ruled_out"], spare])
    verdict = verify(mended(content))
    assert verdict.answer == "no"
    assert any("the sums do not rule out " in line for line in verdict.differences)


def test_moments_that_no_file_can_hold_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    study, content = example()
    monkeypatch.setattr("surepath.study.certificate.MOST_NUMBERS", 0)
    less = study.certificate()
    assert less["proof"]["moments"] == []
    assert content["certified_gap"] <= less.certified_gap < np.inf
    assert content["done"]
    assert not less["done"]
    for storage in (None, study.storage):
        assert verify(less, storage=storage).answer == "yes"


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


def test_an_exported_log_serves_as_well(tmp_path: Path) -> None:
    study, content = example()
    write_export(study, file := tmp_path / "log.jsonl")
    assert verify(content, log=file).answer == "yes"
    text = file.read_text()
    kept = [line for line in text.splitlines() if f'"number": {len(study) - 1},' not in line]
    file.write_text("\n".join(kept) + "\n")
    assert "settled trials in a row" in verify(content, log=file).differences[0]
    file.write_text(text.replace("complete", "cancelled", 1))
    assert "the hash over the log differs" in str(verify(content, log=file))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.csv", "number,state\n1,complete\n"),
        ("log.jsonl", "{"),
        ("list.jsonl", "[]"),
        ("deep.jsonl", "[" * 100_000),
        ("empty.jsonl", ""),
        ("x.jsonl", None),
    ],
)
def test_a_log_that_cannot_be_read_is_named(tmp_path: Path, name: str, text: str | None) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(CertificateError, match=name):
        verify(example()[1], log=file)


def test_the_log_of_another_study_does_not_fit() -> None:
    other = new_study(name="pipeline")
    play(other)
    verdict = verify(example()[1], storage=other.storage)
    assert verdict.answer == "no"
    assert "the study has another bound, epsilon" in str(verdict)
    with pytest.raises(StudyError, match="nobody"):
        verify(example()[1], storage=other.storage, name="nobody")


def test_later_exclusions_make_it_a_statement_about_other_plans() -> None:
    study, content = finished(new_study())
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
    assert "is not a certificate" in done.stderr
    assert shell("verify", "certificate.json", "--name", "mine", folder=tmp_path).returncode == 2


@pytest.mark.parametrize("noise", [{"reward_range": (0, 1), "sigma": 0.05}, {"sigma": 0.05}])
def test_no_origin_makes_room_for_other_means(noise: dict[str, Any]) -> None:
    """Sums from far away are coarse; what the log gives must not be compared as coarsely as that."""
    mdp = MDP.from_steps({"a": ["x", "y"]}, **noise)
    study = Study.create(mdp, storage="memory", epsilon=0.2, delta=0.1)
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


@pytest.mark.parametrize("scores", [(0.1, 0.7), (3.1, 3.1)])
def test_exact_scores_are_proven_but_for_rounding(scores: tuple[float, float]) -> None:
    """With epsilon 0 and no noise a study is done when only rounding is left, and its certificate holds."""
    problem = MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, sigma=0.0)
    study = new_study(problem=problem, epsilon=0.0)
    while not study.done:
        trial = study.ask()
        study.tell(trial, [scores[int(name in "yv")] for name in trial.plan.values()])
    content = study.certificate().to_dict()
    assert content["done"]
    assert verify(content, study.storage).answer == "yes"
    content["certified_gap"] = 1e-6
    content["statement"] = statement(content)
    assert "said to be done" in str(verify(mended(content), study.storage))


# Where noise is learned -----------------------------------------------------------------------------------------------

NOISES = ["betting", "bernstein", "unknown"]


def learned_study(noise: str, **options: Any) -> Study:
    problem = pipeline() if noise == "unknown" else pipeline(sigma=None, reward_range=(-0.5, 1.5))
    learner = {"name": "challenger"} if noise == "unknown" else {"name": "challenger", "noise": noise}
    sigma = "unknown" if noise == "unknown" else None
    return new_study(problem=problem, name="pipeline", learner=learner, sigma=sigma, **options)


@lru_cache(maxsize=3)
def learned_example(noise: str) -> tuple[Study, dict[str, Any]]:
    """A study with failures and an exclusion, in a range one with options ruled out earlier, and its certificate."""
    for seed in range(40):
        study = learned_study(noise, epsilon=0.0)
        play(study, trials=20, mishaps=True, means_seed=seed, seed=seed)
        study.exclude({"parse": "z"})
        play(study, trials=240, mishaps=True, means_seed=seed, seed=seed)
        content = study.certificate().to_dict()
        if content["certified_gap"] is not None and bool(content["proof"]["moments"]) == (noise != "unknown"):
            return study, content
    raise AssertionError("no world needs options ruled out earlier")


@pytest.mark.parametrize("noise", ["sigma", *NOISES])
def test_it_holds_by_itself_by_its_log_and_by_an_export(noise: str, tmp_path: Path) -> None:
    study, content = example() if noise == "sigma" else learned_example(noise)
    for storage in (None, study.storage):
        verdict = verify(content, storage)
        assert verdict.answer == "yes", verdict
        assert f"computed again: the {'sums' if noise == 'sigma' else 'scores'} prove" in verdict.notes[-1]
    write_export(study, tmp_path / "log.jsonl")
    assert verify(content, log=tmp_path / "log.jsonl").answer == "yes"


@pytest.mark.parametrize("noise", NOISES)
def test_every_score_is_compared_with_the_log_and_with_the_sums(noise: str) -> None:
    study, content = learned_example(noise)
    content = deepcopy(content)
    arc = max(range(study.mdp.n_arcs), key=lambda arc: content["evidence"]["visits"][arc])
    scores = content["evidence"]["scores"][arc]
    scores[1], scores[2] = scores[2], scores[1]
    verdict = verify(mended(content), storage=study.storage)
    assert any("the trials give other scores of " in line for line in verdict.differences), verdict
    scores[3] += 0.01
    assert "do not add up to its sum" in str(verify(mended(content)))
    scores.pop()
    assert "not as many scores as visits" in str(verify(mended(content)))
    del content["evidence"]["scores"]
    assert "the scores are evidence where noise is learned" in str(verify(mended(content)))


@pytest.mark.parametrize("noise", ["sigma", *NOISES])
def test_a_smaller_gap_is_found_out(noise: str) -> None:
    _, content = finished(new_study() if noise == "sigma" else learned_study(noise, epsilon=0.7))
    gap = content["certified_gap"]
    assert content["proof"] == {"by": "evidence", "moments": [], "kept": []}
    assert 0 < gap <= 0.7
    for share in (0.9, 0.0):
        content["certified_gap"] = share * gap
        content["statement"] = statement(content)
        verdict = verify(mended(content))
        assert verdict.answer == "no"
        evidence = "sums" if noise == "sigma" else "scores"
        assert f"is {share * gap!r}, but the {evidence} prove a gap of" in verdict.differences[0]
        assert verdict.recomputed_gap == pytest.approx(gap, rel=0.05)
    content["proof"]["by"] = "sums"
    assert "does not know a proof by 'sums'" in str(verify(mended(content)))


# Numbers and parts that no certificate has ----------------------------------------------------------------------------

BAD_NUMBERS = [float("nan"), float("inf"), float("-inf"), 1e308, -1.7e308, 10**400]
WRONG: list[Any] = [None, True, -1, -0.5, "x", "1", [], {}, [[]]]
# Parts that the file alone does not show to be the study's; there only the log finds a wrong type.
OF_THE_STUDY = ("settings", "problem", "study")


def answer(content: Any, **more: Any) -> str:
    """The answer, "refused" for an error in words; any other error is a fault."""
    try:
        return verify(content, **more).answer
    except CertificateError:
        return "refused"


def with_hash(content: dict[str, Any]) -> dict[str, Any]:
    try:
        return mended(content)
    except ValueError:  # JSON has no such number
        return content


@settings(max_examples=60)
@given(st.data())
def test_a_number_that_is_not_finite_or_too_large_is_never_a_yes(data: st.DataObject) -> None:
    content = deepcopy(data.draw(st.sampled_from([example()[1], *(learned_example(noise)[1] for noise in NOISES)])))
    place = data.draw(st.sampled_from([place for place in leaves(content) if place != ("sha256",)]))
    put(content, place, data.draw(st.sampled_from(BAD_NUMBERS)))
    assert answer(with_hash(content)) in ("no", "refused"), place
    with TemporaryDirectory() as folder:
        file = Path(folder) / "c.json"
        file.write_text(json.dumps(content))
        assert answer(file) in ("no", "refused"), place


@settings(max_examples=60)
@given(st.data())
def test_wrong_types_negative_counts_and_missing_keys_are_never_a_yes(data: st.DataObject) -> None:
    study, content = data.draw(st.sampled_from([example(), learned_example("betting")]))
    content = deepcopy(content)
    place = data.draw(st.sampled_from([place for place in leaves(content) if place != ("sha256",)]))
    place = place[: data.draw(st.integers(1, len(place)))]
    holder, key, old = at(content, place[:-1]), place[-1], at(content, place)
    wrong = data.draw(st.sampled_from([value for value in WRONG if type(value) is not type(old) or value == -1]))
    if data.draw(st.booleans()):
        holder[key] = wrong
    elif isinstance(holder, dict):
        del holder[key]
    else:
        holder.pop()
    if content == example()[1] or place[0] in ("certified_gap", "warnings"):
        return
    if place[:2] == ("proof", "moments") and ("ruled_out" in place or place[2:] == place[2:3]):
        return  # fewer options or moments may prove it as well
    if place[0] not in OF_THE_STUDY:
        assert answer(with_hash(content)) in ("no", "refused"), place
    if place not in FREE:
        assert answer(with_hash(content), storage=study.storage, name=study.name) in ("no", "refused"), place


@pytest.mark.parametrize(
    ("sigma", "epsilon", "size"), [(0.3, 0.5, 1e16), (0.0, 0.5, 1e200), (0.0, 0.0, 1e200), (0.0, 0.0, 1.7e308)]
)
def test_scores_beyond_the_limit_prove_nothing(sigma: float, epsilon: float, size: float, tmp_path: Path) -> None:
    """In the file, and in a log that was forged to agree with it."""
    mdp = MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, sigma=sigma)
    study = Study.create(mdp, storage="memory", epsilon=epsilon, delta=0.1)
    while not study.done:
        trial = study.ask()
        study.tell(trial, [0.7 if name in "xu" else 0.3 for name in trial.plan.values()])
    content = study.certificate().to_dict()
    write_export(study, tmp_path / "log.jsonl")
    assert verify(content, log=tmp_path / "log.jsonl").answer == "yes"
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    for line in lines:
        if line.get("entry") == "trial":
            line["rewards"] = [size if reward > 0.5 else -size for reward in line["rewards"]]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    evidence = content["evidence"]
    evidence["origin"] = [size if first > 0.5 else -size for first in evidence["origin"]]
    evidence["sums"] = [0.0] * len(evidence["sums"])
    forged = with_log(content, tmp_path / "log.jsonl")
    assert verify(forged).answer == "no"
    assert verify(forged, log=tmp_path / "log.jsonl").answer == "no"


# What a log says of the study -----------------------------------------------------------------------------------------


def with_log(content: dict[str, Any], file: Path) -> dict[str, Any]:
    """The certificate with the hash over this log, by its own settings and actions: as a forger would have it."""
    mdp = parse_json_problem(json.dumps(content["problem"]), "").mdp
    options, log = content["study"]["options"], content["log"]
    seed = f"{content['problem_hash']}\n{json.dumps(content['settings'])}\n{json.dumps(options)}"
    replay = Replay(mdp, seed, options["on_failure"], content["settings"]["epsilon"])
    actions = [Action(**action) for action in content["actions"]][: log["actions"]]
    for entry in in_order(islice(read_log(file, mdp).settled(), log["trials"]), actions):
        replay.take(entry)
    log["digest"] = replay.digest
    content["statement"], content["assumptions"] = statement(content), assumptions(content, mdp)
    return mended(content)


def test_settings_and_decisions_are_compared_with_a_full_export(tmp_path: Path) -> None:
    study = new_study(name="pipeline", epsilon=0.5)
    play(study)
    study.tighten(0.3)
    play(study)
    right = study.certificate().to_dict()
    write_export(study, full := tmp_path / "full.jsonl")
    assert verify(right, log=full).answer == "yes"
    other = tmp_path / "other.jsonl"
    other.write_text(full.read_text().replace('"surepath-study-log"', "0", 1))
    with pytest.raises(CertificateError, match="it must begin with 'surepath-study-log'"):
        verify(right, log=other)

    def forged(change: Callable[[dict[str, Any]], None]) -> list[str]:
        content = deepcopy(right)
        change(content)
        content = with_log(content, full)
        assert not verify(content, storage=study.storage, name="pipeline").holds
        verdict = verify(content, log=full)
        assert verdict.answer == "no"
        return verdict.differences

    def smaller_sigma(content: dict[str, Any]) -> None:
        content["settings"]["sigma"] = [0.75 * sigma for sigma in content["settings"]["sigma"]]

    def exclusion(content: dict[str, Any]) -> None:
        arc = next(arc for arc in range(study.mdp.n_arcs) if arc not in content["path"])
        content["actions"].append({"number": 2, "after": content["log"]["trials"], "kind": "exclude", "content": [arc]})
        content["log"]["actions"] = 2

    def epsilon(content: dict[str, Any]) -> None:
        content["actions"], content["log"]["actions"] = [], 0
        content["settings"]["epsilon"] = content["epsilon"] = 2.0

    assert "the study has another sigma in its settings" in forged(smaller_sigma)
    decisions = "the study's exclusions and tightenings are not those of the certificate"
    assert decisions in forged(exclusion)
    assert {"the study has another epsilon in its settings", decisions} <= set(forged(epsilon))
    for place, words in (
        (("study", "name"), "name"),
        (("study", "version"), "version"),
        (("study", "created"), "created"),
        (("problem", "name"), "name in its problem"),
    ):
        found = forged(lambda content, place=place: put(content, place, "2020-01-01T00:00:00+00:00"))  # type: ignore[misc]
        assert f"the study has another {words}" in found


def test_whether_a_study_is_done_is_compared_with_its_storage() -> None:
    study, content = finished(new_study(name="pipeline"))
    content["done"] = False
    assert "the study was done" in str(verify(mended(content), storage=study.storage))
    early = new_study(name="pipeline", epsilon=0.001)
    play(early, trials=60)
    content = early.certificate().to_dict()
    assert content["certified_gap"] is not None
    assert not content["done"]
    content["done"], content["epsilon"] = True, content["certified_gap"]
    content["settings"]["epsilon"] = content["epsilon"]
    assert "the study was not done" in str(verify(mended(content), storage=early.storage))


@pytest.mark.parametrize("form", [7, 9, "8", 8.0, True, None])
def test_there_is_one_format_and_others_are_refused_in_words(form: Any) -> None:
    content = {**certificate(), "format": form}
    with pytest.raises(CertificateError, match="this version of surepath reads format 8 alone"):
        verify(mended(content), storage=example()[0].storage)


def test_a_score_outside_its_range_in_a_log_that_gives_the_right_sums_is_found_out(tmp_path: Path) -> None:
    mdp = MDP.from_steps({"a": ["x", "y"]}, sigma=0.1, reward_range=(0, 1))
    study = Study.create(mdp, storage="memory", epsilon=0.05, delta=0.1)
    while not study.done:
        trial = study.ask()
        study.tell(trial, [0.5 if trial.plan["a"] == "x" else 0.25])
    write_export(study, file := tmp_path / "log.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    second, third = [line for line in lines if line.get("entry") == "trial" and line["path"] == [0]][1:3]
    second["rewards"], third["rewards"] = [1.5], [-0.5]
    file.write_text("\n".join(map(json.dumps, lines)))
    verdict = verify(with_log(study.certificate().to_dict(), file), log=file)
    assert "has a score that is not finite, too large or outside its range" in str(verdict)


def test_a_score_outside_its_range_proves_nothing() -> None:
    content = deepcopy(learned_example("betting")[1])
    content["problem"]["defaults"] = {**content["problem"].get("defaults", {}), "reward_range": [-0.001, 0.001]}
    assert not verify(mended(content)).holds
