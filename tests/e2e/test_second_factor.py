# SPDX-License-Identifier: MIT
"""The second factor of accounts with a password: from its enrolment to its end."""
import base64
import concurrent.futures
import re
import subprocess
import urllib.parse as urls

import pytest

from api import PASSWORD, Api, unique
from conftest import BINARY
from people import TRUSTED, WRONG, House, sha256, totp

SECOND = "/localauth/second-factor"


class Enrolled:
    """Somebody with a second factor."""

    def __init__(self, house, *groups):
        self.house, self.email = house, house.person(*groups)
        self.api = house.enter(self.email)
        self.id = self.api.get("/userinfo").json["id"]
        self.secret = self.api.post(SECOND).json["secret"]
        answer = self.api.post(SECOND + "/confirm", {"code": totp(self.secret)})
        assert answer.status == 200, answer
        self.recovery = answer.json["recovery_codes"]

    def code(self):
        """One that was not used: the store forgets which were."""
        self.house.store.ask("UPDATE second_factor SET last_counter = -1 WHERE user_id = ?",
                             self.id)
        return totp(self.secret)

    def wrong(self):
        near = {totp(self.secret, steps) for steps in range(-3, 4)}
        return next(text for text in map("{:06}".format, range(1000)) if text not in near)

    def sign_in(self, code=None, password=PASSWORD, **members):
        sent = members if code is None else {"code": code, **members}
        return self.house.sign_in(self.email, password, **sent)

    def state(self):
        return tuple(self.api.get(SECOND).json.values())


def asks_for_code(answer):
    assert answer.status == 401 and "Token" not in answer.headers, answer
    assert "Set-Cookie" not in answer.headers
    return answer.json.get("second_factor_required") is True


@pytest.fixture
def person(house):
    return Enrolled(house)


# Enrolment --------------------------------------------------------------------------------------

def test_it_is_enrolled_in_two_steps(house):
    email = house.person()
    api = house.enter(email)
    house.mark()
    assert api.get(SECOND).json == {"is_enabled": False, "recovery_codes_left": 0}
    assert api.post(SECOND + "/confirm", {"code": "123456"}).status == 404
    first = api.post(SECOND)
    assert first.status == 201 and set(first.json) == {"secret", "uri"}
    assert first.headers["Cache-Control"] == "no-store"
    secret = api.post(SECOND).json["secret"]  # once more, in the place of the first
    assert len(base64.b32decode(secret)) == 20 and secret != first.json["secret"]
    uri = urls.urlsplit(api.post(SECOND).json["uri"])
    secret = urls.parse_qs(uri.query)["secret"][0]
    assert (uri.scheme, uri.netloc, urls.unquote(uri.path)) == ("otpauth", "totp",
                                                                f"/Gatehouse:{email}")
    # Until a code was given, nothing is asked for.
    assert house.sign_in(email).status == 200
    for code in totp(first.json["secret"]), "000000", "x", "1" * 64:
        answer = api.post(SECOND + "/confirm", {"code": code})
        assert answer.status == 400 and "'code'" in answer.message, answer
    assert api.get(SECOND).json["is_enabled"] is False and house.sign_in(email).status == 200
    code = totp(secret)
    answer = api.post(SECOND + "/confirm", {"code": f"{code[:3]} {code[3:]}"})
    assert answer.status == 200 and answer.headers["Cache-Control"] == "no-store"
    codes = answer.json["recovery_codes"]
    assert len(set(codes)) == 10 and all(re.fullmatch(r"([A-Z2-7]{4}-){3}[A-Z2-7]{4}", code)
                                         for code in codes)
    assert api.get(SECOND).json == {"is_enabled": True, "recovery_codes_left": 10}
    assert asks_for_code(house.sign_in(email))
    assert api.post(SECOND).status == 409
    assert api.post(SECOND + "/confirm", {"code": totp(secret, 1)}).status == 409
    assert asks_for_code(house.sign_in(email))
    entries = house.entries(secret, code, first.json["secret"], *codes)
    assert [entry for entry in entries if entry[0] == "second_factor"] == [
        ("second_factor", "create", 404, email), *[("second_factor", "create", 201, email)] * 3,
        *[("second_factor", "update", 400, email)] * 4, ("second_factor", "confirm", 200, email),
        *[("second_factor", "create", 409, email)] * 2]


def test_only_with_a_password_here(house, quick_site):
    key = house.admin.key("admin")
    person = quick_site.enter(quick_site.provider.person())
    without = house.person()
    other = house.enter(without)
    house.store.ask("UPDATE user_account SET password_hash = NULL WHERE email = ?", without)
    for caller in key, person, other:
        assert caller.get(SECOND).json == {"is_enabled": False, "recovery_codes_left": 0}
        answer = caller.post(SECOND)
        assert answer.status == 400 and "accounts with a password" in answer.message, answer
        for step in "/confirm", "/recovery-codes", "/remove":
            answer = caller.post(SECOND + step, {"code": "123456"})
            assert answer.status == 404 and "no second factor" in answer.message, answer


# Signing in -------------------------------------------------------------------------------------

def test_signing_in_takes_both(house, person):
    other = Enrolled(house)
    house.mark()
    assert asks_for_code(person.sign_in())
    assert asks_for_code(person.sign_in(""))
    assert asks_for_code(house.sign_in(person.email, code=None))
    assert asks_for_code(person.sign_in(person.wrong()))
    assert asks_for_code(person.sign_in(other.code()))
    right = person.code()
    # With a wrong password nobody learns that there is a second factor, nor is the code used up.
    wrong = person.sign_in(right, WRONG)
    assert not asks_for_code(wrong)
    assert wrong.body == house.sign_in("nobody@example.com", WRONG).body
    answer = person.sign_in(right)
    assert answer.status == 200 and "Token" in answer.headers
    assert Api(house.gateway, answer.headers["Token"]).get("/userinfo").status == 200
    assert asks_for_code(person.sign_in(right))  # used
    answer = person.sign_in(totp(person.secret, 1))  # a clock that is ahead
    assert answer.status == 200
    assert asks_for_code(person.sign_in(totp(person.secret)))  # one before one that was used
    signs = [entry for entry in house.entries(person.secret, right, PASSWORD, WRONG)
             if entry[3] == person.email]
    assert [entry[2] for entry in signs] == [401] * 6 + [200, 401, 200, 401]
    assert {entry[:2] for entry in signs} == {("sign_in", "sign_in")}
    messages = {entry["error_message"] for entry in house.log()[:12]}
    assert {"the second factor is missing", "the second factor is wrong",
            "wrong address or password"} <= messages


@pytest.mark.parametrize("steps,is_good", [(-3, False), (-2, False), (-1, True), (0, True),
                                           (1, True), (2, False), (3, False)])
def test_codes_of_the_steps_around_now(house, steps, is_good):
    """A step may begin between making the code and its being looked at: then once more."""
    for _ in range(2):
        person = Enrolled(house)
        person.code()
        before = totp(person.secret)
        answer = person.sign_in(totp(person.secret, steps))
        if before == totp(person.secret):
            break
    assert answer.status == (200 if is_good else 401), answer


def test_of_many_with_one_code_one_gets_in(house, person):
    for given in person.code(), person.recovery[0]:
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            answers = list(pool.map(lambda _, given=given: person.sign_in(given), range(5)))
        assert sorted(answer.status for answer in answers)[0] == 200
        assert sum(answer.status == 200 for answer in answers) == 1, answers
        house.forget(person.email)


def test_guessed_codes_wait(house, person):
    for _ in range(4):
        assert asks_for_code(person.sign_in(person.wrong()))
    for _ in range(3):  # who knows the password alone cannot make it forget
        assert asks_for_code(person.sign_in())
    assert house.failures(person.email) == {f"account {person.email}": 4}
    assert asks_for_code(person.sign_in(person.wrong()))
    right = person.code()
    assert house.is_held(person.email, 1, lambda: person.sign_in(right), person.sign_in)
    house.later(1, person.email)
    assert asks_for_code(person.sign_in())
    assert person.sign_in(person.code()).status == 200  # at once: to be asked costs no wait
    assert house.failures(person.email) == {}


@pytest.mark.parametrize("step", ["/remove", "/recovery-codes"])
def test_guessing_with_a_stolen_session_waits(house, person, step):
    """Neither a right code elsewhere nor a change of the password makes it forget."""
    for _ in range(4):
        assert person.api.post(SECOND + step, {"code": person.wrong()}).status == 400
    assert person.api.post(SECOND + "/recovery-codes", {"code": person.code()}).status == 200
    changed = person.api.put("/localauth/password", {"current_password": PASSWORD,
                                                     "new_password": PASSWORD + "!"})
    person.api = Api(house.gateway, changed.headers["Token"])
    assert person.api.post(SECOND + step, {"code": person.wrong()}).status == 400
    right = {"code": person.code()}
    assert house.is_held(person.email, 1, lambda: person.api.post(SECOND + step, right))
    assert person.state() == (True, 10)
    house.later(1, person.email)
    assert person.api.post(SECOND + step, {"code": person.code()}).status in (200, 204)


def test_guessing_at_the_first_code_waits(house):
    email = house.person()
    api = house.enter(email)
    secret = api.post(SECOND).json["secret"]
    for _ in range(5):
        assert api.post(SECOND + "/confirm", {"code": "no"}).status == 400
    right = {"code": totp(secret)}
    assert house.is_held(email, 1, lambda: api.post(SECOND + "/confirm", right))
    assert api.get(SECOND).json["is_enabled"] is False


# Recovery codes ---------------------------------------------------------------------------------

def test_a_recovery_code_is_good_once(house, person):
    first, second, third = person.recovery[:3]
    assert person.sign_in(first).status == 200
    assert person.state() == (True, 9)
    assert asks_for_code(person.sign_in(first))
    assert person.sign_in(second.lower().replace("-", "")).status == 200
    assert asks_for_code(person.sign_in(second))
    assert not asks_for_code(person.sign_in(third, WRONG))
    assert asks_for_code(person.sign_in(third[:-1]))
    assert asks_for_code(person.sign_in(Enrolled(house).recovery[0]))
    assert person.state() == (True, 8)
    assert person.sign_in(third).status == 200


def test_new_recovery_codes_end_the_old(house, person):
    house.mark()
    refused = person.api.post(SECOND + "/recovery-codes", {"code": person.wrong()})
    assert refused.status == 400 and person.state() == (True, 10)
    answer = person.api.post(SECOND + "/recovery-codes", {"code": person.code()})
    assert answer.status == 200 and answer.headers["Cache-Control"] == "no-store"
    new = answer.json["recovery_codes"]
    assert len(set(new)) == 10 and not set(new) & set(person.recovery)
    assert asks_for_code(person.sign_in(person.recovery[0]))
    assert person.sign_in(new[0]).status == 200 and person.state() == (True, 9)
    last = person.api.post(SECOND + "/recovery-codes", {"code": new[1]})  # a recovery code does
    assert last.status == 200 and person.state() == (True, 10)
    assert asks_for_code(person.sign_in(new[2]))
    entries = house.entries(*person.recovery, *new, *last.json["recovery_codes"])
    assert [entry for entry in entries if entry[0] == "second_factor"] == [
        ("second_factor", "update", 400, person.email),
        *[("second_factor", "recovery_codes", 200, person.email)] * 2]


# Its end ----------------------------------------------------------------------------------------

def test_it_is_removed_with_a_code(house, person):
    house.mark()
    for code in person.wrong(), "x":
        assert person.api.post(SECOND + "/remove", {"code": code}).status == 400
    assert asks_for_code(person.sign_in())
    answer = person.api.post(SECOND + "/remove", {"code": person.recovery[0]})
    assert (answer.status, answer.body) == (204, b"")
    assert person.state() == (False, 0)
    assert person.sign_in().status == 200
    assert person.sign_in("000000").status == 200  # not asked for, not looked at
    assert person.api.post(SECOND + "/remove", {"code": totp(person.secret)}).status == 404
    assert house.store.ask("SELECT 1 FROM recovery_code WHERE user_id = ?", person.id) == []
    entries = [entry for entry in house.entries(*person.recovery) if entry[0] == "second_factor"]
    assert entries == [*[("second_factor", "update", 400, person.email)] * 2,
                       ("second_factor", "delete", 204, person.email),
                       ("second_factor", "create", 404, person.email)]
    secret = person.api.post(SECOND).json["secret"]  # and again, from the start
    assert secret != person.secret and person.sign_in().status == 200


def test_an_admin_removes_it_for_who_lost_it(house, person):
    path = f"/users/{person.email}/second-factor"
    root = house.admin.get("/userinfo").json["email"]
    for caller in person.api, house.admin.key("auditor"):
        assert caller.delete(path).status == 403
    assert asks_for_code(person.sign_in())
    house.mark()
    assert house.admin.delete(path).status == 204
    assert person.sign_in().status == 200 and person.state() == (False, 0)
    assert house.admin.delete(path).status == 404
    assert house.admin.delete(f"/users/{unique('nobody')}@example.com/second-factor").status == 404
    entries = house.entries(*person.recovery)
    assert entries == [("second_factor", "delete", 204, root),
                       ("sign_in", "sign_in", 200, person.email),
                       *[("second_factor", "delete", 404, root)] * 2]
    removed = [entry for entry in house.log() if entry["http_status"] == 204][0]
    assert removed["request_payload_redacted"] == {"email": person.email}


def test_it_goes_with_the_person(house, person):
    assert house.admin.delete(f"/users/{person.email}").status == 204
    for table in "second_factor", "recovery_code":
        assert house.store.ask(f"SELECT 1 FROM {table} WHERE user_id = ?", person.id) == []


def test_meanwhile_enrolled_is_asked_for(house):
    """Sessions go on, but nobody begins one without it."""
    email = house.person()
    before = house.enter(email)
    api = house.enter(email)
    secret = api.post(SECOND).json["secret"]
    assert api.post(SECOND + "/confirm", {"code": totp(secret)}).status == 200
    assert before.get(SECOND).json["is_enabled"] is True
    assert asks_for_code(house.sign_in(email))


# In the store -----------------------------------------------------------------------------------

def test_nothing_that_opens_it_is_in_the_store(house, person):
    sealed = house.store.blob("SELECT secret FROM second_factor WHERE user_id = ?", person.id)
    plain = base64.b32decode(person.secret)
    assert len(sealed) > len(plain) and plain not in sealed
    assert person.secret.encode() not in sealed
    column = "hex(hash)" if house.store.url is None else "encode(hash, 'hex')"
    kept = house.store.ask(f"SELECT {column} FROM recovery_code WHERE user_id = ?", person.id)
    assert {bytes.fromhex(row[0]) for row in kept} == {sha256(code) for code in person.recovery}


def test_a_new_master_key_closes_it_anew(house, start, tmp_path):
    flags = [] if house.store.url is None else ["--database-url", house.store.url]
    if house.store.url is None:
        house = House(start(*TRUSTED))
    person = Enrolled(house)
    read = "SELECT secret FROM second_factor WHERE user_id = ?"
    before = house.store.blob(read, person.id)
    for command in ["rekey"], ["rekey", "drop-old"]:
        done = subprocess.run([BINARY, *command, "--data-dir", house.gateway.data, *flags],
                              capture_output=True, text=True)
        assert done.returncode == 0, done
        after = house.store.blob(read, person.id)
        assert after[:9] != before[:9]  # version and key
        assert person.sign_in(person.code()).status == 200
    assert house.store.blob(read, person.id) == after
