# SPDX-License-Identifier: MIT
"""Columns of views under rules for columns: one that may have something masked in it is masked, also when
it is an expression or stands behind other views; the others come as they are. What a view is the target
says; of one that it does not say, or that is not understood, all is masked."""
import pymysql
import pytest
from pymysql.constants import CLIENT

import mysql_nine
from api import unique
from mariadb import TARGET_PASSWORD, MariadbServer, MysqlTarget, connect
from native import credential
from test_mysql_mask import SECRET, admin, fill, gateway, masked, prepared_rows, text_rows  # noqa: F401
from test_tls import make_certificate

SERVERS = {"mariadb": (MariadbServer, None), "mysql": (mysql_nine.MysqlServer, f"IDENTIFIED BY '{TARGET_PASSWORD}'")}

VIEWS = """CREATE TABLE pay (id INT PRIMARY KEY, card VARCHAR(60), note VARCHAR(60), salary BIGINT, UNIQUE (card));
    CREATE TABLE other (id INT, x VARCHAR(60)); INSERT INTO other VALUES (1, 'one'), (2, 'two');
    CREATE VIEW plain AS SELECT id, card, note FROM pay;
    CREATE VIEW renamed (a, b, c) AS SELECT id, card, note FROM pay;
    CREATE VIEW computed AS SELECT id + 1 AS n, UPPER(note) AS up, CONCAT(note, card) AS both_of, LENGTH(card) AS len FROM pay;
    CREATE VIEW over_renamed AS SELECT c AS note2, b AS q, a FROM renamed;
    CREATE VIEW over_over AS SELECT CONCAT(q, '') AS z, note2, COUNT(*) AS n FROM over_renamed GROUP BY q, note2;
    CREATE VIEW swapped AS SELECT note AS card, card AS note, id FROM pay;
    CREATE VIEW joined AS SELECT p.id, p.note, o.x, p.card AS k FROM pay p JOIN other o ON o.id = p.id;
    CREATE VIEW unions AS SELECT id, note AS v FROM pay UNION ALL SELECT id, card FROM pay;
    CREATE VIEW grouped AS SELECT COUNT(*) AS n, MAX(id) AS top, GROUP_CONCAT(card) AS g FROM pay;
    CREATE VIEW harmless AS SELECT id, x FROM other;
    CREATE VIEW by_cte AS WITH c AS (SELECT id, card AS v, note FROM pay) SELECT id, v, note FROM c;
    CREATE VIEW derived AS SELECT d.v, d.note FROM (SELECT card AS v, note FROM pay) d;
    CREATE VIEW quoted AS SELECT id, 'a\\\\b' AS w, note FROM pay;
    CREATE VIEW starred AS SELECT * FROM pay;
    CREATE VIEW scalar AS SELECT id, (SELECT MAX(card) FROM pay) AS m, (SELECT MAX(note) FROM pay) AS mn FROM other;
    CREATE VIEW windowed AS SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS r, FIRST_VALUE(card) OVER (ORDER BY id) AS f FROM pay;
    CREATE FUNCTION peek() RETURNS VARCHAR(60) READS SQL DATA RETURN (SELECT MAX(card) FROM pay);
    CREATE VIEW called AS SELECT id, peek() AS p FROM other;
    CREATE VIEW filtered AS SELECT id, note FROM pay WHERE card > '';
    CREATE VIEW processes AS SELECT ID, INFO FROM information_schema.PROCESSLIST;
"""
# None: masked; else as it is.
CASES = [
    ("SELECT id, card, note FROM plain WHERE id = 1", (1, None, "first")),
    ("SELECT note, UPPER(note), id + 1, CONCAT(card) FROM plain WHERE id = 1", ("first", "FIRST", 2, None)),
    ("SELECT * FROM plain WHERE id = 1", (1, None, "first")), ("SELECT p.* FROM plain AS p WHERE p.id = 2", (2, None, "second")),
    ("SELECT a, b, c FROM renamed WHERE a = 1", (1, None, "first")), ("SELECT * FROM renamed WHERE a = 1", (1, None, "first")),
    ("SELECT b AS note, c AS d FROM renamed WHERE a = 1", (None, "first")),
    ("SELECT n, up, both_of, len FROM computed WHERE n = 2", (2, "FIRST", None, None)), ("SELECT * FROM computed WHERE n = 2", (2, "FIRST", None, None)),
    ("SELECT note2, q, a FROM over_renamed WHERE a = 1", ("first", None, 1)), ("SELECT * FROM over_renamed WHERE a = 1", ("first", None, 1)),
    ("SELECT z, note2, n FROM over_over WHERE note2 = 'first'", (None, "first", 1)),
    ("SELECT card, note, id FROM swapped WHERE id = 1", (None, None, 1)),
    ("SELECT id, note, x, k FROM joined WHERE id = 1", (1, "first", "one", None)), ("SELECT * FROM joined WHERE id = 1", (1, "first", "one", None)),
    ("SELECT id, v FROM unions WHERE id = 1 LIMIT 1", (1, None)), ("SELECT n, top, g FROM grouped", (3, 3, None)),
    ("SELECT id, x FROM harmless WHERE id = 1", (1, "one")), ("SELECT v.x, p.note, p.card FROM harmless v JOIN pay p ON p.id = v.id WHERE v.id = 1", ("one", "first", None)),
    ("SELECT id, v, note FROM by_cte WHERE id = 1", (1, None, "first")), ("SELECT note, v FROM derived WHERE note = 'first'", ("first", None)),
    ("SELECT id, w, note FROM quoted WHERE id = 1", (None, None, None)),
    ("SELECT id, card, note, salary FROM starred WHERE id = 1", (1, None, "first", None)), ("SELECT * FROM starred WHERE id = 1", (1, None, "first", None)),
    ("SELECT id, m, mn FROM scalar WHERE id = 1", (1, None, "third")), ("SELECT id, r, f FROM windowed WHERE id = 1", (1, 1, None)),
    ("SELECT id, p FROM called WHERE id = 1", (None, None)), ("SELECT id, note FROM filtered WHERE id = 1", (1, "first")),
    ("SELECT q.c, q.b FROM (SELECT c, b FROM renamed WHERE a = 1) q", ("first", None)), ("WITH w AS (SELECT b AS k, c FROM renamed WHERE a = 1) SELECT c, k FROM w", ("first", None)),
    ("SELECT (SELECT MAX(b) FROM renamed), (SELECT MAX(c) FROM renamed), id FROM other WHERE id = 1", (None, "third", 1)),
    ("SELECT c FROM renamed WHERE a = 1 UNION SELECT b FROM renamed WHERE 0", (None,)), ("SELECT COUNT(*) FROM renamed", (3,)),
    ("SELECT r.c, p.b FROM renamed r JOIN renamed p ON p.a = r.a WHERE r.a = 1", ("first", None)),
    ("SELECT GROUP_CONCAT(c ORDER BY a), GROUP_CONCAT(b) FROM renamed", ("first,second,third", None)),
    ("SELECT c FROM renamed NATURAL JOIN (SELECT 1 AS a) d", ("first",)),
]
HIDDEN = "[REDACTED]"


@pytest.fixture(scope="module", params=SERVERS)
def target(request, tmp_path_factory):
    kind, how = SERVERS[request.param]
    server = kind(make_certificate(tmp_path_factory.mktemp("mysql-mask-views"), "target"))
    target = MysqlTarget(server, how)
    server.sql(f"GRANT PROCESS ON *.* TO {target.user}@'%'; SET GLOBAL log_bin_trust_function_creators = 1; USE {target.database}; {VIEWS}")
    yield target
    server.remove()


@pytest.fixture(scope="module")
def made(admin, target):  # noqa: F811
    return masked(admin, target, columns=[{"name": "pay.card"}, {"name": "pay.salary"}])


def opened(made):
    return connect(made, client_flag=CLIENT.MULTI_STATEMENTS, charset="utf8mb4", autocommit=True)


@pytest.mark.parametrize("run", [text_rows, prepared_rows])
def test_each_column_of_a_view_by_what_is_in_it(made, target, run):
    fill(target)
    conn = opened(made)
    wrong = []
    for statement, wanted in CASES:
        rows = [tuple(value.decode() if isinstance(value, bytes) else value for value in row) for row in run(conn, statement)]
        told = [tuple(None if value == HIDDEN else value for value in row) for row in rows]
        if told != [wanted] or SECRET in repr(rows):
            wrong.append((statement, rows))
    conn.close()
    assert not wrong, "\n".join(map(repr, wrong))


def test_a_view_that_another_makes_counts_a_second_later_at_most(made, target):
    """And one of the session's own at once; a view that became another one, too."""
    fill(target)
    conn, other = opened(made), target.direct(autocommit=True)
    text_rows(other, "CREATE OR REPLACE VIEW turned AS SELECT id, note AS v FROM pay WHERE id = 1")
    text_rows(conn, "CREATE OR REPLACE VIEW harmless2 AS SELECT id, x FROM other")
    assert text_rows(conn, "SELECT id, v FROM turned") == [(1, "first")]
    assert text_rows(conn, "SELECT x FROM harmless2 WHERE id = 2") == [("two",)]
    text_rows(other, "CREATE OR REPLACE VIEW turned AS SELECT id, card AS v FROM pay WHERE id = 1")
    text_rows(conn, "ALTER TABLE other ADD y INT")
    assert text_rows(conn, "SELECT id, v FROM turned") == [(1, HIDDEN)]
    text_rows(other, "CREATE OR REPLACE VIEW turned AS SELECT id, note AS v FROM pay WHERE id = 1")
    for view in range(40):
        text_rows(other, f"CREATE OR REPLACE VIEW many{view} AS SELECT id, card AS v{view} FROM pay")
    text_rows(conn, "ALTER TABLE other DROP y")
    with pytest.raises(pymysql.MySQLError, match="fewer views"):
        text_rows(conn, "SELECT 1 FROM " + ", ".join(f"many{view}" for view in range(40)) + " LIMIT 1")
    conn.close()
    other.close()


def test_what_may_not_be_done_with_views(made, target):
    fill(target)
    conn = opened(made)
    for statement in ("INSERT INTO other SELECT a, b, 1 FROM renamed", "UPDATE other SET x = (SELECT MAX(b) FROM renamed)",
                      "SELECT b INTO @v FROM renamed LIMIT 1", "CREATE TABLE c AS SELECT b FROM renamed", "HANDLER renamed OPEN",
                      "EXPLAIN SELECT b FROM renamed", "SELECT INFO FROM information_schema.PROCESSLIST"):
        with pytest.raises(pymysql.MySQLError) as raised:
            text_rows(conn, statement)
        assert raised.value.args[0] in (1227, 1146), (statement, raised.value)
    told = text_rows(conn, "SELECT ID, INFO FROM processes")
    assert told and all(value in (None, HIDDEN) for row in told for value in row), told
    conn.close()


def test_a_statement_that_a_guard_rail_blocks_says_nothing_of_the_next_command(admin, target):  # noqa: F811
    """What was found out about the blocked text is not taken for that of COM_PROCESS_INFO."""
    name = target.connection(admin)
    own = admin.get(f"/connections/{name}").json["id"]
    for path, body in (("/datamasking-rules", {"columns": [{"name": "pay.card"}]}),
                       ("/guardrails", {"input": {"rules": [{"type": "deny_words_list", "words": ["forbidden"]}]}})):
        assert admin.post(path, {"name": unique("rule"), "connection_ids": [own], **body}).status == 201
    conn = opened(credential(admin, name))
    text_rows(conn, "SELECT id FROM harmless")
    with pytest.raises(pymysql.MySQLError, match="guard rail"):
        text_rows(conn, "SELECT id, 'forbidden' FROM harmless")
    conn._execute_command(0x0a, b"")
    with pytest.raises(pymysql.MySQLError, match="this is not shown"):
        conn._read_packet()
    conn.close()
