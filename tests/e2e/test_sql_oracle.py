# SPDX-License-Identifier: MIT
"""`gatehouse sql analyze` beside PostgreSQL's own grammar: never a confident, different answer."""
import json
import os
import subprocess

import pytest

from conftest import BINARY, ROOT
from installed import node_packages
from sql_grammar import Maker
from sql_oracle import COMPARED, Grammar, effects_of

COUNT = 12_000
UNKNOWN_MAX = 0.01


MANUAL = os.path.join(ROOT, "tests/e2e/sql_manual.txt")
NEWER = os.path.join(ROOT, "tests/e2e/sql_grammars")


class NewerGrammar:
    """PostgreSQL 18's, all texts at once."""

    @staticmethod
    def parse_all(texts):
        folder = node_packages("sql-grammars", NEWER)
        with open(os.path.join(NEWER, "parse.mjs"), encoding="utf-8") as program:
            script = program.read()
        lines = "".join(json.dumps(text) + "\n" for text in texts)
        done = subprocess.run(["node", "--input-type=module", "--eval", script], cwd=folder,
                              input=lines.encode(), check=True, timeout=300,
                              stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module", params=[Grammar, NewerGrammar], ids=["15", "18"])
def grammar(request):
    return request.param()


def analyzed(text):
    done = subprocess.run([BINARY, "sql", "analyze"], input=text.encode(), check=True, timeout=60,
                          stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def difference(ours, effects):
    """In words; None: the same."""
    written = {(relation["schema"], relation["name"]) for relation in ours["relations"]
               if relation["written"]}
    operations = set(ours["operations"]) & COMPARED
    if effects.operations & COMPARED != operations:
        return f"operations {sorted(operations)}, not {sorted(effects.operations & COMPARED)}"
    if not effects.written <= written:
        return f"writes {written}, not {effects.written}"
    data = {"insert", "update", "delete", "merge", "truncate", "select"}
    if set(ours["operations"]) <= data and written != effects.written:
        return f"writes {written}, more than {effects.written}"
    if effects.without_where != ours["without_where"] and "explain" not in ours["operations"]:
        return f"without_where {ours['without_where']}"
    return None


def compare(grammar, texts):
    """How many were compared, how many of them are unknown, and what differs."""
    trees = grammar.parse_all(texts)
    sound = [(text, tree[0]) for text, tree in zip(texts, trees) if tree and len(tree) == 1]
    found = analyzed("\n;\n".join(text for text, _ in sound) + "\n")
    assert len(found) == len(sound), "the statements are cut elsewhere"
    unknown, wrong = 0, []
    for ours, (text, tree) in zip(found, sound):
        effects = effects_of(tree)
        if effects.is_open:
            assert ours["unknown"], text
        elif ours["unknown"]:
            unknown += 1
        else:
            words = difference(ours, effects)
            if words:
                wrong.append(f"{words}: {text}")
    return len(sound), unknown, wrong


def test_statements_by_chance_write_what_the_grammar_says(grammar):
    maker = Maker(20)
    texts = [maker.statement() for _ in range(COUNT)]
    count, unknown, wrong = compare(grammar, texts)
    print(f"{count} statements, {unknown} of them unknown, {len(wrong)} different")
    assert not wrong, "\n".join([f"{len(wrong)} of {count}", *wrong[:10]])
    assert count > 10_000
    assert unknown <= UNKNOWN_MAX * count


def test_each_construct_of_the_manuals_is_understood(grammar):
    with open(MANUAL, encoding="utf-8") as lines:
        texts = lines.read().splitlines()
    count, unknown, wrong = compare(grammar, texts)
    print(f"{count} of {len(texts)} statements, {unknown} of them unknown, {len(wrong)} different")
    assert not wrong, "\n".join([f"{len(wrong)} of {count}", *wrong[:30]])
    assert unknown <= UNKNOWN_MAX * count
    assert count >= (0.85 if isinstance(grammar, Grammar) else 0.99) * len(texts)
