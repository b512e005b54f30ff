# SPDX-License-Identifier: MIT
"""Scripts that are executed over the API at MariaDB: one way with what native clients send."""
import concurrent.futures
import time

import pytest

from api import register, unique
from command_line import Person
from conftest import Gateway, wait_for
from mariadb import MariadbServer, MysqlTarget
from test_execution import execute, session_of
from test_execution_pages import begin, read_all
from test_tls import make_certificate


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = MariadbServer(make_certificate(tmp_path_factory.mktemp("mysql-exec"), "target"))
    yield server
    server.remove()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("mysql-exec-gateway"), "--shutdown-seconds", "1")
    yield gateway
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return register(gateway)


@pytest.fixture(scope="module")
def target(server):
    target = MysqlTarget(server)
    server.sql(f"USE {target.database}; CREATE TABLE numbers (n INT PRIMARY KEY);"
               "INSERT INTO numbers SELECT seq FROM seq_1_to_30000")
    return target


@pytest.fixture(scope="module")
def name(admin, target):
    return target.connection(admin)


def test_text(admin, name):
    done = execute(admin, name, "select 1 as n, 'a\tb' as t, null as nothing; select 'two' as w")
    assert done["output"] == "n\tt\tnothing\n1\ta\\tb\t\\N\nSELECT 1\nw\ntwo\nSELECT 1\n"
    assert (done["output_status"], done["exit_code"], done["truncated"]) == ("success", 0, False)
    session = session_of(admin, done)
    assert (session["verb"], session["connection"], session["end_reason"]) == (
        "exec", name, "the client left")
    result = admin.get(f"/sessions/{done['session_id']}/result")
    assert result.status == 200 and "two" in result.body.decode()


def test_json(admin, name):
    done = execute(admin, name, """
        create temporary table t (id int, big bigint, u bigint unsigned, ok tinyint(1), price decimal(8,2),
            note varchar(20), d date, j json, b blob, e enum('a','b'));
        insert into t values (1, 9007199254740993, 18446744073709551615, true, 1.50, 'x;y', '2024-02-29',
            '{"a": 1}', x'00ff', 'b'), (2, 5, 6, false, null, null, null, null, null, null);
        select * from t; update t set note = 'z' where id = 3; -- ; nothing
        set @a = 5; select @a;""", results="json")
    create, insert, rows, update, set_, shown = done["statements"]
    assert (create["command"], create["rows_affected"]) == ("CREATE", None)
    assert (insert["command"], insert["rows_affected"]) == ("INSERT 2", 2)
    assert [column["type"] for column in rows["columns"]] == [
        "int", "bigint", "bigint unsigned", "tinyint", "decimal", "varchar", "date", "text", "blob", "enum"]
    assert rows["rows"][0][:8] == [1, "9007199254740993", "18446744073709551615", 1, "1.50", "x;y",
                                   "2024-02-29", '{"a": 1}']
    assert rows["rows"][1] == [2, 5, 6, 0] + [None] * 6
    assert rows["rows_affected"] == 2 and update["rows_affected"] == 0 and set_["rows_affected"] is None
    assert shown["rows"] == [[5]]
    assert done["output_status"] == "success" and all(s["error"] is None for s in done["statements"])


def test_the_first_error_ends_a_script(admin, name, target):
    table = unique("t").replace("-", "_")
    done = execute(admin, name, f"create table {table} (a int primary key); insert into {table} values (1);"
                   f"insert into {table} values (1); drop table {table}", results="json")
    assert (done["output_status"], done["exit_code"]) == ("failed", 1)
    assert len(done["statements"]) == 3
    error = done["statements"][2]["error"]
    assert (error["severity"], error["code"]) == ("ERROR", "1062") and "Duplicate" in error["message"]
    assert target.server.sql(f"USE {target.database}; SELECT COUNT(*) FROM {table}; DROP TABLE {table}") == "1"
    done = execute(admin, name, "select nothing_of_the_kind", results="json")
    assert done["statements"][0]["error"]["code"] == "1054"


def test_odd_scripts(admin, name):
    for script in ("-- nothing\n ;;", "# nothing", "/* nothing */"):
        assert execute(admin, name, script)["output_status"] == "success", script
    for script, codes in [("select 'open", ["1064"]), ("delimiter //\nselect 1//", ["1064"]),
                          ("load data local infile '/etc/passwd' into table t", ["4166"]),
                          ("select 1; select 1 from nowhere; select 2", ["1146"])]:
        done = execute(admin, name, script, results="json")
        errors = [s["error"]["code"] for s in done["statements"] if s["error"]]
        assert errors == codes, (script, done)
    # A body has its own semicolons, a CALL several results, a comment of a version may hold half of it.
    routine = unique("p").replace("-", "_")
    done = execute(admin, name, f"""create procedure {routine}() begin select 1 as a; select 2 as b, 3 as c; end;
        call {routine}(); drop procedure {routine}; select 'done' as d""", results="json")
    assert done["output_status"] == "success", done
    assert [s["rows"] for s in done["statements"]] == [[], [[1]], [[2, 3]], [], [], [["done"]]]
    done = execute(admin, name, "/*!40101 set @b = 'x' */; select @b /*!99999 , 1 */; select 3", results="json")
    assert [s["rows"] for s in done["statements"]] == [[], [["x"]], [[3]]], done
    done = execute(admin, name, "select 1/0; select 'x' + 1", results="json")
    assert [len(s["notices"]) for s in done["statements"]] == [1, 1], done
    done = execute(admin, name, "kill query 1", results="json")
    assert done["statements"][0]["error"]["code"] == "1094"
    done = execute(admin, name, "select '" + "x" * 17_000_000 + "' like '%y' as l", results="json")
    assert done["statements"][0]["rows"] == [[0]], done["output_status"]


def test_what_is_large_is_cut_and_on_record(admin, name):
    done = execute(admin, name, "select n from numbers limit 5000; select 'behind it'", results="json")
    rows, behind = done["statements"]
    assert len(rows["rows"]) == 1000 and rows["truncated"] and done["truncated"]
    assert rows["rows_affected"] == 5000 and behind["rows"] == [["behind it"]]
    session_of(admin, done)
    text = admin.get(f"/sessions/{done['session_id']}/result").body.decode()
    assert "4999" in text and "behind it" in text
    done = execute(admin, name, "select repeat('x', 3000000), 1", results="json")
    assert done["truncated"] and done["statements"][0]["rows"] == []


def test_pages(admin, name, server):
    """The target waits for who reads."""
    page = begin(admin, name, "select n, repeat('x', 400) as mark from numbers order by n; select 'end'",
                 page_size=7000)
    assert "mark from numbers" in server.sql("SHOW FULL PROCESSLIST")
    rows = [row for read in read_all(admin, page) for statement in read["statements"]
            for row in statement["rows"]]
    assert [row[0] for row in rows[:-1]] == list(range(1, 30001)) and rows[-1] == ["end"]


def test_kill(admin, target, server):
    name = target.connection(admin) # of which this is the only session
    with concurrent.futures.ThreadPoolExecutor() as pool:
        mark = unique("mark")
        going = pool.submit(execute, admin, name, f"select '{mark}', sleep(600)", "json")

        def found():
            listed = admin.get("/sessions?status=open&limit=100").json["data"]
            return [s for s in listed if s["connection"] == name and s["status"] == "open"]
        session = wait_for(found, what="the session")[0]
        wait_for(lambda: mark in server.sql("SHOW FULL PROCESSLIST"), what="the statement")
        answer = admin.post(f"/sessions/{session['id']}/kill", {})
        assert answer.status in (200, 204), answer
        done = going.result(60)
        assert done["output_status"] == "failed", done
        wait_for(lambda: mark not in server.sql("SHOW FULL PROCESSLIST"), what="the end at the target")


def test_rules_are_those_of_native_clients(admin, target):
    name = target.connection(admin)
    connection_id = admin.get(f"/connections/{name}").json["id"]
    answer = admin.post("/guardrails", {
        "name": unique("no-drop"), "connection_ids": [connection_id],
        "input": {"rules": [{"type": "sql", "name": "tables stay", "operations": ["drop"],
                             "message": "ask somebody"}]}})
    assert answer.status == 201, answer
    done = execute(admin, name, "select 1; drop table numbers; select 2", results="json")
    assert (done["output_status"], done["exit_code"]) == ("blocked", 254)
    assert len(done["statements"]) == 2
    assert "ask somebody" in done["statements"][1]["error"]["message"]
    assert session_of(admin, done)["guardrails_info"]


def test_metadata_and_targets_that_do_not_answer(admin, target):
    name = target.connection(admin, mandatory_metadata_fields=["ticket"])
    answer = admin.post("/sessions", {"connection": name, "script": "select 1"})
    assert answer.status == 400 and "'ticket'" in answer.message
    done = execute(admin, name, "select 1", metadata={"ticket": "T 1;2=\\ü"})
    assert session_of(admin, done)["metadata"] == {"ticket": "T 1;2=\\ü"}
    name = target.connection(admin, target.secret(PASS="wrong"))
    done = execute(admin, name, "select 1")
    assert done["output_status"] == "failed" and "credentials" in done["output"], done
    name = target.connection(admin, target.secret(PORT="1"))
    done = execute(admin, name, "select 1")
    assert done["output_status"] == "failed" and "reached" in done["output"], done


def test_many_at_once(admin, name):
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        began = time.monotonic()
        all_done = list(pool.map(lambda i: execute(admin, name, f"select {i} as i, sleep(0.2)", "json"),
                                 range(24)))
    assert [done["statements"][0]["rows"][0][0] for done in all_done] == list(range(24)), began


def test_the_command_line(admin, name, tmp_path):
    person = Person(tmp_path / "home", admin)
    said = person.run("exec", name, text="select n, 'x' as w from numbers where n < 3; select 'two'")
    assert "1" in said and "two" in said, said
    done = person.done("exec", name, text="select nothing")
    assert done.returncode == 1 and "Unknown column 'nothing'" in done.stderr, done
