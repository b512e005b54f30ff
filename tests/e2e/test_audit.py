# SPDX-License-Identifier: MIT
"""The audit log: what makes an entry, what is in it, and that it cannot be changed unseen."""
import concurrent.futures
import functools
import hashlib
import json
import re

import pytest

from api import PASSWORD, Api, b64, connection, login, register, resource, role, unique
from store import Store, new_organization

MEMBERS = ["id", "org_id", "number", "actor_subject", "actor_email", "actor_name", "created_at",
           "resource_type", "action", "http_method", "http_status", "http_path", "client_ip",
           "request_payload_redacted", "outcome", "error_message", "previous_hash", "hash"]


@pytest.fixture
def boss(admin):
    boss = new_organization(admin)
    boss.home = boss.get("/userinfo").json["org_id"]
    return boss


def log(boss, query=""):
    answer = boss.get(f"/audit/logs?page_size=100&{query}")
    assert answer.status == 200, answer
    assert answer.json["pages"]["total"] == len(answer.json["data"]) <= 100
    return answer.json["data"]


class Watch:
    """Each new entry once: watch.one(answer, …) is the only one since the last look."""

    def __init__(self, boss):
        self.boss = boss
        self.count = len(log(boss))

    def new(self):
        entries = log(self.boss)
        count, self.count = len(entries) - self.count, len(entries)
        return entries[:count]

    def one(self, answer, resource_type, action, status):
        assert answer.status == status, answer
        [entry] = self.new()
        assert (entry["resource_type"], entry["action"], entry["http_status"], entry["outcome"]) \
            == (resource_type, action, status, status < 400), entry
        assert (entry["error_message"] == "") == (status < 400)
        assert entry["client_ip"] == "127.0.0.1"
        return entry


def test_every_change_is_one_entry(boss):
    watch = Watch(boss)
    body = resource("box", agent_id=boss.home, env_vars={"envvar:A": b64("value")},
                    roles=[role("one", secret={"envvar:PASS": b64("value")})])
    entry = watch.one(boss.post("/resources", body), "resources", "create", 201)
    assert entry["request_payload_redacted"] == {
        "name": "box", "type": "database", "subtype": "postgres", "agent_id": boss.home,
        "env_vars": ["envvar:A"], "roles": ["one"]}
    assert (entry["http_method"], entry["http_path"]) == ("POST", "/api/resources")
    assert entry["actor_name"] == "root" and entry["org_id"] == boss.home
    made = connection("two", agent_id=boss.home, secret={"envvar:PASS": b64("value")})
    account = {"subject": "client", "status": "active"}
    path = "/connections/one"
    for answer, resource_type, action, status in (
            (lambda: boss.put("/resources/box", body), "resources", "update", 200),
            (lambda: boss.post("/connections", made), "connections", "create", 201),
            (lambda: boss.put("/connections/two", made), "connections", "update", 200),
            (lambda: boss.patch("/connections/two", {"tags": []}), "connections", "update", 200),
            (lambda: boss.post("/users/groups", {"name": "dev"}), "user_groups", "create", 201),
            (lambda: boss.put(f"{path}/access", {"groups": ["dev"]}), "connections", "update", 200),
            (lambda: boss.delete("/connections/two"), "connections", "delete", 204),
            (lambda: boss.delete("/resources/box?cascade=true"), "resources", "delete", 204),
            (lambda: boss.post("/attributes", {"name": "red"}), "attributes", "create", 201),
            (lambda: boss.put("/attributes/red", {"name": "red"}), "attributes", "update", 200),
            (lambda: boss.delete("/attributes/red"), "attributes", "delete", 204),
            (lambda: boss.delete("/users/groups/dev"), "user_groups", "delete", 204),
            (lambda: boss.post("/users", {"email": "a@example.com", "password": PASSWORD}),
             "users", "create", 201),
            (lambda: boss.put("/users/a@example.com", {"email": "a@example.com", "name": "A"}),
             "users", "update", 200),
            (lambda: boss.delete("/users/a@example.com"), "users", "delete", 204),
            (lambda: boss.post("/api-keys", {"name": "key"}), "api_keys", "create", 201),
            (lambda: boss.put("/api-keys/key", {"name": "key"}), "api_keys", "update", 200),
            (lambda: boss.delete("/api-keys/key"), "api_keys", "revoke", 204),
            (lambda: boss.post("/api-keys/key/reactivate"), "api_keys", "update", 200),
            (lambda: boss.post("/serviceaccounts", account), "service_accounts", "create", 201),
            (lambda: boss.put("/serviceaccounts/client", account), "service_accounts", "update",
             200),
            (lambda: boss.delete("/serviceaccounts/client"), "service_accounts", "delete", 204),
            (lambda: boss.post("/machineidentities", {"name": "m"}), "machine_identities", "create",
             201),
            (lambda: boss.put("/machineidentities/m", {"name": "m"}), "machine_identities",
             "update", 200),
            (lambda: boss.delete("/machineidentities/m"), "machine_identities", "delete", 204),
            (lambda: boss.post("/agents", {"name": "far"}), "agents", "create", 201),
            (lambda: boss.delete("/agents/far"), "agents", "delete", 204),
            (lambda: boss.put("/orgs/hide-role-info", {"hide_role_info": False}), "orgs", "update",
             200),
            (lambda: boss.put("/orgs/default-access", {"default_access": "members"}), "orgs",
             "update", 200)):
        watch.one(answer(), resource_type, action, status)


def test_reading_makes_no_entry(boss):
    boss.post("/resources", resource("box", agent_id=boss.home, roles=[role("one")]))
    watch = Watch(boss)
    for path in ("/resources", "/resources/box", "/resources/none", "/connections",
                 "/connections/one", "/attributes", "/users", "/api-keys", "/userinfo",
                 "/serviceaccounts", "/serviceaccounts/none", "/machineidentities",
                 "/agents", "/agents/local", "/agents/none", "/connection-tags", "/orgs/hide-role-info",
                 "/orgs/default-access"):
        boss.get(path)
        boss.call("HEAD", path)
    assert watch.new() == []


def test_what_fails_is_one_entry(boss):
    body = resource("box", agent_id=boss.home)
    boss.post("/resources", body)
    watch = Watch(boss)
    for answer, resource_type, action, status in (
            (lambda: boss.post("/resources", body), "resources", "create", 409),
            (lambda: boss.post("/resources", {}), "resources", "create", 400),
            (lambda: boss.post("/resources", b"{"), "resources", "create", 400),
            (lambda: boss.post("/resources"), "resources", "create", 400),
            (lambda: boss.put("/resources/none", body), "resources", "update", 404),
            (lambda: boss.put("/resources/box", body, headers={"If-Match": '"x"'}), "resources",
             "update", 412),
            (lambda: boss.put("/resources/box", {**body, "roles": [role("a", agent_id=boss.home[:-1]
                                                                        + "0")]}),
             "resources", "update", 400),
            (lambda: boss.delete("/resources/none"), "resources", "delete", 404),
            (lambda: boss.delete("/resources/box?cascade=x"), "resources", "delete", 400),
            (lambda: boss.patch("/connections/none", {}), "connections", "update", 404),
            (lambda: boss.delete("/api-keys/none"), "api_keys", "delete", 404)):
        entry = watch.one(answer(), resource_type, action, status)
        assert entry["request_payload_redacted"] is None


def test_a_denial_is_one_entry(boss):
    caller, auditor = boss.key("dev"), boss.key("auditor")
    name = caller.get("/userinfo").json["name"]
    watch = Watch(boss)
    for who, method, path, resource_type, action in (
            (caller, "POST", "/resources", "resources", "create"),
            (caller, "PATCH", "/connections/x", "connections", "update"),
            (caller, "DELETE", "/users/x", "users", "delete"),
            (caller, "GET", "/audit/logs", "audit", "read"),
            (caller, "GET", "/api-keys", "api_keys", "read"),
            (auditor, "PUT", "/orgs/hide-role-info", "orgs", "update")):
        entry = watch.one(who.call(method, path), resource_type, action, 403)
        assert entry["http_path"] == "/api" + path and entry["http_method"] == method
        assert who is auditor or entry["actor_name"] == name
    Api(boss.gateway).post("/resources", {})
    Api(boss.gateway, "gh_wrong").delete("/resources/x")
    assert watch.new() == []


def test_a_disclosure_is_one_entry(boss):
    # The gateway's own process resolves no references for an organization that is not listed.
    elsewhere = boss.post("/agents", {"name": unique("agent")}).json["id"]
    secret = resource("box", agent_id=elsewhere, env_vars={"A": "1", "envvar:B": "_aws:a:b"})
    for body in (secret, resource("other", agent_id=boss.home, env_vars={"A": "2"}),
                 resource("reference", agent_id=elsewhere, env_vars={"envvar:B": "_aws:a:b"}),
                 resource("empty", agent_id=boss.home)):
        assert boss.post("/resources", body).status == 201
    auditor = boss.key("auditor")
    watch = Watch(boss)
    entry = watch.one(boss.get("/resources/box"), "resources", "disclose", 200)
    assert entry["request_payload_redacted"] == {"resources": ["box"]}
    entry = watch.one(boss.get("/resources"), "resources", "disclose", 200)
    assert entry["request_payload_redacted"] == {"resources": ["box", "other"]}
    overview = boss.get("/resources?without_values=true").json["data"]
    assert overview[0]["env_vars"] == {} and watch.new() == []
    entry = watch.one(boss.get("/resources?page_size=1"), "resources", "disclose", 200)
    assert entry["request_payload_redacted"] == {"resources": ["box"]}
    for caller, path in ((boss, "/resources/reference"), (boss, "/resources/empty"),
                         (auditor, "/resources"), (auditor, "/resources/box")):
        assert caller.get(path).status == 200
    assert watch.new() == []
    # A change answers with what it was told, but also with what was kept.
    watch.one(boss.put("/resources/box", secret), "resources", "update", 200)
    kept = boss.put("/resources/box", {**secret, "env_vars": {"A": ""}})
    assert kept.json["env_vars"] == {"A": "1"}
    assert [(e["action"], e["request_payload_redacted"].get("resources")) for e in watch.new()] == \
        [("disclose", ["box"]), ("update", None)]
    boss.put("/orgs/hide-role-info", {"hide_role_info": True})
    watch.new()
    assert boss.get("/resources").json["data"][0]["env_vars"] == {"A": ""}
    assert watch.new() == []


def test_signing_in_and_out_are_entries(boss):
    boss.post("/users", {"email": f"{boss.home}@example.com", "password": PASSWORD})
    email = f"{boss.home}@example.com"
    watch = Watch(boss)
    person = login(boss.gateway, email)
    [entry] = watch.new()
    assert (entry["action"], entry["http_status"], entry["actor_email"]) == ("sign_in", 200, email)
    answer = Api(boss.gateway).post("/localauth/login", {"email": email, "password": "wrong guess"})
    assert answer.status == 401
    [entry] = watch.new()
    assert (entry["action"], entry["http_status"], entry["outcome"]) == ("sign_in", 401, False)
    assert person.post("/logout").status == 204
    [entry] = watch.new()
    assert (entry["action"], entry["actor_email"]) == ("sign_out", email)
    assert PASSWORD not in json.dumps(log(boss)) and "wrong guess" not in json.dumps(log(boss))


def test_no_value_of_a_secret_is_in_the_log(boss):
    word = unique("plaintext")
    secret = {"envvar:PASS": b64(word), "filesystem:CA": b64(word + "2")}
    body = resource("box", agent_id=boss.home, env_vars={"A": word, "envvar:B": b64(word)},
                    roles=[role("one", secret=secret)])
    made = connection("two", agent_id=boss.home, secret=secret)
    user = {"email": "a@example.com", "password": word}
    for answer in (boss.post("/resources", body), boss.put("/resources/box", body),
                   boss.post("/connections", made), boss.put("/connections/two", made),
                   boss.patch("/connections/two", {"secret": secret}), boss.post("/users", user),
                   boss.get("/resources")):
        assert answer.status < 300, answer
    for value in (word, "_" + word, word + "\x01", word + "?", "=" + word, word + " "):
        for answer in (
                boss.post("/connections", {**made, "secret": {"envvar:PASS": value}}),
                boss.patch("/connections/two", {"secret": {"envvar:PASS": value}}),
                boss.put("/resources/box", {**body, "env_vars": {"envvar:A": value}}),
                boss.post("/resources", {**body, "env_vars": {"LD_PRELOAD": value}}),
                boss.put("/resources/box", {**body, "roles": [role("one", secret={"x": value})]}),
                boss.post("/resources", json.dumps({**body, "env_vars": {"A": value}})[:-3].encode())):
            assert 400 <= answer.status < 500, answer
    key = boss.post("/api-keys", {"name": "fresh"}).json["key"]
    everything = boss.get("/audit/logs/export").body.decode()
    assert len(log(boss)) > 40
    for text in word, b64(word), b64(word + "2"), key, b64(word)[:12]:
        assert text not in everything
    rows = Store(boss.gateway).ask("SELECT payload, error_message, http_path FROM audit_entry "
                                   "WHERE organization_id = ?", boss.home)
    assert word not in str(rows) and key not in str(rows)


def test_the_log_is_a_chain(boss):
    for name in "plain", 'quote " \\ back', "Größe 漢字 🙂", "html <&>", "del \x7f":
        boss.post("/attributes", {"name": name, "description": f"about {name}"})
    boss.post("/resources", b"\xff")
    boss.get("/resources/none")
    boss.call("DELETE", "/users/groups/Gr%C3%B6%C3%9Fe%20%22x%22")
    entries = log(boss)
    assert len(entries) == 10  # the first are of the organization being made
    assert [e["number"] for e in entries] == list(range(len(entries), 0, -1))
    previous = ""
    for entry in reversed(entries):
        assert list(entry) == MEMBERS
        assert entry["previous_hash"] == previous
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", entry["created_at"])
        content = {key: value for key, value in entry.items() if key != "hash"}
        text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert entry["hash"] == previous, text
    assert sorted(entries, key=lambda e: e["created_at"], reverse=True) == entries


def test_the_export_is_the_list(boss):
    for _ in range(30):
        boss.post("/attributes", {"name": unique("attribute")})
    answer = boss.get("/audit/logs/export")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/jsonl"
    lines = answer.body.decode().split("\n")
    assert lines.pop() == ""
    assert [json.loads(line) for line in lines] == list(reversed(log(boss)))
    for line in lines:
        head, _, hash_text = line.rpartition(',"hash":"')
        assert hashlib.sha256((head + "}").encode()).hexdigest() == hash_text.removesuffix('"}')
    assert boss.key("auditor").get("/audit/logs/export").status == 200
    assert boss.key("dev").get("/audit/logs/export").status == 403


def test_filters_and_pages(boss):
    boss.post("/attributes", {"name": "red"})
    boss.post("/attributes", {"name": "red"})
    boss.put("/attributes/red", {"name": "blue"})
    boss.delete("/attributes/blue")
    boss.post("/users/groups", {"name": "dev"})
    dev = boss.key("dev")
    dev.delete("/attributes/red")
    subject = dev.get("/userinfo").json["id"]
    entries = log(boss)
    times = [e["created_at"] for e in entries]
    def numbers(query):
        """Without the first three: the organization is made, its admin signs in, makes a key."""
        return [e["number"] - 3 for e in log(boss, query) if e["number"] > 3]

    assert numbers("") == [7, 6, 5, 4, 3, 2, 1]
    for query, expected in {
            "resource_type=attributes": [7, 4, 3, 2, 1], "resource_type=attribute": [],
            "action=create": [6, 5, 2, 1], "action=delete": [7, 4], "http_method=PUT": [3],
            "http_status=409": [2], "http_status=403": [7], "outcome=false": [7, 2],
            "outcome=true": [6, 5, 4, 3, 1], "http_path=ATTRIBUTES%2F": [7, 4, 3],
            "http_path=%25": [], "http_path=_": [], "client_ip=127.0": [7, 6, 5, 4, 3, 2, 1],
            "client_ip=127_0": [], f"actor_subject={subject}": [7], "actor_email=root":
            [6, 5, 4, 3, 2, 1], f"created_after={times[1]}": [7, 6], f"created_before={times[5]}":
            [2, 1], f"created_after={times[4]}&created_before={times[2]}": [5, 4, 3],
            "created_after=2020-01-01&action=delete&outcome=true": [4],
            "created_before=2020-01-01": [], "created_after=2999-01-01T00:00:00%2B02:00": []}.items():
        assert numbers(query) == expected, query
    page = boss.get("/audit/logs?page_size=3&page=3").json
    assert [e["number"] for e in page["data"]] == [4, 3, 2]
    assert page["pages"] == {"page": 3, "size": 3, "total": 10}
    assert boss.get("/audit/logs?page=9").json["data"] == []
    for query in ("page=0", "page_size=101", "http_status=x", "http_status=99", "outcome=maybe",
                  "created_after=yesterday", "created_before=2024-13-01", "page_size=-1"):
        answer = boss.get(f"/audit/logs?{query}")
        assert answer.status == 400 and query.split("=")[0] in answer.message, query


def test_a_failure_of_ours_is_an_entry_without_details(boss):
    body = resource("box", agent_id=boss.home, env_vars={"A": "1"})
    boss.post("/resources", body)
    Store(boss.gateway).ask("UPDATE resource SET env_vars = ? WHERE organization_id = ?",
                            b"no envelope", boss.home)
    watch = Watch(boss)
    entry = watch.one(boss.put("/resources/box", body), "resources", "update", 500)
    assert entry["error_message"] == "internal error"


def test_changes_at_once_are_one_entry_each(boss):
    bodies = [resource(f"box{number % 4}", agent_id=boss.home, roles=[role(f"role{number % 8}")])
              for number in range(40)]
    before = len(log(boss))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = sorted(a.status for a in pool.map(lambda b: boss.post("/resources", b), bodies))
    assert statuses == [201] * 4 + [409] * 36
    entries = log(boss)
    assert sorted(e["http_status"] for e in entries[:len(entries) - before]) == statuses
    for entry, earlier in zip(entries, entries[1:]):
        assert entry["previous_hash"] == earlier["hash"]
        assert entry["number"] == earlier["number"] + 1


def strangers(admin):
    """Of whom nothing is known: oldest first."""
    return log(admin, "action=authenticate")[::-1]


class From(Api):
    """Somebody at another address."""

    def __init__(self, gateway, address, **headers):
        super().__init__(gateway)
        self.headers = {"X-Forwarded-For": address, **headers}

    def call(self, method, path, body=None, headers=None):
        return super().call(method, path, body, {**self.headers, **(headers or {})})


def new_site(start):
    gateway = start("--trusted-proxies", "127.0.0.1")
    return register(gateway), functools.partial(From, gateway)


def test_tokens_that_are_good_nowhere_are_entries(start):
    admin, caller = new_site(start)
    bad = caller("192.0.2.1", **{"Api-Key": "ghk_" + "x" * 40})
    for count in range(1, 120):
        answer = bad.get("/users") if count % 2 else bad.post("/attributes", {"name": "x"})
        assert answer.status == 401 and answer.message.startswith("access denied")
    assert caller("192.0.2.2").get("/users").status == 401  # nobody tries anything
    for token in "nonsense", "a.b.c":
        assert caller("2001:db8::1", Authorization=f"Bearer {token}").get("/users").status == 401
    assert caller("2001:db8::2", Cookie="gatehouse_token=x").get("/users").status == 401
    entries = strangers(admin)
    assert [(e["client_ip"], e["request_payload_redacted"]["refused"], e["http_method"],
             e["resource_type"]) for e in entries] == [
        ("192.0.2.1", 1, "GET", "users"), ("192.0.2.1", 10, "POST", "attributes"),
        ("192.0.2.1", 100, "POST", "attributes"), ("2001:db8::1", 1, "GET", "users")]
    for entry in entries:
        assert (entry["http_status"], entry["outcome"], entry["actor_subject"]) == (401, False, "")
        assert entry["error_message"].startswith("access denied")
        assert set(entry["request_payload_redacted"]) == {"refused", "since"}
    assert entries[2]["request_payload_redacted"]["since"] <= entries[0]["created_at"]
    everything = admin.get("/audit/logs/export").body.decode()
    assert "x" * 20 not in everything and "nonsense" not in everything


def test_too_many_attempts_are_entries(start):
    admin, caller = new_site(start)
    guesser = caller("192.0.2.7")
    statuses = [guesser.post("/localauth/login", {"email": "root@example.com", "password": "a guess"})
                .status for _ in range(40)]
    assert set(statuses) == {401, 429}
    entries = log(admin, "client_ip=192.0.2.7")
    assert [e["http_status"] for e in entries].count(401) == statuses.count(401)
    busy = [e for e in entries if e["http_status"] == 429][::-1]
    counts = [e["request_payload_redacted"]["refused"] for e in busy]
    assert counts == [10 ** n for n in range(len(str(statuses.count(429))))]
    assert {(e["action"], e["resource_type"], e["org_id"]) for e in busy} == {
        ("authenticate", "sign_in", admin.get("/userinfo").json["org_id"])}


def test_strangers_cannot_fill_the_log(start):
    admin, caller = new_site(start)
    for number in range(200):
        bad = caller(f"198.51.100.{number}", **{"Api-Key": "ghk_none"})
        assert bad.get("/users").status == 401
    assert 30 <= len(strangers(admin)) <= 60  # a minute may end meanwhile


def test_an_export_is_an_entry_of_its_own(boss):
    watch = Watch(boss)
    auditor = boss.key("auditor")
    watch.new()
    last = json.loads(auditor.get("/audit/logs/export").body.decode().splitlines()[-1])
    [entry] = watch.new()
    assert (entry["resource_type"], entry["action"], entry["http_status"]) == ("audit", "export",
                                                                               200)
    assert entry["id"] == last["id"]
    assert boss.key("dev").get("/audit/logs/export").status == 403
