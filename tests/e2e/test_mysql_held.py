# SPDX-License-Identifier: MIT
"""Statements of MySQL's clients that are held in an open session until people have decided: the
statement just waits, the target is kept, and what was approved goes on once, with the very values."""
import struct
import time

import pymysql
import pytest
from pymysql.constants import COMMAND

from api import Api, unique
from conftest import Gateway, wait_for
from mariadb import MariadbServer, MysqlTarget, mariadb
from native import credential
from people import TRUSTED, House
from test_held import meanwhile
from test_mysql_guard import BLOCKED, RULES, WAYS, Prepared, connected, run_text
from test_mysql_read_only import number_of
from test_reviews import Crew, decide
from test_tls import make_certificate
from test_two_gateways import at

LOCKED_S = 2
INTERRUPTED = 1317
DOUBT = {"type": "sql", "name": "deletes are looked at", "operations": ["delete"], "action": "review",
         "message": "say why"}


class Floor(Crew):
    """Connections of ann's whose deletes bob reviews."""

    def open(self, *rules, reviewed=True):
        name = self.connection()
        found = self.admin.get(f"/connections/{name}").json
        if reviewed:
            self.rule(name, access_type="command")
        answer = self.admin.post("/guardrails", {"name": unique("rail"), "input": {"rules": list(rules) or [DOUBT]},
                                                 "connection_ids": [found["id"]]})
        assert answer.status == 201, answer
        return credential(self.ann, name)

    def table(self):
        name = unique("held").replace("-", "_")
        self.target.server.sql(f"USE {self.target.database}; CREATE TABLE {name} (a INT, b VARCHAR(200)); "
                               f"INSERT INTO {name} SELECT seq, CONCAT('b', seq) FROM seq_1_to_10;")
        return name

    def left(self, table):
        return int(self.target.server.sql(f"SELECT COUNT(*) FROM {self.target.database}.{table}"))

    def pending(self, made):
        def waits():
            answer = self.bob.get(f"/reviews?connection={made['connection_name']}&status=PENDING")
            assert answer.status == 200, answer
            return answer.json["data"]
        one, = wait_for(waits, what="a review")
        return {"review_id": one["id"]}

    def is_state(self, asked, state):
        wait_for(lambda: self.state(asked) == state, what=state)


@pytest.fixture(scope="module")
def floor(tmp_path_factory):
    server = MariadbServer(make_certificate(tmp_path_factory.mktemp("held-server"), "target"))
    gateway = Gateway(tmp_path_factory.mktemp("mysql-held"), *TRUSTED, "--held-locked-seconds", str(LOCKED_S))
    target = MysqlTarget(server)
    server.sql(f"""USE {target.database};
        CREATE TABLE kept (id INT PRIMARY KEY, name VARCHAR(40)); CREATE TABLE other (id INT);
        INSERT INTO kept SELECT seq, CONCAT('name ', seq) FROM seq_1_to_10;
        CREATE PROCEDURE wipe() DELETE FROM kept; CREATE TABLE pay (a INT);
        DELIMITER //
        CREATE FUNCTION wiping() RETURNS INT BEGIN DELETE FROM kept; RETURN 1; END //
        DELIMITER ;""")
    yield Floor(House(gateway), target)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()
    server.remove()


def told(run, conn, statement, *values):
    try:
        run(conn, statement, *values)
    except pymysql.MySQLError as error:
        return error.args
    return (0, "")


def run_prepared(conn, statement, *values):
    Prepared(conn).run(statement, *values)


def test_what_is_approved_runs_once_as_it_came(floor):
    made, table = floor.open(), floor.table()
    text = f"DELETE FROM `{table}` WHERE a < 4"
    with meanwhile(mariadb, made, f"{text};\nSELECT 'on';\n", floor.target.database) as done:
        asked = floor.pending(made)
        assert floor.left(table) == 10 and not done.done()
        shown = floor.bob.get(f"/reviews/{asked['review_id']}").json
        decide(floor.bob, asked)
        done = done.result()
    assert shown["type"] == "held" and shown["script"] == text
    held = shown["held"]
    assert held["approved_for"] == {"database": floor.target.database, "backslash_escapes": True,
                                    "dialect": "mysql", "ansi_quotes": False, "parameters": []}
    analysis = held["analysis"]
    assert analysis["operations"] == ["delete"] and analysis["writes"] == [table] and not analysis["is_unknown"]
    assert held["found"]["holds_locks"] is False
    assert [one["rule"] for one in held["found"]["findings"]] == [DOUBT["name"]]
    assert done.stdout.split()[-1] == "on" and floor.left(table) == 7
    floor.is_state(asked, "EXECUTED")


def test_what_is_rejected_is_an_error_that_says_by_whom(floor):
    made, table = floor.open(), floor.table()
    with connected(made) as conn:
        for run in run_text, run_prepared:
            with meanwhile(told, run, conn, f"DELETE FROM {table} WHERE a > 0") as done:
                decide(floor.bob, floor.pending(made), "REJECTED", reason="not today")
                number, words = done.result()
            assert number == BLOCKED and floor.email["bob"] in words and "not today" in words, words
        run_text(conn, "SELECT 1")
    assert floor.left(table) == 10


def test_an_approval_is_for_those_values_and_once(floor):
    made, table = floor.open(), floor.table()
    statement = f"DELETE FROM {table} WHERE a = ?"
    with connected(made) as conn, connected(made) as other:  # gives up, and goes
        with meanwhile(told, run_prepared, conn, statement, b"7") as done:
            asked = floor.pending(made)
            run_text(other, f"KILL QUERY {conn.thread_id()}")
            assert done.result()[0] == INTERRUPTED
        run_text(conn, "SELECT 1")
    shown = floor.bob.get(f"/reviews/{asked['review_id']}").json
    assert shown["held"]["approved_for"]["parameters"] == [{"type": 253, "value": "7"}]
    decide(floor.bob, asked)
    with connected(made) as conn:
        with meanwhile(told, run_prepared, conn, statement, b"8") as done:  # other values
            decide(floor.bob, floor.pending(made), "REJECTED")
            assert done.result()[0] == BLOCKED
        run_prepared(conn, statement, b"7")
        assert floor.left(table) == 9
        floor.is_state(asked, "EXECUTED")
        with meanwhile(told, run_prepared, conn, statement, b"7") as done:  # once more
            again = floor.pending(made)
            assert again != asked
            decide(floor.bob, again, "REJECTED")
            assert done.result()[0] == BLOCKED
        run_text(conn, "USE information_schema")  # elsewhere it is another statement
        qualified = f"DELETE FROM {floor.target.database}.{table} WHERE a = 1"
        with meanwhile(told, run_text, conn, qualified) as done:
            asked = floor.pending(made)
            decide(floor.bob, asked)
            assert done.result()[0] == 0
    assert floor.left(table) == 8


def test_long_values_are_pinned_and_shown(floor):
    made, table = floor.open(), floor.table()
    with connected(made) as conn:
        conn._execute_command(COMMAND.COM_STMT_PREPARE, f"DELETE FROM {table} WHERE b = ?")
        number, columns, parameters = struct.unpack_from("<IHH", conn._read_packet().get_all_data(), 1)
        for _ in range(2):
            conn._read_packet()
        for part in b"b", b"5":
            conn._execute_command(0x18, struct.pack("<IH", number, 0) + part)
        def execute():
            conn._execute_command(COMMAND.COM_STMT_EXECUTE, struct.pack("<IBI", number, 0, 1) + b"\0\1\xfc\0")
            conn._read_packet()
        with meanwhile(execute) as done:
            asked = floor.pending(made)
            shown = floor.bob.get(f"/reviews/{asked['review_id']}").json
            decide(floor.bob, asked)
            done.result()
    assert shown["held"]["approved_for"]["parameters"] == [{"type": 252, "value": "b5"}]
    assert floor.left(table) == 9


def test_inside_a_transaction_it_waits_less(floor):
    made, table = floor.open(), floor.table()
    with connected(made) as conn:
        run_text(conn, "BEGIN")
        run_text(conn, f"INSERT INTO {table} VALUES (50, 'mine')")
        began = time.monotonic()
        with meanwhile(told, run_text, conn, f"DELETE FROM {table} WHERE a = 2") as done:
            asked = floor.pending(made)
            number, words = done.result()
        assert time.monotonic() - began >= LOCKED_S and number == BLOCKED
        assert f"within {LOCKED_S} seconds" in words, words
        assert floor.bob.get(f"/reviews/{asked['review_id']}").json["held"]["found"]["holds_locks"]
        decide(floor.bob, asked)  # it may still be
        run_text(conn, f"DELETE FROM {table} WHERE a = 2")
        run_text(conn, "COMMIT")
    assert floor.left(table) == 10


def test_others_wait_behind_it_in_their_order(floor):
    made, table = floor.open(), floor.table()
    texts = [b"SELECT 1", f"DELETE FROM {table} WHERE a = 1".encode(), f"SELECT COUNT(*) FROM {table}".encode()]
    with connected(made) as conn:
        conn._sock.sendall(b"".join(struct.pack("<I", len(text) + 1) + b"\x03" + text for text in texts))
        found = []
        for at in range(3):
            conn._next_seq_id = 1
            if at == 1:
                decide(floor.bob, floor.pending(made))
            conn._read_query_result()
            found.append(conn._result.rows or conn._result.affected_rows)
        assert found == [((1,),), 1, ((9,),)]


def test_a_client_that_goes_takes_it_with_it(floor):
    made, table = floor.open(), floor.table()
    with connected(made) as conn:
        conn._execute_command(COMMAND.COM_QUERY, f"DELETE FROM {table}")
        asked = floor.pending(made)
        session = floor.bob.get(f"/reviews/{asked['review_id']}").json["held"]["found"]["session"]
        conn._force_close()
    wait_for(lambda: floor.admin.get(f"/sessions/{session}").json["status"] == "done", what="its end")
    assert floor.state(asked) == "PENDING"
    decide(floor.bob, asked)
    floor.is_state(asked, "APPROVED")
    assert floor.left(table) == 10


def test_the_target_is_kept_awake(floor):
    """It ends sessions that are silent; so it is told, every ten seconds."""
    made, table = floor.open(), floor.table()
    with connected(made) as conn:
        run_text(conn, "SET SESSION wait_timeout = 14")
        with meanwhile(told, run_text, conn, f"DELETE FROM {table} WHERE a = 1") as done:
            asked = floor.pending(made)
            time.sleep(24)
            decide(floor.bob, asked)
            assert done.result()[0] == 0
    assert floor.left(table) == 9


def test_a_script_over_the_api_waits_too_or_is_told(floor):
    made, table = floor.open(), floor.table()
    asked = floor.ask(made["connection_name"], f"DELETE FROM {table} WHERE a = 3")
    decide(floor.bob, asked)
    assert floor.run(asked)["output_status"] == "success" and floor.left(table) == 9
    made = floor.open(reviewed=False)
    answer = floor.ann.post("/sessions", {"connection": made["connection_name"], "script": f"DELETE FROM {table}"})
    assert answer.json["output_status"] == "failed" and "nobody is named" in answer.json["output"], answer
    with connected(made) as conn:
        assert "nobody is named" in told(run_text, conn, f"DELETE FROM {table}")[1]
    assert floor.left(table) == 9


def test_no_way_around_it_gets_through(floor):
    """Nobody is there to decide: each way that a rule which blocks would block is refused."""
    made = floor.open(*[{**rule, "action": "review"} for rule in RULES if rule.get("action") != "observe"],
                      reviewed=False)
    passed = []
    with connected(made, local_infile=True) as conn:
        for name, way in WAYS.items():
            for run in run_text, run_prepared:
                number, words = told(run, conn, way.format(database=floor.target.database))
                errs_first = run is run_prepared and number in (1295, 1064, 1243, 1193, 1305)
                passed += [] if number == BLOCKED or errs_first else [(name, number, words)]
        assert number_of(run_text, conn, "SELECT 1") == 0
    assert not passed, passed
    count = f"SELECT COUNT(*) FROM {floor.target.database}.kept WHERE name LIKE 'name %'"
    assert floor.target.server.sql(count) == "10"


def test_two_gateways_amid_a_hold(floor, tmp_path, postgres):
    """Approved through the other one, it runs once; KILL QUERY there reaches what waits here, and what runs."""
    url = postgres.create(f"mysql_held_{time.monotonic_ns()}")
    key = ["--master-key-file", str(tmp_path / "key")]
    gateways = [Gateway(tmp_path / name, "--database-url", url, *key, *TRUSTED, "--held-locked-seconds", "30")
                for name in ("one", "two")]
    target = floor.target
    pair = Floor(House(gateways[0]), target)
    made, table = pair.open(), pair.table()
    there = at(made, gateways[1], "mysql")
    far_bob = Api(gateways[1], pair.bob.token)
    statement = f"DELETE FROM {table} WHERE a = 3"
    with connected(made) as here, connected(there) as other:
        with meanwhile(told, run_text, here, statement) as done:
            decide(far_bob, pair.pending(made))
            assert done.result() == (0, ""), done.result()
        assert pair.left(table) == 9
        run = run_prepared
        with meanwhile(told, run, here, f"DELETE FROM {table} WHERE a = ?", b"4") as done:
            asked = pair.pending(made)
            run_text(other, f"KILL QUERY {here.thread_id()}")
            assert done.result()[0] == INTERRUPTED, done.result()
        assert pair.state(asked) == "PENDING" and pair.left(table) == 9
        decide(far_bob, asked)  # it outlives that; sent again through the other gateway it runs, once
        assert told(run, other, f"DELETE FROM {table} WHERE a = ?", b"4") == (0, "")
        assert pair.left(table) == 8
        again = f"DELETE FROM {table} WHERE a = 5"
        with meanwhile(told, run_text, here, again) as first, meanwhile(told, run_text, other, again) as second:
            wait_for(lambda: len(pair.bob.get(f"/reviews?connection={made['connection_name']}").json["data"]) >= 3,
                     what="the third review")
            time.sleep(0.5)  # both wait for it
            for waiting in pair.bob.get(f"/reviews?connection={made['connection_name']}&status=PENDING").json["data"]:
                decide(pair.bob, {"review_id": waiting["id"]})
            outcomes = sorted(number for number, _ in (first.result(), second.result()))
        assert pair.left(table) == 7 and outcomes[0] == 0, outcomes
        with meanwhile(told, run_text, here, "SELECT SLEEP(60)") as done:
            wait_for(lambda: "SLEEP(60)" in target.server.sql("SHOW FULL PROCESSLIST"), what="the statement")
            run_text(other, f"KILL QUERY {here.thread_id()}")
            assert done.result()[0] in (0, INTERRUPTED), done.result()
    for gateway in gateways:
        assert gateway.stop() == 0, gateway.text()
