# SPDX-License-Identifier: MIT
"""What the runner of the suites counts."""
import os
import shutil
import subprocess

import pytest

RUNNER = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "run-tests")
# As a program under test does: it writes where it is told, and nobody looks at its end.
QUIET = """
import os, subprocess
def test_quiet():
    options = dict(one.split("=", 1) for one in os.environ["{name}"].split(":"))
    subprocess.run(["sh", "-c", "{does}", "sh", options["log_path"]])
"""


def run(folder, does, name="ASAN_OPTIONS"):
    (folder / "tools").mkdir()
    (folder / "tests").mkdir()
    runner = shutil.copy(RUNNER, folder / "tools")
    (folder / "tests/test_quiet.py").write_text(QUIET.format(does=does, name=name))
    return subprocess.run([runner, "--e2e", "true", "--unit", str(folder), "--sanitizer", "asan"],
                          capture_output=True, text=True)


@pytest.mark.parametrize("name", ["ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"])
def test_a_report_that_no_test_notices_is_a_failure(tmp_path, name):
    done = run(tmp_path, "echo ERROR: a use after free > $1.17", name)
    assert done.returncode == 1 and "ERROR: a use after free" in done.stdout, done.stdout
    assert "end-to-end tests: 1 good, 1 bad" in done.stdout


def test_without_a_report_there_is_none(tmp_path):
    done = run(tmp_path, "true")
    assert "end-to-end tests: 1 good, 0 bad" in done.stdout, done.stdout
