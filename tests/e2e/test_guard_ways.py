# SPDX-License-Identifier: MIT
"""Many ways around each kind of rule and each preset, of guard_ways.txt: none arrives, by neither
protocol. And what looks like one, or shares its words, passes."""
import json
import os
import struct

import pytest

from api import unique
from native import OwnDatabase, credential
from pgwire import Refused, Wire, message, rows_of, text
from test_guard_bypass import RUNS

SETUP = """
    CREATE TABLE kept (id int PRIMARY KEY, name text);
    INSERT INTO kept SELECT i, 'name ' || i FROM generate_series(1, 10) i;
    CREATE TABLE marks (id int); CREATE TABLE plain (id int); CREATE SEQUENCE numbers;
    CREATE FUNCTION mark() RETURNS int LANGUAGE sql AS 'INSERT INTO marks VALUES (1) RETURNING id';
    CREATE PROCEDURE wipe() LANGUAGE sql AS 'DELETE FROM kept';
    CREATE SCHEMA hr; CREATE TABLE hr.pay (a int PRIMARY KEY, b text);
    INSERT INTO hr.pay SELECT i, 'SECRET' || i FROM generate_series(1, 10) i;
    CREATE TABLE hr.part (a int, b text) PARTITION BY LIST (a);
    CREATE TABLE hr.part1 PARTITION OF hr.part FOR VALUES IN (1);
    CREATE TABLE public.part2 PARTITION OF hr.part FOR VALUES IN (2);
    CREATE TABLE public.child () INHERITS (hr.pay);
    CREATE TABLE whole (a int) PARTITION BY LIST (a);
    CREATE TABLE hr.piece PARTITION OF whole FOR VALUES IN (1);
    CREATE VIEW payview AS SELECT * FROM hr.pay;
    CREATE MATERIALIZED VIEW paymat AS SELECT * FROM hr.pay;
    CREATE VIEW deep AS SELECT b FROM payview WHERE a > 0; CREATE SCHEMA evil;
    CREATE VIEW evil.far AS SELECT (SELECT max(b) FROM public.deep) AS m;
    CREATE MATERIALIZED VIEW marker AS SELECT 1 AS a, count(*) FROM kept;
    CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent SELECT generate_series(1, 10);
    CREATE TABLE hr.kid (id int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE);
    INSERT INTO hr.kid SELECT generate_series(1, 10);
    CREATE TABLE kids (id int REFERENCES parent ON DELETE CASCADE);
    CREATE VIEW keptview AS SELECT * FROM kept; CREATE TABLE trig (id int);
    CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN DELETE FROM kept; RETURN NEW; END $$;
    CREATE TRIGGER t BEFORE INSERT ON trig FOR EACH ROW EXECUTE FUNCTION fires();
    CREATE VIEW trigview AS SELECT * FROM trig; CREATE VIEW instead AS SELECT 1 AS a;
    CREATE TRIGGER t INSTEAD OF INSERT OR UPDATE OR DELETE ON instead FOR EACH ROW
      EXECUTE FUNCTION fires();
    CREATE TABLE ruled (id int); CREATE RULE r AS ON INSERT TO ruled DO INSTEAD DELETE FROM kept;
    CREATE FUNCTION evil.upper(text) RETURNS text LANGUAGE sql AS 'SELECT mark()::text';
    CREATE TYPE pairt AS (a int, b text);
    CREATE MATERIALIZED VIEW ran AS SELECT 1 AS a WITH NO DATA;"""
OF_ROOT = """
    CREATE EXTENSION file_fdw; CREATE SERVER filesrv FOREIGN DATA WRAPPER file_fdw;
    CREATE FOREIGN TABLE passwd (line text) SERVER filesrv OPTIONS (filename '/etc/hostname');
    ALTER TABLE passwd OWNER TO {user};"""


def sections():
    """[(a rule or the name of a pack, what must not arrive, what passes)]"""
    found = []
    with open(os.path.join(os.path.dirname(__file__), "guard_ways.txt"), encoding="utf-8") as lines:
        for line in lines.read().splitlines():
            if line.startswith("# "):
                spec = line[2:]
                found.append((json.loads(spec) if spec[0] == "[" else spec, [], []))
            elif line.startswith("+ "):
                found[-1][2].append(line[2:])
            else:
                found[-1][1].append(line)
    return found


SECTIONS = sections()
CODES = ("42501", "25006", "53400")


@pytest.fixture(scope="module")
def shop(postgres):
    target = OwnDatabase(postgres, SETUP)
    target.ask(OF_ROOT.format(user=target.user))
    target.kept = lambda: target.ask("SELECT count(*) FROM kept; SELECT count(*) FROM marks; "
                                     "SELECT count(*), min(b) FROM hr.pay").split()
    return target


def ruled(gateway, shop, spec):
    name = shop.connection(gateway.admin)
    if isinstance(spec, str):
        answer = gateway.admin.post(f"/rulepacks/{spec}/attach", {"connection_names": [name]})
    else:
        found = gateway.admin.get(f"/connections/{name}").json
        answer = gateway.admin.post("/guardrails", {
            "name": unique("rail"), "input": {"rules": spec}, "connection_ids": [found["id"]]})
    assert answer.status in (200, 201), answer
    return credential(gateway.admin, name)


def is_stopped(wire, run, way):
    try:
        run(wire, way)
    except Refused as refused:
        return refused.fields["C"] in CODES and "permission denied" not in refused.fields["M"]
    return False


@pytest.mark.parametrize("index", range(len(SECTIONS)), ids=[
    spec if isinstance(spec, str) else spec[0]["name"] for spec, _, _ in SECTIONS])
def test_no_way_arrives(gateway, shop, index):
    spec, ways, others = SECTIONS[index]
    with Wire(ruled(gateway, shop, spec)) as wire:
        passed = [f"{name}: {way}" for way in ways for name, run in RUNS.items()
                  if not is_stopped(wire, run, way)]
        assert not passed, f"{len(passed)} of {2 * len(ways)}\n" + "\n".join(passed)
        assert shop.kept() == ["10", "0", "10|SECRET1"]
        for run in RUNS.values():
            for other in ["BEGIN", *others, "ROLLBACK"]:
                run(wire, other)


# Behind what defines things nothing is known of them, but what they reach still is.
READS_PAY = [{"type": "sql", "name": "pay", "relations": [{"name": "hr.pay", "access": "read"}]}]
WRITES_HR = [{"type": "sql", "name": "hr", "relations": [{"name": "hr.*", "access": "write"}],
              "safe_functions": ["*"]}]


@pytest.mark.parametrize("before", [
    ["BEGIN", "ALTER TABLE plain ADD zz int"], ["BEGIN", "CREATE TABLE q (a int)"],
    ["BEGIN", "DO $$ BEGIN END $$"], ["BEGIN", "SAVEPOINT a", "ALTER TABLE plain RENAME id TO z"],
    ["BEGIN", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'"]])
def test_a_transaction_that_defines_hides_no_view(gateway, shop, before):
    with Wire(ruled(gateway, shop, READS_PAY)) as wire:
        for statement in before:
            RUNS["simple"](wire, statement)
        assert is_stopped(wire, RUNS["simple"], "SELECT * FROM payview")


def test_what_is_made_meanwhile_reaches_as_well(gateway, shop):
    """By somebody else, past the gateway: a name that is not known is asked about."""
    with Wire(ruled(gateway, shop, READS_PAY)) as wire, \
            Wire(ruled(gateway, shop, WRITES_HR)) as writer:
        assert is_stopped(wire, RUNS["simple"], "SELECT * FROM payview")
        assert is_stopped(writer, RUNS["simple"], "DELETE FROM public.parent WHERE id = 1")
        RUNS["extended"](writer, "DELETE FROM public.kids WHERE id = 1")
        RUNS["simple"](writer, "SELECT * FROM public.payview")


# By its number a function has no name; drivers call those of large objects so.
CALLS = {"pg_read_file": (2624, b"/etc/hostname", b"0", b"9"), "lo_export": (765, b"1", b"/tmp/x"),
         "lo_import": (764, b"/etc/hostname"), "pg_ls_dir": (2625, b"/")}


def call(number, *values):
    body = struct.pack("!IHH", number, 0, len(values))
    for value in values:
        body += struct.pack("!i", len(value)) + value
    return message(b"F", body + struct.pack("!H", 0))


@pytest.mark.parametrize("rules", ["pci", [{"type": "sql", "unknown": "allow", "functions": [
    "pg_read_file", "pg_ls_*", "lo_import", "lo_export"]}]], ids=["pci", "functions"])
def test_a_call_by_a_number_is_a_call(gateway, shop, rules):
    with Wire(ruled(gateway, shop, rules)) as wire:
        for name, asked in CALLS.items():
            wire.send(call(*asked))
            with pytest.raises(Refused) as refused:
                wire.until_ready()
            assert "guard rail" in refused.value.fields["M"], (name, refused.value)
        wire.send(call(957, b"393216"))  # lo_creat
        wire.until_ready()


@pytest.mark.parametrize("number, operation", [(2078, "set"), (3036, "notify")])
def test_a_call_by_a_number_does_what_it_says(gateway, shop, number, operation):
    with Wire(ruled(gateway, shop, [{"type": "sql", "operations": [operation]}])) as wire:
        wire.send(call(number, b"a.b", b"1", b"t") if number == 2078 else call(number, b"a", b"b"))
        with pytest.raises(Refused) as refused:
            wire.until_ready()
        assert "guard rail" in refused.value.fields["M"]


# One letter by two codes: to the server the quote ends elsewhere than its bytes say.
QUOTES = {
    "SJIS": ("SJIS", b"SELECT $\x81\xe6$ $\x87\x9a$; %s; SELECT $\x81\xe6$ $\x87\x9a$"),
    "EUC_TW": ("EUC_TW", b"SELECT $\xa4\xa4$ $\x8e\xa1\xa4\xa4$; %s; SELECT $\xa4\xa4$ "
                         b"$\x8e\xa1\xa4\xa4$"),
    "half of a letter": ("SJIS", b"SELECT E'\x83\x5c'; %s; --'"),
    "half of a letter, GBK": ("GBK", b"SELECT E'\xbf\x5c'; %s; --'"),
    "half of a letter, BIG5": ("BIG5", b"SELECT E'\xa5\x5c'; %s; --'"),
    "half of a letter, UHC": ("UHC", b"SELECT E'\xa5\x5c'; %s; --'"),
}


@pytest.mark.parametrize("way", QUOTES)
@pytest.mark.parametrize("rules, hidden", [
    ("pci", b"COPY kept TO '/tmp/guard-ways'"), (READS_PAY, b"SELECT b FROM hr.pay"),
    ([{"type": "sql", "operations": ["delete"], "unknown": "allow"}], b"DELETE FROM kept")],
    ids=["pci", "reads", "deletes"])
def test_letters_with_two_codes_hide_nothing(gateway, shop, rules, hidden, way):
    encoding, statement = QUOTES[way]
    with Wire(ruled(gateway, shop, rules)) as wire:
        RUNS["simple"](wire, f"SET client_encoding = '{encoding}'")
        wire.send(message(b"Q", statement.replace(b"%s", hidden) + b"\0"))
        with pytest.raises(Refused) as refused:
            wire.until_ready()
        assert refused.value.fields["C"] in ("42501", "22021"), refused.value
        assert "guard" in refused.value.fields["M"] or "UTF8" in refused.value.fields["M"]
        wire.send(message(b"Q", b"SELECT '\xa4\xa4' AS a\0"), message(b"Q", text("SELECT 1")))
        wire.until_ready()
        assert rows_of(wire.until_ready()) == [("1",)]
    assert shop.kept() == ["10", "0", "10|SECRET1"]
