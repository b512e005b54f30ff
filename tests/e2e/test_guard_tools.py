# SPDX-License-Identifier: MIT
"""No false alarms: what tools ask of a catalog passes under all presets at once."""
import json
import os
import re
import subprocess

import pytest

from api import unique
from conftest import ROOT
from driver_matrix import SOURCE
from installed import made as made_once
from installed import maven_jar, run, unpacked_wheel
from native import TARGET_PASSWORD, OwnDatabase, address, credential, psql
from pgwire import Refused, Wire, message, text

# All of psql 15's that ask the server for something.
COMMANDS = r"""\d \d+ \dS+ \da \dAc \dAf \dAo \dAp \db+ \dc+ \dC+ \dd \dD+ \ddp \dE+ \des+ \det+ \deu+
\dew+ \df+ \dfn \dFp+ \dFd+ \dFt+ \dF+ \dg+ \di+ \dl+ \dL+ \dm+ \dn+ \do+ \dO+ \dp \dP+ \drds \dRp+
\dRs+ \ds+ \dt+ \dT+ \du+ \dv+ \dx+ \dX \dy+ \l+ \z \conninfo""".split() + [
    r"\d kept", r"\d+ kept", r"\d+ seen", r"\sf looked", r"\sv seen", r"\dconfig", r"\dt *.*",
    r"\encoding", r"\df public.*", r"\di+ kept*"]

# What is asked of a table that is shown.
SHOWN = [
    "SELECT id, name FROM kept ORDER BY id LIMIT 200", "SELECT count(*) FROM kept",
    "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM kept", "FETCH 100 FROM c", "CLOSE c",
    "EXPLAIN (FORMAT JSON) SELECT * FROM kept", "LISTEN tool", "UNLISTEN *",
    "SELECT pg_size_pretty(pg_total_relation_size('kept')), pg_relation_size('kept'::regclass)",
    "SELECT set_config('bytea_output', 'hex', false) FROM pg_show_all_settings() WHERE name = "
    "'bytea_output'", "SET client_encoding = 'UTF8'", "BEGIN READ ONLY", "SELECT 1", "COMMIT",
]


def catalog_questions():
    with open(os.path.join(os.path.dirname(__file__), "catalog_queries.sql"),
              encoding="utf-8") as file:
        return file.read().split("\n----\n")


# What there is to be shown, made by the superuser.
THINGS = """
    CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM kept;
    CREATE TABLE child (kept_id int REFERENCES kept, size int CHECK (size > 0), at date,
        EXCLUDE USING btree (at WITH =));
    CREATE TABLE parts (at date NOT NULL) PARTITION BY RANGE (at);
    CREATE TABLE part PARTITION OF parts FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
    CREATE SEQUENCE numbers; CREATE TYPE mood AS ENUM ('good', 'bad');
    CREATE TYPE pair AS (a int, b text); CREATE DOMAIN small AS int CHECK (VALUE < 10);
    CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE TRIGGER kept_changed BEFORE UPDATE ON kept FOR EACH ROW EXECUTE FUNCTION changed();
    CREATE RULE kept_rule AS ON DELETE TO kept DO ALSO SELECT 1;
    CREATE POLICY kept_policy ON kept USING (true);
    CREATE PROCEDURE done() LANGUAGE sql AS 'SELECT 1';
    CREATE AGGREGATE total (int) (SFUNC = int4pl, STYPE = int);
    CREATE TEXT SEARCH CONFIGURATION words (COPY = simple);
    CREATE COLLATION ordered (LOCALE = 'C');
    CREATE FOREIGN DATA WRAPPER far; CREATE SERVER far_server FOREIGN DATA WRAPPER far;
    CREATE FOREIGN TABLE far_table (id int) SERVER far_server;
    CREATE PUBLICATION told FOR TABLE kept;
    CREATE STATISTICS guessed ON id, name FROM kept; ANALYZE;
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC;
"""


@pytest.fixture(scope="module")
def shop(postgres):
    target = OwnDatabase(postgres, """
        CREATE TABLE kept (id int PRIMARY KEY, name text); COMMENT ON TABLE kept IS 'x';
        CREATE INDEX kept_name ON kept (name); INSERT INTO kept VALUES (1, 'one');
        CREATE VIEW seen AS SELECT * FROM kept; CREATE FUNCTION looked() RETURNS int LANGUAGE sql
        AS 'SELECT 1';""")
    target.ask(THINGS)
    return target


@pytest.fixture(scope="module")
def made(gateway, shop):
    target, name = shop, shop.connection(gateway.admin)
    # 'agent-safe' is narrow by intention: no tool that reads a whole catalog fits through it.
    packs = [pack for pack in gateway.admin.get("/rulepacks").json if pack["name"] != "agent-safe"]
    assert len(packs) >= 6, packs
    for pack in packs:
        answer = gateway.admin.post(f"/rulepacks/{pack['name']}/attach",
                                    {"connection_names": [name]})
        assert answer.status in (200, 201, 204), answer
    given = credential(gateway.admin, name)
    given["direct"] = {"connection_credentials": {
        "hostname": "127.0.0.1", "port": str(target.server.port), "username": target.user,
        "password": TARGET_PASSWORD, "database_name": target.database}}
    return given


# What the target's own user may not see, or has none of.
OWN_REFUSALS = ("permission denied for tablespace pg_global",
                "permission denied for table pg_subscription", "Did not find any ")


@pytest.mark.parametrize("command", COMMANDS)
def test_psql_shows_what_is_there(made, command):
    done = psql(made, command + "\n", check=False)
    told = [line for line in done.stderr.splitlines()
            if not any(words in line for words in OWN_REFUSALS)]
    assert not told, done.stderr


def test_questions_of_tools_are_answered(made):
    with Wire(made) as wire:
        for question in [*catalog_questions(), *SHOWN]:
            try:
                wire.ask(question)
            except Refused as refused:
                raise AssertionError(f"{question}: {refused}") from refused


def test_questions_of_tools_are_answered_as_drivers_ask(made):
    """The same, one statement at a time, in the extended protocol."""
    with Wire(made) as wire:
        for question in [part for each in [*catalog_questions(), *SHOWN]
                         for part in each.split("; ")]:
            wire.send(message(b"P", text("", question) + b"\0\0"),
                      message(b"B", text("", "") + b"\0\0\0\0\0\0"),
                      message(b"D", b"P" + text("")), message(b"E", text("") + b"\0\0\0\0"),
                      message(b"S"))
            try:
                wire.until_ready()
            except Refused as refused:
                raise AssertionError(f"{question}: {refused}") from refused


# Where in the tree of objects pgAdmin stands, by the names that its templates have for it.
PLACES = {
    "did": "SELECT oid FROM pg_database WHERE datname = current_database()",
    "scid": "SELECT 'public'::regnamespace::oid", "tid": "SELECT 'kept'::regclass::oid",
    "vid": "SELECT 'seen'::regclass::oid", "seid": "SELECT 'numbers'::regclass::oid",
    "idx": "SELECT 'kept_name'::regclass::oid", "foid": "SELECT 'far_table'::regclass::oid",
    "fnid": "SELECT 'looked'::regproc::oid", "ptid": "SELECT 'part'::regclass::oid",
    "trid": "SELECT oid FROM pg_trigger WHERE tgname = 'kept_changed'",
    "cid": "SELECT oid FROM pg_constraint WHERE conname = 'child_size_check'",
    "doid": "SELECT 'small'::regtype::oid", "rid": "SELECT current_user::regrole::oid",
    "fid": "SELECT oid FROM pg_foreign_data_wrapper WHERE fdwname = 'far'",
    "fsid": "SELECT oid FROM pg_foreign_server WHERE srvname = 'far_server'",
    "pbid": "SELECT oid FROM pg_publication WHERE pubname = 'told'",
    "plid": "SELECT oid FROM pg_policy", "cfgid": "SELECT 'words'::regconfig::oid",
    "tsid": "SELECT oid FROM pg_tablespace WHERE spcname = 'pg_default'",
    "coid": "SELECT oid FROM pg_collation WHERE collname = 'ordered'",
    "agid": "SELECT 'total'::regproc::oid", "lid": "SELECT oid FROM pg_language LIMIT 1",
}
# One object of its kind, whichever: nothing is there, and so is the answer.
OTHER_PLACES = ("clid", "dcid", "opid", "exid", "fkid", "etid", "eid", "umid", "subid", "pid",
                "oid", "type_id", "obj_id", "object_id", "policy_table_id", "attrelid", "nspid",
                "fserid", "fdwid", "parseroid", "confrelid", "out_arg_oid")
NAMES = {"name": "kept", "schema": "public", "schema_name": "public", "nspname": "public",
         "nsp_name": "public", "object_name": "kept", "table": "kept", "table_name": "kept",
         "tname": "kept", "sname": "public", "table_nspname": "public", "rule_name": "kept_rule",
         "basensp": "public", "indextype": "btree", "type": "int4", "constraint_type": "p",
         "pname": "told", "pubname": "told", "fname": "looked", "lanname": "sql",
         "ename": "plpgsql", "datatype": "int4", "search_text": "%kept%", "obj_type": "all",
         "schema_names": ["public"], "subname": "none", "srctyp": "int4", "trgtyp": "int8",
         "column": "id", "colcnt": 1}
SWITCHES = {"show_system_objects": True, "showsysobj": True, "show_sysobj": True,
            "show_sys_objects": True, "add_serials": True, "show_internal": True}
# They do something, or read files of the server, which presets are there to stop.
DEEDS = ("delete.sql", "reset_stats.sql", "log_stat.sql", "logs.sql")
FIRST_WORD = re.compile(r"(?s)(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(\w+)")


def questions_of_pgadmin(tools, wire):
    folder = unpacked_wheel(tools, "drivers/pgadmin", os.path.join(SOURCE, "pgadmin.txt"),
                            r".*/templates/.*\.(sql|macros?)$")
    places = {name: int(wire.ask(question)[0][0]) for name, question in PLACES.items()}
    above = {name: places[name] for name in ("did", "scid", "tid")}
    common = {"datlastsysoid": 16383, "last_system_oid": 16383, "server_type": "pg",
              "lastsysoid": 16383, "data": {"schema": "public", "name": "kept", "table": "kept"}}
    contexts = [{**common, "did": places["did"]}, {**common, **above},
                {**common, **above, **SWITCHES}, {**common, **places, **NAMES},
                {**common, **places, **dict.fromkeys(OTHER_PLACES, 1), **NAMES, **SWITCHES}]
    version = int(wire.parameters["server_version"].split(".")[0]) * 10000
    done = subprocess.run(
        [os.path.join(tools, "python"), os.path.join(SOURCE, "pgadmin_questions.py"), folder],
        input=json.dumps([{"version": version, "values": values} for values in contexts]),
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [(question["template"], question["sql"]) for question in json.loads(done.stdout)
            if FIRST_WORD.match(question["sql"])
            and FIRST_WORD.match(question["sql"]).group(1).upper() in ("SELECT", "WITH")
            and os.path.basename(question["template"]) not in DEEDS]


def outcome(wire, question):
    try:
        wire.ask(question)
        return "answered"
    except Refused as refused:
        return refused.fields["C"], refused.fields["M"]


def test_pgadmin_gets_the_same_answers(made, tools):
    """Its own templates, filled in: each is answered, or refused by the server for the same."""
    with Wire(made["direct"]) as direct, Wire(made) as through:
        questions = questions_of_pgadmin(tools, direct)
        found = [(name, outcome(direct, text), outcome(through, text), text)
                 for name, text in questions]
    # A template that lacks a value is no SQL, and not what pgAdmin asks.
    wrong = [each for each in found if each[1][0] != "42601" and each[1] != each[2]]
    assert not wrong, f"{len(wrong)} of {len(found)}: {wrong[:3]}"
    answered = [name for name, there, _here, _text in found if there == "answered"]
    print(f"{len(answered)} questions, of {len(set(answered))} templates")
    assert len(answered) >= 440 and len(set(answered)) >= 295, (len(answered), len(set(answered)))


MASKED = {"kept": "name", "child": "size", "parts": "at"}
MASKED_MAX = 0.01  # of the columns of results, though no masked column flows into them


@pytest.fixture(scope="module")
def masked(gateway, shop):
    name = shop.connection(gateway.admin)
    answer = gateway.admin.post("/datamasking-rules", {
        "name": unique("rule"), "connection_names": [name],
        "columns": [{"name": f"public.{table}.{column}"} for table, column in MASKED.items()]})
    assert answer.status == 201, answer
    return credential(gateway.admin, name)


def columns_of(wire, question):
    """Each column's values; None where it is refused or changes what others see."""
    try:
        return [list(column) for column in zip(*wire.ask(question))]
    except Refused:
        return None


def is_masked(there, here):
    return any(value is not None and (mine is None or "[REDACTED]" in mine)
               for value, mine in zip(there, here))


def test_what_tools_ask_is_not_masked_for_columns_elsewhere(made, masked, tools):
    """Answers about what is there, of tables that have masked columns themselves."""
    found, hit = 0, []
    with Wire(made["direct"]) as direct, Wire(masked) as through:
        asked = [*catalog_questions(), *SHOWN,
                 *(text for _name, text in questions_of_pgadmin(tools, direct))]
        for question in [part for each in asked for part in each.split(";\n") if part.strip()]:
            there, here = columns_of(direct, question), columns_of(through, question)
            if not there or not here or len(there) != len(here):
                continue
            found += len(there)
            hit += [(index, question) for index, both in enumerate(zip(there, here))
                    if is_masked(*both)]
    print(f"{len(hit)} of {found} columns are masked")
    assert found > 2000 and len(hit) <= MASKED_MAX * found, (found, len(hit), hit[:5])


def test_jdbc_describes_the_database(made):
    jar = maven_jar("drivers/jar", os.path.join(SOURCE, "maven.txt"))
    source = os.path.join(SOURCE, "Catalog.java")

    def make(folder):
        run("javac", "-encoding", "UTF-8", "-cp", jar, "-d", folder, source)
    folder = made_once("drivers/catalog", [source, os.path.join(SOURCE, "maven.txt")], make)
    given = address(made)
    found = run("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{folder}:{jar}",
                "Catalog", f"jdbc:postgresql://{given['host']}:{given['port']}/{given['dbname']}",
                given["user"], given["password"], cwd=ROOT).splitlines()
    assert len(found) == 18 and all(line.startswith("ok ") for line in found), found


def test_the_same_presets_do_stop_what_they_are_for(made):
    with Wire(made) as wire:
        for statement in ("DELETE FROM kept", "DROP TABLE kept", "UPDATE kept SET name = ''",
                          "INSERT INTO kept VALUES (2, 'two')", "TRUNCATE kept",
                          "SELECT lo_export(1, '/tmp/x')", "COPY kept TO PROGRAM 'cat'",
                          "SELECT pg_read_file('/etc/passwd')", "DO $$ BEGIN END $$"):
            with pytest.raises(Refused) as refused:
                wire.ask(statement)
            assert refused.value.fields["C"] == "42501", (statement, refused.value)
