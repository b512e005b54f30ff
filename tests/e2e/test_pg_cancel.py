# SPDX-License-Identifier: MIT
"""Requests to cancel: by clients that know the key, of any version; what nobody asked for goes on."""
import os
import signal
import struct
import subprocess
import threading
import time

import pytest

from api import register
from conftest import IS_SANITIZED, Gateway, wait_for
from native import address, credential, sql
from pgwire import Refused, Wire, cancel, message, rows_of, text
from test_pg_recording import recording
from test_pg_sessions import url

CANCELLED = "57014"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("quick"), "--workers", 3)
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture
def made(quick, target):
    return credential(quick, target.connection(quick))


def sleeping(target):
    return int(sql(target.server, "SELECT count(*) FROM pg_stat_activity WHERE usename = "
                                  f"'{target.user}' AND state = 'active'"))


def test_psql_cancels_as_people_do(made, target):
    given = address(made)
    client = subprocess.Popen(
        ["psql", "-X", "-h", given["host"], "-p", given["port"], "-U", given["user"],
         "-c", "SELECT pg_sleep(60)", given["dbname"]],
        env={**os.environ, "PGPASSWORD": given["password"]}, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: sleeping(target) == 1, what="the query")
    client.send_signal(signal.SIGINT)
    _, said = client.communicate(timeout=15)
    assert "canceling statement due to user request" in said
    assert sleeping(target) == 0


@pytest.mark.parametrize("version, size", [((3, 0), 8), ((3, 2), 36)])
def test_the_key_is_as_long_as_the_version_allows(made, target, version, size):
    with Wire(made, version=version) as wire:
        assert len(wire.key) == size
        wire.send(message(b"Q", text("SELECT pg_sleep(60)")))
        wait_for(lambda: sleeping(target) == 1, what="the query")
        cancel(made, wire)
        with pytest.raises(Refused, match=CANCELLED):
            wire.until_ready()
        assert wire.ask("SELECT 1") == [("1",)]


def test_a_wrong_key_does_nothing(made, target):
    with Wire(made) as wire, Wire(made, version=(3, 2)) as long:
        wire.send(message(b"Q", text("SELECT pg_sleep(1.5), 'slept'")))
        process, secret = struct.unpack("!II", wire.key)
        for key in (struct.pack("!II", process, secret ^ 1), struct.pack("!II", process + 2, secret),
                    struct.pack("!II", 0, 0), wire.key + b"\0", wire.key[:4] + long.key[4:],
                    long.key[:8], wire.key[:4] + bytes(256)):
            cancel(made, wire, key)
        assert rows_of(wire.until_ready()) == [("", "slept")]


def test_the_key_of_a_session_that_is_over_does_nothing(made, target):
    with Wire(made) as gone:
        key = gone.key
    with Wire(made) as wire:
        wire.send(message(b"Q", text("SELECT pg_sleep(0.5), 'slept'")))
        cancel(made, wire, key)
        assert rows_of(wire.until_ready()) == [("", "slept")]


def test_what_is_sent_after_a_cancel_is_not_cancelled(made, target):
    """The end of the request's connection says that it was done; across the workers, too."""
    with Wire(made) as wire:
        for _ in range(10 if IS_SANITIZED else 30):
            wire.send(message(b"Q", text("SELECT pg_sleep(10)")))
            wait_for(lambda: sleeping(target) == 1, what="the query")
            cancel(made, wire)
            with pytest.raises(Refused, match=CANCELLED):
                wire.until_ready()
            assert wire.ask("SELECT pg_sleep(0.02), 'mine'") == [("", "mine")]


def test_requests_to_cancel_come_in_crowds(made, target):
    with Wire(made) as wire:
        for _ in range(3):
            wire.send(message(b"Q", text("SELECT pg_sleep(60)")))
            wait_for(lambda: sleeping(target) == 1, what="the query")
            crowd = [threading.Thread(target=cancel, args=(made, wire)) for _ in range(20)]
            for one in crowd:
                one.start()
            with pytest.raises(Refused, match=CANCELLED):
                wire.until_ready()
            for one in crowd:
                one.join()
            assert wire.ask("SELECT 'as new'") == [("as new",)]


def test_a_session_that_ends_while_it_is_being_cancelled(made, target, quick):
    for turn in range(20):
        wire = Wire(made)
        wire.send(message(b"Q", text("SELECT pg_sleep(1)")))
        other = threading.Thread(target=cancel, args=(made, wire))
        other.start()
        time.sleep(0.003 * (turn % 5))
        wire.conn.close()
        other.join()
    wait_for(lambda: sleeping(target) == 0, what="the end of all")
    assert quick.gateway.is_alive()


PSYCOPG = """
import sys, threading, time, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as conn:
    for _ in range(5):
        timer = threading.Timer(0.3, conn.cancel)
        timer.start()
        try:
            conn.execute("SELECT pg_sleep(60)")
        except psycopg.errors.QueryCanceled:
            timer.join()
            print(conn.execute("SELECT 'next'").fetchone()[0])
"""


def test_psycopg_cancels(made, tools):
    done = subprocess.run([f"{tools}/python", "-c", PSYCOPG, url(made, sslmode="disable")],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == 5 * "next\n", done.stderr


def test_a_cancelled_query_is_on_record(made, target, quick):
    with Wire(made) as wire:
        wire.send(message(b"Q", text("SELECT pg_sleep(60)")))
        wait_for(lambda: sleeping(target) == 1, what="the query")
        cancel(made, wire)
        with pytest.raises(Refused, match=CANCELLED):
            wire.until_ready()
    name = made["connection_name"]
    [one] = wait_for(lambda: [s for s in quick.get(f"/sessions?connection={name}").json["data"]
                              if s["status"] == "done"], what="the end")
    shown = recording(quick.gateway, "show", one["id"]).stdout
    assert "cancelled" in shown and CANCELLED in shown, shown
