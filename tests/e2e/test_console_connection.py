# SPDX-License-Identifier: MIT
"""The form of a connection: what is changed is sent and nothing else, secrets are replaced and never
shown, others' changes are not undone, and what was typed is not lost without a question."""
import base64
import json

import pytest

from api import PASSWORD, connection, login, unique
from console import (button, choose, label, press, settled, shoot, sign_in, until_text)
from native import TARGET_PASSWORD, OwnDatabase

FORM = "#connection"


@pytest.fixture
def page(browser):
    page = browser.page(1280, 800)
    yield page
    page.run("1")
    page.close()
    assert page.complaints == []


@pytest.fixture(scope="module")
def target(postgres):
    return OwnDatabase(postgres, "CREATE TABLE first(id int)")


@pytest.fixture
def name(gateway, target):
    return target.connection(gateway.admin, name=unique("edited"))


def edit(page, gateway, name, **who):
    sign_in(page, gateway, f"/admin/connections?edit={name}", **who)
    page.until_shown(FORM)


def stored(gateway, name):
    return gateway.admin.get(f"/connections/{name}").json


def switch(page, words):
    page.run(f"[...document.querySelectorAll('{FORM} label')]"
             f".find((one) => one.innerText === {json.dumps(words)}).click()")


def add_word(page, words, text):
    label(page, words, text, FORM)
    page.press_enter()


def save(page):
    button(page, "Save and test", FORM)
    page.until_shown("[data-saved]")


def sent(page):
    """What is written from now on: (method, path, body)."""
    page.run("""(() => { window.sent = []; const fetched = window.fetch;
        window.fetch = (url, request) => { if (request?.method !== 'GET') { window.sent.push(
          [request.method, new URL(url).pathname, JSON.parse(request.body ?? 'null')]) }
          return fetched(url, request) } })()""")
    return lambda: page.run("window.sent")


def test_each_field_is_stored_and_nothing_else_is_sent(gateway, name, page):
    group, rail, mask = unique("group"), unique("rail"), unique("mask")
    assert gateway.admin.post("/users/groups", {"name": group}).status == 201
    rail_id = gateway.admin.post("/guardrails", {"name": rail, "input": {"rules": [
        {"type": "deny_words_list", "words": ["tabu"], "name": "no tabu"}]}}).json["id"]
    mask_id = gateway.admin.post("/datamasking-rules", {"name": mask, "supported_entity_types": [
        {"name": "PII", "entity_types": ["EMAIL_ADDRESS"]}]}).json["id"]
    before = stored(gateway, name)
    edit(page, gateway, name)
    written = sent(page)
    for words, text in {"Groups that may use it": group, "Attributes": "live",
                        "What each session must say": "ticket",
                        "Groups that review": "admin", "Groups whose members may approve alone": group,
                        "Variables that callers may set": "PGAPPNAME",
                        "Tags": "env=prod", "Plain tags": "sales"}.items():
        add_word(page, words, text)
    for words, rule in {"Guard rails": rail, "Masking rules": mask}.items():
        label(page, words, rule, FORM)
        choose(page, rule)
    for words, number in {"Access on request lasts at most (minutes)": "90",
                          "How many must approve": "2", "Recordings are kept for (days)": "0",
                          "Result rows on record for each statement (KiB)": "2"}.items():
        label(page, words, number, FORM)
    for words in ("Scripts, in the console and over the API", "Runbooks", "Callers may add arguments",
                  "The schema tree of the SQL page"):
        switch(page, words)
    assert "Groups that review" in page.text(".save-bar")
    save(page)
    assert "answered in" in page.text("[data-saved]")
    now = stored(gateway, name)
    changed = {key: value for key, value in now.items() if value != before.get(key)}
    for key in ("updated_at", "effective_features"):
        changed.pop(key, None)
    assert changed == {
        "attributes": ["live"], "mandatory_metadata_fields": ["ticket"], "reviewers": ["admin"],
        "force_approve_groups": [group], "accepted_env_vars": ["PGAPPNAME"],
        "accepts_client_args": True, "connection_tags": {"env": "prod"}, "tags": ["sales"],
        "guardrail_rules": [rail_id], "access_max_duration": 5400, "min_review_approvals": 2,
        "recording_days": 0, "recording_row_limit": 2048, "access_mode_exec": "disabled",
        "access_mode_runbooks": "disabled", "access_schema": "disabled"}, changed
    assert gateway.admin.get(f"/connections/{name}/access").json["groups"] == [group]
    links = gateway.admin.get(f"/connections/{name}/datamasking-rules").json
    assert [(one["rule_id"], one["status"]) for one in links] == [(mask_id, "active")]
    assert [line[:2] for line in written()] == [
        ["PATCH", f"/api/connections/{name}"], ["PUT", f"/api/connections/{name}/access"],
        ["PUT", f"/api/connections/{name}/datamasking-rules"]]
    assert "secret" not in written()[0][2] and "command" not in written()[0][2]
    page.open(gateway.url(f"/admin/connections?edit={name}"))
    page.until_shown(FORM)
    for text in ("env=prod", rail, mask, group):
        until_text(page, text)
    assert shoot(page, "admin-connection") == []


def test_a_secret_is_replaced_tried_and_never_shown(gateway, target, name, page):
    edit(page, gateway, name)
    written = sent(page)
    assert TARGET_PASSWORD not in page.run("document.documentElement.outerHTML")
    page.click("[aria-label='Replace DB']")
    label(page, "New value of DB", "no_such_database", '[data-secret="envvar:DB"]')
    button(page, "Save and test", FORM)
    page.until_shown(".save-bar [role=alert]")
    until_text(page, "It is saved, but the target could not be reached with it.")
    page.click("[aria-label='Replace PASS']")
    label(page, "New value of PASS", TARGET_PASSWORD, '[data-secret="envvar:PASS"]')
    page.click("[aria-label='Remove DB']")
    button(page, "Add a variable", FORM)
    label(page, "Name", "9bad", "#secrets")
    page.press_enter()
    until_text(page, "not a digit first")
    label(page, "Name", "SSLMODE", "#secrets")
    page.press_enter()
    label(page, "New value of SSLMODE", "disable", '[data-secret="envvar:SSLMODE"]')
    save(page)
    assert written()[-1][2] == {"secret": {
        "envvar:PASS": base64.b64encode(TARGET_PASSWORD.encode()).decode(), "envvar:DB": None,
        "envvar:SSLMODE": base64.b64encode(b"disable").decode()}}
    secret = stored(gateway, name)["secret"]
    assert "envvar:DB" not in secret and "envvar:SSLMODE" in secret
    assert page.run("document.querySelector('[data-secret=\"envvar:SSLMODE\"]').dataset.is") == "kept"
    assert TARGET_PASSWORD not in page.run("document.documentElement.outerHTML")


def test_a_command_is_words_as_they_are(gateway, page):
    name = unique("shell")
    body = connection(name, type="custom", subtype="tools", command=["bash"], secret={},
                      agent_id=gateway.admin.get("/userinfo").json["org_id"])
    assert gateway.admin.post("/connections", body).status == 201
    edit(page, gateway, name)
    for number, word in enumerate(("-c", "echo 'a, b' $1\necho next", "-c"), 1):
        button(page, "Add an argument", "#command")
        page.fill(f"[aria-label='Argument {number}']", word)
    save(page)
    assert page.text("[data-saved]").strip() == "Saved.", "its target cannot be asked"
    assert stored(gateway, name)["command"] == ["bash", "-c", "echo 'a, b' $1\necho next", "-c"]


def test_what_others_changed_meanwhile_stays(gateway, name, page):
    edit(page, gateway, name)
    add_word(page, "Plain tags", "mine")
    assert gateway.admin.patch(f"/connections/{name}", {"reviewers": ["admin"]}).status == 200
    button(page, "Save and test", FORM)
    page.until_shown("[data-stale]")
    assert "yours are kept: Plain tags" in page.text("[data-stale]")
    assert stored(gateway, name)["tags"] == []
    save(page)
    now = stored(gateway, name)
    assert (now["tags"], now["reviewers"]) == (["mine"], ["admin"])


def question(page):
    until_text(page, "Leave without saving?")


def test_what_was_typed_is_not_lost_without_a_question(gateway, name, page):
    sign_in(page, gateway, "/admin/connections")
    page.click(f"[aria-label='Edit {name}']")
    page.until_shown(FORM)
    add_word(page, "Plain tags", "typed")
    here = page.run("location.href")
    page.run(
        "[...document.querySelectorAll('#main a')].find((one) => one.innerText === 'All connections').click()")
    question(page)
    press(page, "Escape", windowsVirtualKeyCode=27)
    page.until("!document.querySelector('[role=dialog]')")
    for _ in range(2):  # the browser's own way back is held as often as it is tried
        page.run("history.back()")
        question(page)
        button(page, "Go on editing", "[role=dialog]")
        page.until("!document.querySelector('[role=dialog]')")
        assert page.run("location.href") == here and "typed" in page.text(FORM)
    page.run("history.back()")
    question(page)
    button(page, "Leave", "[role=dialog]")
    page.until("location.search === '' && document.querySelector('#connection') === null")
    page.run("history.forward()")
    page.until_shown(FORM)
    page.until(f"!document.querySelector('{FORM}').innerText.includes('typed')")
    add_word(page, "Plain tags", "again")
    page.open(gateway.url("/"))
    page.until_shown("#resources")
    assert page.dialogs == ["beforeunload"] and stored(gateway, name)["tags"] == []
    assert page.run("history.back(), true")
    page.until_shown(FORM)
    add_word(page, "Plain tags", "kept")
    save(page)
    page.open(gateway.url("/admin/groups?new"))
    assert page.dialogs == ["beforeunload"], "what is saved asks nothing"
    label(page, "Name", "half a name")
    press(page, "Escape", windowsVirtualKeyCode=27)
    question(page)
    button(page, "Leave", "[role=dialog]")
    page.until("!document.querySelector('[role=dialog]')")


def test_a_gateway_that_refuses_and_a_sign_in_that_ends_lose_nothing(gateway, name, page):
    email = f"{unique('admin')}@example.com"
    assert gateway.admin.post("/users", {
        "email": email, "name": "Other", "password": PASSWORD, "status": "active",
        "groups": ["admin"]}).status == 201
    edit(page, gateway, name, email=email)
    add_word(page, "Plain tags", "typed")
    answers = [(500, {"message": "an error inside the gateway"}), (429, {"message": "slow down"})]
    page.stub(f"/api/connections/{name}", lambda request: answers[0])
    for status, said in list(answers):
        answers[0] = (status, said)
        button(page, "Save and test", FORM)
        until_text(page, said["message"][1:])
        assert "typed" in page.text(FORM)
    page.call("Fetch.disable")
    assert login(gateway, email).post("/logout?everywhere=true").status == 204
    button(page, "Save and test", FORM)
    until_text(page, "Your sign-in has ended")
    page.fill("[role=dialog] input[type=password]", PASSWORD)
    page.press_enter()
    page.until_shown("[data-saved]")
    assert stored(gateway, name)["tags"] == ["typed"]


def test_it_fits_a_narrow_screen(gateway, name, browser):
    page = browser.page(390, 844)
    edit(page, gateway, name)
    settled(page)
    page.click("[aria-label='Replace PASS']")
    page.until_shown("[data-is=replaced] input")
    assert page.run("document.documentElement.scrollWidth") <= 390
    assert shoot(page, "admin-connection-390", ("light",)) == []
    assert page.complaints == []
    page.close()


def test_who_is_no_admin_is_told(gateway, name, page):
    email = f"{unique('member')}@example.com"
    assert gateway.admin.post("/users", {"email": email, "name": "M", "password": PASSWORD,
                                         "status": "active", "groups": []}).status == 201
    sign_in(page, gateway, f"/admin/connections?edit={name}", email)
    page.until_shown("#main [role=alert]")
    assert page.run(f"document.querySelector('{FORM}')") is None
