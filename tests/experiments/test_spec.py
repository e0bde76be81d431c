"""Specs: what is read, and what is refused with the path of the field and the nearest valid name."""

from __future__ import annotations

from pathlib import Path

import pytest

from surepath.errors import SettingError
from surepath.experiments.spec import Spec, instance_seed, min_gap_of, name_of
from surepath.model import families
from tests.experiments.specs import small
from tests.model.sources.problem_texts import with_means

TEXT = """\
runs = 4            # of every cell
deltas = [
  0.1,
  0.05,
]
epsilons_per_gap = [1.5, 5]

[[instances]]
family = "paper_random"
seeds = "2..3"

[[instances]]
id = "chain-v1/n3k2/seed7"

[[learners]]
name = "EPRL"
label = "max-diameter"
sampling = "max-diameter"

[[learners]]
name = "BPIUCRL"
elimination = "none"
"""


def load(text: str, folder: Path) -> Spec:
    file = folder / "spec.toml"
    file.write_text(text, encoding="utf-8")
    return Spec.load(file)


def test_a_file_becomes_cells_with_names(tmp_path: Path) -> None:
    spec = load(TEXT, tmp_path)
    assert spec.name == "spec"
    assert [name_of(source) for source in spec.instances] == [
        "paper_random-v1/s2a2h3/seed2",
        "paper_random-v1/s2a2h3/seed3",
        "chain-v1/n3k2/seed7",
    ]
    ids = [cell.id for cell in spec.cells()]
    assert len(set(ids)) == len(ids) == 3 * (2 + 2)
    assert ids[0] == "paper_random-v1/s2a2h3/seed2 | max-diameter | delta 0.1"
    assert ids[2] == "paper_random-v1/s2a2h3/seed2 | BPIUCRL elimination=none | delta 0.1"
    first = spec.cells()[0]
    gap = families.paper_min_gap("paper_random-v1/s2a2h3/seed2")
    assert first.epsilons == (1.5 * gap, 5 * gap)
    assert first.multiples == (1.5, 5.0)


def test_a_spec_is_rebuilt_from_its_own_data(tmp_path: Path) -> None:
    spec = load(TEXT, tmp_path)
    again = Spec.from_dict(spec.to_dict())
    assert again == spec
    assert [cell.key for cell in again.cells()] == [cell.key for cell in spec.cells()]


def test_a_problem_file_travels_by_content(tmp_path: Path) -> None:
    instance = families.chain(3, 2, seed=1)
    (tmp_path / "mine.json").write_text(with_means(instance))
    (tmp_path / "table.csv").write_text("state,action,next_state,mean,sigma\na,x,,0.5,1\na,y,,0.75,1\n")
    extra = '\n[[instances]]\nfile = "mine.json"\n[[instances]]\nfile = "table.csv"\n'
    spec = load(TEXT + extra, tmp_path)
    (tmp_path / "mine.json").unlink()
    (tmp_path / "table.csv").unlink()
    again = Spec.from_dict(spec.to_dict())
    cells = again.cells()
    assert cells[-1].source["name"] == "table.csv"
    assert {name_of(cell.source).split("#")[0] for cell in cells[-8:]} == {"file:mine.json", "file:table.csv"}
    assert min_gap_of(cells[-1].source) == 0.25


def test_seeds_are_keyed_by_instance_and_shared_by_learners() -> None:
    cells = Spec.from_dict(small()).cells()
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(name_of(cell.source), set()).add(cell.seed)
    assert [len(found) for found in seeds.values()] == [1, 1]
    assert len(set.union(*seeds.values())) == 2
    # Pinned: a change here would silently give other runs to every stored spec.
    assert instance_seed(3, "chain-v1/n3k2/seed7") == cells[0].seed == 4684044696208315184


def test_the_key_names_what_decides_the_rows() -> None:
    keys = {Spec.from_dict(small()).cells()[0].key}
    for change in (
        {"seed": 4},
        {"budget": 7},
        {"deltas": [0.2]},
        {"epsilons": [2.0]},
        {"learners": [{"name": "EPRL", "label": "max-diameter", "sampling": "max-coverage"}]},
        {"learners": [{"name": "EPRL", "label": "another", "sampling": "max-diameter"}]},
        {"name": "x"},
    ):
        keys.add(Spec.from_dict(small(**change)).cells()[0].key)
    assert len(keys) == 8
    assert Spec.from_dict(small(runs=9, chunk=1)).cells()[0].key in keys


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("runs = 4 ", "run = 4 ", 'spec.toml: run: not a field of a spec (did you mean "runs"?)'),
        ("runs = 4 ", "runs = 0 ", "spec.toml: runs: runs must be at least 1, not 0"),
        ("runs = 4 ", "runs = ", "spec.toml is not valid TOML: Invalid value (at line 1, column"),
        ("  0.05,", "  5,", "spec.toml: deltas[1]: delta must lie strictly between 0 and 1, not 5"),
        ("  0.05,", "  0.1,", "spec.toml: deltas[1]: 0.1 is listed twice"),
        ("[1.5, 5]", "[-1]", "spec.toml: epsilons_per_gap[0]: epsilon must be 0 or more, not -1"),
        ("epsilons_per_gap", "epsilons = [1]\nepsilons_per_gap", 'give either "epsilons" or "epsilons_per_gap"'),
        ('"paper_random"', '"paper_randm"', "instances[0].family: no family is called 'paper_randm' (did you"),
        ('"2..3"', '"3..2"', 'instances[0].seeds: must be a list of whole numbers from 0, or a range such as'),
        ("seeds =", 'states = "two"\nseeds =', "instances[0].states: states must be a whole number, not"),
        ('id = "ch', 'file = "ch', "instances[1].file: there is no file"),
        ("id =", 'colour = "red"\nid =', "instances[1].colour: not a field here"),
        ('"chain-v1/n3k2/seed7"', '"paper_random-v1/s2a2h3/seed2"', "instances[1]: the instance paper_random"),
        ('= "max-diameter"\n\n', '= "max-diametr"\n\n', "learners[0].sampling: sampling 'max-diametr' is not"),
        ("sampling =", "delta = 0.1\nsampling =", "learners[0].delta: delta belongs to the whole experiment"),
        ('elimination = "none"', 'label = "max-diameter"', 'learners[1]: two learners are called "max-diameter"'),
        ('elimination = "none"', 'label = "a|b"', "learners[1].label: must be some text without"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_its_field(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in TEXT
    with pytest.raises(SettingError) as caught:
        load(TEXT.replace(old, new, 1), tmp_path)
    assert message in str(caught.value)


def test_an_instance_without_gaps_has_no_multiples_of_them() -> None:
    values = small(instances=["minimax_hard-v1/s2a2h3"], epsilons_per_gap=[1.0])
    del values["epsilons"]
    with pytest.raises(SettingError, match="epsilons_per_gap: minimax_hard-v1/s2a2h3 has no positive value gap"):
        Spec.from_dict(values)


def test_the_spec_of_the_documents_works(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    text = page.split("```toml\n")[1].split("```")[0]
    instance = families.chain(3, 2, seed=1)
    (tmp_path / "problem.json").write_text(with_means(instance))
    spec = load(text, tmp_path)
    assert len(spec.cells()) == 6 * 3
    assert {field for field in Spec.model_fields if field in text} == set(Spec.model_fields)
