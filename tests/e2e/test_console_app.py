# SPDX-License-Identifier: MIT
"""The console as somebody uses it, in a browser, at a real PostgreSQL server: connecting, queries and
their record, what is stopped, what others must approve, and a sign-in that ends meanwhile. All of its
pages are looked at by axe; how they look is kept in build/screenshots."""
import os
import subprocess

import pytest

from api import PASSWORD, Api, connection, login, unique
from conftest import BINARY, PATIENCE, wait_for
from console import (button, choose, label, press, settled, shoot, sign_in, until_text,
                     write_sql)
from native import TARGET_PASSWORD, OwnDatabase, credential, psql_process

MANY = 100_000
WIDTHS = {1280: 800, 390: 844}
SHOP = f"""
CREATE TABLE customers(id int PRIMARY KEY, name text, email text, gone text);
INSERT INTO customers SELECT n, 'name ' || n, 'person' || n || '@example.com', NULL
  FROM generate_series(1, 240) n;
CREATE TABLE many AS SELECT n, n * 2 AS twice, 'text ' || n AS words
  FROM generate_series(1, {MANY}) n;
"""


@pytest.fixture(scope="module")
def shop(gateway, postgres):
    """The name of a connection to a database of customers."""
    return OwnDatabase(postgres, SHOP).connection(gateway.admin, name="shop", tags=["sales"])


@pytest.fixture
def person(gateway):
    """(address, caller) of somebody who may use what nobody is kept from."""
    email = f"{unique('person')}@example.com"
    answer = gateway.admin.post("/users", {"email": email, "name": "Grace", "password": PASSWORD,
                                           "status": "active", "groups": []})
    assert answer.status == 201, answer
    return email, login(gateway, email)


@pytest.fixture
def page(browser):
    page = browser.page(1280, 800)
    yield page
    page.run("1")
    page.close()
    assert page.complaints == []


def newest(caller):
    return caller.get("/sessions?limit=1").json["data"][0]


# Connect -----------------------------------------------------------------------------------------

def test_the_first_page_finds_and_connects(gateway, shop, page):
    sign_in(page, gateway, "/")
    page.until_shown(f'[data-connection="{shop}"]')
    assert "sales" in page.text(f'[data-connection="{shop}"]')
    page.click(f'[data-connection="{shop}"] a[aria-label^="Connect"]')
    page.click("#ask")
    page.until_shown("#lines")
    line = page.text("#lines pre")
    assert line.startswith("psql 'host=127.0.0.1 port=") and "sslmode=disable" in line
    done = subprocess.run(["bash", "-c", line + " -Atc 'SELECT count(*) FROM customers'"], text=True,
                          capture_output=True, timeout=PATIENCE, check=False)
    assert done.stdout.strip() == "240", done
    names = page.run("[...document.querySelectorAll('#lines option')].map((one) => one.value)")
    assert {"psql", "gatehouse", "URL", "JDBC", "Python", "JavaScript", "Go", "Java", "C#"} <= set(names)
    button(page, "Revoke", "#panel")
    button(page, "Revoke", "[role=dialog] form")
    page.until("!document.body?.innerText.includes('Your credentials here')")
    done = subprocess.run(["bash", "-c", line + " -c 'SELECT 1'"], capture_output=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode != 0
    page.open(gateway.url(f"/connect/{shop}"))
    page.until_shown("#ask")
    assert page.run("document.querySelector('#lines')") is None, "a secret is shown once"


def test_everything_is_found_by_the_keyboard(gateway, shop, page):
    sign_in(page, gateway, "/")
    press(page, "k", modifiers=2, windowsVirtualKeyCode=75)
    page.until("document.activeElement.role === 'combobox'")
    page.call("Input.insertText", text="query shop"[6:])
    page.until(f"[...document.querySelectorAll('[role=option]')].some((one) => one.innerText.includes('Query {shop}'))")
    chosen = "document.querySelector('[role=option][aria-selected=true]')?.innerText ?? ''"
    while "Query" not in page.run(chosen):  # none is, while what was found is shown anew
        press(page, "ArrowDown")
    page.press_enter()
    page.until(f"location.pathname === '/sql/{shop}'")


@pytest.mark.parametrize("path", ["/sessions/nothing/here", "/sql/no-such-connection", "/account/x"])
def test_what_is_not_there_is_told_in_the_app(gateway, path, page):
    sign_in(page, gateway, path)
    page.until("/no page here|not found|no connection/i.test(document.querySelector('#main').innerText)")


# Queries -----------------------------------------------------------------------------------------

def test_a_query_and_its_record(gateway, shop, page):
    sign_in(page, gateway, f"/sql/{shop}")
    write_sql(page, "SELECT id, name, email, gone FROM customers ORDER BY id; SELECT 'second' AS which")
    page.click("#run")
    until_text(page, "2 · 1 row")
    page.run("document.querySelector('[role=tab]').click()")
    page.until("document.querySelector('[data-rows]')?.dataset.rows === '240'")
    assert page.run("document.querySelector('[role=grid]').ariaRowCount") == "241"
    assert page.text("[role=columnheader]").split("\n") == ["id", "integer"]
    assert page.text('[data-cell="0:3"]') == "NULL"
    assert page.run("document.querySelector('[data-cell=\"0:3\"] .grid-null') !== null")
    page.click(".result-foot a")
    page.until_shown("#timeline .entry")
    assert "ORDER BY id" in page.text("#timeline") and "240 rows" in page.text("#timeline")
    page.until("document.querySelector('[data-proof]')?.dataset.proof === 'whole'")
    assert newest(gateway.admin)["id"] in page.run("location.pathname")


def test_the_schema_is_known(gateway, shop, page):
    sign_in(page, gateway, f"/sql/{shop}")
    page.until_shown(".schema-tables .schema-line")
    assert "customers" in page.text(".schema-tables")
    page.click(".schema-tables .schema-line")
    page.until_shown(".schema-columns .schema-line")
    page.until_shown(".cm-content")
    page.click(".cm-content")
    write_sql(page, "SELECT * FROM cust")
    page.until("[...document.querySelectorAll('.cm-completionLabel')].some((one) => one.innerText === 'customers')")


def test_a_plan_is_shown_and_nothing_is_run(gateway, shop, page):
    sign_in(page, gateway, f"/sql/{shop}")
    write_sql(page, "DELETE FROM customers WHERE id = 1;")
    page.click("#explain")
    page.until_shown("#plan")
    assert "Scan on customers" in page.text("#plan")
    done = gateway.admin.post("/sessions?results=text", {"connection": shop,
                                            "script": "SELECT count(*) FROM customers"})
    assert "240" in done.json["output"], done


def test_a_hundred_thousand_rows_scroll(gateway, shop, page):
    sign_in(page, gateway, f"/sql/{shop}")
    write_sql(page, "SELECT * FROM many")
    page.click("#run")
    page.until(f"document.querySelector('[data-rows]')?.dataset.rows === '{MANY}'", 4 * PATIENCE)
    page.click('[data-cell="0:0"]')
    press(page, "End", modifiers=2, windowsVirtualKeyCode=35)
    page.until(f"document.activeElement.dataset.cell === '{MANY - 1}:2'")
    assert page.run("document.activeElement.innerText") == f"text {MANY}"
    assert page.run("document.querySelectorAll('[role=gridcell]').length") < 500
    press(page, "Home", windowsVirtualKeyCode=36)
    page.until(f"document.activeElement.dataset.cell === '{MANY - 1}:0'")
    frames = page.run("""new Promise((done) => {
        const grid = document.querySelector('[role=grid]'); const end = performance.now() + 1000;
        let frames = 0; const step = () => { frames += 1; grid.scrollTop = (frames * 997) % 2600000;
          if (performance.now() < end) requestAnimationFrame(step); else done(frames); };
        requestAnimationFrame(step); })""")
    assert frames > 10, "of 60; the machine may be busy"


def test_a_long_query_is_cancelled(gateway, shop, page):
    sign_in(page, gateway, f"/sql/{shop}")
    write_sql(page, "SELECT pg_sleep(50)")
    page.click("#run")
    until_text(page, "Running for")
    wait_for(lambda: newest(gateway.admin)["status"] == "open", what="the session")
    page.click("#cancel")
    until_text(page, "Cancelled")
    wait_for(lambda: newest(gateway.admin)["status"] == "done", what="its end")


def test_a_blocked_statement_says_why_and_what_to_do(gateway, shop, page):
    attach = {"connection_names": [shop]}
    for preset in ("no-unbounded-write", "personal-data"):
        assert gateway.admin.post(f"/rulepacks/{preset}/attach", attach).status == 200
    sign_in(page, gateway, f"/sql/{shop}")
    write_sql(page, "SELECT email FROM customers LIMIT 1; DELETE FROM customers")
    page.click("#run")
    page.until_shown("[data-outcome=blocked]")
    said = page.text("[data-outcome=blocked]")
    assert "A guard rail stopped this" in said and "no-unbounded-write" in said and "WHERE" in said
    page.run("document.querySelector('[role=tab]').click()")
    page.until_shown(".grid-mask")
    assert page.text(".grid-mask") == "EMAIL_ADDRESS"
    page.click(".result-foot a")
    until_text(page, "stopped: no-unbounded-write")
    page.open(gateway.url("/"))
    until_text(page, "Guard rails")
    for preset in ("no-unbounded-write", "personal-data"):
        assert gateway.admin.post(f"/rulepacks/{preset}/detach", attach).status == 200


def test_a_sign_in_that_ends_loses_nothing(gateway, shop, person, page):
    email, caller = person
    sign_in(page, gateway, f"/sql/{shop}", email)
    write_sql(page, "SELECT 'still here' AS kept")
    assert caller.post("/logout?everywhere=true").status == 204
    page.click("#run")
    until_text(page, "Your sign-in has ended")
    page.fill("[role=dialog] input[type=password]", "wrong one")
    page.press_enter()
    page.until_shown("[role=dialog] [role=alert]")
    page.fill("[role=dialog] input[type=password]", PASSWORD)
    page.press_enter()
    page.until("document.querySelector('[data-cell=\"0:0\"]')?.innerText === 'still here'")
    assert "still here" in page.text(".cm-content")
    page.open(gateway.url(f"/sql/{shop}"))
    page.until("document.querySelector('.cm-content')?.innerText.includes('still here')")


# Sessions and reviews ----------------------------------------------------------------------------

def test_a_session_is_ended_from_its_page(gateway, shop, page):
    made = gateway.admin.post(f"/connections/{shop}/credentials", {"keep_others": True}).json
    client = subprocess.Popen(["psql", "-X", made["connection_credentials"]["connection_string"], "-c",
                               "SELECT pg_sleep(60)"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_for(lambda: gateway.admin.get("/sessions?limit=1&status=open").json["data"],
             what="the session")
    sign_in(page, gateway, f"/sessions?connection={shop}")
    page.until_shown("#sessions [data-session]")
    page.click("#sessions [data-session]")
    until_text(page, "pg_sleep(60)")
    page.click("#kill")
    button(page, "End it", "[role=dialog]")
    until_text(page, "This is not its name")
    label(page, f"Type {shop} to go on", shop)
    button(page, "End it", "[role=dialog]")
    assert client.wait(PATIENCE) != 0
    page.until("!document.querySelector('#kill')")


def test_a_script_is_asked_for_approved_and_run(gateway, postgres, person, browser, page):
    email, _ = person
    held = OwnDatabase(postgres, "CREATE TABLE orders(id int)").connection(
        gateway.admin, name=unique("held"))
    assert gateway.admin.post("/access-requests/rules", {
        "name": unique("rule"), "access_type": "command", "connection_names": [held],
        "reviewers_groups": ["admin"], "min_approvals": 1}).status == 201
    sign_in(page, gateway, f"/sql/{held}", email)
    write_sql(page, "INSERT INTO orders VALUES (7)")
    page.click("#run")
    page.until_shown("[data-outcome=waits]")
    page.click("[data-outcome=waits] a")
    page.until_shown("[data-status=PENDING]")
    other = browser.page(390, 844)
    sign_in(other, gateway, "/reviews")
    other.click("#reviews [data-review]")
    other.until_shown("#script")
    assert other.text("#script") == "INSERT INTO orders VALUES (7)"
    other.fill("textarea", "as agreed")
    other.click("[data-decide=APPROVED]")
    other.until_shown("[data-status=APPROVED]")
    assert other.complaints == []
    other.close()
    page.click("#review #run")
    until_text(page, "It was run: success.")
    assert "as agreed" in page.text("#review")


def test_a_held_statement_is_let_through(gateway, postgres, person, page):
    """The client is told where; whoever decides sees what it would do, and with which rule."""
    shop = OwnDatabase(postgres, "CREATE TABLE orders(id int); INSERT INTO orders VALUES (1), (2)")
    name = shop.connection(gateway.admin, name=unique("waits"))
    assert gateway.admin.post("/access-requests/rules", {
        "name": unique("rule"), "access_type": "command", "connection_names": [name],
        "reviewers_groups": ["admin"], "min_approvals": 1}).status == 201
    assert gateway.admin.post("/guardrails", {
        "name": unique("rail"), "connection_names": [name], "input": {"rules": [
            {"type": "sql", "name": "no WHERE", "operations": ["delete"], "without_where": True,
             "action": "review", "message": "say why"}]}}).status == 201
    client = psql_process(credential(person[1], name), "DELETE FROM orders")
    try:
        line = next(line for line in client.stderr if "waits to be reviewed" in line)
        path = line.split()[-1][len(gateway.url("").rstrip("/")):]
        sign_in(page, gateway, path)
        page.until_shown("#held")
        assert page.text("#script") == "DELETE FROM orders"
        shown = page.text("#held")
        assert "no WHERE: say why" in shown and "delete, without WHERE" in shown, shown
        page.click("[data-decide=APPROVED]")
        page.until("document.querySelector('[data-status=PENDING]') === null")
        assert client.wait(PATIENCE) == 0 and client.stdout.read() == "DELETE 2\n"
    finally:
        client.kill()
        client.communicate()


def test_a_terminal_is_used_and_played_again(gateway, page):
    name = unique("shell")
    body = connection(name, type="custom", subtype="tools", command=["bash", "--norc", "-i"],
                      agent_id=gateway.admin.get("/userinfo").json["org_id"], secret={})
    assert gateway.admin.post("/connections", body).status == 201
    sign_in(page, gateway, f"/connect/{name}")
    page.click("#open-terminal")
    page.until("document.querySelector('.xterm-rows')?.innerText.includes('$')")
    page.until("document.activeElement.tagName === 'TEXTAREA'")
    page.call("Input.insertText", text="printf '\\033[38;2;250;120;10mre%s\\033[0m\\n' corded; exit 3")
    page.press_enter()
    page.until_shown("[data-ended=exited]")
    assert "code 3" in page.text("[data-ended]") and "recorded" in page.text(".xterm-rows")
    colour = page.run("getComputedStyle([...document.querySelectorAll('.xterm-rows span')].find("
                      "(one) => one.innerText === 'recorded')).color")
    assert colour == "rgb(250, 120, 10)"
    assert shoot(page, "terminal") == []
    page.click("[data-ended] a")
    page.until_shown("#player .xterm-rows")
    page.fill("#cast-find", "recorded")
    until_text(page, "recorded")
    page.click(".found-moment")
    page.until("document.querySelector('#player .xterm-rows').innerText.includes('recorded')")
    assert shoot(page, "session-terminal") == []


def test_a_terminal_waits_for_approval_and_goes_on(gateway, person, page):
    email, caller = person
    name = unique("shell")
    body = connection(name, type="custom", subtype="tools", command=["bash", "--norc", "-i"],
                      agent_id=gateway.admin.get("/userinfo").json["org_id"], secret={})
    assert gateway.admin.post("/connections", body).status == 201
    assert gateway.admin.post("/access-requests/rules", {
        "name": unique("rule"), "access_type": "jit", "connection_names": [name],
        "reviewers_groups": ["admin"], "min_approvals": 1}).status == 201
    sign_in(page, gateway, f"/terminal/{name}", email)
    page.until_shown("[data-status=PENDING]")
    assert shoot(page, "terminal-waits") == []
    first = page.run("document.querySelector('[data-review]').dataset.review")
    link = page.run("document.querySelector('[data-review] a').href")
    assert link == gateway.url(f"/reviews/{first}")
    decide = {"status": "REJECTED", "rejection_reason": "not on a Friday"}
    assert gateway.admin.put(f"/reviews/{first}", decide).status == 200
    page.until_shown("[data-status=REJECTED]")
    button(page, "Ask again", "[data-review]")
    page.until_shown("[data-status=PENDING]")
    second = page.run("document.querySelector('[data-review]').dataset.review")
    assert second != first
    page.open(gateway.url(f"/terminal/{name}"))  # who comes back finds the same request
    page.until_shown(f"[data-review='{second}']")
    assert gateway.admin.put(f"/reviews/{second}", {"status": "APPROVED"}).status == 200
    page.until("document.querySelector('.xterm-rows')?.innerText.includes('$')")
    assert caller.post(f"/sessions/{newest(caller)['id']}/kill").status == 204
    page.until_shown("[data-ended]")


# Administration ----------------------------------------------------------------------------------

def test_a_database_is_added_tried_and_mended(gateway, postgres, page):
    target = OwnDatabase(postgres, "CREATE TABLE first(id int)")
    name = unique("added")
    sign_in(page, gateway, "/admin/connections?new")
    for words, text in {"Name": name, "Host": "127.0.0.1", "Port": str(postgres.port), "User at the database": "nobody",
                        "Password": "none", "Database": "no_such_database"}.items():
        label(page, words, text)
    button(page, "Add and test", "#add-database")
    page.until_shown("#add-database [role=alert]")
    label(page, "User at the database", target.user)
    label(page, "Password", TARGET_PASSWORD)
    label(page, "Database", target.database)
    button(page, "Save and test", "#add-database")
    page.until_shown("[data-tested]")
    assert "answered in" in page.text("[data-tested]")
    page.click("[data-tested] a")
    page.until(f"location.pathname === '/sql/{name}'")
    page.until_shown(".schema-tables")
    assert "first" in page.text(".schema-tables")
    page.open(gateway.url("/admin/connections"))
    page.click(f'[aria-label="Delete {name}"]')
    label(page, f"Type {name} to go on", name)
    button(page, "Delete", "[role=dialog] form")
    page.until(f"!document.querySelector('[data-connection={name}]')")
    assert gateway.admin.get(f"/connections/{name}").status == 404


def test_an_agent_is_made_started_and_seen(gateway, page, tmp_path):
    sign_in(page, gateway, "/admin/agents")
    button(page, "Add an agent", "#main")
    name = unique("agent")
    label(page, "Name", name)
    page.press_enter()
    page.until_shown("[role=dialog] pre")
    line = page.text("[role=dialog] pre").replace("gatehouse agent", f"exec {BINARY} agent")
    agent = subprocess.Popen(["bash", "-c", line], cwd=tmp_path, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(tmp_path)})
    try:
        until_text(page, "It is linked.")
    finally:
        agent.terminate()
        agent.wait(PATIENCE)
    button(page, "Close", "[role=dialog]")
    page.until(f"document.querySelector('[data-agent={name}]').innerText.includes('not linked')")


def test_a_guard_rail_is_tried_on_what_was_run_and_saved(gateway, shop, page):
    """From 'what would it stop' to 'it stops it', without a word of JSON."""
    done = gateway.admin.post("/sessions", {"connection": shop, "script": "UPDATE customers SET name = name"})
    assert done.json["output_status"] == "success", done
    name = unique("rail")
    sign_in(page, gateway, "/admin/guardrails?new")
    page.fill("#guardrail-name", name)
    label(page, "On connections", shop, "form")
    choose(page, shop)
    button(page, "Add a rule", "#guardrail")
    choose(page, "Changes without WHERE")
    page.until_shown("[data-sentence]")
    assert page.text("[data-sentence]") == "Stops UPDATE or DELETE without WHERE."
    page.fill("#trial-statement", "DELETE FROM customers WHERE id = 1")
    button(page, "Try the statement", "#guardrail")
    page.until_shown("[data-verdict=pass]")
    page.fill("#trial-statement", "DELETE FROM customers")
    button(page, "Try the statement", "#guardrail")
    page.until_shown("[data-verdict=block]")
    button(page, "See what it would have stopped", "#guardrail")
    page.until_shown("#trial-record")
    assert "UPDATE customers SET name = name" in page.text("#trial-record")
    assert shoot(page, "guardrail-editor") == []
    button(page, "Save", "#guardrail")
    page.until_shown(f"[data-guardrail={name}]")
    stopped = gateway.admin.post("/sessions", {"connection": shop, "script": "DELETE FROM customers"})
    assert stopped.json["output_status"] == "blocked", stopped
    page.click(f"[aria-label='Edit {name}']")
    page.click("[aria-label='Remove this rule']")
    button(page, "Save", "#guardrail")
    page.click(f"[aria-label='Delete {name}']")
    label(page, f"Type {name} to go on", name)
    button(page, "Delete", "[role=dialog] form")
    page.until(f"!document.querySelector('[data-guardrail={name}]')")


def test_masking_is_tried_on_a_table_and_saved(gateway, shop, page):
    name = unique("hidden")
    sign_in(page, gateway, "/admin/masking?new")
    page.fill("#masking-name", name)
    page.fill("[aria-label='Find a kind']", "email")
    page.click("[data-kind=EMAIL_ADDRESS]")
    page.click("#try-text")
    page.until_shown("[data-tried='1']")
    label(page, "Connection", shop, "form")
    choose(page, shop)
    page.fill("#trial-table", "customers")
    button(page, "Read five rows", "#masking-rule")
    page.until_shown("[data-tried='5']")
    assert "[EMAIL_ADDRESS]" in page.text("[data-tried]")
    assert shoot(page, "masking-editor") == []
    button(page, "Save", "#masking-rule")
    page.until_shown(f"[data-masking={name}]")
    found = [rule for rule in gateway.admin.get("/datamasking-rules").json if rule["name"] == name]
    assert found[0]["supported_entity_types"][0]["entity_types"] == ["EMAIL_ADDRESS"]
    assert gateway.admin.delete(f"/datamasking-rules/{found[0]['id']}").status == 204


def test_presets_are_attached_people_invited_and_all_of_it_audited(gateway, shop, page):
    sign_in(page, gateway, "/admin/guardrails")
    page.click('[aria-label="Attach: Read only"]')
    page.fill("[role=dialog] input:not([type=hidden])", shop)
    choose(page, shop)
    button(page, "Save", "[role=dialog] form")
    page.click('[aria-label="Change where: Read only"]')
    page.click("[role=dialog] [aria-label='Clear Connections']")
    button(page, "Save", "[role=dialog] form")
    page.until_shown('[aria-label="Attach: Read only"]')
    page.open(gateway.url("/admin/people"))
    button(page, "Invite somebody", "#main")
    email = f"{unique('guest')}@example.com"
    label(page, "E-mail address", email)
    page.press_enter()
    page.until_shown("[role=dialog] pre")
    assert "/invitation#token=" in page.text("[role=dialog] pre")
    page.open(gateway.url("/admin/audit?action=create&resource_type=users"))
    page.until_shown("#audit details")
    page.click("#audit summary")
    assert email in page.text("#audit details")


def test_a_guard_rail_is_switched_off_and_on(gateway, shop, page):
    name = unique("rail")
    made = gateway.admin.post("/guardrails", {
        "name": name, "connection_names": [shop], "input": {"rules": [
            {"type": "deny_words_list", "words": ["tabu"], "name": "no tabu"}]}}).json
    run = {"connection": shop, "script": "SELECT 'tabu'"}

    def is_blocked():
        answer = gateway.admin.post("/sessions", run)
        return "blocked" in str(answer.json)

    assert is_blocked()
    sign_in(page, gateway, "/admin/guardrails")
    switch = f"[aria-label='Enabled: {name}']"
    page.click(switch)
    page.until(f"!document.querySelector(`{switch}`).checked")
    until_text(page, "off")
    assert not is_blocked()
    page.click(switch)
    page.until(f"document.querySelector(`{switch}`).checked")
    assert is_blocked()
    # What it met is found again, and so is who did it.
    page.open(gateway.url("/sessions?rule=no%20tabu"))
    page.until("document.querySelectorAll('[data-session]').length === 2")
    label(page, "Search", "no-such-thing", "#main")
    until_text(page, "No sessions")
    button(page, "Clear", "#main")
    page.until_shown("[data-session]")
    page.open(gateway.url(f"/admin/audit?http_path={made['id']}&action=update"))
    page.until("document.querySelectorAll('#audit details').length === 2")
    page.run("(() => { const field = [...document.querySelectorAll('#main label')].find((one) => "
             "one.innerText === 'Action'); const choice = document.getElementById(field.htmlFor);"
             "choice.value = 'delete'; choice.dispatchEvent(new Event('change', {bubbles: true})) })()")
    until_text(page, "Nothing is like that")
    assert gateway.admin.delete(f"/guardrails/{made['id']}").status == 204


def test_a_sink_is_made_tried_and_removed(gateway, page):
    sign_in(page, gateway, "/admin/notifications")
    name = unique("sink")
    make(page, gateway, "notifications", {
        "Name": name, "Address": "https://sink.invalid/hook"})
    page.until_shown("[role=dialog] pre")
    assert page.text("[role=dialog] pre").startswith("whsec_")
    button(page, "Close", "[role=dialog]")
    page.click(f"[aria-label='Test {name}']")
    until_text(page, "It was not taken")  # there is no such name
    page.click(f"[aria-label='Edit {name}']")
    page.until_shown("#thing")
    button(page, "Save", "#thing")
    page.until("!document.querySelector('#thing')")
    assert gateway.admin.get(f"/notifications/sinks/{name}").json["enabled"] is True
    page.click(f"[aria-label='Delete {name}']")
    label(page, f"Type {name} to go on", name)
    button(page, "Delete", "[role=dialog] form")
    page.until(f"!document.querySelector('[data-thing={name}]')")


def test_a_sink_of_mail_asks_for_addresses(gateway, page):
    """And says what is missing where the gateway has no mail server."""
    sign_in(page, gateway, "/admin/notifications?new")
    label(page, "Name", unique("mail"))
    page.run("(() => { const kind = [...document.querySelectorAll('#thing select')]"
             ".find((one) => [...one.options].some((o) => o.value === 'email'));"
             "Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value').set"
             ".call(kind, 'email'); kind.dispatchEvent(new Event('change', {bubbles: true})); })()")
    label(page, "E-mail goes to", "ann@example.com")
    page.press_enter()
    button(page, "Create", "#thing")
    until_text(page, "--smtp-host")


def make(page, gateway, place, fields):
    """Fills the form of a new thing of that page, and sends it."""
    page.open(gateway.url(f"/admin/{place}?new"))
    for words, text in fields.items():
        label(page, words, text)
        if place == "access" and words.startswith("Groups"):
            page.press_enter()
    button(page, "Create", "#thing")


def test_named_things_are_made_changed_and_removed(gateway, shop, page):
    sign_in(page, gateway, "/admin/groups")
    group, name = unique("group"), unique("thing")
    make(page, gateway, "groups", {"Name": group})
    page.until_shown(f"[data-thing={group}]")
    make(page, gateway, "attributes", {"Name": name, "What it is for": "all that is live"})
    page.until_shown(f"[data-thing={name}]")
    page.click(f"[aria-label='Edit {name}']")
    label(page, "Connections that carry it", shop)
    choose(page, shop)
    button(page, "Save", "#thing")
    until_text(page, f"On {shop}")
    assert gateway.admin.get(f"/attributes/{name}").json["connection_names"] == [shop]
    make(page, gateway, "access", {"Name": name, "Groups that decide": group})
    page.until_shown(f"[data-thing={name}]")
    assert gateway.admin.get(f"/access-requests/rules/{name}").json["reviewers_groups"] == [group]
    make(page, gateway, "keys", {"Name": name})
    page.until_shown("[role=dialog] pre")
    caller = Api(gateway, page.text("[role=dialog] pre").strip())
    assert caller.get("/userinfo").status == 200
    page.open(gateway.url("/reference"))
    page.fill("#find-call", "post machineidentities")
    page.until("document.querySelectorAll('.call').length === 2")
    page.click(".call summary")
    until_text(page, "connection_names")
    page.open(gateway.url("/admin/health"))
    page.until("document.querySelector('[data-plot=gatehouse_http_requests_total] polyline')?.points.length > 1")
    make(page, gateway, "machines", {"Name": name, "What it does": "reports"})
    page.until_shown(f"[data-thing={name}]")
    make(page, gateway, "services", {"Subject": name})
    page.until_shown(f"[data-thing={name}]")
    for place, word in ("access", "Delete"), ("attributes", "Delete"), ("machines", "Delete"), (
            "services", "Delete"), ("groups", "Delete"), ("keys", "Revoke"):
        thing = group if place == "groups" else name
        page.open(gateway.url(f"/admin/{place}"))
        page.click(f"[aria-label='{word} {thing}']")
        label(page, f"Type {thing} to go on", thing)
        button(page, word, "[role=dialog] form")
        page.until(f"!document.querySelector(`[aria-label='{word} {thing}']`)")
    assert caller.get("/userinfo").status == 401


# How it looks ------------------------------------------------------------------------------------

def pages_of(gateway, shop):
    """{name: address} of every page, with something on it."""
    done = gateway.admin.post("/sessions", {"connection": shop, "script": "TABLE customers"})
    session = done.json["session_id"]
    reviews = gateway.admin.get("/reviews").json["data"]
    return {"connect": "/", "connect-panel": f"/connect/{shop}", "sql": f"/sql/{shop}",
            "sessions": "/sessions", "session": f"/sessions/{session}", "reviews": "/reviews?view=all",
            "account": "/account", "reference": "/reference", "admin-settings": "/admin/settings",
            "admin-health": "/admin/health", "admin-connections": "/admin/connections",
            "admin-add": "/admin/connections?new", "admin-connection": f"/admin/connections?edit={shop}", "admin-agents": "/admin/agents", "admin-resources": "/admin/resources",
            "admin-guardrails": "/admin/guardrails", "admin-masking": "/admin/masking",
            "admin-guardrail": "/admin/guardrails?new", "admin-mask": "/admin/masking?new",
            "admin-access": "/admin/access", "admin-access-new": "/admin/access?new",
            "admin-attributes": "/admin/attributes", "admin-groups": "/admin/groups",
            "admin-keys": "/admin/keys", "admin-services": "/admin/services",
            "admin-machines": "/admin/machines", "admin-people": "/admin/people", "admin-audit": "/admin/audit",
            "admin-notifications": "/admin/notifications", "admin-sink": "/admin/notifications?new",
            "not-found": "/admin/nothing", **({"review": f"/reviews/{reviews[0]['id']}"} if reviews else {})}


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_can_be_read_by_everybody(gateway, shop, browser, width):
    """Nothing serious or moderate is found by axe, nothing is wider than the screen, in light and in
    dark colours."""
    page, found = browser.page(width, WIDTHS[width]), []
    invited = gateway.admin.post("/users", {"email": f"{unique('shown')}@example.com"}).json
    for name, url in {"entry-sign-in": gateway.url("/sign-in"), "entry-none": gateway.url("/no/where"),
                      "entry-register": gateway.url("/register"),
                      "entry-invitation": invited["invitation_url"]}.items():
        page.open(url)
        settled(page)
        found += shoot(page, f"{name}-{width}", ("light", "dark") if width > 400 else ())
    sign_in(page, gateway, "/")
    for name, path in pages_of(gateway, shop).items():
        page.open(gateway.url(path))
        settled(page)
        found += shoot(page, f"{name}-{width}", ("light", "dark") if width > 400 else ("light",))
        assert page.run("document.documentElement.scrollWidth") <= width, name
    assert page.complaints == []
    page.close()
    assert not found, "\n".join(found)
