# SPDX-License-Identifier: MIT
"""Read budgets and guard rails for output at MariaDB, as text, prepared and by cursors: an answer
that must not go on ends with an error, its statement at the target with it, and the session goes on."""
import threading

import pymysql
import pytest
from pymysql.constants import CLIENT

from api import register, unique
from conftest import Gateway, wait_for
from mariadb import MariadbServer, MysqlTarget, connect
from mysql_binary import Prepared
from native import credential
from test_mysql_mask import prepared_rows, text_rows
from test_tls import make_certificate


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = MariadbServer(make_certificate(tmp_path_factory.mktemp("mysql-reading"), "target"))
    yield server
    server.remove()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("mysql-reading-gateway"), "--shutdown-seconds", "1")
    yield gateway
    assert gateway.is_alive() and gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return register(gateway)


@pytest.fixture(scope="module")
def target(server):
    target = MysqlTarget(server)
    server.sql(f"USE {target.database}; CREATE TABLE numbers (n INT PRIMARY KEY, t VARCHAR(30));"
               "INSERT INTO numbers SELECT seq, CONCAT('word ', seq) FROM seq_1_to_3000")
    return target


def ruled(admin, target, rules, direction="output"):
    name = target.connection(admin)
    answer = admin.post("/guardrails", {
        "name": unique("rail"), "connection_ids": [admin.get(f"/connections/{name}").json["id"]],
        direction: {"rules": rules}})
    assert answer.status == 201, answer
    return credential(admin, name)


def opened(made):
    return connect(made, client_flag=CLIENT.MULTI_STATEMENTS, charset="utf8mb4", autocommit=True)


def blocked(run, conn, statement, *words):
    with pytest.raises(pymysql.MySQLError) as raised:
        run(conn, statement)
    assert raised.value.args[0] == 1227 and all(w in raised.value.args[1] for w in words), raised.value


RUNS = [text_rows, prepared_rows, lambda conn, statement: Prepared(conn).fetched(statement, 7)]


@pytest.mark.parametrize("run", RUNS)
def test_a_budget_of_rows(admin, target, run):
    made = ruled(admin, target, [{"type": "read_budget", "name": "few", "rows": 100, "per": "session"}])
    conn = opened(made)
    assert len(run(conn, "SELECT n FROM numbers LIMIT 60")) == 60
    blocked(run, conn, "SELECT n FROM numbers", "budget of 100 rows", "few")
    conn.ping(reconnect=False)
    text_rows(conn, "UPDATE numbers SET t = t WHERE n = 1")
    blocked(run, conn, "SELECT n FROM numbers LIMIT 1", "is spent")
    conn.close()
    conn = opened(made) # of its own
    assert len(run(conn, "SELECT n FROM numbers LIMIT 100")) == 100
    conn.close()


def test_a_budget_of_bytes_and_of_an_hour(admin, target):
    conn = opened(ruled(admin, target, [{"type": "read_budget", "name": "small", "bytes": 5000, "per": "session"}]))
    blocked(text_rows, conn, "SELECT REPEAT('x', 5001)", "5000 bytes")
    conn.close()
    made = ruled(admin, target, [{"type": "read_budget", "name": "hourly", "rows": 50, "per": "hour"}])
    conn = opened(made)
    assert len(text_rows(conn, "SELECT n FROM numbers LIMIT 30")) == 30
    again = opened(made)
    blocked(text_rows, again, "SELECT n FROM numbers LIMIT 30", "in an hour")
    conn.close()
    again.close()


def test_what_is_blocked_ends_at_the_target(admin, target):
    made = ruled(admin, target, [{"type": "read_budget", "name": "few", "rows": 10, "per": "session"}])
    conn = opened(made)
    mark = unique("mark")
    blocked(text_rows, conn, f"SELECT a.n, '{mark}' FROM numbers a, numbers b, numbers c", "10 rows")
    wait_for(lambda: mark not in target.server.sql("SHOW FULL PROCESSLIST"), what="the end at the target")
    conn.ping(reconnect=False)
    conn.close()


def test_what_only_warns_passes(admin, target):
    made = ruled(admin, target, [{"type": "read_budget", "name": "watch", "rows": 10, "per": "session", "action": "observe"}])
    conn = opened(made)
    assert len(text_rows(conn, "SELECT n FROM numbers")) == 3000
    conn.close()


@pytest.mark.parametrize("run", RUNS)
def test_words_in_answers(admin, target, run):
    made = ruled(admin, target, [
        {"type": "deny_words_list", "words": ["word 77"], "name": "no 77", "message": "ask somebody"}])
    conn = opened(made)
    assert len(run(conn, "SELECT t FROM numbers WHERE n < 70")) == 69
    blocked(run, conn, "SELECT n, t FROM numbers WHERE n BETWEEN 70 AND 80 ORDER BY n", "ask somebody")
    blocked(run, conn, "SELECT CONCAT('word', ' 77')", "ask somebody")
    assert len(run(conn, "SELECT t FROM numbers WHERE n = 7")) == 1
    blocked(text_rows, conn, "SELECT EXTRACTVALUE(1, CONCAT(0x7e, 'word', ' 77'))", "ask somebody")
    conn.close()


def test_rules_change_under_a_session(admin, target):
    """Back and forth while it reads: nothing breaks, and what holds at the end holds."""
    name = target.connection(admin)
    found = admin.get(f"/connections/{name}").json["id"]
    conn = opened(credential(admin, name))
    stop = threading.Event()
    broken = []

    def read():
        while not stop.is_set():
            try:
                text_rows(conn, "SELECT n, t FROM numbers LIMIT 500")
                Prepared(conn).run("SELECT t FROM numbers LIMIT 50")
            except pymysql.MySQLError as error:
                if error.args[0] != 1227:
                    broken.append(error)
                    return
    reader = threading.Thread(target=read)
    reader.start()
    for i in range(6):
        answer = admin.post("/guardrails", {
            "name": unique("rail"), "connection_ids": [found], "output": {"rules": [
                {"type": "deny_words_list", "words": [f"nothing {i}"], "name": "n"}]}})
        assert answer.status == 201, answer
        assert admin.delete(f"/guardrails/{answer.json['id']}").status in (200, 204)
    answer = admin.post("/datamasking-rules", {
        "name": unique("mask"), "connection_ids": [found],
        "custom_entity_types": [{"name": "WORDS", "regex": "word [0-9]+", "score": 0.9}]})
    assert answer.status == 201, answer
    stop.set()
    reader.join(60)
    assert not broken and not reader.is_alive(), broken
    wait_for(lambda: "word" not in repr(text_rows(conn, "SELECT t FROM numbers LIMIT 5")), what="the rule")
    conn.close()
