# SPDX-License-Identifier: MIT
"""Secrets: what is accepted, shown, kept, replaced and stored."""
import json
import os
import re
import stat
import subprocess

import pytest

from api import Api, b64, connection, register, resource, role, unique
from store import Store

REFERENCES = {
    "envvar:AWS": "_aws:prod/db:password",
    "envvar:ARN": "_aws:arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf:password",
    "envvar:ENVJSON": "_envjson:DB_JSON:password",
    "envvar:VAULT1": "_vaultkv1:kv/db:password",
    "envvar:VAULT2": "_vaultkv2:kv/data/db:password",
    "filesystem:WRAPPED": b64("_aws:prod/db:certificate"),
    "envvar:WRAPPED_ARN": b64("_aws:arn:aws:secretsmanager:eu-west-1:1:secret:x:key"),
}
INLINE = {"envvar:DB": b64("orders"), "envvar:PASS": b64("hunter2"), "filesystem:CA": b64("pem")}
BOTH = {**INLINE, **REFERENCES}
SHOWN = {**{key: None for key in INLINE}, **REFERENCES}


def make(admin, secret, **members):
    body = connection(secret=secret, subtype="tcp", **members)
    answer = admin.post("/connections", body)
    assert answer.status == 201, answer
    return answer.json


def test_inline_values_are_null_and_references_verbatim(admin):
    made = make(admin, BOTH)
    assert made["secret"] == SHOWN
    assert admin.get(f"/connections/{made['name']}").json["secret"] == SHOWN
    [listed] = admin.get(f"/connections?name={made['name']}").json["data"]
    assert listed["secret"] == SHOWN


@pytest.mark.parametrize("key", [
    "PASS", "envvar:", "filesystem:", "envvar:1ST", "envvar:A-B", "envvar:A=B", "envvar:A B",
    "ENVVAR:A", "envvar:" + "A" * 128, "file:A", "", "envvar:Ä", "envvar:A\tB",
    "envvar:LD_PRELOAD", "envvar:LD_LIBRARY_PATH", "filesystem:LD_AUDIT", "envvar:BASH_ENV",
    "envvar:DYLD_INSERT_LIBRARIES", "envvar:GCONV_PATH", "envvar:GLIBC_TUNABLES", "envvar:IFS",
    "envvar:NODE_OPTIONS", "envvar:PYTHONPATH", "filesystem:PERL5OPT", "envvar:RUBYOPT",
    "envvar:JAVA_TOOL_OPTIONS", "envvar:OPENSSL_CONF"])
def test_bad_keys_are_refused(admin, key):
    for secret in {key: b64("x")}, {key: None}, {key: "_aws:a:b"}:
        answer = admin.post("/connections", connection(secret=secret))
        assert answer.status == 400 and "'secret" in answer.message, answer
        assert admin.post("/resources", resource(roles=[role(secret=secret)])).status == 400
    if key != "PASS":
        answer = admin.post("/resources", resource(env_vars={key: b64("x")}))
        assert answer.status == 400 and "'env_vars" in answer.message, answer


@pytest.mark.parametrize("value", [
    "not base64!", "YQ", "YQ=", "YR==", "YQ==\n", "_aws:", "_aws:name", "_aws:name:", "_aws::key",
    "_gcp:name:key", "_envjson:X", "_vaultkv3:a:b", "aws:a:b"])
def test_bad_values_are_refused_and_not_repeated(admin, value):
    for key in "envvar:PASS", "filesystem:PASS":
        answer = admin.post("/connections", connection(secret={key: value}))
        assert answer.status == 400 and f"'secret.{key}'" in answer.message, answer
        assert value == "_aws:" or str(value) not in answer.message
        answer = admin.post("/resources", resource(env_vars={key: value}))
        assert answer.status == 400 and f"'env_vars.{key}'" in answer.message, answer


def test_put_replaces_keeps_and_removes(admin):
    made = make(admin, BOTH)
    path = f"/connections/{made['name']}"
    assert made["default_database"] == "orders"
    kept = admin.put(path, {**made, "secret": {"envvar:DB": "", "envvar:PASS": None,
                                               "envvar:AWS": ""}}).json
    assert kept["secret"] == {"envvar:DB": None, "envvar:PASS": None,
                              "envvar:AWS": REFERENCES["envvar:AWS"]}
    assert kept["default_database"] == "orders"
    changed = admin.put(path, {**kept, "secret": {"envvar:DB": b64("sales")}}).json
    assert changed["secret"] == {"envvar:DB": None}
    assert changed["default_database"] == "sales"
    assert admin.put(path, {**kept, "secret": {}}).json["secret"] == {}
    assert admin.get(path).json["default_database"] == ""


def test_patch_keeps_what_is_absent(admin):
    made = make(admin, BOTH)
    path = f"/connections/{made['name']}"
    for body in {}, {"secret": None}, {"secret": {}}, \
            {"secret": {"envvar:DB": ""}}:
        answer = admin.patch(path, body)
        assert answer.status == 200, answer
        assert (answer.json["secret"], answer.json["default_database"]) == (SHOWN, "orders")
    answer = admin.patch(path, {"secret": {"envvar:DB": b64("sales"), "envvar:NEW": b64("n")}}).json
    assert answer["secret"] == {**SHOWN, "envvar:NEW": None}
    assert answer["default_database"] == "sales"


def test_null_in_a_patch_removes_a_secret(admin):
    made = make(admin, BOTH)
    path = f"/connections/{made['name']}"
    shown = {key: value for key, value in SHOWN.items() if key != "envvar:DB"}
    for body in {"secret": {"envvar:DB": None}}, {"secret": {"envvar:DB": None, "envvar:NO": None}}:
        answer = admin.patch(path, body).json
        assert (answer["secret"], answer["default_database"]) == (shown, ""), answer


def test_any_value_is_a_secret(admin):
    """Numbers and booleans are their text, arrays and objects their JSON."""
    values = {"A": (5432, "5432"), "B": (True, "true"), "C": (-0.25, "-0.25"), "D": (0, "0"),
              "E": (False, "false"), "F": ([1, "ä"], '[1,"ä"]'),
              "G": ({"b": {"a": None}}, '{"b":{"a":null}}'), "H": (0.1, "0.1"), "I": ([], "[]"),
              "DB": (["x", 0.3], '["x",0.3]')}
    for key, (value, text) in values.items():
        answer = admin.post("/connections", connection(secret={"envvar:DB": value}))
        assert answer.status == 201 and answer.json["default_database"] == text, (key, answer)
        made = admin.post("/resources", resource(roles=[role(secret={"envvar:DB": value})]))
        assert made.status == 201 and made.json["roles"][0]["default_database"] == text, made
    for raw in b"1e999", b"123456789012345678901234567890":
        body = json.dumps(connection(secret={"envvar:DB": "RAW"})).encode().replace(b'"RAW"', raw)
        answer = admin.call("POST", "/connections", body)
        assert answer.status == 400 and "too large" in answer.message, answer


def test_what_was_read_can_be_written_back(admin):
    made = make(admin, BOTH, connection_tags={"team": "blue"}, reviewers=["ops"], tags=["old"],
                attributes=["red"], access_max_duration=60, min_review_approvals=1,
                mandatory_metadata_fields=["ticket"], command=["true"])
    path = f"/connections/{made['name']}"
    read = admin.get(path).json
    for write, body in ((admin.put, read),
                        (admin.patch, {k: v for k, v in read.items() if k != "secret"})):
        assert write(path, body).json == read
        assert admin.get(path).json == read


def test_a_resource_that_was_read_can_be_written_back(admin):
    env_vars = {"REGION": "eu", "envvar:HOST": b64("db"), "envvar:KEY": "_aws:prod/db:key"}
    body = resource(env_vars=env_vars, roles=[
        role(secret=BOTH, attributes=["red"], command=["psql"]), role(secret=INLINE), role()])
    assert admin.post("/resources", body).status == 201
    path = f"/resources/{body['name']}"
    read = admin.get(path).json
    assert read["env_vars"] == env_vars
    written = admin.put(path, read)
    assert written.status == 200, written
    assert {**written.json, "updated_at": 0} == {**read, "updated_at": 0}
    assert {**admin.get(path).json, "updated_at": 0} == {**read, "updated_at": 0}


def test_env_vars_keep_replace_and_remove(admin):
    body = resource(env_vars={"A": "1", "envvar:B": b64("2"), "envvar:C": "_aws:a:b"})
    path = f"/resources/{body['name']}"
    admin.post("/resources", body)
    kept = admin.put(path, {**body, "env_vars": {"A": "", "envvar:B": None, "envvar:C": ""}})
    assert kept.json["env_vars"] == body["env_vars"]
    changed = admin.put(path, {**body, "env_vars": {"A": "3", "NEW": "x"}})
    assert changed.json["env_vars"] == {"A": "3", "NEW": "x"}
    assert admin.put(path, {**body, "env_vars": {}}).json["env_vars"] == {}


def test_when_a_secret_was_replaced(admin):
    made = make(admin, BOTH)
    path = f"/connections/{made['name']}"
    assert made["secrets_updated_at"] is None
    untouched = [{"secret": {"envvar:DB": ""}}, {"secret": {"envvar:AWS": "_aws:other:key"}},
                 {"secret": {"envvar:DB": b64("orders")}}, {"secret": {"envvar:NEW": b64("new")}},
                 {"secret": {"envvar:AWS": b64("inline now")}}, {"command": ["true"]},
                 {"secret": {"envvar:PASS": "_envjson:A:b"}}]
    for body in untouched:
        answer = admin.patch(path, body)
        assert answer.status == 200 and answer.json["secrets_updated_at"] is None, body
    first = admin.patch(path, {"secret": {"envvar:DB": b64("sales")}}).json["secrets_updated_at"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", first)
    read = admin.get(path).json
    assert read["secrets_updated_at"] == first
    again = admin.put(path, {**read, "secret": {**read["secret"], "envvar:VAULT1": "_aws:x:y"}})
    assert again.json["secrets_updated_at"] == first
    assert admin.put(path, {**read, "secret": {"envvar:DB": ""}}).json["secrets_updated_at"] == first
    later = admin.put(path, {**read, "secret": {"envvar:DB": b64("more")}}).json
    assert later["secrets_updated_at"] > first


def test_roles_of_a_resource_follow_the_same_rules(admin):
    one = role(secret=INLINE)
    body = resource(roles=[one])
    path = f"/resources/{body['name']}"
    [made] = admin.post("/resources", body).json["roles"]
    assert made["secrets_updated_at"] is None
    [kept] = admin.put(path, {**body, "roles": [role(one["name"])]}).json["roles"]
    assert kept["secret"] == {key: None for key in INLINE}
    change = role(one["name"], secret={"envvar:DB": b64("sales"), "envvar:PASS": ""})
    [changed] = admin.put(path, {**body, "roles": [change]}).json["roles"]
    assert changed["secret"] == {"envvar:DB": None, "envvar:PASS": None}
    assert changed["default_database"] == "sales" and changed["secrets_updated_at"]


def dump(admin, store):
    if store.url is not None:
        return subprocess.run(["pg_dump", store.url], check=True, capture_output=True).stdout
    found = b""
    for name in os.listdir(admin.gateway.data):
        if name.startswith("gatehouse.db"):
            with open(os.path.join(admin.gateway.data, name), "rb") as part:
                found += part.read()
    return found


def test_nothing_of_a_secret_is_stored_in_the_clear(admin):
    words = [unique("plaintext") for _ in range(4)]
    body = resource(env_vars={"PLAIN": words[0], "envvar:CODED": b64(words[1])},
                    roles=[role(secret={"envvar:PASS": b64(words[2]),
                                        "filesystem:CA": b64(words[3])})])
    assert admin.post("/resources", body).status == 201
    store = Store(admin.gateway)
    if store.url is None:
        dumped = dump(admin, store)  # with what still lies in the log before the checkpoint
        store.ask("PRAGMA wal_checkpoint(TRUNCATE)")
        dumped += dump(admin, store)
    else:
        dumped = dump(admin, store)
    assert body["name"].encode() in dumped
    for word in words:
        assert word.encode() not in dumped and b64(word).encode() not in dumped
        assert word.encode().hex().encode() not in dumped
        assert b64(word).encode().hex().encode() not in dumped
    assert not any(word in admin.gateway.text() for word in words)


def test_rows_go_with_their_owner(admin):
    body = resource(env_vars={"A": "1"}, roles=[role(secret=INLINE, attributes=["red"])])
    made = admin.post("/resources", body).json
    [of_role] = made["roles"]
    admin.patch(f"/connections/{of_role['name']}", {"connection_tags": {"team": "gone"}})
    admin.put(f"/connections/{of_role['name']}/access", {"groups": ["admin"]})
    store = Store(admin.gateway)
    tables = ["connection_tag", "connection_attribute", "connection_access", "connection_rule"]
    assert admin.delete(f"/resources/{body['name']}?cascade=true").status == 204
    assert store.ask("SELECT id FROM resource WHERE id = ?", made["id"]) == []
    assert store.ask("SELECT id FROM connection WHERE id = ?", of_role["id"]) == []
    for table in tables:
        assert store.ask(f"SELECT 1 FROM {table} WHERE connection_id = ?", of_role["id"]) == []


def reference(gateway, answer):
    assert answer.status == 500 and set(answer.json) == {"message"}, answer
    [number] = re.findall(r"reference ([0-9a-f]{16})$", answer.message)
    assert number in gateway.text()


def test_an_envelope_that_does_not_open_is_500(admin):
    store = Store(admin.gateway)
    one, two = resource(env_vars={"A": "1"}), resource(env_vars={"B": "2"})
    first, second = (admin.post("/resources", body).json["id"] for body in (one, two))
    sealed = [store.blob("SELECT env_vars FROM resource WHERE id = ?", row)
              for row in (first, second)]
    changed = bytes([*sealed[0][:-1], sealed[0][-1] ^ 1])
    unknown_key = sealed[0][:1] + bytes(8) + sealed[0][9:]
    # Another row's, one that was changed, one of a key that is gone, and what is none.
    for bad in sealed[1], changed, unknown_key, b"", b"\1short", b"{}":
        store.ask("UPDATE resource SET env_vars = ? WHERE id = ?", bad, first)
        reference(admin.gateway, admin.get(f"/resources/{one['name']}"))
        reference(admin.gateway, admin.put(f"/resources/{one['name']}", one))
        assert admin.get(f"/resources/{two['name']}").json["env_vars"] == {"B": "2"}
        assert admin.key().get(f"/resources/{one['name']}").json["env_vars"] == {}
    store.ask("UPDATE resource SET env_vars = ? WHERE id = ?", sealed[0], first)
    assert admin.get(f"/resources/{one['name']}").json["env_vars"] == {"A": "1"}


def test_another_master_key_opens_nothing(start, tmp_path, store_url):
    key = tmp_path / "key"
    arguments = ["--database-url", store_url, "--master-key-file", str(key)]
    gateway = start(*arguments, folder=tmp_path / "gateway")
    admin = register(gateway)
    body = resource(env_vars={"envvar:PASS": b64("hunter2")}, roles=[role(secret=INLINE)])
    admin.post("/resources", body)
    api_key = admin.key("admin").token
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    assert gateway.stop() == 0
    right = key.read_text()
    # The key that signs tokens is sealed too, so that the start says what is missing.
    key.unlink()
    refused = start(*arguments, folder=tmp_path / "gateway", wait=False)
    assert refused.process.wait(10) != 0
    assert "key" in refused.text() and "stored secret" in refused.text()
    # Without that one it starts, and reads fail as a whole.
    store = Store(gateway)
    store.url = None if store_url.startswith("sqlite:") else store_url
    store.path = store_url.removeprefix("sqlite:")
    store.ask("DELETE FROM signing_key")
    gateway = start(*arguments, folder=tmp_path / "gateway")
    again = Api(gateway, api_key)
    path = f"/resources/{body['name']}"
    for answer in again.get(path), again.get("/resources"), again.put(path, body):
        reference(gateway, answer)
    assert "hunter2" not in gateway.text() and b64("hunter2") not in gateway.text()
    assert again.get("/connections").status == 200
    assert gateway.stop() == 0
    key.write_text(right + key.read_text())
    gateway = start(*arguments, folder=tmp_path / "gateway")
    assert Api(gateway, api_key).get(path).json["env_vars"] == body["env_vars"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602])
def test_a_key_file_that_others_can_read_is_refused(start, tmp_path, mode):
    key = tmp_path / "key"
    key.write_text("ab" * 32 + "\n")
    os.chmod(key, mode)
    gateway = start("--master-key-file", str(key), wait=False)
    assert gateway.process.wait(10) != 0
    assert "--master-key-file" in gateway.text() and "others" in gateway.text()


@pytest.mark.parametrize("text", ["", "\n", "ab" * 31, "ab" * 33, "xy" * 32, "ab" * 32 + " "])
def test_a_key_file_that_holds_no_key_is_refused(start, tmp_path, text):
    key = tmp_path / "key"
    key.write_text(text)
    os.chmod(key, 0o600)
    gateway = start("--master-key-file", str(key), wait=False)
    assert gateway.process.wait(10) != 0
    assert "--master-key-file" in gateway.text() and "ababab" not in gateway.text()
