# SPDX-License-Identifier: MIT
"""The perfect hash of SQL's key words: each has a slot of its own, or the build fails."""
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(source, output):
    return subprocess.run([f"{ROOT}/tools/hash-sql-words", source, output], check=False,
                          stderr=subprocess.PIPE, encoding="utf-8")


def test_each_word_has_a_slot(tmp_path):
    source = f"{ROOT}/src/sql/sql_words.h"
    assert run(source, tmp_path / "slots.h").returncode == 0
    with open(source, encoding="utf-8") as lines:
        words = re.findall(r"^ *(?:#define .*)?X\((\w+), \"", lines.read(), re.MULTILINE)
    slots = re.findall(r"SQL_WORD_(\w+)", (tmp_path / "slots.h").read_text())
    assert len(words) > 300 and sorted(words) == sorted(slots)


def test_words_that_cannot_be_told_apart_fail(tmp_path):
    source = tmp_path / "words.h"
    source.write_text('X(A, "same", FREE, true) X(B, "same", FREE, true)')
    done = run(source, tmp_path / "slots.h")
    assert done.returncode != 0 and "no places" in done.stderr
