# SPDX-License-Identifier: MIT
"""How long fuzz targets run, and what makes one fail."""
import ast
import os
import re
import subprocess
import sys

import pytest

from repository import Repository, only_if_changed

pytestmark = only_if_changed("tools/fuzz", "tools/changed", "tests/tools/test_fuzz.py")

# As libFuzzer behaves: it works until it is told to end, and then says what it covered.
TARGET = """
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "a/part.h"
static volatile sig_atomic_t is_told;
static void on_signal(int number) { (void)number; is_told = 1; }
int main(void) {
    (void)signal(SIGUSR1, on_signal);
    while (!is_told) { part(); BODY; }
    printf("#2 DONE cov: COVERAGE ft: 9\\nstat::number_of_executed_units: 7\\n");
    return EXIT;
}
"""
FUZZ = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "fuzz")
NAMES = ("fuzz_one", "fuzz_two")


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path, "fuzz", "changed")
    made.write(src__a__part_h="void part(void);\n", src__b__part_h="void part(void);\n",
               src__a__left_c='#include "a/part.h"\nvoid part(void) {}\n',
               src__b__right_c='#include "b/part.h"\nvoid part(void) {}\n')
    (tmp_path / "tests/fuzz").mkdir(parents=True)
    (tmp_path / "tests/fuzz/floors.txt").write_text("fuzz_one 100\nfuzz_two 100\n")
    (tmp_path / ".gitignore").write_text("build/\n")
    programs = tmp_path / "build/tests/fuzz"
    programs.mkdir(parents=True)
    (tmp_path / "build/build.ninja").write_text(
        "".join(f"build tests/fuzz/{name}: phony\n" for name in NAMES))
    for name in NAMES:
        (tmp_path / "tests/fuzz/corpus" / name).mkdir(parents=True)
        (tmp_path / "tests/fuzz/corpus" / name / "seed").write_text("seed")
        compile_target(made, name, body="is_told = 1")
    for _ in range(12):
        made.commit()
    return made


def compile_target(repository, name, body="", coverage=100, code=0):
    text = TARGET.replace("BODY", body).replace("COVERAGE", str(coverage))
    source = repository.folder / f"tests/fuzz/{name}.c"
    source.write_text(text.replace("EXIT", str(code)))
    part = "src/a/left.c" if name == "fuzz_one" else "src/b/right.c"
    subprocess.run(["cc", "-Isrc", "-o", f"build/tests/fuzz/{name}", source, part],
                   cwd=repository.folder, check=True)


def seconds_of(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: int(seconds) for name, seconds
            in re.findall(r"^ok   (\w+): .*, (\d+) s$", done.stdout, re.M)}


def test_what_changed_runs_longer(repository):
    fuzz = ("fuzz", repository.folder / "build", "changed", "6")
    assert seconds_of(repository.run(*fuzz)) == {"fuzz_one": 5, "fuzz_two": 5}
    repository.write(src__b__part_h="void part(void); /* changed */\n")
    compile_target(repository, "fuzz_two", body="is_told = 1 + 1")
    assert seconds_of(repository.run(*fuzz)) == {"fuzz_one": 0, "fuzz_two": 6}
    repository.commit()
    (repository.folder / "tests/fuzz/corpus/fuzz_one/new").write_text("a new seed")
    assert seconds_of(repository.run(*fuzz)) == {"fuzz_one": 6, "fuzz_two": 0}


def test_what_passed_is_not_run_again(repository):
    """Until the program, its seeds or its floor become others; and never what failed."""
    floors = repository.folder / "tests/fuzz/floors.txt"
    fuzz = ("fuzz", repository.folder / "build", "changed", "6")
    compile_target(repository, "fuzz_two", "is_told = 1", coverage=99)
    for _ in range(2):
        done = repository.run(*fuzz)
        assert done.returncode == 1 and "FAIL fuzz_two: cov 99" in done.stdout, done.stdout
    assert "ok   fuzz_one: as it was when it passed, 0 s" in done.stdout
    floors.write_text("fuzz_one 100\nfuzz_two 98\n")
    assert seconds_of(repository.run(*fuzz)) == {"fuzz_one": 0, "fuzz_two": 6}
    assert seconds_of(repository.run(*fuzz)) == {"fuzz_one": 0, "fuzz_two": 0}
    all_again = repository.run("fuzz", repository.folder / "build", "all", "1")
    assert seconds_of(all_again) == {"fuzz_one": 1, "fuzz_two": 1}


@pytest.mark.parametrize("coverage,is_enough", [(100, True), (99, False)])
def test_what_did_not_change_runs_until_it_covers_its_floor(repository, coverage, is_enough):
    """Or for its time, after which this one covers it."""
    said = f'printf("#1 INITED cov: {coverage}\\n"), fflush(stdout)'
    compile_target(repository, "fuzz_one", f"static int has_said; has_said++ || {said}")
    for _ in range(12):
        repository.commit()
    before = os.times()
    assert seconds_of(repository.run("fuzz", repository.folder / "build", "changed", "3"))
    used = os.times().children_user - before.children_user
    assert (used < 2.5) == is_enough, used


def test_all_run_as_long_as_they_are_told(repository):
    for name in NAMES:
        compile_target(repository, name)
    done = repository.run("fuzz", repository.folder / "build", "all", "1")
    assert seconds_of(done) == {"fuzz_one": 1, "fuzz_two": 1}
    assert done.stdout.splitlines()[-1] == "2 passed, 0 failed"


@pytest.mark.parametrize("coverage,code,said", [
    (99, 0, "cov 99, floor 100"), (100, 77, "ended with code 77")])
def test_a_target_fails(repository, coverage, code, said):
    compile_target(repository, "fuzz_two", "is_told = 1", coverage, code)
    done = repository.run("fuzz", repository.folder / "build", "all", "1")
    assert done.returncode == 1 and f"FAIL fuzz_two: {said}" in done.stdout, done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed"


def test_very_many_that_changed_share_the_time(tmp_path):
    names = [f"fuzz_{i}" for i in range(80)]
    script = (f"share = runpy.run_path({FUZZ!r})['share']; "
              f"print(share({names}, set({names}[:NUMBER]), 20))")
    for number, long in ((4, 20), (12, 8), (80, 5)):
        done = subprocess.run([sys.executable, "-B", "-c",
                               "import runpy; " + script.replace("NUMBER", str(number))],
                              capture_output=True, text=True, check=True)
        times = ast.literal_eval(done.stdout)
        assert [times[name] for name in names] == [long] * number + [5] * (80 - number)
