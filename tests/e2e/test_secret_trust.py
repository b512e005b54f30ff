# SPDX-License-Identifier: MIT
"""The gateway's own secrets: for which organizations its agent looks them up."""
import json
import time

import pytest

from api import b64, connection, login, register, resource, role, unique
from conftest import Gateway
from native import Target, credential, psql, sql
from store import Store, new_organization

PROD = {"user": "prod", "password": "s3cret of the gateway"}
WORDS = "does not look up references of this kind for this organization"
REFERENCES = ["_envjson:PROD:password", "_aws:prod/db:password", "_vaultkv1:secret/a:b",
              "_vaultkv2:secret/a:b", "_aws_iam_rds:app", b64("_envjson:PROD:password")]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def admin(request, tmp_path_factory, postgres):
    """Of the organization 'default', whose operator gave the gateway a secret."""
    arguments = ["--local-secrets", "default,some=envjson+aws"]
    if request.param == "postgres":
        arguments += ["--database-url", postgres.create(f"trust_{time.monotonic_ns()}")]
    env = {"PROD": json.dumps(PROD), "AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"}
    gateway = Gateway(tmp_path_factory.mktemp("trust"), *arguments, env=env)
    yield register(gateway)
    assert gateway.is_alive() and gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def boss(admin):
    return new_organization(admin)


def own_agent(caller):
    return caller.get("/userinfo").json["org_id"]


def body_of(caller, reference, **members):
    secret = {"envvar:HOST": b64("127.0.0.1"), "envvar:USER": reference}
    return connection(agent_id=own_agent(caller), secret=secret, **members)


def is_refused(answer):
    assert answer.status == 400 and WORDS in answer.message, answer
    assert "'envvar:" in answer.message and "--local-secrets" in answer.message
    return PROD["password"] not in answer.message


@pytest.mark.parametrize("reference", REFERENCES)
def test_another_organization_cannot_save_one(boss, reference):
    assert is_refused(boss.post("/connections", body_of(boss, reference)))
    made = boss.post("/connections", body_of(boss, b64("inline")))
    assert made.status == 201, made
    name = made.json["name"]
    changed = {"secret": {"envvar:PASS": reference}}
    assert is_refused(boss.patch(f"/connections/{name}", changed))
    assert is_refused(boss.put(f"/connections/{name}", body_of(boss, reference, name=name)))
    files = {"secret": {"filesystem:SSLKEY": reference}}
    answer = boss.patch(f"/connections/{name}", files)
    assert answer.status == 400 and WORDS in answer.message
    # A resource, its roles, and what a role has from its resource.
    env_vars, secret = {"envvar:PASS": reference}, {"envvar:PASS": reference}
    agent = own_agent(boss)
    for body in (resource(env_vars=env_vars, agent_id=agent),
                 resource(env_vars=env_vars, agent_id=agent, roles=[role()]),
                 resource(agent_id=agent, roles=[role(secret=secret)]),
                 resource(agent_id=agent, roles=[role(agent_id=agent, secret=secret)])):
        assert is_refused(boss.post("/resources", body))
        assert boss.get(f"/resources/{body['name']}").status == 404
    kept = resource(agent_id=agent, roles=[role()])
    assert boss.post("/resources", kept).status == 201
    assert is_refused(boss.put(f"/resources/{kept['name']}", {**kept, "env_vars": env_vars}))
    assert boss.get(f"/resources/{kept['name']}").json["env_vars"] == {}


def test_an_agent_of_its_own_may_have_them_and_nobody_may_move_them_here(boss):
    far = boss.post("/agents", {"name": unique("far")}).json["id"]
    here = own_agent(boss)
    body = resource(agent_id=far, env_vars={"envvar:PASS": REFERENCES[0]}, roles=[role()])
    assert boss.post("/resources", body).status == 201
    name = body["roles"][0]["name"]
    assert is_refused(boss.patch(f"/connections/{name}", {"agent_id": here}))
    assert is_refused(boss.put(f"/resources/{body['name']}", {**body, "agent_id": here}))
    other = boss.post("/connections", body_of(boss, REFERENCES[0]) | {"agent_id": far})
    assert other.status == 201, other
    assert is_refused(boss.patch(f"/connections/{other.json['name']}", {"agent_id": here}))
    local = boss.post("/connections", body_of(boss, b64("inline"))).json["name"]
    moved = {"resource_name": body["name"], "agent_id": here}
    assert is_refused(boss.patch(f"/connections/{local}", moved))
    follows = boss.patch(f"/connections/{local}", {"resource_name": body["name"]})
    assert is_refused(follows) if follows.status == 400 else follows.json["agent_id"] == far


def test_what_is_stored_all_the_same_is_not_looked_up(admin, boss, postgres):
    """A reference from before, or one whose agent was deleted: the target gets nothing."""
    target = Target(postgres)
    far = boss.post("/agents", {"name": unique("far")}).json
    secret = {**target.secret(), "envvar:USER": "_envjson:PROD:user"}
    made = boss.post("/connections", connection(agent_id=far["id"], secret=secret))
    assert made.status == 201, made
    name = made.json["name"]
    assert boss.delete(f"/agents/{far['name']}?force=true").status == 204
    assert boss.get(f"/connections/{name}").json["agent_id"] == own_agent(boss)
    for path in "test", "databases", "tables", "columns?table=a":
        answer = boss.get(f"/connections/{name}/{path}")
        assert answer.status == 400 and answer.json["category"] == "secrets", answer
        assert WORDS in answer.message and PROD["user"] not in answer.message.split("PROD")[0]
        member = boss.key("dev").get(f"/connections/{name}/{path}")
        assert member.status == 400 and "PROD" not in member.message, member
    done = psql(credential(boss, name), "SELECT 1", check=False)
    assert done.returncode == 2 and "PROD" not in done.stderr, done.stderr
    assert WORDS in boss.gateway.text() and PROD["password"] not in boss.gateway.text()


def test_the_first_organization_has_them_and_inline_values_go_everywhere(admin, boss, postgres):
    target = Target(postgres)
    if not sql(postgres, "SELECT 1 FROM pg_roles WHERE rolname = 'prod'"):
        sql(postgres, f"CREATE USER prod PASSWORD '{PROD['password']}'")
    name = target.connection(admin, secret={**target.secret(), "envvar:USER": "_envjson:PROD:user",
                                            "envvar:PASS": "_envjson:PROD:password"})
    assert psql(credential(admin, name), "SELECT current_user").stdout == "prod\n"
    assert admin.get(f"/connections/{name}/test").status == 200
    machine = admin.post("/machineidentities", {"name": unique("m"), "connection_names": [name]})
    assert machine.status == 201, machine
    own = target.connection(boss)
    assert psql(credential(boss, own), "SELECT current_user").stdout == f"{target.user}\n"
    assert boss.get(f"/connections/{own}/test").status == 200


def test_an_organization_is_listed_with_some_sources(admin):
    status, made = admin.gateway.control("POST", "/control/organizations",
                                         {"name": "some", "admin": "root@some.example"})
    assert status == 201, made
    some = login(admin.gateway, "root@some.example", made["password"])
    for reference, expected in ((REFERENCES[0], 201), (REFERENCES[1], 201), (REFERENCES[2], 400),
                                (REFERENCES[3], 400), (REFERENCES[5], 201)):
        answer = some.post("/connections", body_of(some, reference))
        assert answer.status == expected, (reference, answer)


@pytest.mark.parametrize("value", ["a,,b", "a=", "a=aws+", "a=gcp", "a=aws,", "=aws", " ,a"])
def test_a_list_with_a_slip_in_it_stops_the_start(start, value):
    gateway = start("--local-secrets", value, wait=False)
    assert gateway.process.wait(20) == 2 and "--local-secrets" in gateway.text()


def test_off_means_nobody(start):
    admin = register(start("--local-secrets", "off", env={"PROD": json.dumps(PROD)}))
    assert is_refused(admin.post("/connections", body_of(admin, REFERENCES[0])))
    assert Store(admin.gateway).ask("SELECT count(*) FROM connection") == [["0"]]
