# SPDX-License-Identifier: MIT
"""Targets that are signed in to ahead of need, for the next script over the API: each is new, belongs
to what it was opened with, and goes soon."""
import time

import pytest

from api import b64
from conftest import PATIENCE, wait_for
from native import OwnDatabase, sql

ASKED = "select pid, extract(epoch from backend_start) from pg_stat_activity where pid = " \
        "pg_backend_pid()"


@pytest.fixture
def own(postgres):
    return OwnDatabase(postgres, "create table kept (a int)")


def rows(api, name, script):
    done = api.post("/sessions?results=json", {"connection": name, "script": script}).json
    assert done["output_status"] == "success", done
    return done["statements"][-1]["rows"]


def spares(target):
    return int(sql(target.server, "select count(*) from pg_stat_activity where state = 'idle' and "
                                  f"query = '' and usename = '{target.user}'"))


def ahead(api, name):
    """The process of a script whose target was there before the script was sent."""
    def look():
        before = time.time()
        pid, started = rows(api, name, ASKED)[0]
        return pid if float(started) < before else None
    return wait_for(look, what="a target that was opened ahead of need")


def test_a_script_finds_its_target_open_and_new(quick, own):
    name = own.connection(quick)
    ahead(quick, name)
    left = ("set application_name to 'mine'; set search_path to pg_catalog; set role pg_monitor; "
            "create temporary table t (a int); prepare p as select 1; listen news; "
            "declare c cursor with hold for select 1; select pg_advisory_lock(7), setseed(0.5)")
    sql(own.server, f"grant pg_monitor to {own.user}", own.database)
    state = ("select current_setting('application_name'), current_user, (select count(*) from "
             "pg_prepared_statements), (select count(*) from pg_cursors), pg_my_temp_schema()::int, "
             "(select count(*) from pg_locks where locktype = 'advisory' and pid = "
             "pg_backend_pid()), (select count(*) from pg_listening_channels()), "
             "current_setting('search_path'), pg_backend_pid()")
    seen = []
    for _ in range(8):
        rows(quick, name, left)
        seen.append(rows(quick, name, state)[0])
    assert {tuple(row[:8]) for row in seen} == {
        ("gatehouse", own.user, 0, 0, 0, 0, 0, '"$user", public')}
    assert len({row[8] for row in seen}) == 8, "a target served two scripts"


def test_it_ends_by_itself_and_lets_a_database_go(quick, own):
    name = own.connection(quick)
    ahead(quick, name)
    wait_for(lambda: spares(own) > 0, what="a spare")
    sql(own.server, f"drop database {own.database}")  # which waits for five seconds
    ours = own.connection(quick, own.secret(DB="postgres"))
    rows(quick, ours, "select 1")
    wait_for(lambda: spares(own) > 0, what="a spare")
    wait_for(lambda: spares(own) == 0, what="its end")


def test_what_was_changed_is_not_what_it_was_opened_with(quick, own):
    name = own.connection(quick)
    other = OwnDatabase(own.server, "select 1")
    ahead(quick, name)
    assert rows(quick, name, "select current_user, current_database()") == [
        [own.user, own.database]]
    changed = quick.patch(f"/connections/{name}", {"secret": {
        "envvar:USER": b64(other.user), "envvar:DB": b64(other.database)}})
    assert changed.status == 200, changed
    assert rows(quick, name, "select current_user, current_database()") == [
        [other.user, other.database]]
    ahead(quick, name)
    wrong = quick.patch(f"/connections/{name}", {"secret": {"envvar:USER": b64("nobody_here")}})
    assert wrong.status == 200, wrong
    done = quick.post("/sessions", {"connection": name, "script": "select 1"}).json
    assert done["output_status"] == "failed", done


def test_one_that_the_server_ended_is_not_used(quick, own):
    name = own.connection(quick)
    for _ in range(3):
        ahead(quick, name)
        wait_for(lambda: spares(own) > 0, what="a spare")
        sql(own.server, "select pg_terminate_backend(pid) from pg_stat_activity where usename = "
                        f"'{own.user}'")
        wait_for(lambda: spares(own) == 0, what="its end")
        assert rows(quick, name, "select 1") == [[1]]


def test_a_kill_ends_its_own_session_alone(quick, own):
    name = own.connection(quick)
    ahead(quick, name)
    running = quick.post("/sessions?wait_ms=0", {"connection": name,
                                                 "script": "select pg_sleep(60)"}).json
    wait_for(lambda: sql(own.server, "select count(*) from pg_stat_activity where state = 'active' "
                                     f"and usename = '{own.user}'") == "1", what="the statement")
    going = quick.post("/sessions?wait_ms=0", {"connection": name,
                                               "script": "select pg_sleep(2), 'kept'"}).json
    assert quick.post(f"/sessions/{running['session_id']}/kill").status == 204
    wait_for(lambda: quick.get(f"/sessions/{running['session_id']}").json["status"] == "done",
             what="its end")
    kept = wait_for(lambda: (quick.get(f"/sessions/{going['session_id']}").json if
                             quick.get(f"/sessions/{going['session_id']}").json["status"] == "done"
                             else None), what="the other's end")
    assert kept["end_reason"] == "the client left", kept


def test_a_stop_ends_them(start, own):
    from api import register
    gateway = start()
    admin = register(gateway)
    name = own.connection(admin)
    rows(admin, name, "select 1")
    wait_for(lambda: spares(own) > 0, what="a spare")
    began = time.monotonic()
    assert gateway.stop() == 0, gateway.text()
    assert time.monotonic() - began < PATIENCE
    wait_for(lambda: spares(own) == 0, what="their end")
