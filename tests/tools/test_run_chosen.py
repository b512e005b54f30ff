# SPDX-License-Identifier: MIT
"""./dev test PATH and -k WORD run what is asked for, and nothing else."""
import os
import stat

import pytest

from repository import Repository

MESON = """#!/bin/sh
case $* in
introspect*)
    echo '[{"name": "codec/json", "cmd": ["/build/json_test"]},
           {"name": "codec/url", "cmd": ["/build/url_test"]}]'
    ;;
*)
    for name in "$@"; do
        case $name in codec/*) echo "[       OK ] of_$name" ;; esac
    done
    ;;
esac
"""
TESTS = """
import os
import pytest
def test_good():
    assert os.environ["GATEHOUSE_BINARY"].endswith("build/src/app/gatehouse")
@pytest.mark.parametrize("way", ["one", "an other"])
def test_ways(way):
    assert way == "one"
"""


@pytest.fixture
def run(tmp_path):
    repository = Repository(tmp_path, "run-chosen")
    repository.write(tests__e2e__test_some_y=TESTS, tests__tools__test_more_y=TESTS,
                     tests__unit__codec__json_test_c="cmocka_unit_test(a_deep_array_is_refused)",
                     tests__unit__codec__url_test_c="TEST(an_address_has_a_host)")
    for name in "tests/e2e/test_some", "tests/tools/test_more":
        os.rename(tmp_path / f"{name}.y", tmp_path / f"{name}.py")
    meson = tmp_path / "meson"
    meson.write_text(MESON)
    meson.chmod(meson.stat().st_mode | stat.S_IXUSR)
    repository.env["PATH"] = f"{tmp_path}:{repository.env['PATH']}"

    def run(*arguments):
        absolute = [tmp_path / part if part.startswith("tests/") else part for part in arguments]
        return repository.run("run-chosen", tmp_path / "build", tmp_path / "fuzz", *absolute)
    return run


@pytest.mark.parametrize("arguments,total", [
    (("tests/e2e/test_some.py",), "2 passed, 1 failed"),
    (("tests/e2e/test_some.py::test_good",), "1 passed, 0 failed"),
    (("tests/e2e/test_some.py::test_ways[an other]",), "0 passed, 1 failed"),
    (("tests/e2e",), "2 passed, 1 failed"),
    (("tests/unit/codec/url_test.c",), "1 passed, 0 failed"),
    (("tests/unit/codec", "tests/tools/test_more.py::test_good"), "3 passed, 0 failed"),
    (("-k", "test_good"), "2 passed, 0 failed"),
    (("tests/e2e/test_some.py", "-k", "test_good or one"), "2 passed, 0 failed"),
    (("-k", "json_test"), "1 passed, 0 failed"),
    (("-k", "deep_array"), "1 passed, 0 failed"),
    (("-k", "has_a_host"), "1 passed, 0 failed")])
def test_what_is_asked_for_is_run(run, arguments, total):
    done = run(*arguments)
    assert done.stdout.splitlines()[-1] == total, done.stdout + done.stderr
    assert done.returncode == (0 if total.endswith(" 0 failed") else 1)


@pytest.mark.parametrize("arguments", [
    ("tests/e2e/test_none.py",), ("README.md",), ("-k", "nothing_of_the_kind"),
    ("tests/e2e/test_some.py::test_none",)])
def test_what_is_not_there_is_no_success(run, arguments):
    done = run(*arguments)
    assert done.returncode != 0, done.stdout + done.stderr
