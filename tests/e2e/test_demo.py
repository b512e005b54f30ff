# SPDX-License-Identifier: MIT
"""The demonstration of a first start: it works as printed, comes back, and goes without a trace."""
import glob
import os
import socket
import stat

import pytest

from api import Api, register
from conftest import lasting_port, wait_for
from demonstration import Run, new_folder, shell


@pytest.fixture
def run():
    """run("--flag", …) → a Run in the test's folder, on the same ports each time."""
    folder, port, started = new_folder(), lasting_port(), []

    def start(*arguments):
        started.append(Run(folder, *arguments, GATEHOUSE_POSTGRES_LISTEN=f"127.0.0.1:{port}"))
        return started[-1]

    yield start
    for one in started[:-1]:
        one.interrupt()
    started[-1].remove()


def server_port(one):
    with open(f"{one.data}-demo/port", encoding="utf-8") as mark:
        return int(mark.read())


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def names(one):
    return [found["name"] for found in one.get("/resources").json["data"]]


def test_the_line_works_as_it_stands_and_leaves_a_recording(run):
    one = run()
    line = one.line()
    assert shell(line, "SELECT email FROM customers WHERE id = 3").stdout == \
        "bruno.kowalski3@example.com\n"
    assert shell(line, "SELECT current_user").stdout == "shop\n"
    assert shell(line.replace("password=", "password=x"), "SELECT 1", check=False).returncode == 2
    with open(f"{one.data}/demo", encoding="utf-8") as kept:
        assert kept.read() == line + "\n"
        assert stat.S_IMODE(os.stat(kept.name).st_mode) == 0o600
    admin = register(one)
    assert names(admin) == ["demo"]
    sessions = admin.get("/sessions?connection=demo").json["data"]
    assert [(s["user_name"], s["status"]) for s in sessions] == [("demo", "done")] * 2
    assert all(s["recording_size"] > 0 for s in sessions)
    assert len([p for p in glob.glob(f"{one.data}/recordings/**", recursive=True)
                if os.path.isfile(p)]) >= 2


def test_ctrl_c_stops_its_server_and_the_next_run_has_the_same_line(run):
    one = run()
    line, port = one.line(), server_port(one)
    shell(line, "INSERT INTO products VALUES (99, 'X', 'Mine', 'Paper', 1, 1)")
    assert listens(port)
    assert one.interrupt() == 0 and not listens(port)
    two = run()
    assert two.line() == line and server_port(two) == port
    assert shell(line, "SELECT name FROM products WHERE id = 99").stdout == "Mine\n"
    # With people in its store it still is the demonstration of this gateway.
    register(two)
    two.interrupt()
    assert run().line() == line


def test_stopping_it_removes_all(run):
    one = run()
    line, port = one.line(), server_port(one)
    admin = register(one)
    assert one.demo("status").stdout == f"its server runs\n{line}\n\n"
    done = one.demo("stop")
    assert (done.returncode, done.stdout) == (0, "the demonstration is gone\n"), done.stderr
    assert not listens(port) and not os.path.exists(f"{one.data}-demo")
    assert shell(line, "SELECT 1", check=False).returncode == 2
    assert names(admin) == [] and admin.get("/machineidentities").json == []
    one.interrupt()
    two = run()
    assert not os.path.exists(f"{two.data}-demo")  # it was not wanted any more
    assert two.demo("start").stdout.count("psql") == 1
    with open(f"{two.data}/demo", encoding="utf-8") as kept:
        assert shell(kept.read().strip(), "SELECT count(*) FROM customers").stdout == "240\n"


def test_stopped_without_the_gateway_the_resource_goes_with_the_next_start(run):
    one = run()
    one.line()
    admin = register(one)
    one.interrupt()
    done = one.demo("stop")
    assert done.returncode == 0 and "next start" in done.stdout
    two = run()
    admin = Api(two, admin.token)
    wait_for(lambda: names(admin) == [], what="the end of the resource")
    assert not os.path.exists(f"{two.data}-demo")


def test_no_demo_leaves_it_out_and_so_do_people(run):
    one = run("--no-demo")
    admin = register(one)
    assert names(admin) == []
    one.interrupt()
    two = run()
    two.wait_text("listening")
    assert two.interrupt() == 0
    assert "psql" not in two.text() and not os.path.exists(f"{two.data}-demo")


def test_a_resource_of_that_name_is_left_alone(run):
    one = run("--no-demo")
    admin = register(one)
    body = {"name": "demo", "type": "database", "subtype": "postgres", "env_vars": {}}
    assert admin.post("/resources", body).status == 201
    done = one.demo("start")
    assert done.returncode == 1 and "'demo' already exists" in done.stderr
    one.demo("stop")
    assert names(admin) == ["demo"] and not os.path.exists(f"{one.data}-demo")


def fits(number):
    digits = [int(digit) for digit in reversed(number)]
    return sum(d if i % 2 == 0 else sum(divmod(2 * d, 10)) for i, d in enumerate(digits)) % 10 == 0


def test_the_shop_is_worth_a_look(run):
    line = run().line()

    def ask(text):
        return shell(line, text).stdout.splitlines()

    numbers = ask("SELECT number FROM cards")
    assert len(numbers) == 300 and len(set(numbers)) > 290 and all(map(fits, numbers))
    assert {len(number) for number in numbers} == {15, 16}
    assert ask("SELECT count(*) FROM customers WHERE email LIKE '%_@example.com' "
               "AND phone LIKE '+1 202 555 01__'") == ["240"]
    assert ask("SELECT count(*), sum(quantity * price) = (SELECT sum(total) FROM order_totals) "
               "FROM order_items") == ["1750|t"]
    assert ask("SELECT count(*) > 100 FROM best_customers") == ["t"]
    assert ask("SELECT obj_description('cards'::regclass)") == ["How customers pay"]
