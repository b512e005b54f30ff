# SPDX-License-Identifier: MIT
"""MySQL 9 as the target, and its own client: what MariaDB does not do, or does otherwise."""
import subprocess

import pymysql
import pytest

import mysql_nine
from api import register, unique
from conftest import PATIENCE, Gateway
from mariadb import TARGET_PASSWORD, MysqlTarget, mysql_address
from native import credential
from test_connection_catalog import ask, tables
from test_tls import make_certificate


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = mysql_nine.MysqlServer(
        make_certificate(tmp_path_factory.mktemp("target-certificate"), "target"))
    yield server
    server.remove()


@pytest.fixture(scope="module")
def admin(tmp_path_factory, server):
    gateway = Gateway(tmp_path_factory.mktemp("gateway"))
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


def target_of(server, method="caching_sha2_password"):
    return MysqlTarget(server, how=f"IDENTIFIED WITH {method} BY '{TARGET_PASSWORD}'")


def mysql(made, text, *arguments):
    address = mysql_address(made)
    return subprocess.run(
        mysql_nine.client("-h", "127.0.0.1", "-P", str(address["port"]), "-u", address["user"],
                          f"-p{address['password']}", "-N", *arguments, "-e", text),
        capture_output=True, text=True, check=False, timeout=4 * PATIENCE)


@pytest.mark.parametrize("mode", ["disable", "require"])
@pytest.mark.parametrize("method", ["caching_sha2_password", "sha256_password"])
def test_the_target_asks_for_a_method(server, admin, method, mode):
    """The first sign-in is in full, by RSA or TLS; those behind it are by the server's cache."""
    target = target_of(server, method)
    made = credential(admin, target.connection(admin, target.secret(SSLMODE=mode)))
    for _ in range(3):
        with pymysql.connect(**mysql_address(made)) as conn, conn.cursor() as cursor:
            cursor.execute("SELECT VERSION(), CURRENT_USER()")
            version, user = cursor.fetchone()
            assert version.startswith("9.") and user == f"{target.user}@%"
    wrong = credential(admin, target.connection(admin, target.secret(SSLMODE=mode, PASS="another")))
    with pytest.raises(pymysql.err.MySQLError, match="stored for it"):
        pymysql.connect(**mysql_address(wrong))


def test_its_own_client(server, admin):
    """Its client asks for query attributes, optional metadata and compression, as it likes."""
    target = target_of(server)
    made = credential(admin, target.connection(admin))
    for arguments in ([], ["--compression-algorithms=zstd"], ["--compression-algorithms=zlib"]):
        done = mysql(made, "SELECT 1; SELECT REPEAT('x', 5000)", *arguments)
        assert done.returncode == 0 and done.stdout == f"1\n{'x' * 5000}\n", done.stderr
    done = mysql(made, "CREATE TABLE t (id INT PRIMARY KEY, doc JSON); INSERT INTO t VALUES (1, '[1]');"
                       "WITH w AS (TABLE t) SELECT id, doc FROM w; SELECT 1 FROM nothing")
    assert done.returncode == 1 and done.stdout == "1\t[1]\n" and "1146" in done.stderr, done


def test_rules(server, admin):
    """What only MySQL's grammar has: VALUES ROW, TABLE, an alias of new rows, a SELECT by TABLE."""
    target = target_of(server)
    name = target.connection(admin)
    made = credential(admin, name)
    own = admin.get(f"/connections/{name}").json["id"]
    server.sql(f"USE {target.database}; CREATE TABLE kept (id INT PRIMARY KEY, mail VARCHAR(50));"
               "INSERT INTO kept VALUES (1, 'ann@example.com'), (2, 'bob@example.com')")
    assert admin.post("/guardrails", {"name": unique("rail"), "connection_ids": [own], "input": {"rules": [
        {"type": "sql", "operations": ["update", "delete", "drop", "truncate"],
         "relations": [{"name": "kept", "access": "write"}]}]}}).status == 201
    ways = ["UPDATE (kept) SET mail = 'x'", "DELETE k FROM (kept k JOIN kept o)",
            "REPLACE INTO kept VALUES ROW(1, 'x')", "REPLACE INTO kept TABLE kept",
            "INSERT INTO kept VALUES ROW(1, 'x') AS n ON DUPLICATE KEY UPDATE mail = n.mail",
            "WITH w AS (SELECT 1 AS i) DELETE k FROM kept k JOIN w", "EXPLAIN ANALYZE DELETE FROM kept",
            "DROP TABLE kept", "/*!80000 TRUNCATE kept */"]
    with pymysql.connect(**mysql_address(made), autocommit=True) as conn, conn.cursor() as cursor:
        for way in ways:
            with pytest.raises(pymysql.err.MySQLError):
                cursor.execute(way)
        cursor.execute("TABLE kept")
        assert len(cursor.fetchall()) == 2
    assert admin.post("/datamasking-rules", {
        "name": unique("mask"), "connection_ids": [own], "columns": [{"name": "kept.mail"}]}).status == 201
    reads = ["TABLE kept", "SELECT mail FROM kept", "SELECT * FROM (TABLE kept) t", "SELECT UPPER(mail) FROM kept",
             "WITH w AS (TABLE kept) SELECT mail FROM w", "SELECT JSON_ARRAYAGG(mail) FROM kept",
             "SELECT x FROM kept, JSON_TABLE(JSON_ARRAY(mail), '$[*]' COLUMNS (x VARCHAR(50) PATH '$')) j"]
    with pymysql.connect(**mysql_address(made), autocommit=True) as conn, conn.cursor() as cursor:
        for read in reads:
            try:
                cursor.execute(read)
                assert "example.com" not in str(cursor.fetchall()), read
            except pymysql.err.MySQLError:
                pass  # refused in words
    assert server.sql(f"SELECT GROUP_CONCAT(mail) FROM {target.database}.kept") \
        == "ann@example.com,bob@example.com"


def test_sessions_that_read_and_rows_that_are_counted(server, admin):
    target = target_of(server)
    server.sql(f"USE {target.database}; CREATE TABLE t (id INT PRIMARY KEY);"
               "INSERT INTO t VALUES (1), (2), (3)")
    for rule, texts in [
            ({"read_only": True, "unknown": "allow"}, ["INSERT INTO t VALUES (4)", "DELETE FROM t WHERE id = 1"]),
            ({"max_rows": 1, "unknown": "block", "safe_functions": ["*"]}, ["DELETE FROM t WHERE id < 3", "UPDATE t SET id = id + 10"])]:
        name = target.connection(admin)
        own = admin.get(f"/connections/{name}").json["id"]
        answer = admin.post("/guardrails", {"name": unique("rail"), "connection_ids": [own],
                                            "input": {"rules": [{"type": "sql", **rule}]}})
        assert answer.status == 201, answer
        made = credential(admin, name)
        with pymysql.connect(**mysql_address(made), autocommit=True) as conn, conn.cursor() as cursor:
            for text in texts:
                with pytest.raises(pymysql.err.MySQLError):
                    cursor.execute(text)
            cursor.execute("SELECT COUNT(*), SUM(id) FROM t")
            assert cursor.fetchone() == (3, 6)


def test_what_the_api_says(server, admin):
    target = target_of(server)
    name = target.connection(admin, access_schema="enabled")
    server.sql(f"USE {target.database}; CREATE TABLE t (id INT PRIMARY KEY, doc JSON);"
               "CREATE VIEW v AS SELECT id FROM t")
    answer = ask(admin, name, "test")
    assert answer.status == 200 and answer.json["success"] is True, answer
    assert answer.json["server_version"].startswith("9.")
    answer = ask(admin, name, "columns", table="t")
    assert [(c["name"], c["type"]) for c in answer.json["columns"]] == [("id", "int"), ("doc", "json")]
    for query, wanted in [({}, ["t", "v"]), ({"type": "view"}, ["v"]), ({"search": "T"}, ["t"]),
                          ({"schema": target.database}, ["t", "v"])]:
        assert tables(ask(admin, name, "tables", **query)) == {target.database: wanted}
    assert ask(admin, name, "databases").json["databases"] == [target.database]
