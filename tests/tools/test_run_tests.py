# SPDX-License-Identifier: MIT
"""What the runner of the suites counts."""
import os
import re
import shutil
import subprocess

import pytest

from repository import only_if_changed

pytestmark = only_if_changed("tools/run-tests", "tests/e2e/plan.py", "tests/tools/test_run_tests.py")

RUNNER = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "run-tests")
# As a program under test does: it writes where it is told, and nobody looks at its end.
QUIET = """
import os, subprocess
def test_quiet():
    options = dict(one.split("=", 1) for one in os.environ["{name}"].split(":"))
    subprocess.run(["sh", "-c", "{does}", "sh", options["log_path"]])
"""


def run(folder, tests, *arguments):
    """The runner over a folder that has these test files: name to text."""
    (folder / "tools").mkdir()
    (folder / "tests").mkdir()
    runner = shutil.copy(RUNNER, folder / "tools")
    for name, text in tests.items():
        (folder / "tests" / name).write_text(text)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run([runner, *arguments], capture_output=True, text=True, check=False,
                          env={**env, "TMPDIR": str(folder)})


def quiet(folder, does, name="ASAN_OPTIONS"):
    return run(folder, {"test_quiet.py": QUIET.format(does=does, name=name)},
               "--sanitized", f"asan={folder}")


@pytest.mark.parametrize("name", ["ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"])
def test_a_report_that_no_test_notices_is_a_failure(tmp_path, name):
    done = quiet(tmp_path, "echo ERROR: a use after free > $1.17", name)
    assert done.returncode == 1 and "ERROR: a use after free" in done.stdout, done.stdout
    assert "asan: end-to-end tests: 1 good, 0 bad" in done.stdout
    assert "asan: reports that no test saw: 0 good, 1 bad" in done.stdout


def test_without_a_report_there_is_none(tmp_path):
    done = quiet(tmp_path, "true")
    assert "asan: end-to-end tests: 1 good, 0 bad" in done.stdout, done.stdout
    assert "asan: reports that no test saw: 0 good, 0 bad" in done.stdout


def test_what_runs_together_and_later_adds_up(tmp_path):
    ways = """
import os, pytest
@pytest.mark.parametrize("number", range({count}))
def test_one(number):
    assert number != 3
@pytest.mark.quiet
def test_quiet():
    assert os.environ["PYTEST_XDIST_WORKER_COUNT"] == "2"
@pytest.mark.skip
def test_not():
    assert False
"""
    done = run(tmp_path, {f"test_{i}.py": ways.format(count=2 + i) for i in range(4)},
               "--e2e", "true", "--unit", str(tmp_path))
    assert "end-to-end tests: 12 good, 2 bad" in done.stdout, done.stdout
    assert "end-to-end tests, quiet: 4 good, 0 bad" in done.stdout
    # No unit tests are there: that is a failure, too.
    assert done.stdout.splitlines()[-1] == "16 passed, 3 failed" and done.returncode == 1
    left = re.search(r"what the tests left is in (\S+)", done.stdout).group(1)
    assert os.path.isdir(left)


# One that passes by itself, after it has failed beside others; and what it said when it did.
AT_SECOND = """
import os
def test_one():
    pass
def test_first():
    assert os.environ["PYTEST_XDIST_WORKER_COUNT"] == "1", "{says}"
def test_steady():
    assert {is_steady}
"""


def at_second(folder, says, is_steady=True, *arguments):
    return run(folder, {"test_it.py": AT_SECOND.format(says=says, is_steady=is_steady)},
               "--e2e", "true", "--unit", str(folder), *arguments)


def test_what_fails_beside_others_is_tried_by_itself_and_named(tmp_path):
    done = at_second(tmp_path, "too slow")
    assert "end-to-end tests: 2 good, 1 bad" in done.stdout, done.stdout
    assert "end-to-end tests again, one at a time: 1 good, 0 bad" in done.stdout
    assert done.stdout.splitlines()[-2:] == [  # one failed: no unit tests are there
        "only passed by itself: tests/test_it.py::test_first", "3 passed, 1 failed"]


def test_what_fails_again_has_failed(tmp_path):
    done = at_second(tmp_path, "slow", False)
    assert "end-to-end tests again, one at a time: 1 good, 1 bad" in done.stdout, done.stdout
    assert "only passed" not in done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 3 failed"


@pytest.mark.parametrize("says, argument", [("gatehouse, which ended with -11: x", []),
                                            ("slow", ["--all"])])
def test_a_crash_and_a_full_run_have_no_second_try(tmp_path, says, argument):
    done = at_second(tmp_path, says, True, *argument)
    assert "again" not in done.stdout and "only passed" not in done.stdout, done.stdout
    assert done.stdout.splitlines()[-1] == "2 passed, 2 failed"


@pytest.mark.parametrize("text", ["import nothing_of_the_kind", "", "import os; os._exit(3)"])
def test_no_tests_are_no_success(tmp_path, text):
    done = run(tmp_path, {"test_broken.py": text}, "--e2e", "true", "--unit", str(tmp_path))
    assert done.returncode == 1, done.stdout
    assert re.search(r"^end-to-end tests: 0 good, [1-9]\d* bad", done.stdout, re.M), done.stdout


def test_a_test_that_hangs_fails_with_its_line(tmp_path):
    with open(os.path.join(os.path.dirname(__file__), "..", "e2e", "plan.py"),
              encoding="utf-8") as file:
        plan = file.read()
    files = {"conftest.py": "import plan\nfrom plan import *\nplan.SECONDS_AT_MOST = 1",
             "plan.py": plan,
             "test_hanging.py": "import os, pytest\n"
                                "@pytest.fixture\n"
                                "def ends_never():\n    yield\n    os.read(os.pipe()[0], 2)\n"
                                "def test_hangs(ends_never):\n    os.read(os.pipe()[0], 1)\n"
                                "def test_next():\n    pass\n"}
    done = run(tmp_path, files, "--e2e", "true", "--unit", str(tmp_path))
    assert "it was not over after 1 s" in done.stdout, done.stdout
    for read in "os.read(os.pipe()[0], 1)", "os.read(os.pipe()[0], 2)":
        assert re.search(rf"^>\s+{re.escape(read)}$", done.stdout, re.M), done.stdout
    assert re.search(r"^end-to-end tests: \d good, 2 bad", done.stdout, re.M), done.stdout
