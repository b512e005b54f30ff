# SPDX-License-Identifier: MIT
"""What a gateway is to have, as YAML: the plan, one pass, the same again changes nothing, and what is
there written down; on a gateway of its own."""
import os

import pytest

from api import connection, register
from command_line import Person
from conftest import Gateway
from native import TARGET_PASSWORD

GROUPS = """\
kind: group
name: dba
---
kind: access
name: orders-ro
groups: [dba]
"""

# A value of each kind, and documents that need others.
RULES = """\
kind: guardrail
name: no-drops
description: nobody drops anything here
connections: [orders-ro]
input:
  rules:
    - type: deny_words_list
      words: [drop, truncate]
      message: ask the dba
---
kind: masking-rule
name: people
connections: [orders-ro]
supported_entity_types:
  - name: MAIL
    entity_types: [EMAIL_ADDRESS]
---
kind: access-rule
name: ask-first
access_type: jit
connection_names: [orders-ro]
approval_required_groups: [admin]
reviewers_groups: [dba]
"""

TARGETS = """\
kind: resource
name: orders
type: database
subtype: postgres
agent: local
env_vars:
  envvar:HOST: 127.0.0.1
  envvar:PORT: {port}
---
kind: connection
name: orders-ro
resource_name: orders
type: database
subtype: postgres
agent: local
secret:
  envvar:HOST: 127.0.0.1
  envvar:PORT: {port}
  envvar:USER: {user}
  envvar:DB: postgres
  envvar:PASS: {{env: ORDERS_PASS}}
access_mode_connect: enabled
access_mode_exec: enabled
access_mode_runbooks: disabled
access_schema: enabled
access_max_duration: 3600
connection_tags:
  team: shop
"""


@pytest.fixture(scope="module")
def admin(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("apply"))
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def me(admin, tmp_path_factory):
    return Person(tmp_path_factory.mktemp("me"), admin)


@pytest.fixture(scope="module")
def folder(me, target):
    folder = os.path.join(me.home, "gate")
    os.mkdir(folder)
    for name, text in (("a-rules.yaml", RULES), ("b-groups.yml", GROUPS),
                       ("c-targets.yaml", TARGETS.format(port=target.server.port,
                                                         user=target.user))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return folder


def planned(me, folder, *arguments, **variables):
    rows = me.json("apply", "-f", folder, "--plan", *arguments, **variables)
    return {(row["kind"], row["name"]): (row["action"], row["changes"]) for row in rows}


def test_a_plan_then_one_pass_then_nothing(me, admin, folder):
    secret = {"ORDERS_PASS": TARGET_PASSWORD}
    said = me.refused(2, "apply", "-f", folder, "--plan")
    assert "c-targets.yaml:21: 'secret.envvar:PASS'" in said and "not set" in said
    plan = planned(me, folder, **secret)
    assert [action for action, _ in plan.values()] == ["add"] * 7
    assert [kind for kind, _ in plan] == ["group", "resource", "connection", "access", "guardrail",
                                          "masking-rule", "access-rule"]
    assert admin.get("/connections/orders-ro").status == 404, "it was a plan"
    shown = me.run("apply", "-f", folder, "--plan", **secret)
    assert "+ connection 'orders-ro'" in shown and "7 to add, 0 to change" in shown
    assert TARGET_PASSWORD not in shown and "secret.envvar:PASS: (a value)" in shown
    assert "7 done" in me.run("apply", "-f", folder, **secret)
    again = me.run("apply", "-f", folder, **secret)
    assert "0 to add, 0 to change, 7 as they are" in again and "done" not in again
    assert "5 values of secrets are there and cannot be compared" in again
    assert "7 as they are" in me.run("apply", "-f", folder), "a value that is there is not asked for"
    made = admin.get("/connections/orders-ro").json
    assert made["resource_name"] == "orders" and made["access_max_duration"] == 3600
    assert admin.get("/connections/orders-ro/access").json == {"groups": ["dba"]}
    assert admin.get("/guardrails/no-drops").json["connection_ids"] == [made["id"]]


def test_what_changes_is_named_and_the_rest_stays(me, admin, folder):
    admin.patch("/connections/orders-ro", {"mandatory_metadata_fields": ["ticket"]})
    path = os.path.join(folder, "c-targets.yaml")
    with open(path, encoding="utf-8") as file:
        before = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(before.replace("access_max_duration: 3600", "access_max_duration: 600")
                   .replace("HOST: 127.0.0.1\n  envvar:PORT", "HOST: localhost\n  envvar:PORT", 1))
    rules = os.path.join(folder, "a-rules.yaml")
    with open(rules, encoding="utf-8") as file:
        text = file.read()
    with open(rules, "w", encoding="utf-8") as file:
        file.write(text.replace("[drop, truncate]", "[drop, truncate, alter]")
                   .replace("description: nobody drops anything here\n", ""))
    shown = me.run("apply", "-f", folder, "--plan")
    assert "~ connection 'orders-ro'\n    access_max_duration: 3600 -> 600\n" in shown
    assert "~ resource 'orders'\n    env_vars.envvar:HOST: (as it is) -> (a value)" in shown
    assert "0 to add, 3 to change, 4 as they are" in shown
    assert "3 done" in me.run("apply", "-f", folder)
    rail = admin.get("/guardrails/no-drops").json
    assert rail["input"]["rules"][0]["words"] == ["drop", "truncate", "alter"]
    assert rail["description"] == "nobody drops anything here", "what is left out stays"
    made = admin.get("/connections/orders-ro").json
    assert made["mandatory_metadata_fields"] == ["ticket"]
    assert "7 as they are" in me.run("apply", "-f", folder)
    plan = planned(me, folder, "--secrets", ORDERS_PASS=TARGET_PASSWORD)
    assert plan["connection", "orders-ro"] == ("change", [
        f"secret.envvar:{name}" for name in ("HOST", "PORT", "USER", "DB", "PASS")])
    assert "1 done" in me.run("apply", "-f", folder, "--secrets", ORDERS_PASS=TARGET_PASSWORD)
    admin.patch("/connections/orders-ro", {"mandatory_metadata_fields": []})
    admin.delete("/access-requests/rules/ask-first")
    assert "42" in me.run("exec", "orders-ro", "-c", "select 6 * 7"), "the secrets are right"
    with open(path, "w", encoding="utf-8") as file:
        file.write(before)


def test_what_is_there_is_written_and_taken_again(me, admin, folder):
    admin.post("/attributes", {"name": "pii", "connection_names": ["orders-ro"]})
    me.run("apply", "-f", folder)
    text = me.run("export")
    assert TARGET_PASSWORD not in text and "env: ORDERS_RO_PASS" in text
    path = os.path.join(me.home, "export.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    assert "0 to add, 0 to change" in me.run("apply", "-f", path, "--plan")
    admin.delete("/guardrails/no-drops")
    admin.delete("/attributes/pii")
    assert "2 to add, 0 to change" in me.run("apply", "-f", path)
    assert me.run("export") == text


@pytest.mark.parametrize("text, said", [
    ("kind: group\nname: a\nname: b\n", ":3: a key is there twice, at first in line 2"),
    ("kind: group\n---\nkind: group\nname: a\n", ":1: 'name' must be a text"),
    ("a: &x 1\nb: *x\n", ":1: anchors"),
    ("kind: !x y\n", ":1: anchors"),
    ("kind: shelf\nname: a\n", ":1: 'kind' must be group"),
    ("kind: group\nname: [a\n", "no YAML"),
    ("- a\n", ":1: a document must have members"),
    ("kind: group\nname: a\n---\nkind: group\nname: a\n", ":5: 'name' is there twice"),
    ("a: " + "[" * 40 + "]" * 40, "more than 32 deep"),
    ("a:\n" + "  - 1\n" * 10001, "more than 10000 values"),
    ("x" * (1 << 20) + "y", "more than 1048576 bytes"),
    ("kind: connection\nname: a\nstatus: online\n", ":3: 'status' is made by the gateway"),
    ("kind: connection\nname: a\nsecret:\n  envvar:PASS: x\n",
     ":4: 'secret.envvar:PASS' is a secret"),
    ("kind: connection\nname: a\nagent: nobody\n", ":3: 'agent' names no agent"),
    ("kind: guardrail\nname: a\nconnections:\n  - orders-ro\n  - nothing\n",
     ":5: 'connections[1]' names no connection"),
])
def test_a_wrong_file_is_named_with_its_line(me, folder, tmp_path, text, said):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    found = me.done("apply", "-f", tmp_path, "--plan")
    assert found.returncode in (1, 2) and said in found.stderr, found
    assert "x.yaml" in found.stderr


def test_what_the_gateway_refuses_is_named_with_its_line(me, admin, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("kind: group\nname: before\n---\nkind: guardrail\nname: wrong\ninput:\n"
                    "  rules:\n    - type: deny_words_list\n      wods: [a]\n")
    found = me.done("apply", "-f", path)
    assert found.returncode == 2 and "x.yaml:9: guardrail 'wrong'" in found.stderr, found
    assert "nothing was changed" in found.stderr
    assert "before" not in admin.get("/users/groups").json
    assert "-f says which" in me.refused(2, "apply")
    (tmp_path / "empty").mkdir()
    assert "no documents" in me.refused(2, "apply", "-f", tmp_path / "empty")
    assert "/nowhere" in me.refused(2, "apply", "-f", "/nowhere")


def test_what_no_document_names_is_deleted_when_asked(me, admin, tmp_path):
    path = tmp_path / "gate.yaml"
    path.write_text(me.run("export"))
    assert "0 to add, 0 to change, 0 to delete" in me.run("apply", "-f", path, "--prune")
    made = {"kinds": [("group", "left"), ("connection", "left-over")]}
    assert admin.post("/users/groups", {"name": "left"}).status == 201
    body = connection(name="left-over", type="custom", subtype="tools", command=["sh"])
    assert admin.post("/connections", body).status == 201
    shown = me.run("apply", "-f", path, "--prune", "--plan")
    for kind, name in made["kinds"]:
        assert f"- {kind} '{name}'\n" in shown, shown
    found = planned(me, path, "--prune")
    gone = [key for key, (action, _) in found.items() if action == "delete"]
    assert set(made["kinds"]) <= set(gone) and ("group", "admin") not in gone
    assert "to delete" not in me.run("apply", "-f", path, "--plan")
    assert admin.get("/connections/left-over").status == 200, "it was a plan"
    (tmp_path / "groups").mkdir()
    (tmp_path / "groups/only.yaml").write_text("kind: group\nname: dba\n")
    assert "connection" not in me.run("apply", "-f", tmp_path / "groups", "--prune", "--plan")
    assert "done" in me.run("apply", "-f", path, "--prune")
    assert admin.get("/connections/left-over").status == 404
    assert "left" not in admin.get("/users/groups").json
    assert "0 to add, 0 to change, 0 to delete" in me.run("apply", "-f", path, "--prune")
    needed = path.read_text().replace("kind: group\nname: dba\n", "kind: group\nname: other\n")
    path.write_text(needed)
    done = me.done("apply", "-f", path, "--prune")
    assert done.returncode in (1, 2) and "group 'dba' is not deleted: " in done.stderr, done
