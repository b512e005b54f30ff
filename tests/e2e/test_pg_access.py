# SPDX-License-Identifier: MIT
"""Whoever is locked out is thrown out: of the session that is there, within a second, and of every
new one. Sessions of others stay."""
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from api import PASSWORD, Api, login, register, unique
from conftest import IS_SANITIZED, wait_for
from native import Target, credential, psql, revoke, sql
from pgwire import Refused, Wire, message, text
from store import Store, new_organization

AT_ONCE = 5 if IS_SANITIZED else 1
SLACK = 0.5  # of a machine that does other things, too


@pytest.fixture
def boss(admin):
    return new_organization(admin)


class Person:
    def __init__(self, boss, *groups):
        self.email = f"{unique('person')}@example.com"
        made = boss.post("/users", {"email": self.email, "password": PASSWORD,
                                    "groups": list(groups)})
        assert made.status == 201, made
        self.caller = login(boss.gateway, self.email)


def lock_out(how, boss, person, name, made):
    """Does it, and says how the session is told."""
    if how == "the credential is revoked":
        done = revoke(person.caller, made)
        words = "expired or was revoked"
    elif how == "the admin revokes it":
        done = revoke(boss, made)
        words = "expired or was revoked"
    elif how == "the user is deactivated":
        done = boss.put(f"/users/{person.email}", {"email": person.email, "status": "inactive",
                                                   "groups": ["dev"]})
        words = "owner is not active|expired or was revoked"
    elif how == "the user is deleted":
        done = boss.delete(f"/users/{person.email}")
        words = "owner is not active|expired or was revoked"
    elif how == "the group is lost":
        done = boss.put(f"/users/{person.email}", {"email": person.email, "status": "active",
                                                   "groups": []})
        words = "owner may not use the connection"
    elif how == "a rule of access is made":
        done = boss.put(f"/connections/{name}/access", {"groups": ["others"]})
        words = "owner may not use the connection"
    elif how == "what no rule names is closed":
        assert boss.put(f"/connections/{name}/access", {"groups": []}).status == 200
        done = boss.put("/orgs/default-access", {"default_access": "nobody"})
        words = "owner may not use the connection"
    elif how == "native clients are turned off":
        body = boss.get(f"/connections/{name}").json
        done = boss.patch(f"/connections/{name}", {"access_mode_connect": "disabled"})
        assert body["access_mode_connect"] == "enabled"
        words = "native clients"
    else:
        done = boss.delete(f"/connections/{name}")
        words = "expired or was revoked|may not use the connection"
    assert done is None or done.status in (200, 204), done
    return words.split("|")


WAYS = ["the credential is revoked", "the admin revokes it", "the user is deactivated",
        "the user is deleted", "the group is lost", "a rule of access is made",
        "what no rule names is closed", "native clients are turned off",
        "the connection is deleted"]
ENDS_ALL = WAYS[-3:]


@pytest.mark.quiet
@pytest.mark.parametrize("how", WAYS)
def test_a_live_session_ends_within_a_second(boss, target, how):
    assert boss.post("/users/groups", {"name": "others"}).status == 201
    name = target.connection(boss)
    person, other = Person(boss, "dev"), Person(boss, "others")
    rule = boss.put(f"/connections/{name}/access", {"groups": ["dev", "others"]})
    assert rule.status == 200, rule
    made, kept = credential(person.caller, name), credential(other.caller, name)
    with Wire(made) as idle, Wire(made) as busy, Wire(kept) as stays:
        idle.ask("SELECT 1")
        busy.send(message(b"Q", text("SELECT pg_sleep(60)")))
        time.sleep(0.3)
        words = lock_out(how, boss, person, name, made)
        began = time.monotonic()
        for wire in idle, busy:
            fatal = wire.fatal()
            assert (fatal["S"], fatal["C"]) == ("FATAL", "57P01"), fatal
            assert any(word in fatal["M"] for word in words), fatal
        assert time.monotonic() - began < AT_ONCE + SLACK
        if how not in ENDS_ALL:
            assert stays.ask("SELECT 2") == [("2",)]
    done = psql(made, "SELECT 1", check=False)
    assert done.returncode == 2 and "FATAL" in done.stderr
    # What ran is cancelled at the target, too.
    wait_for(lambda: "0" == running(target), what="the end of the query")


def running(target):
    return sql(target.server, "SELECT count(*) FROM pg_stat_activity WHERE usename = "
                              f"'{target.user}' AND state = 'active'")


def test_a_session_ends_when_its_credential_expires(admin, target):
    name = target.connection(admin)
    made = credential(admin, name, access_duration_seconds=60)
    with Wire(made) as wire:
        soon = int((time.time() + 1.5) * 1e6)
        Store(admin.gateway).ask("UPDATE credential SET expires_at = ? WHERE id = ?", soon,
                                 made["id"])
        # The session knows when it expires from its start: another one sees the new time.
        with Wire(made) as late:
            assert late.ask("SELECT 1") == [("1",)]
            fatal = late.fatal()
            assert fatal["C"] == "57P01" and "expired" in fatal["M"]
            assert time.time() * 1e6 - soon < (AT_ONCE + SLACK) * 1e6
        assert wire.ask("SELECT 1") == [("1",)]
    done = psql(made, "SELECT 1", check=False)
    assert "password authentication failed" in done.stderr


@pytest.mark.quiet
def test_an_api_key_owns_sessions_and_loses_them(boss, target):
    name = target.connection(boss)
    key = boss.post("/api-keys", {"name": "machine", "groups": ["dev"]}).json
    made = credential(Api(boss.gateway, key["key"]), name)
    with Wire(made) as wire:
        wire.ask("SELECT 1")
        [one] = boss.get(f"/sessions?connection={name}").json["data"]
        assert one["identity_type"] == "machine", one
        assert boss.delete("/api-keys/machine").status in (200, 204)
        began = time.monotonic()
        assert wire.fatal()["C"] == "57P01"
        assert time.monotonic() - began < AT_ONCE + SLACK


def test_each_of_many_credentials_opens_its_own_session(boss, target):
    name = target.connection(boss)
    people = [Person(boss) for _ in range(5)]
    made = [credential(person.caller, name) for person in people]
    wires = [Wire(one) for one in made]
    found = {one["user"] for one in boss.get(f"/sessions?connection={name}").json["data"]}
    assert found == {person.email for person in people}
    revoke(boss, made[2])
    assert wires[2].fatal()["C"] == "57P01"
    for index in 0, 1, 3, 4:
        assert wires[index].ask("SELECT 1") == [("1",)]
    for wire in wires:
        wire.conn.close()


def test_organizations_with_connections_of_one_name(admin, target):
    one, two = new_organization(admin), new_organization(admin)
    name = target.connection(one, name=unique("same"))
    other = Target(target.server)
    other.connection(two, name=name)
    for boss, user in (one, target.user), (two, other.user):
        made = credential(boss, name)
        with Wire(made) as wire:
            assert wire.ask("SELECT current_user") == [(user,)]
            assert [s["status"] for s in
                    boss.get(f"/sessions?connection={name}").json["data"]] == ["open"]


def test_who_is_locked_out_while_he_comes_in_stays_out(boss, target):
    """Revocations and sign-ins at once: none stays inside, and the gateway lives."""
    name = target.connection(boss)

    def come_and_go(_):
        made = credential(boss, name)
        with ThreadPoolExecutor(2) as pool:
            gone = pool.submit(revoke, boss, made)
            try:
                with Wire(made) as wire:
                    fatal = wire.fatal()
                    assert fatal["C"] == "57P01", fatal
            except Refused as error:
                assert error.fields["C"] in ("28P01", "28000", "57P01"), error
            gone.result()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(come_and_go, range(40)))


@pytest.mark.quiet
def test_a_stop_lets_the_busy_finish_and_can_still_throw_them_out(start, target):
    gateway = start("--shutdown-seconds", 20, "--workers", 2)
    admin = register(gateway)
    name = target.connection(admin)
    made = credential(admin, name)
    with Wire(made) as idle, Wire(made) as busy, Wire(made) as open_transaction, \
            Wire(made, is_begun=False) as silent:
        busy.send(message(b"Q", text("SELECT pg_sleep(2)")))
        open_transaction.ask("BEGIN")
        time.sleep(0.3)
        began = time.monotonic()
        gateway.process.terminate()
        fatal = idle.fatal()
        assert fatal["C"] == "57P01" and "stopping" in fatal["M"], fatal
        assert silent.fatal()["C"] == "57P03"
        assert time.monotonic() - began < AT_ONCE + SLACK
        assert (b"D" in [kind for kind, _ in busy.until_ready()])
        assert busy.fatal()["C"] == "57P01"
        assert open_transaction.ask("SELECT 3") == [("3",)]
        open_transaction.send(message(b"Q", text("COMMIT")))
        open_transaction.until_ready()
        assert open_transaction.fatal()["C"] == "57P01"
    assert gateway.process.wait(20) == 0, gateway.text()
    assert time.monotonic() - began < 10


def test_a_stop_ends_even_the_busiest_when_its_time_is_over(start, target):
    gateway = start("--shutdown-seconds", 1)
    made = credential(admin := register(gateway), target.connection(admin))
    with Wire(made) as busy:
        busy.send(message(b"Q", text("SELECT pg_sleep(100)")))
        time.sleep(0.3)
        gateway.process.terminate()
        assert busy.fatal()["C"] == "57P01"
    assert gateway.process.wait(20) == 0, gateway.text()
    wait_for(lambda: running(target) == "0", what="the end of the query")


def test_a_session_that_nobody_ends_stays(admin, target):
    with Wire(credential(admin, target.connection(admin))) as wire:
        for _ in range(3):
            credential(admin, target.connection(admin))
            time.sleep(0.5)
            assert wire.ask("SELECT 1") == [("1",)]
