# SPDX-License-Identifier: MIT
"""The list of common passwords keeps the order and the sense that its readers count on."""
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def embed(folder, text):
    source, output = folder / "words.txt", folder / "words.c"
    source.write_text(text, encoding="utf-8")
    done = subprocess.run([f"{ROOT}/tools/embed-words", source, output], check=False,
                          stderr=subprocess.PIPE, text=True)
    return done, output


def test_words_become_a_table_in_their_order(tmp_path):
    done, output = embed(tmp_path, '# a comment\n\n!"\\#$%&/()=\ndragon\npass word\n')
    assert done.returncode == 0, done.stderr
    rows = [line.strip() for line in output.read_text().splitlines() if "SLICE_INIT" in line]
    assert rows == [r'SLICE_INIT("!\"\\#$%&/()="),', 'SLICE_INIT("dragon"),',
                    'SLICE_INIT("pass word"),']
    assert "common_password_count = 3;" in output.read_text()


@pytest.mark.parametrize("text, words", [
    ("Dragon\n", "has capitals"),
    (" dragon\n", "spaces around"),
    ("dragon\nbadger\n", "'badger' stands behind 'dragon'"),
    ("dragon\ndragon\n", "stands behind"),
    ("dragon1\n", "does not end in a letter"),
    ("dragon\ndragon123456\n", "because of 'dragon' already"),
    ("1234567890\n1234567890!!\n", "because of '1234567890' already"),
])
def test_lines_that_refuse_nothing_are_refused(tmp_path, text, words):
    done, output = embed(tmp_path, text)
    assert done.returncode != 0
    assert words in done.stderr
    assert not output.exists()
