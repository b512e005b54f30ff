# SPDX-License-Identifier: MIT
"""Whole ways through the console, each as somebody goes it: from the first link to a replay, a query
that is shared, a guard rail out of a session, hours of an approval, one's own keys, and another
organization that sees nothing of it."""
import json
import re

import pytest

from api import PASSWORD, Api, login, unique
from conftest import PATIENCE
from console import (button, label, press, select, settled, shoot, sign_in, until_text,
                     write_sql)
from native import TARGET_PASSWORD, OwnDatabase, credential, psql_process
from people import totp

SHOP = ("CREATE TABLE orders(id int PRIMARY KEY, total int);"
        "INSERT INTO orders SELECT n, n * 10 FROM generate_series(1, 5) n;")
# Where nothing is yet: what the button says, and where it leads.
EMPTY = {
    "/": ("Connect your first database", "/admin/connections?new="),
    "/sql": ("Add a database", "/admin/connections?new="),
    "/sessions": ("Choose a connection", "/"),
    "/sessions?search=nothing": ("Clear the filters", "/sessions"),
    "/reviews": ("New access rule", "/admin/access?new="),
    "/reviews?view=mine": ("Choose a connection", "/"),
    "/admin/connections": ("Add a database", "/admin/connections?new="),
    "/admin/resources": ("New resource", "/admin/resources?new="),
    "/admin/guardrails": ("New guard rail", "/admin/guardrails?new="),
    "/admin/masking": ("New masking rule", "/admin/masking?new="),
    "/admin/access": ("New access rule", "/admin/access?new="),
    "/admin/attributes": ("New attribute", "/admin/attributes?new="),
    "/admin/keys": ("New API key", "/admin/keys?new="),
    "/admin/machines": ("New machine identity", "/admin/machines?new="),
    "/admin/services": ("New service account", "/admin/services?new="),
    "/admin/notifications": ("Add a sink", "/admin/notifications?new="),
    "/admin/audit?actor=nobody": ("Clear", "/admin/audit"),
}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDg3lrNq5Fag59XKNgKCb+HF8axkQJzruLPhcfJhH3d7 grace@laptop"


@pytest.fixture
def page(browser):
    page = browser.page(1280, 800)
    yield page
    page.run("1")
    page.close()
    assert page.complaints == []


@pytest.fixture(scope="module")
def shop(gateway, postgres):
    return OwnDatabase(postgres, SHOP).connection(gateway.admin, name="orders")


@pytest.fixture(scope="module")
def grace(gateway):
    email = f"{unique('grace')}@example.com"
    answer = gateway.admin.post("/users", {"email": email, "name": "Grace", "password": PASSWORD,
                                           "status": "active", "groups": []})
    assert answer.status == 201, answer
    return email


def run_here(page, text):
    write_sql(page, text)
    page.click("#run")
    page.until("document.querySelector('#run') !== null && "
               "document.querySelector('.results, [data-outcome]') !== null")


def test_from_the_first_link_to_the_first_replay(start, postgres, page):
    """A fresh gateway, and nothing but what it printed."""
    gateway, target, name = start(), OwnDatabase(postgres, SHOP), unique("first")
    page.open(re.search(r"  (http://\S+/register#setup_code=\S+)\n", gateway.text()).group(1))
    page.fill("#email", "root@example.com")
    page.fill("#password", PASSWORD)
    page.press_enter()
    page.until_shown("#main")
    page.click("main a[href$='/admin/connections?new']")
    page.until_shown("#add-database")
    for words, text in {"Name": name, "Host": "127.0.0.1", "Port": str(postgres.port),
                        "User at the database": target.user, "Password": TARGET_PASSWORD,
                        "Database": target.database}.items():
        label(page, words, text)
    button(page, "Add and test", "#add-database")
    page.until_shown("[data-tested]")
    page.click("[data-tested] a")
    page.until(f"location.pathname === '/sql/{name}'")
    run_here(page, "SELECT sum(total) FROM orders")
    until_text(page, "150")
    page.click(".result-foot a")
    page.until_shown("[data-proof=whole]")
    page.until_shown("#timeline .entry")
    assert "SELECT sum(total) FROM orders" in page.text("#timeline")
    page.until_shown("#timeline .sql-keyword")
    page.click("[data-proof=whole]")
    page.until_shown("#proof pre")
    session = page.run("location.pathname").split("/")[-1]
    admin = login(gateway, "root@example.com")
    proof = admin.get(f"/sessions/{session}/verify").json
    assert proof["hash"] in page.text("#proof") and re.fullmatch("[0-9a-f]{64}", proof["hash"])


def test_a_query_is_saved_shared_and_opened_by_another(gateway, shop, grace, browser, page):
    sign_in(page, gateway, f"/sql/{shop}")
    write_sql(page, "SELECT id FROM orders -- for the board")
    page.click("#saved")
    page.until_shown("#save-query")
    label(page, "Save it as", "For the board", "#save-query")
    page.run("document.querySelector('#save-query input[role=switch], #save-query [type=checkbox]').click()")
    button(page, "Save", "#save-query")
    page.until_shown("[data-query='For the board']")
    made = gateway.admin.get("/saved-queries?search=board").json["data"][0]
    assert made["is_shared"] and made["script"] == "SELECT id FROM orders -- for the board"
    other = browser.page(1280, 800)
    sign_in(other, gateway, f"/sql/{shop}?query={made['id']}", grace)
    other.until("document.querySelector('.cm-content')?.innerText.includes('for the board')")
    other.click("#saved")
    other.until_shown("[data-query='For the board']")
    assert "shared by root@example.com" in other.text("[data-query='For the board']")
    assert "Delete" not in other.text("[data-query='For the board']")
    assert shoot(other, "saved-queries") == []
    press(other, "Escape", windowsVirtualKeyCode=27)
    other.until("document.querySelector('[role=dialog]') === null")
    press(other, "k", modifiers=2, windowsVirtualKeyCode=75)
    other.until_shown(".palette")
    other.call("Input.insertText", text="board")
    other.until("document.querySelector('.palette').innerText.includes('Query of orders')")
    assert other.complaints == []
    other.close()
    page.click("[aria-label='Delete: For the board']")
    label(page, "Type For the board to go on", "For the board")
    button(page, "Delete", "[role=dialog] form")
    page.until("!document.querySelector('[data-query]')")


def test_a_guard_rail_is_made_of_a_session(gateway, shop, page):
    done = gateway.admin.post("/sessions", {"connection": shop, "script": "DELETE FROM orders WHERE id = 5"})
    assert done.json["output_status"] == "success", done
    name = unique("rail")
    sign_in(page, gateway, f"/sessions/{done.json['session_id']}")
    page.click("[aria-label='Make a guard rail of statement 1']")
    page.until_shown("[data-sentence]")
    assert page.text("[data-sentence]") == "Stops DELETE."
    page.until(f"document.querySelector('#guardrail').innerText.includes({json.dumps(shop)})")
    button(page, "Try the statement", "#guardrail")
    page.until_shown("[data-verdict=block]")
    page.fill("#guardrail-name", name)
    button(page, "Save", "#guardrail")
    page.until_shown(f"[data-guardrail={name}]")
    page.open(gateway.url(f"/sql/{shop}"))
    run_here(page, "DELETE FROM orders WHERE id = 4")
    page.until_shown("[data-outcome=blocked]")
    assert gateway.admin.delete(f"/guardrails/{name}").status == 204


def test_an_approval_is_held_to_hours(gateway, postgres, grace, page):
    name = OwnDatabase(postgres, SHOP).connection(gateway.admin, name=unique("hours"))
    assert gateway.admin.post("/access-requests/rules", {
        "name": unique("rule"), "access_type": "command", "connection_names": [name],
        "reviewers_groups": ["admin"], "min_approvals": 1}).status == 201
    asked = login(gateway, grace).post("/sessions", {"connection": name, "script": "SELECT * FROM orders"})
    review = asked.json["review_id"]
    sign_in(page, gateway, f"/reviews/{review}")
    page.until_shown("[data-decide=APPROVED]")
    page.until_shown("#script .sql-keyword")
    assert "select" in page.text("#analysis") and "orders" in page.text("#analysis")
    page.click("#ask-planner")
    page.until_shown("#plan table")
    assert "rows would come back" in page.text("#plan") and "Seq Scan" in page.text("#plan")
    assert shoot(page, "review-plan") == []
    page.run("[...document.querySelectorAll('#review label')].find((one) => "
             "one.innerText.includes('certain hours')).click()")
    page.until_shown("#hours")
    assert shoot(page, "review-hours") == []
    page.click("[data-decide=APPROVED]")
    page.until_shown("[data-status=APPROVED]")
    window = gateway.admin.get(f"/reviews/{review}").json["time_windows"][0]["configuration"]
    assert (window["start_time"], window["end_time"]) == ("09:00", "18:00")
    assert f"09:00 to 18:00 ({window['time_zone']})" in page.text("#review")


def test_a_rehearsal_shows_what_it_did(gateway, postgres, grace, page):
    name = OwnDatabase(postgres, SHOP).connection(gateway.admin, name=unique("rehearsed"))
    assert gateway.admin.post("/access-requests/rules", {
        "name": unique("rule"), "access_type": "command", "connection_names": [name],
        "reviewers_groups": ["admin"], "min_approvals": 1}).status == 201
    assert gateway.admin.post("/guardrails", {
        "name": unique("rail"), "connection_names": [name], "input": {"rules": [
            {"type": "sql", "name": "updates", "operations": ["update"],
             "action": "rehearse"}]}}).status == 201
    client = psql_process(credential(login(gateway, grace), name),
                          "UPDATE orders SET total = 0 WHERE id <= 3")
    try:
        link = next(line for line in client.stderr if "/reviews/" in line).split()[-1]
        sign_in(page, gateway, link[link.index("/reviews/"):])
        page.until_shown("#rehearsal")
        shown = page.text("#rehearsal")
        assert "public.orders: 3 updated" in shown and "orders_pkey (primary key)" in shown, shown
        assert page.run("document.querySelector('#ask-planner') === null")
        assert shoot(page, "review-rehearsal") == []
        page.click("[data-decide=APPROVED]")
        page.until("document.querySelector('[data-status=PENDING]') === null")
        assert client.wait(PATIENCE) == 0 and client.stdout.read() == "UPDATE 3\n"
    finally:
        client.kill()
        client.communicate()


def test_keys_and_a_second_factor_are_ones_own(gateway, grace, page):
    sign_in(page, gateway, "/account", grace)
    label(page, "Public key", KEY, "#add-ssh-key")
    button(page, "Add the key", "#add-ssh-key")
    page.until_shown("[data-ssh-key='grace@laptop']")
    page.click("[aria-label='Remove grace@laptop']")
    label(page, "Type grace@laptop to go on", "grace@laptop")
    button(page, "Remove", "[role=dialog] form")
    page.until("!document.querySelector('[data-ssh-key]')")
    page.click("#begin")
    page.until_shown("#second-begun [data-qr]")
    assert "QR code" in page.run("document.querySelector('[data-qr]').ariaLabel")
    assert shoot(page, "second-factor") == []
    label(page, "The code that it shows", totp(page.text("#second-begun pre")), "#second-begun")
    button(page, "Confirm", "#second-begun")
    page.until_shown("#recovery-codes")
    recovery = page.text("#recovery-codes pre").split()[0]
    refused = Api(gateway).post("/localauth/login", {"email": grace, "password": PASSWORD})
    assert refused.status == 401 and refused.json["second_factor_required"] is True
    button(page, "Remove it", "#second-factor")
    label(page, "A code of the app, or a recovery code", recovery, "#second-factor")
    button(page, "Remove it", "#second-factor")
    page.until_shown("#begin")
    login(gateway, grace)


def test_another_organization_sees_nothing(gateway, shop, page):
    mine = gateway.admin.post("/sessions", {"connection": shop, "script": "TABLE orders"}).json["session_id"]
    another_admin(gateway, page)
    until_text(page, "No connections yet")
    for path in ("/sessions", "/reviews?view=all", "/admin/guardrails", "/admin/connections", "/admin/people"):
        page.open(gateway.url(path))
        settled(page)
        assert shop not in page.text("main") and "root@example.com" not in page.text("main"), path
    page.open(gateway.url(f"/sessions/{mine}"))
    page.until_shown("main [role=alert]")
    assert "orders" not in page.text("main")
    press(page, "k", modifiers=2, windowsVirtualKeyCode=75)
    page.until_shown(".palette")
    page.call("Input.insertText", text=shop)
    until_text(page, "Nothing has such a name")


def test_the_chain_of_the_audit_log_is_checked(gateway, shop, page):
    sign_in(page, gateway, "/admin/audit")
    button(page, "Check the chain", "#chain")
    page.until_shown("[data-chain=whole]")
    newest = gateway.admin.get("/audit/logs?page_size=1").json["data"][0]
    assert newest["hash"] in page.text("[data-chain=whole]")
    assert shoot(page, "audit-chain") == []


def another_admin(gateway, page):
    """Signed in: the first of an organization in which there is nothing."""
    assert gateway.admin.token  # somebody is registered
    email = f"{unique('boss')}@example.com"
    status, made = gateway.control("POST", "/control/organizations",
                                   {"name": unique("other"), "admin": email})
    assert status == 201, made
    page.open(gateway.url("/sign-in?to=/"))
    page.fill("#email", email)
    page.fill("#password", made["password"])
    page.press_enter()
    page.until_shown("#main")
    return login(gateway, email, password=made["password"])


def go(page, path):
    """To a page of the app, as a link in it leads there."""
    page.run(f"history.pushState(null, '', {json.dumps(path)})")
    page.until_shown("main h1")


def test_where_nothing_is_yet_a_button_says_what_to_do(gateway, page):
    another_admin(gateway, page)
    found = []
    action = "document.querySelector('[data-empty] [data-action] > *')"
    for path, (words, next_place) in EMPTY.items():
        go(page, path)
        page.until(f"{action}?.innerText === {json.dumps(words)}")
        found += shoot(page, "empty-" + re.sub(r"\W+", "-", path).strip("-"), ("light",))
        page.run(f"{action}.focus()")
        page.press_enter()
        page.until("(location.pathname + location.search).replace(/new$/, 'new=') === "
                   + json.dumps(next_place))
    assert not found, "\n".join(found)


def test_nothing_goes_before_its_name_was_typed(gateway, page):
    """With the keyboard alone: a wrong name is told, Escape keeps it and leads back to the button, and
    once it is gone the keyboard goes on from the page's head."""
    admin = another_admin(gateway, page)
    name = unique("doomed")
    body = {"name": name, "type": "tcp", "env_vars": {}, "roles": [
        {"name": f"{name}-role", "type": "application", "subtype": "tcp", "secret": {}}]}
    assert admin.post("/resources", body).status == 201
    go(page, "/admin/resources")
    opener = f"[aria-label='Delete {name}']"
    page.until_shown(opener)
    page.run(f"document.querySelector(`{opener}`).focus()")
    field = "document.activeElement.closest('[role=dialog] form input')"
    for ends_well in False, True:
        page.press_enter()
        page.until(f"{field} !== null")
        page.call("Input.insertText", text="something else")
        page.press_enter()
        page.until(f"{field}?.ariaInvalid === 'true'")
        told = page.run(f"document.getElementById({field}.getAttribute('aria-describedby')).innerText")
        assert told == "This is not its name."
        described = page.run("['labelledby', 'describedby'].map((kind) => document.getElementById("
                             "document.querySelector('[role=dialog]').getAttribute(`aria-${kind}`)).innerText)")
        assert described[0] == f"Delete {name}?" and "connections go with it" in described[1]
        if ends_well:
            assert shoot(page, "confirm") == []
            page.fill("[role=dialog] form input", name)
            page.press_enter()
            page.until("document.activeElement === document.querySelector('main h1')")
        else:
            press(page, "Escape", windowsVirtualKeyCode=27)
            page.until(f"document.activeElement === document.querySelector(`{opener}`)")
            assert admin.get(f"/resources/{name}").status == 200
    assert admin.get(f"/resources/{name}").status == 404
    assert admin.get(f"/connections/{name}-role").status == 404


def test_a_provider_is_tested_before_it_is_saved(start, provider, page):
    """From the form: one that does not answer, and one that does; only the last press saves."""
    gateway = start()
    admin = gateway.admin
    sign_in(page, gateway, "/admin/settings")
    page.until_shown("#sign-in-settings select")
    select(page, "#sign-in-settings select", "oidc")
    label(page, "Client id", "gatehouse", "#sign-in-settings")
    for issuer, shown in ("http://127.0.0.1:1", "[role=alert]"), (provider.issuer, "[data-tested]"):
        label(page, "Issuer", issuer, "#sign-in-settings")
        button(page, "Test", "#sign-in-settings")
        page.until_shown(f"#sign-in-settings {shown}")
        assert admin.get("/serverconfig/auth").json["auth_method"] == "local"
    assert page.run("document.querySelector('#sign-in-settings [role=alert]')") is None
    assert shoot(page, "sign-in-tested") == []
    button(page, "Test and save", "#sign-in-settings")
    page.until_shown("#sign-in-settings [data-saved]")
    assert admin.get("/serverconfig/auth").json["oidc_config"]["issuer_url"] == provider.issuer


def test_a_masked_result_is_seen_and_taken_masked(gateway, postgres, page):
    """In the grid, marked; in what is copied; and in the record."""
    name = OwnDatabase(postgres, "CREATE TABLE people(id int, email text, salary int);"
                       "INSERT INTO people VALUES (1, 'ada@example.com', 5000), (2, 'none', 7)"
                       ).connection(gateway.admin, name=unique("masked"))
    rule = gateway.admin.post("/datamasking-rules", {
        "name": unique("hidden"), "connection_names": [name],
        "supported_entity_types": [{"name": "FOUND", "entity_types": ["EMAIL_ADDRESS"]}],
        "columns": [{"name": "people.salary", "strategy": {"type": "null"}}]})
    assert rule.status == 201, rule
    sign_in(page, gateway, f"/sql/{name}")
    run_here(page, "SELECT * FROM people ORDER BY id;")
    page.until_shown(".grid-mask")
    cells = page.run("[...document.querySelectorAll('[role=gridcell]')].map((one) => one.innerText)")
    assert cells == ["1", "EMAIL_ADDRESS", "NULL", "2", "none", "NULL"], cells
    assert shoot(page, "masked-result") == []
    page.click(".result-foot a")
    page.until_shown("[data-proof=whole]")
    page.until_shown("#timeline .entry")
    assert "ada@" not in page.text("main") and "5000" not in page.text("main")
    assert gateway.admin.delete(f"/datamasking-rules/{rule.json['id']}").status == 204


def test_after_a_blocked_statement_one_goes_on(gateway, shop, page):
    """The answer says which rule and what would pass; the statement is mended where it stands."""
    rail = gateway.admin.post("/guardrails", {
        "name": unique("rail"), "connection_names": [shop], "input": {"rules": [
            {"type": "sql", "name": "whole table", "operations": ["update"], "without_where": True,
             "message": "name the rows with a WHERE"}]}})
    assert rail.status == 201, rail
    sign_in(page, gateway, f"/sql/{shop}")
    run_here(page, "UPDATE orders SET total = total")
    page.until_shown("[data-outcome=blocked]")
    assert page.run("document.querySelector('.cm-tooltip-autocomplete')") is None
    said = page.text("[data-outcome=blocked]")
    assert "whole table" in said and "name the rows with a WHERE" in said, said
    assert shoot(page, "blocked") == []
    page.click(".cm-content")
    press(page, "End", modifiers=2, windowsVirtualKeyCode=35)
    page.call("Input.insertText", text=" WHERE id = 1")
    press(page, "Enter", modifiers=2, windowsVirtualKeyCode=13)
    page.until("document.querySelector('[data-outcome=blocked]') === null && "
               "document.body.innerText.includes('UPDATE 1')")
    assert gateway.admin.delete(f"/guardrails/{rail.json['id']}").status == 204
