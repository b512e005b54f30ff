# SPDX-License-Identifier: MIT
"""No false alarms: what tools ask of a catalog passes under all presets at once."""
import os

import pytest

from api import register, unique
from conftest import ROOT, Gateway
from driver_matrix import SOURCE
from installed import made as made_once
from installed import maven_jar, run
from native import Target, address, credential, psql, sql
from pgwire import Refused, Wire

# All of psql 15's that ask the server for something.
COMMANDS = r"""\d \d+ \dS+ \da \dAc \dAf \dAo \dAp \db+ \dc+ \dC+ \dd \dD+ \ddp \dE+ \des+ \det+ \deu+
\dew+ \df+ \dfn \dFp+ \dFd+ \dFt+ \dF+ \dg+ \di+ \dl+ \dL+ \dm+ \dn+ \do+ \dO+ \dp \dP+ \drds \dRp+
\dRs+ \ds+ \dt+ \dT+ \du+ \dv+ \dx+ \dX \dy+ \l+ \z \conninfo""".split() + [
    r"\d kept", r"\d+ kept", r"\d+ seen", r"\sf looked", r"\sv seen", r"\dconfig", r"\dt *.*",
    r"\encoding", r"\df public.*", r"\di+ kept*"]

# As tools that show a schema ask: system columns, rights, sizes, casts to regclass, comments.
CATALOG = [
    "SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT JOIN "
    "pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND "
    "d.classoid = 'pg_namespace'::regclass ORDER BY nspname",
    "SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS "
    "partition_expr, pg_catalog.pg_get_partkeydef(c.oid) AS partition_key FROM "
    "pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid WHERE "
    "c.relkind NOT IN ('i', 'I', 'c')",
    "SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, "
    "dsc.description FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON "
    "a.attrelid = c.oid LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON a.attrelid = ad.adrelid AND "
    "a.attnum = ad.adnum LEFT JOIN pg_catalog.pg_description dsc ON c.oid = dsc.objoid WHERE NOT "
    "a.attisdropped AND c.relname = 'kept' ORDER BY a.attnum",
    "SELECT table_schema, table_name, has_table_privilege(quote_ident(table_schema) || '.' || "
    "quote_ident(table_name), 'SELECT') AS \"select\", has_table_privilege('kept', 'INSERT') AS "
    "insert, has_table_privilege('kept', 'UPDATE') AS update, has_table_privilege('kept', "
    "'DELETE') AS delete FROM information_schema.tables",
    "SELECT db.oid AS did, db.datname, pg_catalog.pg_encoding_to_char(db.encoding), "
    "has_database_privilege(db.oid, 'CREATE') AS cancreate, current_setting('is_superuser') FROM "
    "pg_catalog.pg_database db WHERE db.datname = current_database()",
    "SELECT pid, usename, state, query FROM pg_stat_activity WHERE datname = current_database()",
    "SELECT pg_size_pretty(pg_total_relation_size('kept')), pg_relation_size('kept'::regclass)",
    "SELECT r.rolname, r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user",
    "SELECT set_config('bytea_output', 'hex', false) FROM pg_show_all_settings() WHERE name = "
    "'bytea_output'",
    "SELECT typinput = 'pg_catalog.array_in'::regproc AS is_array, typtype, typname FROM "
    "pg_catalog.pg_type LEFT JOIN (SELECT ns.oid AS nspoid FROM pg_namespace AS ns) sp ON "
    "sp.nspoid = typnamespace WHERE typname = 'int4'",
    "SET application_name = 'a tool'", "SET extra_float_digits = 3", "SHOW search_path",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "BEGIN READ ONLY", "SELECT version()",
    "COMMIT", "SELECT 1", "SET client_encoding = 'UTF8'", "SELECT current_schema(), session_user",
    "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM kept", "FETCH 100 FROM c", "CLOSE c",
    "EXPLAIN (FORMAT JSON) SELECT * FROM kept", "LISTEN tool", "UNLISTEN *", "DISCARD TEMP",
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("tools"))
    gateway.admin = register(gateway)
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def made(gateway, postgres):
    target = Target(postgres)
    database = unique("tools").replace("-", "_")
    sql(postgres, f"CREATE DATABASE {database} OWNER {target.user}")
    sql(postgres, f"""SET ROLE {target.user};
        CREATE TABLE kept (id int PRIMARY KEY, name text); COMMENT ON TABLE kept IS 'x';
        CREATE INDEX kept_name ON kept (name); INSERT INTO kept VALUES (1, 'one');
        CREATE VIEW seen AS SELECT * FROM kept; CREATE FUNCTION looked() RETURNS int LANGUAGE sql
        AS 'SELECT 1';""", database)
    name = target.connection(gateway.admin, target.secret(DB=database))
    packs = gateway.admin.get("/rulepacks").json
    assert len(packs) >= 6, packs
    for pack in packs:
        answer = gateway.admin.post(f"/rulepacks/{pack['name']}/attach", {"connections": [name]})
        assert answer.status in (200, 201, 204), answer
    return credential(gateway.admin, name)


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
        for question in CATALOG:
            try:
                wire.ask(question)
            except Refused as refused:
                raise AssertionError(f"{question}: {refused}") from refused


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
