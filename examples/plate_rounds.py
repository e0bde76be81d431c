"""A lab plate in rounds: one yield for a whole protocol, a round a day, and the days' own offsets cancel.

All plans of a round are fixed before its first yield, so a plate may be pipetted in any order and read when it is
ready. What all wells of a round have in common (a day, a batch of reagent) cancels; so a broken well is pipetted again
on the same day.
With a spreadsheet and no Python: surepath study ask --n 96 --csv plate.csv, fill in, surepath study tell plate.csv.

Run: python examples/plate_rounds.py
"""

import csv
import io
import random

from surepath import MDP, Study
from surepath.study.sheets import read_sheet, sheet_text

STEPS = {
    "solvent": ["water", "ethanol", "acetone"],
    "warmth": ["20 C", "40 C", "60 C"],
    "catalyst": ["none", "A", "B"],
    "wash": ["once", "twice"],
}
ADDS = {"ethanol": 0.06, "acetone": 0.02, "40 C": 0.08, "60 C": 0.05, "A": 0.07, "B": 0.12, "twice": 0.04}


def bench(sheet, day):
    """Pretend the bench: fill in the yields of a plate, `failed` for a broken well."""
    rows, offset = list(csv.DictReader(io.StringIO(sheet))), random.Random(day).gauss(0, 0.3)  # the day's own
    for row in rows:
        mean = 0.3 + offset + sum(ADDS.get(option, 0.0) for option in row.values())
        row["score"] = "failed" if random.random() < 0.02 else f"{random.gauss(mean, 0.04):.4f}"
    filled = io.StringIO()
    writer = csv.DictWriter(filled, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return filled.getvalue()


mdp = MDP.from_steps(STEPS, depends="none", scores="end", structure="additive", sigma=0.04)
study = Study.create(mdp, "memory", epsilon=0.06, delta=0.05, lease="7d")
while not study.done:
    plate = sheet_text(mdp, study.ask(96))
    study.tell_many(read_sheet(mdp, bench(plate, study.learner.round), "plate.csv").results)
    print(str(study.status()).splitlines()[-1])
print(study.certificate())
