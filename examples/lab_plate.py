"""A lab plate by CSV: ask for 24 wells at a time, fill in the assays, report the file.

In a lab this takes three commands and a spreadsheet, and no Python at all:

    surepath study create protocol.json --lease 7d
    surepath study ask --n 24 --csv plate.csv
    surepath study tell plate.csv

This program plays the same with a pretended robot in the place of the bench, plate after plate.

Run: python examples/lab_plate.py
"""

import csv
import random
from pathlib import Path

from surepath import Study
from surepath.study.sheets import read_sheet, sheet_text

PROTOCOL = {
    "format": "surepath-problem",
    "version": 1,
    "name": "protocol",
    "steps": {
        "solvent": ["water", "ethanol", "acetone"],
        "reaction": ["20 C", "40 C", "60 C"],
        "wash": ["once", "twice"],
    },
    "depends": {"reaction": ["solvent"]},  # the yield depends on the solvent too; the others on their own option
    "low": 0,
    "high": 1,  # assays give numbers between 0 and 1
    "epsilon": 0.4,
    "delta": 0.05,
}
WELLS = 24


def robot(plate):
    """Simulate the bench: read the sheet, fill in the scores, write `failed` for a broken well."""
    with plate.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        warmth = {"20 C": 0.2, "40 C": 0.5, "60 C": 0.7}[row["plan.reaction"]]
        yields = warmth - 0.4 * (row["plan.solvent"] == "acetone" and warmth > 0.5)
        scores = {
            "score.solvent": {"water": 0.5, "ethanol": 0.6, "acetone": 0.7}[row["plan.solvent"]],
            "score.reaction": yields,
            "score.wash": {"once": 0.5, "twice": 0.6}[row["plan.wash"]],
        }
        row.update({name: f"{min(max(random.gauss(mean, 0.08), 0), 1):.3f}" for name, mean in scores.items()})
        if random.random() < 0.02:
            row["score.wash"] = "failed"  # the well broke in the last step; what came before still counts
    with plate.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


study = Study.create(PROTOCOL, storage="lab.db", lease="7d", exist_ok=True)
number = 0
while not study.done:
    number += 1
    plate = Path(f"plate_{number}.csv")
    plate.write_text(sheet_text(study.mdp, study.ask(WELLS)))  # surepath study ask --n 24 --csv plate_1.csv
    robot(plate)
    study.tell_many(read_sheet(study.mdp, plate.read_text(), plate.name).results)  # surepath study tell plate_1.csv
    print(f"{plate}: {study.best_plan}, proven within {study.certified_gap:.2f} of the best")

certificate = study.certificate()
certificate.save("certificate.json")
print(certificate)
