# SPDX-License-Identifier: MIT
"""What the API says of a connection's target where that is MariaDB: that it can be reached, and
what is in it; through the gateway's own agent and one elsewhere."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from agent import Agent, make_agent, wait_connected
from api import register, unique
from conftest import Gateway
from mariadb import MariadbServer, MysqlTarget
from test_connection_catalog import INJECTIONS, ask, failure, tables
from test_tls import make_certificate

NAMES = ["plain", "With Case", "it's", 'a "quoted" one', "grün", "桜", "semi;colon", "back\\slash",
         "per%cent", "-- comment", "$1", "#1", "`", "x" * 64]


def identifier(name):
    return "`" + name.replace("`", "``") + "`"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = MariadbServer(make_certificate(tmp_path_factory.mktemp("mysql-catalog"), "target"))
    yield server
    server.remove()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("mysql-catalog-gateway"), "--shutdown-seconds", "1")
    yield gateway
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return register(gateway)


@pytest.fixture(scope="module")
def target(server):
    target = MysqlTarget(server)
    server.sql(f"""CREATE DATABASE wares; GRANT ALL ON wares.* TO {target.user}@'%';
        CREATE TABLE wares.item (id BIGINT UNSIGNED AUTO_INCREMENT, shelf VARCHAR(20),
            price DECIMAL(10,2) NOT NULL DEFAULT 1.5, since TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP,
            PRIMARY KEY (id, shelf), UNIQUE (since));
        CREATE VIEW wares.cheap AS SELECT id FROM wares.item; CREATE SEQUENCE wares.counter;
        CREATE TABLE wares.versioned (a INT) WITH SYSTEM VERSIONING;
        USE {target.database}; CREATE TABLE victim (id INT);""")
    return target


@pytest.fixture(scope="module", params=["embedded", "elsewhere"])
def shop(request, admin, target, gateway, tmp_path_factory):
    if request.param == "embedded":
        yield target.connection(admin, access_schema="enabled")
        return
    made = make_agent(admin)
    agent = Agent(tmp_path_factory.mktemp("mysql-catalog-agent"), "--token", made["token"])
    wait_connected(admin, made, agent)
    yield target.connection(admin, access_schema="enabled", agent_id=made["id"])
    assert agent.stop() == 0, agent.text()


def test_a_connection_that_works(admin, shop, server):
    answer = ask(admin, shop, "test")
    assert answer.status == 200 and answer.json["success"] is True, answer
    assert answer.json["server_version"] == server.sql("SELECT VERSION()")


def test_what_is_wrong_is_told_apart(admin, target):
    for category, changed in [("credentials", {"PASS": "wrong, but still a secret"}),
                              ("credentials", {"USER": "nobody_of_that_name"}),
                              ("network", {"PORT": "1"}), ("database", {"DB": "not_there"}),
                              ("database", {"DB": "mysql"}), ("tls", {"SSLMODE": "verify-full"})]:
        name = target.connection(admin, target.secret(**changed))
        answer = failure(ask(admin, name, "test"), category)
        assert "wrong, but" not in answer.body.decode()


def test_databases(admin, shop, target):
    answer = ask(admin, shop, "databases")
    assert answer.status == 200, answer
    assert answer.json == {"databases": sorted([target.database, "wares"]), "has_more": False}


def test_tables(admin, shop, target):
    assert tables(ask(admin, shop, "tables")) == {target.database: ["victim"]}
    for query in ({"schema": "wares"}, {"database": "wares"}, {"schema": "wares", "database": "wares"}):
        answer = ask(admin, shop, "tables", **query)
        if query.get("database") and answer.status == 400:
            continue # the connection has a database of its own
        assert tables(answer) in ({"wares": ["cheap", "item", "versioned"]}, {target.database: ["victim"]}), query
    answer = ask(admin, shop, "tables", schema="wares")
    assert [(r["name"], r["type"]) for r in answer.json["schemas"][0]["relations"]] == [
        ("cheap", "view"), ("item", "table"), ("versioned", "table")]
    assert tables(ask(admin, shop, "tables", schema="wares", type="view")) == {"wares": ["cheap"]}
    assert tables(ask(admin, shop, "tables", schema="wares", search="ITE")) == {"wares": ["item"]}
    answer = ask(admin, shop, "tables", schema="wares", limit=1, page=2)
    assert tables(answer) in ({"wares": ["item"]}, {"wares": ["cheap"]}) and answer.json["has_more"]


def test_columns(admin, shop):
    answer = ask(admin, shop, "columns", schema="wares", table="item")
    assert answer.status == 200, answer
    assert [(c["name"], c["type"]) for c in answer.json["columns"]] == [
        ("id", "bigint(20) unsigned"), ("shelf", "varchar(20)"), ("price", "decimal(10,2)"),
        ("since", "timestamp")]
    assert ask(admin, shop, "columns", table="victim").json["columns"][0]["name"] == "id"
    assert ask(admin, shop, "columns", table="nothing").status in (400, 404)


def test_no_text_is_ever_code(admin, shop, server, target):
    for text in INJECTIONS:
        for what, query in [("tables", {"schema": text}), ("tables", {"search": text}),
                            ("columns", {"table": text}), ("columns", {"schema": text, "table": "x"})]:
            answer = ask(admin, shop, what, **query)
            assert answer.status in (200, 400, 404), (what, query, answer)
            if what == "tables":
                assert answer.status == 400 or not answer.json["schemas"], (query, answer)
    assert server.sql(f"SHOW TABLES FROM {target.database}") == "victim"


def test_odd_names(admin, shop, server):
    schema = unique("odd").replace("-", "_")
    user = server.sql("SELECT User FROM mysql.db WHERE Db = 'wares'")
    server.sql(f"CREATE DATABASE {schema} CHARACTER SET utf8mb4; GRANT ALL ON {schema}.* TO {user}@'%'")
    server.sql("SET NAMES utf8mb4;" + "".join(
        f"CREATE TABLE {schema}.{identifier(name)} (a INT) ENGINE=MEMORY;" for name in NAMES))
    found = tables(ask(admin, shop, "tables", schema=schema))[schema]
    assert sorted(found) == sorted(NAMES)
    with ThreadPoolExecutor(3) as pool:  # each waits for a sign-in at the target
        answers = pool.map(lambda name: ask(admin, shop, "columns", schema=schema, table=name), NAMES)
    for name, answer in zip(NAMES, answers):
        assert answer.status == 200 and answer.json["columns"][0]["name"] == "a", (name, answer)
    server.sql(f"DROP DATABASE {schema}")
