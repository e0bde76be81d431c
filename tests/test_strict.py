"""SUREPATH_STRICT=1: a skipped test, and a skipped file, are failures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = {
    "test": "import pytest\n\ndef test_it():\n    pytest.skip('no server')\n",
    "mark": "import pytest\n\n@pytest.mark.skipif(True, reason='no server')\ndef test_it():\n    pass\n",
    "file": "import pytest\npytest.importorskip('surely_not_there', reason='no server')\n\ndef test_it():\n    pass\n",
}


@pytest.mark.parametrize(("case", "strict"), [("test", "0"), *((case, "1") for case in CASES)])
def test_a_skip_fails_only_when_strict(tmp_path: Path, case: str, strict: str) -> None:
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "test_one.py").write_text(CASES[case])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {**os.environ, "SUREPATH_STRICT": strict}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    if strict == "1":
        assert answer.returncode in (1, 2)
        assert "skipped under SUREPATH_STRICT=1, where nothing may be skipped" in answer.stdout
    else:
        assert answer.returncode in (0, 5)


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "test_one.py").write_text("import pytest\n\n@pytest.mark.xfail\ndef test_it():\n    assert False\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {**os.environ, "SUREPATH_STRICT": "1"}
    assert subprocess.run(command, env=environment, capture_output=True, check=False, cwd=tmp_path).returncode == 0
