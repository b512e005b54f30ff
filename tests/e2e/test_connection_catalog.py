# SPDX-License-Identifier: MIT
"""What the API says of a connection's target: that it can be reached, and what is in it. At a real
PostgreSQL server, on both stores."""
import contextlib
import socket
import subprocess
import threading
import time
from urllib.parse import quote, urlencode

import pytest

from agent import Agent, make_agent, wait_connected, wait_disconnected
from api import Api, b64, unique
from conftest import PATIENCE, Gateway, lasting_port, wait_for
from native import TARGET_PASSWORD, sql

INJECTIONS = ["'; DROP TABLE victim; --", "\"; DROP TABLE victim; --", "$1; DROP TABLE victim",
              "' OR '1'='1", "\\'; DROP TABLE victim; --",
              "x' UNION SELECT usename, passwd, 'table' FROM pg_shadow --", "%' --",
              "\\! touch /tmp/x", "a\nb\r\n\\q", "{}", "%s%n", "🐘", "'", "\"", "\\", "``", "$$",
              "/*"]
NAMES = ["plain", "With Case", "it's", 'a "quoted" one', "grün", "桜", "semi;colon", "back\\slash",
         "per%cent", "-- comment", "$1", "new\nline", "tab\there", "x" * 63]


def identifier(name):
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(scope="module")
def database(postgres, target):
    """A database of the target's, for what is looked at here."""
    name = unique("shop")
    sql(postgres, f'CREATE DATABASE "{name}" OWNER {target.user}')
    sql(postgres, "CREATE TABLE victim (id int); CREATE SCHEMA wares;"
        "CREATE TABLE wares.item (id bigint GENERATED ALWAYS AS IDENTITY, shelf text,"
        " price numeric(10,2) NOT NULL DEFAULT 1.5, since timestamptz DEFAULT now(), gone int,"
        " PRIMARY KEY (id, shelf)); ALTER TABLE wares.item DROP COLUMN gone;"
        "CREATE VIEW wares.cheap AS SELECT id FROM wares.item;"
        "CREATE MATERIALIZED VIEW wares.sum AS SELECT 1 AS one;"
        "CREATE TABLE wares.parted (a int) PARTITION BY RANGE (a);"
        "CREATE TABLE wares.nothing ();"
        "CREATE INDEX ON wares.item (price); CREATE SEQUENCE wares.counter;", database=name)
    return name


@pytest.fixture
def shop(admin, target, database):
    return target.connection(admin, secret=target.secret(DB=database))


def ask(caller, name, what, **query):
    return caller.get(f"/connections/{quote(name)}/{what}?{urlencode(query)}")


def failure(answer, category, *words):
    assert answer.status == 400 and answer.json["category"] == category, answer
    assert all(word in answer.message for word in words), answer
    assert TARGET_PASSWORD not in answer.body.decode()
    return answer


def tables(answer):
    assert answer.status == 200, answer
    return {schema["name"]: schema["tables"] for schema in answer.json["schemas"]}


def last_entry(admin):
    return admin.get("/audit/logs?page_size=1").json["data"][0]


# The test ------------------------------------------------------------------------------------

def test_a_connection_that_works(admin, shop, postgres):
    answer = ask(admin, shop, "test")
    assert answer.status == 200, answer
    assert answer.json["success"] is True and answer.json["tls"] is False
    assert 0 < answer.json["latency_ms"] < 1000 * PATIENCE
    assert answer.json["server_version"] == sql(postgres, "SHOW server_version")
    entry = last_entry(admin)
    assert entry["action"] == "test" and entry["resource_type"] == "connections", entry
    assert entry["outcome"] is True and shop in str(entry), entry


def test_by_id_too(admin, shop):
    found = admin.get(f"/connections/{shop}").json["id"]
    assert ask(admin, found, "test").json["success"] is True


@contextlib.contextmanager
def hba(postgres, line):
    """The server asks as this line says, until the end."""
    path = f"{postgres.data}/pg_hba.conf"
    with open(path) as file:
        before = file.read()
    with open(path, "w") as file:
        file.write(f"{line}\n{before}")
    sql(postgres, "SELECT pg_reload_conf()")
    time.sleep(0.3)
    try:
        yield
    finally:
        with open(path, "w") as file:
            file.write(before)
        sql(postgres, "SELECT pg_reload_conf()")
        time.sleep(0.3)


def test_who_is_refused_is_told_so(admin, target, postgres):
    name = target.connection(admin, secret=target.secret(PASS="wrong, but still a secret"))
    bare = target.connection(admin, secret=target.secret(PASS=None))
    good = target.connection(admin)
    member = admin.key("people")
    with hba(postgres, f"host all {target.user} 127.0.0.1/32 scram-sha-256"):
        answer = failure(ask(admin, name, "test"), "credentials", "password authentication failed")
        assert "wrong, but" not in answer.body.decode() and answer.json["sqlstate"] == "08004"
        entry = last_entry(admin)
        assert entry["outcome"] is False and entry["http_status"] == 400, entry
        assert "password authentication failed" in entry["error_message"]
        answer = failure(ask(member, name, "test"), "credentials",
                         "the credentials that the gateway")
        assert target.user not in answer.message
        failure(ask(admin, bare, "test"), "credentials", "there is none for it")
        assert ask(admin, good, "test").status == 200


def test_a_database_that_is_not_there(admin, target):
    name = target.connection(admin, secret=target.secret(DB="nowhere"))
    assert failure(ask(admin, name, "test"), "database", "nowhere").json["sqlstate"] == "3D000"
    failure(ask(admin, target.connection(admin), "tables", database="no'where"), "database")


@pytest.mark.parametrize("host, words", [("127.0.0.1", "refused"), ("no.such.host.invalid", "")])
def test_a_target_that_is_not_there(admin, target, host, words):
    name = target.connection(admin, secret=target.secret(HOST=host, PORT="1"))
    failure(ask(admin, name, "test"), "network", words)
    answer = failure(ask(admin.key("people"), name, "test"), "network", "cannot be reached")
    assert host not in answer.message
    assert failure(ask(admin, name, "databases"), "network")


def test_what_is_missing_is_named(admin, target):
    for secret, words in [(target.secret(HOST=None), "'envvar:HOST'"),
                          (target.secret(USER=None), "'envvar:USER'"),
                          (target.secret(PORT="many"), "'envvar:PORT'"),
                          (target.secret(SSLMODE="maybe"), "'envvar:SSLMODE'")]:
        name = target.connection(admin, secret=secret)
        failure(ask(admin, name, "test"), "configuration", words)
    name = target.connection(admin, secret=target.secret(PASS="_envjson:NOT_SET_ANYWHERE:key"))
    failure(ask(admin, name, "test"), "secrets", "envvar:PASS")
    answer = failure(ask(admin.key("people"), name, "test"), "secrets")
    assert "NOT_SET" not in answer.message


def test_where_role_info_is_hidden_admins_see_no_more_than_others(admin, target):
    name = target.connection(admin, secret=target.secret(HOST="no.such.host.invalid"))
    assert admin.put("/orgs/hide-role-info", {"hide_role_info": True}).status == 200
    try:
        answer = failure(ask(admin, name, "test"), "network", "cannot be reached")
        assert "no.such" not in answer.message
    finally:
        assert admin.put("/orgs/hide-role-info", {"hide_role_info": False}).status == 200


# Servers that are none, or slow --------------------------------------------------------------

@contextlib.contextmanager
def listener(serve):
    """A server whose connections 'serve' gets, on a port of its own."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        kept = []

        def run():
            while True:
                try:
                    conn, _ = sock.accept()
                except OSError:
                    return
                kept.append(conn)
                serve(conn)
        threading.Thread(target=run, daemon=True).start()
        yield sock.getsockname()[1]
        sock.shutdown(socket.SHUT_RDWR)
        for conn in kept:
            conn.close()


def test_a_server_that_speaks_something_else(admin, target):
    def serve(conn):
        conn.recv(100)
        conn.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
    with listener(serve) as port:
        for mode in ("disable", "prefer", "require"):
            secret = target.secret(PORT=str(port), SSLMODE=mode)
            answer = ask(admin, target.connection(admin, secret=secret), "test")
            failure(answer, "server" if mode == "disable" else "tls", "PostgreSQL")


def test_a_server_that_says_nothing(admin, target):
    with listener(lambda conn: None) as port:
        secret = target.secret(PORT=str(port), SSLMODE="disable")
        began = time.monotonic()
        answer = ask(admin, target.connection(admin, secret=secret), "test")
        failure(answer, "timeout", "in time")
        assert 8 < time.monotonic() - began < 15


def test_only_so_many_wait_at_once(admin, target):
    arrived = []
    with listener(arrived.append) as port:
        secret = target.secret(PORT=str(port), SSLMODE="disable")
        slow, good = target.connection(admin, secret=secret), target.connection(admin)
        statuses = []
        threads = [threading.Thread(target=lambda: statuses.append(ask(admin, slow, "test").status))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(arrived) == 4, what="all of them")
        answer = ask(admin, good, "test")
        assert answer.status == 429 and answer.headers["Retry-After"] == "1", answer
        assert admin.get("/userinfo").status == 200
        for thread in threads:
            thread.join()
        assert statuses == [400] * 4
        assert ask(admin, good, "test").status == 200


def test_a_statement_that_takes_too_long_is_cancelled(admin, postgres, target, shop, database):
    locker = subprocess.Popen(
        ["psql", "-q", "-X", "-h", "127.0.0.1", "-p", str(postgres.port), "-U", "postgres",
         database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    asked = ("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gatehouse' "
             f"AND usename = '{target.user}'")
    try:
        locker.stdin.write("BEGIN; LOCK TABLE pg_catalog.pg_class IN ACCESS EXCLUSIVE MODE;\n"
                           "\\echo locked\n")
        locker.stdin.flush()
        assert locker.stdout.readline() == "locked\n"
        began = time.monotonic()
        failure(ask(admin, shop, "tables"), "timeout", "in time")
        assert time.monotonic() - began < 15
    finally:
        locker.kill()
        locker.wait()
    wait_for(lambda: sql(postgres, asked) == "0", what="the end of the statement")
    assert ask(admin, shop, "tables").status == 200


def test_a_gateway_that_stops_waits_for_nobody(target, tmp_path):
    from api import register
    gateway = Gateway(tmp_path, "--shutdown-seconds", "1", "--postgres-listen", "off")
    admin = register(gateway)
    with listener(lambda conn: None) as port:
        secret = target.secret(PORT=str(port), SSLMODE="disable")
        name = target.connection(admin, secret=secret)
        assert ask(admin, target.connection(admin), "test").status == 200  # without native clients
        found = []

        def call():
            with contextlib.suppress(OSError):
                found.append(ask(admin, name, "test").status)
        thread = threading.Thread(target=call)
        thread.start()
        time.sleep(0.5)
        began = time.monotonic()
        assert gateway.stop() == 0, gateway.text()
        assert time.monotonic() - began < 6
        thread.join()
        assert found in ([], [503])


# TLS -----------------------------------------------------------------------------------------

@pytest.fixture
def encrypted(postgres, tmp_path):
    """The server with a certificate for 'localhost'; the certificate of who signed it."""
    folder = tmp_path
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key",
         "-out", folder / "crt"], check=True, capture_output=True)
    for name, file in (("server.key", "key"), ("server.crt", "crt")):
        subprocess.run(["install", "-m", "600", folder / file, f"{postgres.data}/{name}"],
                       check=True)
        subprocess.run(["chown", "--reference", postgres.data, f"{postgres.data}/{name}"],
                       check=True)
    sql(postgres, "ALTER SYSTEM SET ssl = on")
    sql(postgres, "SELECT pg_reload_conf()")
    wait_for(lambda: sql(postgres, "SHOW ssl") == "on", what="TLS")
    yield (folder / "crt").read_text()
    sql(postgres, "ALTER SYSTEM RESET ssl")
    sql(postgres, "SELECT pg_reload_conf()")
    wait_for(lambda: sql(postgres, "SHOW ssl") == "off", what="the end of TLS")


def test_tls_is_told(admin, target, encrypted):
    for mode, host, trusts, tls in [
            ("disable", "127.0.0.1", False, False), ("prefer", "127.0.0.1", False, True),
            ("require", "127.0.0.1", False, True), ("verify-ca", "127.0.0.1", True, True),
            ("verify-full", "localhost", True, True)]:
        secret = target.secret(SSLMODE=mode, HOST=host)
        if trusts:
            secret["filesystem:SSLROOTCERT"] = b64(encrypted)
        answer = ask(admin, target.connection(admin, secret=secret), "test")
        assert answer.status == 200 and answer.json["tls"] is tls, (mode, answer)
    for mode, host, trusts in [("verify-ca", "127.0.0.1", False),
                               ("verify-full", "127.0.0.1", True)]:
        secret = target.secret(SSLMODE=mode, HOST=host)
        if trusts:
            secret["filesystem:SSLROOTCERT"] = b64(encrypted)
        failure(ask(admin, target.connection(admin, secret=secret), "test"), "tls", "certificate")


def test_tls_that_a_server_does_not_have(admin, target):
    name = target.connection(admin, secret=target.secret(SSLMODE="require"))
    failure(ask(admin, name, "test"), "tls", "TLS")


# The catalog ---------------------------------------------------------------------------------

def test_databases(admin, target, shop, database, postgres):
    answer = ask(admin, shop, "databases")
    assert answer.status == 200 and answer.json["has_more"] is False, answer
    found = answer.json["databases"]
    assert database in found and found == sorted(found)
    assert not {"template0", "template1", "postgres"} & set(found)
    assert "postgres" in ask(admin, target.connection(admin), "databases").json["databases"]
    odd = unique("it's \"odd\" 桜")
    sql(postgres, f"CREATE DATABASE {identifier(odd)}")
    try:
        assert odd in ask(admin, shop, "databases").json["databases"]
        assert tables(ask(admin, shop, "tables", database=odd)) == {}
        sql(postgres, f"REVOKE CONNECT ON DATABASE {identifier(odd)} FROM PUBLIC")
        assert odd not in ask(admin, shop, "databases").json["databases"]
    finally:
        sql(postgres, f"DROP DATABASE {identifier(odd)}")


def test_tables_and_views_by_schema(admin, target, shop, database):
    answer = ask(admin, shop, "tables")
    assert tables(answer) == {"public": ["victim"],
                              "wares": ["cheap", "item", "nothing", "parted", "sum"]}
    assert answer.json["has_more"] is False
    wares = answer.json["schemas"][1]
    assert {relation["name"]: relation["type"] for relation in wares["relations"]} == {
        "cheap": "view", "item": "table", "nothing": "table", "parted": "table",
        "sum": "materialized_view"}
    assert tables(ask(admin, shop, "tables", type="view")) == {"wares": ["cheap"]}
    assert tables(ask(admin, shop, "tables", schema="public")) == {"public": ["victim"]}
    assert tables(ask(admin, shop, "tables", search="ITE")) == {"wares": ["item"]}
    assert tables(ask(admin, shop, "tables", search="%")) == {}
    assert "pg_class" in tables(ask(admin, shop, "tables", schema="pg_catalog"))["pg_catalog"]
    other = target.connection(admin)  # of another database
    assert tables(ask(admin, other, "tables", database=database, type="view")) == {
        "wares": ["cheap"]}
    entry = last_entry(admin)
    assert entry["action"] == "tables" and database in str(entry), entry


def test_columns(admin, shop):
    answer = ask(admin, shop, "columns", schema="wares", table="item")
    assert answer.json == {"columns": [
        {"name": "id", "type": "bigint", "nullable": False, "default": None,
         "is_primary_key": True},
        {"name": "shelf", "type": "text", "nullable": False, "default": None,
         "is_primary_key": True},
        {"name": "price", "type": "numeric(10,2)", "nullable": False, "default": "1.5",
         "is_primary_key": False},
        {"name": "since", "type": "timestamp with time zone", "nullable": True,
         "default": "now()", "is_primary_key": False}]}
    assert ask(admin, shop, "columns", schema="wares", table="nothing").json == {"columns": []}
    assert ask(admin, shop, "columns", schema="wares", table="sum").json["columns"][0]["name"] == (
        "one")
    assert ask(admin, shop, "columns", table="victim").json["columns"][0]["type"] == "integer"
    answer = ask(admin, shop, "columns", table="item")
    assert answer.status == 404 and "'item' in the schema 'public'" in answer.message
    assert ask(admin, shop, "columns", schema="wares", table="counter").status == 404
    assert ask(admin, shop, "columns").status == 400


def test_names_of_every_kind(admin, target, postgres):
    name = unique("odd")
    sql(postgres, f'CREATE DATABASE "{name}"')
    for schema in NAMES:
        sql(postgres, "SET client_encoding = 'UTF8'; "
            f"CREATE SCHEMA {identifier(schema)};" + "".join(
                f"CREATE TABLE {identifier(schema)}.{identifier(table)} "
                f"({identifier(table)} int DEFAULT 7 PRIMARY KEY);" for table in NAMES),
            database=name)
    shop = target.connection(admin, secret=target.secret(DB=name))
    found = tables(ask(admin, shop, "tables"))
    assert found == {schema: sorted(NAMES) for schema in NAMES}
    for schema in NAMES[2::4]:
        assert tables(ask(admin, shop, "tables", schema=schema)) == {schema: sorted(NAMES)}
        for table in NAMES:
            columns = ask(admin, shop, "columns", schema=schema, table=table).json["columns"]
            assert columns == [{"name": table, "type": "integer", "nullable": False,
                                "default": "7", "is_primary_key": True}]


def test_nothing_that_is_sent_becomes_a_statement(admin, shop, postgres, database):
    for text in INJECTIONS:
        assert tables(ask(admin, shop, "tables", schema=text)) == {}
        assert ask(admin, shop, "tables", search=text).status == 200
        assert ask(admin, shop, "tables", type=text).status == 400
        assert ask(admin, shop, "tables", limit=text).status == 400
        assert ask(admin, shop, "tables", offset=text).status == 400
        assert ask(admin, shop, "columns", table=text).status == 404
        assert ask(admin, shop, "columns", schema=text, table="victim").status == 404
        for what in ("tables", "columns"):
            failure(ask(admin, shop, what, database=text, table="victim"), "database")
        assert ask(admin, text, "tables").status == 404
    assert sql(postgres, "SELECT count(*) FROM victim", database=database) == "0"
    for query in ("table=a%00b", "table=victim&schema=a%00b", "table=victim&database=a%00",
                  "table=%ff", f"table={'x' * 129}", f"table=victim&database={'x' * 129}"):
        assert admin.get(f"/connections/{shop}/columns?{query}").status == 400, query


def test_thousands_of_tables_come_in_parts(admin, target, postgres):
    name = unique("many")
    sql(postgres, f'CREATE DATABASE "{name}"')
    sql(postgres, "SELECT format('CREATE TABLE t_%s ()', lpad(i::text, 5, '0')) "
        "FROM generate_series(1, 3000) AS i \\gexec", database=name)
    shop = target.connection(admin, secret=target.secret(DB=name))
    answer = ask(admin, shop, "tables")
    everything = tables(answer)["public"]
    assert len(everything) == 3000 and answer.json["has_more"] is False
    parts, offset = [], 0
    while True:
        answer = ask(admin, shop, "tables", limit=700, offset=offset)
        parts += tables(answer).get("public", [])
        if not answer.json["has_more"]:
            break
        offset += 700
    assert parts == everything and offset == 2800
    answer = ask(admin, shop, "tables", limit=3000)
    assert len(tables(answer)["public"]) == 3000 and answer.json["has_more"] is False
    assert ask(admin, shop, "tables", limit=10001).status == 400
    assert ask(admin, shop, "tables", limit=0).status == 400
    sql(postgres, f'DROP DATABASE "{name}"')


# Who, and what -------------------------------------------------------------------------------

def test_a_connection_whose_schema_is_not_shown(admin, target):
    name = target.connection(admin, access_schema="disabled")
    for what in ("databases", "tables", "columns"):
        failure(ask(admin, name, what, table="x"), "access", "access_schema")
        assert last_entry(admin)["outcome"] is False
    assert ask(admin, name, "test").status == 200  # it shows nothing


def test_not_every_subtype_can_be_asked(admin, target):
    name = target.connection(admin, subtype="tcp")
    for what in ("test", "databases", "tables", "columns"):
        failure(ask(admin, name, what, table="x"), "unsupported", "'tcp'", "cannot ask")


def test_agents_elsewhere_are_asked(admin, target, database, tmp_path):
    made = make_agent(admin)
    name = target.connection(admin, agent_id=made["id"], secret=target.secret(DB=database))
    failure(ask(admin, name, "test"), "agent", made["name"], "offline")
    agent = Agent(tmp_path, "--token", made["token"])
    wait_connected(admin, made, agent)
    found = ask(admin, name, "test").json
    assert found["success"] and found["server_version"] and found["tls"] is None, found
    here = target.connection(admin, secret=target.secret(DB=database))
    for what, query in (("databases", {}), ("tables", {}), ("tables", {"schema": "wares"}),
                        ("columns", {"schema": "wares", "table": "item"})):
        answer = ask(admin, name, what, **query)
        assert answer.status == 200 and answer.json == ask(admin, here, what, **query).json
    for changed, category in (({"USER": "nobody"}, "credentials"), ({"DB": "nothing"}, "database"),
                              ({"PORT": str(lasting_port())}, "network")):
        wrong = target.connection(admin, agent_id=made["id"], secret=target.secret(**changed))
        failure(ask(admin, wrong, "test"), category)
    assert agent.stop() == 0, agent.text()
    wait_disconnected(admin, made, 5)
    failure(ask(admin, name, "tables"), "agent", made["name"])


def test_who_may_not_use_a_connection_does_not_find_it(admin, shop):
    group, other = unique("group"), unique("group")
    assert admin.post("/users/groups", {"name": group}).status == 201
    insider, outsider = admin.key(group), admin.key(other)
    assert admin.put(f"/connections/{shop}/access", {"groups": [group]}).status == 200
    try:
        for what in ("test", "databases", "tables", "columns"):
            assert ask(insider, shop, what, schema="wares", table="item").status == 200
            assert ask(outsider, shop, what, schema="wares", table="item").status == 404
            assert ask(Api(admin.gateway), shop, what).status == 401
    finally:
        assert admin.put(f"/connections/{shop}/access", {"groups": []}).status == 200


def test_asking_for_headers_alone_reaches_nothing(admin, target):
    name = target.connection(admin, secret=target.secret(PORT=str(lasting_port())))
    before = last_entry(admin)["id"]
    for what in ("test", "databases", "tables", "columns"):
        assert admin.call("HEAD", f"/connections/{name}/{what}").status == 400
    assert last_entry(admin)["id"] == before
