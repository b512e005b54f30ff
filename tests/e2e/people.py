# SPDX-License-Identifier: MIT
"""People who sign in with passwords, each from an address of their own."""
import base64
import ctypes
import ctypes.util
import hashlib
import hmac
import itertools
import json
import struct
import time

from api import PASSWORD, Api, register, unique
from store import Store

TRUSTED = ["--trusted-proxies", "127.0.0.1"]
WRONG = "not what it is at all"
AHEAD = 100

numbers = itertools.count(1)


def new_address():
    number = next(numbers)
    return f"198.18.{number // 250}.{number % 250 + 1}"


def totp(secret, steps=0, now=None):
    """The code of the authenticator app (RFC 6238), so many steps from now."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    counter = int(time.time() if now is None else now) // 30 + steps
    digest = hmac.digest(key, struct.pack(">Q", counter), "sha1")
    at = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[at:at + 4])[0] & 0x7fffffff) % 1000000:06}"


def slow_hash(password=PASSWORD, passes=30):
    """A hash that is good, and takes many times as long to look at as one of the gateway's."""
    sodium = ctypes.CDLL(ctypes.util.find_library("sodium"))
    assert sodium.sodium_init() >= 0
    text = ctypes.create_string_buffer(128)
    assert sodium.crypto_pwhash_str_alg(
        text, password.encode(), ctypes.c_ulonglong(len(password)), ctypes.c_ulonglong(passes),
        ctypes.c_size_t(19456 * 1024), 2) == 0
    return text.value.decode()


class House:
    """A gateway behind a proxy, with its first admin; several gateways when they share a store."""

    def __init__(self, gateway, admin=None):
        self.gateway, self.store = gateway, Store(gateway)
        self.admin = admin or register(gateway)

    def person(self, *groups, **members):
        """The address of somebody new."""
        email = members.pop("email", None) or f"{unique('person')}@example.com"
        answer = self.admin.post("/users", {"email": email, "password": PASSWORD,
                                            "groups": list(groups), **members})
        assert answer.status == 201, answer
        return email

    def sign_in(self, email, password=PASSWORD, address=None, gateway=None, **members):
        return Api(gateway or self.gateway).post(
            "/localauth/login", {"email": email, "password": password, **members},
            headers={"X-Forwarded-For": address or new_address()})

    def enter(self, email, password=PASSWORD, gateway=None, **members):
        answer = self.sign_in(email, password, gateway=gateway, **members)
        assert answer.status == 200, answer
        return Api(gateway or self.gateway, answer.headers["Token"])

    def put(self, email, **members):
        answer = self.admin.put(f"/users/{email}", {"email": email, **members})
        assert answer.status == 200, answer
        return answer

    # Failed sign-ins

    def word_of(self, word):
        """What the keys have of an address: the id of the account, if there is one."""
        ids = self.store.ask("SELECT id FROM user_account WHERE email_key = ?", word.lower())
        return ids[0][0] if len(ids) == 1 else word

    def failures(self, word):
        """{key: count} of the keys with this word, an account's id as its address."""
        own = self.word_of(word)
        return {key.replace(own, word): int(count) for key, count in self.store.ask(
            "SELECT key, failure_count FROM sign_in_failure WHERE key LIKE ?", f"%{own}%")}

    def later(self, seconds, word=""):
        """All that failed did so that much longer ago."""
        self.store.ask("UPDATE sign_in_failure SET last_failed_at = last_failed_at - ? "
                       "WHERE key LIKE ?", int(seconds * 1000000), f"%{self.word_of(word)}%")

    def is_held(self, word, wait, *calls):
        """Whether each call has to wait so long. The failures lie ahead meanwhile, like those of
        a gateway whose clock is ahead, so that a slow machine sees the end of no wait."""
        self.later(-AHEAD, word)
        answers = [call() for call in calls]
        self.later(AHEAD, word)
        for answer in answers:
            seconds = int(answer.headers["Retry-After"])
            assert answer.status == 429 and AHEAD + wait - 20 < seconds <= AHEAD + wait, answer
            assert set(answer.json) == {"message"} and f"again in {seconds} s" in answer.message
            assert "Token" not in answer.headers and "Set-Cookie" not in answer.headers
        return True

    def forget(self, word=""):
        self.store.ask("DELETE FROM sign_in_failure WHERE key LIKE ?",
                       f"%{self.word_of(word)}%")

    # The audit log

    def log(self):
        answer = self.admin.get("/audit/logs?page_size=100")
        assert answer.status == 200, answer
        return answer.json["data"]

    def mark(self):
        self.seen = self.log()[0]["number"]

    def entries(self, *secrets):
        """[(noun, action, status, actor)] since the mark, the oldest first; no secret is there.
        Without what was refused to nobody in particular: of an address not each time is told."""
        new = [entry for entry in self.log() if entry["number"] > self.seen][::-1]
        text = json.dumps(new)
        assert not [secret for secret in secrets if secret in text]
        assert all(entry["outcome"] == (entry["http_status"] < 400) for entry in new)
        self.mark()
        return [(entry["resource_type"], entry["action"], entry["http_status"],
                 entry["actor_email"]) for entry in new if entry["action"] != "authenticate"]


def sha256(text):
    return hashlib.sha256(text.encode()).digest()
