"""The example with a real DSPy program and an MLflow callback, in an environment of its own that holds both."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile

from tests.throwaway import ROOT, environment

PLACE = ROOT / ".venv" / "dspy"
PROMISED = r"After \d+ trials: the plan .*\nsurepath: [\d.]+ short of the best"


def main() -> None:
    try:
        python = environment(PLACE, (ROOT / "requirements" / "dspy.txt").read_text(encoding="utf-8"))
    except subprocess.CalledProcessError as error:
        if os.environ.get("SUREPATH_STRICT") == "1":
            sys.exit(f"{error}; nothing may be skipped under SUREPATH_STRICT=1")
        print(f"skipped, since DSPy and MLflow do not install here: {error}")
        return
    clean = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with tempfile.TemporaryDirectory() as folder:
        command = [str(python), str(ROOT / "examples" / "dspy_program.py")]
        answer = subprocess.run(command, env=clean, cwd=folder, capture_output=True, text=True, check=False)
        logged = "import mlflow; mlflow.set_tracking_uri('sqlite:///mlflow.db'); print(len(mlflow.MlflowClient()"
        logged += ".get_metric_history(mlflow.search_runs(output_format='list')[0].info.run_id, 'proven gap')))"
        count = subprocess.run([str(python), "-c", logged], cwd=folder, capture_output=True, text=True, check=False)
    if answer.returncode or not (found := re.search(PROMISED, answer.stdout)):
        sys.exit(f"{answer.stdout}{answer.stderr}\nexamples/dspy_program.py did not print {PROMISED!r}")
    if count.stdout.strip() != re.findall(r"\d+", found[0])[0]:
        sys.exit(f"MLflow has {count.stdout}{count.stderr} trials of these: {found[0]}")
    print(answer.stdout)


if __name__ == "__main__":
    main()
