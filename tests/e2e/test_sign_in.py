# SPDX-License-Identifier: MIT
"""Signing in with a password: who is told what, and how often anybody may try."""
import concurrent.futures
import math
import re
import select
import sqlite3
import statistics
import subprocess
import threading
import time

import pytest

from api import PASSWORD, Api, KeptApi, register, unique
from conftest import BINARY, receive_all, wait_for
from people import TRUSTED, WRONG, House, new_address, slow_hash

SPARED = {"Date", "Content-Length"}


def told(answer):
    return (answer.status, answer.body, sorted(set(answer.headers) - SPARED))


def assert_busy(answer, seconds):
    assert answer.status == 429 and answer.headers["Retry-After"] == str(seconds), answer
    assert set(answer.json) == {"message"}
    assert f"try again in {seconds} second{'' if seconds == 1 else 's'}" in answer.message
    assert "Token" not in answer.headers and "Set-Cookie" not in answer.headers


def guess(house, email, count, address=None):
    for _ in range(count):
        assert house.sign_in(email, WRONG, address).status == 401


# Who is told what -------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def refused(house):
    """By kind: what is sent, and is refused."""
    person, inactive, invited = house.person(), house.person(), f"{unique('guest')}@example.com"
    house.put(inactive, status="inactive")
    assert house.admin.post("/users", {"email": invited}).json["status"] == "invited"
    without = house.person()
    house.store.ask("UPDATE user_account SET password_hash = NULL WHERE email = ?", without)
    return {"wrong": (person, WRONG, {}), "unknown": ("nobody@example.com", PASSWORD, {}),
            "inactive": (inactive, PASSWORD, {}), "invited": (invited, PASSWORD, {}),
            "without": (without, PASSWORD, {}),
            "elsewhere": (person, PASSWORD, {"organization": "nowhere"})}


def test_whoever_cannot_sign_in_is_told_the_same(house, refused):
    wrong = told(house.sign_in(*refused["wrong"][:2]))
    assert wrong[0] == 401 and wrong[1] == b'{"message":"access denied: wrong address or password"}'
    for kind, (email, password, members) in refused.items():
        assert told(house.sign_in(email, password, **members)) == wrong, kind
    house.forget()


def medians(house, refused):
    taken = {kind: [] for kind in refused}
    for turn in range(9):
        if turn % 4 == 0:
            house.forget()
        for kind, (email, password, members) in refused.items():
            begun = time.perf_counter()
            assert house.sign_in(email, password, **members).status == 401
            taken[kind].append(time.perf_counter() - begun)
    house.forget()
    return {kind: statistics.median(times) for kind, times in taken.items()}


@pytest.mark.quiet
def test_and_as_late(house, refused):
    """Other work on the machine makes single turns slow, but not the same kind each time."""
    for _ in range(4):
        times = medians(house, refused)
        if max(times.values()) <= 1.3 * min(times.values()):
            return
    raise AssertionError(times)


def test_who_signs_in_is_in_the_log_and_who_does_not(house):
    person, nobody = house.person(), f"{unique('nobody')}@example.com"
    house.mark()
    assert house.sign_in(person, WRONG, "192.0.2.77").status == 401
    assert house.sign_in(nobody, PASSWORD).status == 401
    assert house.sign_in(person.upper()).status == 200
    assert [(entry["client_ip"], entry["error_message"]) for entry in house.log()[:3]][2] == \
        ("192.0.2.77", "wrong address or password")
    assert house.entries(PASSWORD, WRONG) == [
        ("sign_in", "sign_in", 401, person), ("sign_in", "sign_in", 401, nobody),
        ("sign_in", "sign_in", 200, person.upper())]
    assert WRONG not in house.gateway.text() and PASSWORD not in house.gateway.text()


# Guessing ---------------------------------------------------------------------------------------

@pytest.mark.quiet
def test_guesses_wait_for_longer_and_longer(house):
    email = house.person()
    guess(house, email, 5)
    assert_busy(house.sign_in(email), 1)
    for wait in 1, 2, 4, 8, 16, 32, 64:  # the right one has to wait, too
        assert house.is_held(email, wait, lambda: house.sign_in(email, WRONG),
                             lambda: house.sign_in(email))
        house.later(wait, email)
        guess(house, email, 1)
    house.store.ask("UPDATE sign_in_failure SET failure_count = 40 WHERE key LIKE ?",
                    f"%{house.word_of(email)}")
    answer = house.sign_in(email)
    assert answer.status == 429 and 290 < int(answer.headers["Retry-After"]) <= 300
    house.later(300, email)
    assert house.sign_in(email).status == 200


@pytest.mark.quiet
def test_an_address_that_nobody_has_waits_as_well(house):
    known, unknown = house.person(), f"{unique('nobody')}@example.com"
    answers = []
    for email in known, unknown:
        guess(house, email, 5)
        answers.append(house.sign_in(email))
        assert_busy(answers[-1], 1)
    assert told(answers[0]) == told(answers[1])
    for email in known, unknown:
        assert house.is_held(email, 1, lambda email=email: house.sign_in(email))


@pytest.mark.quiet
def test_a_success_forgets(house):
    email = house.person()
    for _ in range(3):
        guess(house, email, 4)
        assert house.sign_in(email).status == 200
    guess(house, email, 5)
    house.later(1, email)
    assert house.sign_in(email).status == 200
    assert house.failures(email) == {}
    guess(house, email, 5)
    assert_busy(house.sign_in(email), 1)


def test_an_hour_forgets(house):
    email = house.person()
    guess(house, email, 5)
    house.store.ask("UPDATE sign_in_failure SET failure_count = 30 WHERE key LIKE ?",
                    f"%{house.word_of(email)}")
    house.later(3601, email)
    guess(house, email, 1)
    assert list(house.failures(email).values()) == [1]


def test_what_is_forgotten_leaves_the_store(house):
    first = [f"{unique('nobody')}@example.com" for _ in range(3)]
    for email in first:
        guess(house, email, 1)
    house.later(3601)
    guess(house, f"{unique('nobody')}@example.com", 1)
    assert not any(house.failures(email) for email in first)


def test_however_it_is_written_it_is_one_account(house):
    email = house.person()
    for written in email, email.upper(), email.title(), email, email.swapcase():
        guess(house, written, 1)
    assert house.is_held(email, 1, lambda: house.sign_in(email.capitalize()))
    assert len(house.failures(email)) == 1


def test_nobody_else_has_to_wait(house):
    address = new_address()
    locked, other = house.person(), house.person()
    guess(house, locked, 5, address)
    assert house.is_held(locked, 1, lambda: house.sign_in(locked, address=address),
                         lambda: house.sign_in(locked))  # from anywhere
    assert house.sign_in(other, address=address).status == 200
    assert house.sign_in(other).status == 200


@pytest.mark.parametrize("first,same,other", [
    ("203.0.113.7", "203.0.113.7", "203.0.113.8"),
    ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:fffe", "2001:db8:1:3::1"),
    ("::ffff:203.0.113.9", "203.0.113.9", "::ffff:203.0.113.10")])
def test_an_address_waits_after_fifty(house, first, same, other):
    guess(house, f"{unique('nobody')}@example.com", 1, first)
    [key] = [key for key in house.failures("address ") if key.split()[1].startswith(
        ("203.0.113.7", "203.0.113.9", "2001:db8:1:2:"))]
    house.store.ask("UPDATE sign_in_failure SET failure_count = 49 WHERE key = ?", key)
    email = house.person()
    guess(house, email, 1, same)
    assert house.is_held(key, 1, lambda: house.sign_in(email, address=first),
                         lambda: house.sign_in("root@example.com", address=same))
    assert house.failures(email) == {f"account {email}": 1}  # no attempt
    assert house.sign_in(email, address=other).status == 200
    house.later(1, key)
    assert house.sign_in(email, address=first).status == 200
    assert house.failures(key) == {key: 50}  # others' failures are not forgotten
    house.forget(key)


def most_guesses(since):
    """Five, and as many more as one can wait for since then: after one second, two, four."""
    return 5 + int(math.log2(time.monotonic() - since + 1))


def guess_at_once(calls):
    """How many were looked at; the others are told to wait."""
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        statuses = [answer.status for answer in pool.map(lambda call: call(), calls)]
    assert set(statuses) == {401, 429}
    assert 5 <= statuses.count(401) <= most_guesses(begun)
    return statuses.count(401)


@pytest.mark.parametrize("is_known", [True, False])
def test_forty_at_once_are_forty(house, is_known):
    email = house.person() if is_known else f"{unique('nobody')}@example.com"
    address = new_address()
    count = guess_at_once([lambda: house.sign_in(email, WRONG, address)] * 40)
    assert house.failures(email) == {f"account {email}": count}
    assert house.failures(f"address {address}") == {f"address {address}": count}


@pytest.mark.parametrize("which", ["sqlite", "postgres"])
def test_a_restart_forgets_nothing(start, request, tmp_path, which):
    flags = [*TRUSTED]
    if which == "postgres":
        server = request.getfixturevalue("postgres")
        flags += ["--database-url", server.create(f"restart_{time.monotonic_ns()}")]
    house = House(start(*flags, folder=tmp_path / "same"))
    email = house.person()
    guess(house, email, 5)
    house.store.ask("UPDATE sign_in_failure SET failure_count = 12 WHERE key LIKE 'account%'")
    assert house.gateway.stop() == 0
    house = House(start(*flags, folder=tmp_path / "same"), house.admin)
    answer = house.sign_in(email)
    assert answer.status == 429 and 100 < int(answer.headers["Retry-After"]) <= 128, answer


def test_two_gateways_count_together(start, postgres, tmp_path):
    flags = [*TRUSTED, "--database-url", postgres.create(f"two_{time.monotonic_ns()}"),
             "--master-key-file", tmp_path / "key"]
    house = House(start(*flags))
    other = start(*flags)
    email = house.person()
    for gateway in (house.gateway, other) * 2 + (other,):
        assert house.sign_in(email, WRONG, gateway=gateway).status == 401
    assert house.is_held(email, 1, lambda: house.sign_in(email),
                         lambda: house.sign_in(email, gateway=other))
    house.later(1)
    assert house.sign_in(email, gateway=other).status == 200
    assert house.failures(email) == {}
    count = guess_at_once([lambda gateway=gateway: house.sign_in(email, WRONG, gateway=gateway)
                           for gateway in (house.gateway, other) * 20])
    assert house.failures(email) == {f"account {email}": count}


# How often --------------------------------------------------------------------------------------

def knock(api, address):
    """Costs the gateway nothing, but is an attempt."""
    return api.post("/localauth/register", {}, headers={"X-Forwarded-For": address})


@pytest.mark.quiet
@pytest.mark.parametrize("same,other", [
    (["203.0.114.1"], "203.0.114.2"),
    (["2001:db8:7:7::1", "2001:db8:7:7::2", "2001:db8:7:7:8000::"], "2001:db8:7:8::1")])
def test_an_address_may_try_so_often(house, same, other):
    begun = time.monotonic()
    answers, api = [], KeptApi(Api(house.gateway))
    while not answers or answers[-1].status == 400:
        answers.append(knock(api, same[len(answers) % len(same)]))
        assert len(answers) < 2000
    seconds = time.monotonic() - begun
    assert 201 <= len(answers) <= 202 + 60 * seconds
    assert_busy(answers[-1], 1)
    assert knock(api, other).status == 400
    time.sleep(0.1)
    assert knock(api, same[0]).status == 400


def test_an_account_is_tried_so_often(house):
    email, other = house.person(), house.person()
    for _ in range(20):  # a slow machine needs some rounds until it is too often
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: house.sign_in(email, WRONG), range(90)))
        # It is not that it failed which makes it wait: in no such organization has it.
        nowhere = unique("nowhere")
        answer = house.sign_in(email, organization=nowhere)
        if answer.status == 429:
            break
    assert_busy(answer, 1)
    assert house.failures(nowhere) == {}
    assert house.sign_in(other).status == 200
    time.sleep(0.6)
    house.later(3601, email)  # and it did fail, too
    assert house.sign_in(email, organization="default").status == 200


def test_an_address_of_the_clients_own_making_is_not_believed(start):
    gateway = start()
    house = House(gateway)
    email = house.person()
    guess(house, email, 1, "203.0.113.1")
    assert house.failures("address") == {"address 127.0.0.1": 1}


def raw_login(gateway, email):
    body = f'{{"email":"{email}","password":"{WRONG}"}}'
    conn = gateway.connect()
    conn.sendall((f"POST /api/localauth/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                  f"X-Forwarded-For: {new_address()}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                  ).encode())
    return conn


@pytest.mark.quiet
def test_too_many_at_once_wait_or_come_back_later(start):
    """Sign-ins stand still while another program writes to the store."""
    house = House(start(*TRUSTED))
    email = house.person()
    writer = sqlite3.connect(house.store.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    conns = [raw_login(house.gateway, email) for _ in range(150)]
    try:
        wait_for(lambda: len(select.select(conns, [], [], 0)[0]) >= 150 - 108)  # it is full now
        late = raw_login(house.gateway, email)
        late.settimeout(5)
        refused = receive_all(late)
        assert refused.startswith(b"HTTP/1.1 429") and b"\r\nRetry-After: 1\r\n" in refused
        assert b"too many requests are waiting" in refused
        for path in "/healthz", "/userinfo", "/resources", "/users":
            begun = time.monotonic()
            assert house.admin.get(path).status == 200
            assert time.monotonic() - begun < 1
    finally:
        begun = time.monotonic()
        writer.execute("ROLLBACK")
        writer.close()
    answers = [receive_all(conn) for conn in conns]
    statuses = [answer.split(b" ")[1] for answer in answers]
    count = statuses.count(b"401")
    assert set(statuses) == {b"401", b"429"} and 5 <= count <= most_guesses(begun)
    waited = sum(b"too many attempts: try again in" in answer for answer in answers)
    assert 100 <= waited + count <= 108  # 8 threads, and 100 that wait for one of them
    assert house.sign_in(house.person()).status == 200


# While the password is looked at ----------------------------------------------------------------

def test_what_changes_meanwhile_counts(start):
    house = House(start(*TRUSTED, "--workers", "8"))
    slow = slow_hash()
    people = [house.person("dev") for _ in range(4)]
    house.store.ask("UPDATE user_account SET password_hash = ? WHERE email LIKE 'person%'", slow)
    answers = {}

    def sign_in(email):
        answers[email] = house.sign_in(email)
    threads = [threading.Thread(target=sign_in, args=[email]) for email in people]
    for thread in threads:
        thread.start()
    wait_for(lambda: all(house.failures(email) for email in people), what="the attempts")
    same, changed, inactive, gone = people
    house.store.ask("UPDATE user_account SET password_hash = ? WHERE email = ?", slow_hash("x", 1),
                    changed)
    house.put(inactive, status="inactive")
    assert house.admin.delete(f"/users/{gone}").status == 204
    assert not answers
    for thread in threads:
        thread.join()
    assert [answers[email].status for email in people] == [200, 401, 401, 401]
    wrong = told(house.sign_in(same, WRONG))
    assert all(told(answers[email]) == wrong for email in people[1:])


# Who signs in where -----------------------------------------------------------------------------

def test_without_passwords_nobody_signs_in_with_one(start, store_url, tmp_path):
    flags = ["--database-url", store_url, "--master-key-file", tmp_path / "key",
             "--public-url", "http://127.0.0.1:8009"]
    body = {"email": "root@example.com", "password": PASSWORD}
    fresh = start(*flags, "--local-auth", "off")
    assert Api(fresh).post("/localauth/register", body).status == 403
    assert fresh.stop() == 0
    first = start(*flags)
    admin = register(first)
    assert first.stop() == 0
    gateway = start(*flags, "--local-auth", "off")
    for path, sent in (("login", body), ("login", {**body, "password": WRONG}), ("register", body),
                       ("login", {**body, "email": "nobody@example.com"})):
        answer = Api(gateway).post(f"/localauth/{path}", sent)
        assert answer.status == 403 and "passwords are off" in answer.message, answer
        assert "Token" not in answer.headers
    assert Api(gateway).get("/publicserverinfo").json["local_auth"] is False
    assert Api(gateway, admin.token).get("/userinfo").status == 200


def create(gateway, *arguments):
    return subprocess.run([BINARY, "org", "create", *arguments, "--data-dir", gateway.data],
                          capture_output=True, text=True)


def test_an_organization_is_made_with_its_first_admin(house):
    name, email = unique("organization"), f"{unique('root')}@example.com"
    made = create(house.gateway, name, email)
    assert made.returncode == 0 and not made.stderr, made
    password = re.search(rf"{re.escape(email)} has the password (\S+)", made.stdout).group(1)
    assert len(password) >= 20 and password not in house.gateway.text()
    boss = house.enter(email, password)
    info = boss.get("/userinfo").json
    assert info["org_name"] == name and info["is_admin"] is True
    assert house.enter(email, password, organization=name).get("/users").status == 200
    for organization in "default", "nowhere":
        assert house.sign_in(email, password, organization=organization).status == 401
    assert house.sign_in(email, password[:-1]).status == 401
    assert house.admin.get(f"/users/{email}").status == 404
    assert [user["email"] for user in boss.get("/users").json] == [email]
    log = boss.get("/audit/logs").json["data"]
    assert (log[-1]["resource_type"], log[-1]["action"]) == ("organizations", "create")
    assert password not in boss.get("/audit/logs/export").body.decode()
    kept = house.store.ask("SELECT password_hash FROM user_account WHERE email = ?", email)
    assert kept[0][0].startswith("$argon2id$") and password not in kept[0][0]


def test_organizations_that_are_not_made(house):
    name, email = unique("organization"), f"{unique('root')}@example.com"
    for arguments in ((name, "no address"), ("", email), ("default", email),
                      (name, "x" * 250 + "@example.com")):
        made = create(house.gateway, *arguments)
        assert made.returncode != 0 and made.stderr and "password" not in made.stdout, made
    assert house.store.ask("SELECT 1 FROM user_account WHERE email = ?", email) == []
    assert create(house.gateway, name, email).returncode == 0
    again = create(house.gateway, name, f"{unique('root')}@example.com")
    assert again.returncode != 0 and "already exists" in again.stderr
    # The same address may be somebody else's in another one.
    other = create(house.gateway, unique("organization"), email)
    assert other.returncode == 0
