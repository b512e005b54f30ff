# SPDX-License-Identifier: MIT
"""`gatehouse sql analyze` beside PostgreSQL's own grammar: never a confident, different answer."""
import json
import os
import random
import subprocess

import pytest

from conftest import BINARY, ROOT
from installed import node_packages
from plan import IS_LONG
from sql_corpus import Rewriter, statements
from sql_grammar import Maker
from sql_oracle import COMPARED, Grammar, effects_of

COUNT = 12_000
UNKNOWN_MAX = 0.01
CORPUS_SAMPLE = 2_500  # of PostgreSQL's own statements, where tests have to be short
CORPUS_WRONG_MAX = 0.0002
CORPUS_UNKNOWN_MAX = 0.001


MANUAL = os.path.join(ROOT, "tests/e2e/sql_manual.txt")
NEWER = os.path.join(ROOT, "tests/e2e/sql_grammars")


class NewerGrammar:
    """PostgreSQL 18's, or that of the version that the name has; all texts at once."""
    package = "libpg-query"
    least = 0.99  # of the manuals' constructs, which are those of the newest

    def parse_all(self, texts):
        folder = node_packages("sql-grammars", NEWER)
        with open(os.path.join(NEWER, "parse.mjs"), encoding="utf-8") as program:
            script = program.read()
        lines = "".join(json.dumps(text) + "\n" for text in texts)
        done = subprocess.run(["node", "--input-type=module", "--eval", script], cwd=folder,
                              env={**os.environ, "GRAMMAR": self.package}, input=lines.encode(),
                              check=True, timeout=300, stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]


class Grammar16(NewerGrammar):
    package = "libpg-query-16"
    least = 0.94


class Grammar17(NewerGrammar):
    package = "libpg-query-17"
    least = 0.97


# Those between the first and the last are asked where tests may take their time.
GRAMMARS = {"15": Grammar, "16": Grammar16, "17": Grammar17, "18": NewerGrammar}


@pytest.fixture(scope="module",
                params=[name for name in GRAMMARS if IS_LONG or name in ("15", "18")])
def grammar(request):
    return GRAMMARS[request.param]()


def analyzed(text):
    done = subprocess.run([BINARY, "sql", "analyze"], input=text.encode(), check=True, timeout=60,
                          stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def names_of(items):
    return {(item["schema"], item["name"]) for item in items}


def difference_read(ours, effects):
    """Of what is read and called. What is more than the grammar says counts in queries."""
    read = names_of(relation for relation in ours["relations"]
                    if relation["read"] and not relation["all"])
    called = names_of(function for function in ours["functions"] if not function["field"])
    columns = {(column["qualifier"], column["name"]) for column in ours["columns"]}
    if not effects.read <= read or (effects.is_query and read != effects.read):
        return f"reads {sorted(read)}, not {sorted(effects.read)}"
    if not effects.functions <= called or (effects.is_query and called != effects.functions):
        return f"calls {sorted(called)}, not {sorted(effects.functions)}"
    if effects.is_query and not effects.columns <= columns:
        return f"lacks the columns {sorted(effects.columns - columns)}"
    return None


def difference(ours, effects):
    """In words; None: the same."""
    written = names_of(relation for relation in ours["relations"]
                       if relation["written"] and not relation["all"])
    operations = set(ours["operations"]) & COMPARED
    if effects.operations & COMPARED != operations:
        return f"operations {sorted(operations)}, not {sorted(effects.operations & COMPARED)}"
    if not effects.written <= written:
        return f"writes {written}, not {effects.written}"
    data = {"insert", "update", "delete", "merge", "truncate", "select"}
    if set(ours["operations"]) <= data and written != effects.written:
        return f"writes {written}, more than {effects.written}"
    if effects.without_where != ours["without_where"] and not effects.where_is_doubtful and \
            "explain" not in ours["operations"]:
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
    assert count >= getattr(grammar, "least", 0.85) * len(texts)


# PostgreSQL's own ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus(grammar):
    """By 18's grammar they are read as that server would read them."""
    try:
        texts = statements(Grammar().library)
    except OSError as error:
        pytest.skip(f"PostgreSQL's own SQL is NOT compared: {error}")
    if not IS_LONG:
        texts = random.Random(15).sample(texts, CORPUS_SAMPLE)
    sound = [(text, tree[0]) for text, tree in zip(texts, grammar.parse_all(texts))
             if tree and len(tree) == 1]
    return grammar, sound


def judge_all(sound):
    found = analyzed("\n;\n".join(text for text, _ in sound) + "\n")
    assert len(found) == len(sound), "the statements are cut elsewhere"
    unknown, wrong = [], []
    for ours, (text, tree) in zip(found, sound):
        effects = effects_of(tree)
        if ours["unknown"]:
            unknown += [] if effects.is_open else [f"{ours['why']}: {text}"]
            continue
        words = "known" if effects.is_open else \
            difference(ours, effects) or difference_read(ours, effects)
        wrong += [f"{words}: {text}"] if words else []
    return unknown, wrong


def report(sound, unknown, wrong):
    print(f"{len(sound)} statements, {len(unknown)} of them unknown, {len(wrong)} different")
    assert len(wrong) <= CORPUS_WRONG_MAX * len(sound), "\n".join(wrong[:40])
    assert len(unknown) <= CORPUS_UNKNOWN_MAX * len(sound), "\n".join(unknown[:40])


def test_the_tests_of_the_server_say_what_the_grammar_says(corpus):
    _, sound = corpus
    report(sound, *judge_all(sound))


def test_other_spellings_of_them_say_the_same(corpus):
    grammar, sound = corpus
    rewriter = Rewriter(7)
    texts = [rewriter.rewrite(text) for text, _ in sound]
    spelled = [(text, tree[0]) for text, tree in zip(texts, grammar.parse_all(texts))
               if tree and len(tree) == 1]
    assert len(spelled) > 0.95 * len(sound)
    report(spelled, *judge_all(spelled))
