# SPDX-License-Identifier: MIT
"""For whom a program's token counts: one organization, one provider, one subject."""
import itertools

import pytest

from api import Api, login, register, unique
from conftest import PATIENCE
from native import Session, credential, psql
from oidc import CLIENT_SECRET, SECRET_ENV, Browser, Provider, Site, arguments_for
from store import Store

numbers = itertools.count()


@pytest.fixture(scope="module")
def second_provider(tmp_path_factory):
    provider = Provider(str(tmp_path_factory.mktemp("second")))
    yield provider
    provider.stop()


def store_of(gateway, store_url):
    store = Store(gateway)
    if store_url.startswith("sqlite:"):
        store.url, store.path = None, store_url.removeprefix("sqlite:")
    return store


@pytest.fixture
def fresh(start, provider, store_url, tmp_path):
    gateway = start(*arguments_for(provider), "--database-url", store_url, env=SECRET_ENV,
                    folder=tmp_path / "gateway")
    site = Site(gateway, provider, register(gateway))
    site.store = store_of(gateway, store_url)
    return site


def organization(site, prefix="organization"):
    """(its name, its admin)"""
    name, email = f"{prefix}-{next(numbers)}-{unique('x')}", f"{unique('root')}@example.com"
    status, made = site.gateway.control("POST", "/control/organizations",
                                        {"name": name, "admin": email})
    assert status == 201, made
    return name, login(site.gateway, email, made["password"])


def make(admin, subject, *groups, **members):
    answer = admin.post("/serviceaccounts", {"subject": subject, "status": "active",
                                             "groups": list(groups), **members})
    assert answer.status == 201, answer
    return answer.json


def where(site, subject, organization_name=None, provider=None):
    """The organization that a program with a good token for the subject is in, or None."""
    provider = provider or site.provider
    token = provider.sign(dict(site.access_claims(subject), iss=provider.issuer))
    headers = {} if organization_name is None else {"Organization": organization_name}
    answer = Api(site.gateway, token).get("/userinfo", headers=headers)
    assert answer.status in (200, 401), answer
    return answer.json["org_name"] if answer.status == 200 else None


def test_nobody_takes_a_subject_from_the_first(site):
    """By no name before or after it, not while it is inactive, nor when it is gone."""
    subject = unique("jobs")
    (first, mine), (early, one), (late, other) = (
        organization(site, prefix) for prefix in ("m", "a", "z"))
    account = make(mine, subject, "dev")
    for admin in one, other, site.admin:
        assert make(admin, subject, "admin")["id"] != account["id"]
    assert where(site, subject) == first
    assert where(site, subject, first) == first
    path = f"/serviceaccounts/{account['id']}"
    assert mine.put(path, {"status": "inactive"}).status == 200
    assert where(site, subject) is None and where(site, subject, first) is None
    # By name each has its own, whatever the others do.
    for name in early, late, "default":
        assert where(site, subject, name) == name
    assert mine.delete(path).status == 204
    assert where(site, subject) is None
    account = make(mine, subject)
    assert where(site, subject) == first
    for name in "", "nothing", early.upper(), f"{early} ", f"{early},{late}":
        assert where(site, subject, name) in ((first,) if not name.strip() else (None, name.strip()))


def test_who_came_first_shuts_nobody_out(site):
    """An organization that has an account for whatever it likes has nobody's programs by it."""
    subject = unique("jobs")
    _, thief = organization(site, "a")
    mine, admin = organization(site, "m")
    make(thief, subject, "admin")
    make(admin, subject, "dev")
    assert where(site, subject, mine) == mine


def test_a_person_is_no_service_account(site):
    person = site.provider.person()
    _, thief = organization(site, "a")
    site.enter(person)
    make(thief, person, "admin")
    assert where(site, person) == "default"
    email = f"{person}@example.com"
    assert site.admin.put(f"/users/{email}", {"email": email, "status": "inactive"}).status == 200
    assert where(site, person) is None


def test_a_credential_of_another_organization_than_was_named(site):
    name, boss = organization(site)
    key = boss.post("/api-keys", {"name": "key", "groups": []}).json["key"]
    for token in boss.token, key:
        caller = Api(site.gateway, token)
        assert caller.get("/userinfo", headers={"Organization": name}).status == 200
        answer = caller.get("/userinfo", headers={"Organization": "default"})
        assert answer.status == 401 and "'Organization'" in answer.message


def put_provider(site, provider):
    answer = site.admin.put("/serverconfig/auth", {
        "auth_method": "oidc", "oidc_config": {
            "issuer_url": provider.issuer, "client_id": "gatehouse",
            "client_secret": CLIENT_SECRET}})
    assert answer.status == 200, answer


def test_a_switch_of_the_provider_carries_nothing_over(fresh, second_provider):
    site, subject = fresh, unique("jobs")
    account = make(site.admin, subject, "dev")
    path = f"/serviceaccounts/{account['id']}"
    assert account["issuer"] == site.provider.issuer and where(site, subject) == "default"
    put_provider(site, second_provider)
    assert where(site, subject) is None and where(site, subject, None, second_provider) is None
    assert site.admin.get(path).json["issuer"] == site.provider.issuer
    assert site.admin.put(path, {"status": "active"}).json["issuer"] == site.provider.issuer
    assert where(site, subject, None, second_provider) is None
    for issuer in "https://elsewhere.example", second_provider.issuer + "/x", "x":
        answer = site.admin.put(path, {"status": "active", "issuer": issuer})
        assert answer.status == 400 and "'issuer'" in answer.message
        assert site.admin.post("/serviceaccounts", {
            "subject": unique("x"), "status": "active", "issuer": issuer}).status == 400
    changed = site.admin.put(path, {"status": "active", "issuer": second_provider.issuer + "/"})
    assert changed.json["issuer"] == second_provider.issuer
    assert where(site, subject, None, second_provider) == "default"
    put_provider(site, site.provider)
    assert where(site, subject) is None


def test_an_account_made_without_a_provider_waits_for_one(start, provider, store_url, tmp_path):
    gateway = start("--database-url", store_url, folder=tmp_path)
    admin = register(gateway)
    account = make(admin, "early")
    assert account["issuer"] == ""
    gateway.stop()
    gateway = start(*arguments_for(provider), "--database-url", store_url, env=SECRET_ENV,
                    folder=tmp_path)
    site = Site(gateway, provider, login(gateway, "root@example.com"))
    assert where(site, "early") is None
    answer = site.admin.put("/serviceaccounts/early", {"status": "active",
                                                       "issuer": provider.issuer})
    assert answer.status == 200 and where(site, "early") == "default"


def test_accounts_from_before_are_of_the_provider_at_the_first_start(fresh, start, provider,
                                                                     second_provider, store_url,
                                                                     tmp_path):
    """Which they belonged to had not been kept."""
    site, subject = fresh, unique("jobs")
    name, boss = organization(site, "z")
    early, late = make(boss, subject), make(site.admin, subject)
    alone = make(site.admin, unique("jobs"))
    assert site.gateway.stop() == 0
    site.store.ask("UPDATE service_account SET issuer = NULL")
    site.store.ask("UPDATE service_account SET created_at = 1 WHERE id = ?", early["id"])
    site.store.ask("DELETE FROM service_account_owner")
    arguments = {"folder": tmp_path / "gateway", "env": SECRET_ENV}
    store = ["--database-url", store_url]
    site.gateway = start(*arguments_for(provider), *store, **arguments)
    assert where(site, subject) == name  # the oldest, not the first by name
    assert where(site, subject, "default") == where(site, alone["subject"]) == "default"
    site.admin = login(site.gateway, "root@example.com")
    for account in late, alone:
        shown = site.admin.get(f"/serviceaccounts/{account['id']}").json
        assert shown["issuer"] == provider.issuer
    assert site.gateway.stop() == 0
    site.gateway = start(*arguments_for(second_provider), *store, **arguments)
    assert where(site, subject, None, second_provider) is None  # the second start binds nothing


def test_a_sign_in_ends_at_the_provider_that_it_began_at(fresh, second_provider):
    site, before = fresh, second_provider.count("token")
    browser = Browser(site.provider.person())
    address = site.to_callback(browser)
    put_provider(site, second_provider)
    answer = browser.open(address)
    assert answer.status == 400 and answer.cookie("gatehouse_token") is None, answer
    assert second_provider.count("token") == before
    site.provider, second_provider = second_provider, site.provider
    assert site.sign_in(site.provider.person()).token
    put_provider(site, second_provider)


def can_use(made):
    return psql(made, "SELECT 'in'", check=False).stdout == "in\n"


def test_native_credentials_end_with_the_binding(fresh, second_provider, target):
    """Those that a program of the old provider made, and what it has open; nobody else's."""
    site, subject = fresh, unique("jobs")
    path = f"/serviceaccounts/{make(site.admin, subject, 'dev')['id']}"
    program = Api(site.gateway, site.provider.sign(site.access_claims(subject)))
    name = target.connection(site.admin)
    machine = site.admin.post("/machineidentities", {
        "name": unique("machine"), "connection_names": [name]})
    assert machine.status == 201, machine
    others = [credential(site.admin, name), credential(site.admin.key("dev"), name)]
    made = credential(program, name)
    session = Session(made["connection_credentials"])
    assert session.ask("SELECT 'in'") == "in" and can_use(made)
    put_provider(site, second_provider)
    session.wait_for_end(PATIENCE)
    assert not can_use(made) and all(map(can_use, others))
    # While the new one's program takes its place, what the old one had stays gone for good.
    bind = {"status": "active", "issuer": second_provider.issuer}
    assert site.admin.put(path, bind).status == 200
    assert not can_use(made)
    claims = dict(site.access_claims(subject), iss=second_provider.issuer)
    fresh_one = credential(Api(site.gateway, second_provider.sign(claims)), name)
    assert can_use(fresh_one) and not can_use(made)
    put_provider(site, site.provider)
    assert not can_use(fresh_one)
    assert site.admin.put(path, {**bind, "issuer": site.provider.issuer}).status == 200
    assert not can_use(made) and not can_use(fresh_one)
