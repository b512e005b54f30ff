# SPDX-License-Identifier: MIT
"""Every member of every request, wrong in every way: 400 that names it, and nothing is changed."""
import json

import pytest

from api import Api, b64, connection, resource, role, unique

LONG = "x" * 300


def texts_wrong(longest, item="x"):
    return [item, {}, 5, True, [5], [None], [[]], [""], ["x" * (longest + 1)], [item] * 1001]


WRONG = {
    "text": [5, True, [], {}, 1.5],
    "name": [5, True, [], {}, "", "a", "a b", "-ab", "ab-", "a--b", "a.-b", "a/b", "ü-ü", LONG],
    "title": [5, True, [], {}, "", "a/b", ".", "..", "a\nb", "a\x7fb", LONG],
    "type": [5, True, [], {}, "", "a\tb", LONG],
    "kind": [5, True, [], {}, "", "Database", "other"],
    "subtype": [5, True, [], {}, "a\nb", LONG],
    "uuid": [5, True, [], {}, "x", "01900000-0000-7000-8000-00000000000g",
             "01900000000070008000000000000001", "00000000-0000-0000-0000-000000000001x",
             "00000000-0000-4000-8000-000000000000"],
    "switch": [5, True, [], {}, "", "on", "Enabled"],
    "int": ["5", True, [], {}, 0, -1, 1.5, 10 ** 12],
    "bool": ["true", 1, 0, [], {}],
    "names": texts_wrong(254),
    "groups": [*texts_wrong(180), ["a/b"], ["a\nb"]],
    "attributes": [*texts_wrong(255), ["a/b"], ["."]],
    "command": ["x", {}, 5, True, [5], [None], [""], ["x"] * 201],
    "uuids": [*texts_wrong(36), ["x"], ["01900000-0000-7000-8000-000000000009"]],
    "tags": [*texts_wrong(128), ["-a"], ["a b"]],
    "lines": texts_wrong(180),
    "secret": [[], "x", 5, True, {"envvar:A": 5}, {"envvar:A": []}, {"envvar:A": {}},
               {"envvar:A": True}, {"envvar:A": "not base64"}, {"envvar:A": "eA"},
               {"envvar:A": "_aws:x"}, {"envvar:A": "_aws::x"}, {"envvar:A": "_other:a:b"},
               {"A": b64("x")}, {"": b64("x")}, {"envvar:": b64("x")}, {"envvar:1A": b64("x")},
               {"envvar:A B": b64("x")}, {"file:A": b64("x")}, {"ENVVAR:A": b64("x")},
               {"envvar:LD_PRELOAD": b64("x")}, {"filesystem:LD_LIBRARY_PATH": b64("x")},
               {"envvar:BASH_ENV": b64("x")}, {"envvar:" + "A" * 200: b64("x")},
               {f"envvar:A{i}": b64("x") for i in range(101)}],
    "env_vars": [[], "x", 5, True, {"A": 5}, {"A": []}, {"A": {}}, {"": "x"}, {"1A": "x"},
                 {"A B": "x"}, {"A-B": "x"}, {"envvar:A": "not base64"}, {"envvar:": "eA=="},
                 {"LD_PRELOAD": "x"}, {"envvar:LD_AUDIT": "eA=="}, {"A" * 200: "x"},
                 {f"A{i}": "x" for i in range(101)}],
    "connection_tags": [[], "x", 5, {"a": 5}, {"a": None}, {"a": ""}, {"": "x"}, {"a-": "x"},
                        {"a/": "x"}, {"a.": "x"}, {"a b": "x"}, {"ü": "x"}, {"a": "ü"},
                        {"a": "x\n"}, {"a": "x;"}, {"a" * 65: "x"}, {"a": "x" * 257},
                        {f"a{i}": "x" for i in range(11)}],
    "email": [5, True, [], {}, "", "x", "@", "a@", "@b", "a b@c", "a@b@c", "a@-", LONG + "@a"],
    "status": [5, True, [], "gone", "ACTIVE"],
    "time": [5, True, [], "tomorrow", "2020-01-01T00:00:00Z", "2030-13-01T00:00:00Z"],
}
ROLE = {"name!": "name", "type!": "kind", "subtype": "subtype", "agent_id": "uuid",
        "attributes": "attributes", "command": "command", "secret": "secret",
        "mcp_oauth_flow_id": "subtype"}
RESOURCE = {"name!": "title", "type!": "type", "env_vars!": "env_vars", "agent_id": "uuid",
            "subtype": "subtype"}
CONNECTION = {**ROLE, "agent_id!": "uuid", "resource_name": "title_or_empty",
              "access_mode_connect!": "switch", "access_mode_exec!": "switch",
              "access_mode_runbooks!": "switch", "access_schema!": "switch",
              "access_max_duration": "int", "min_review_approvals": "int",
              "connection_tags": "connection_tags", "tags": "tags", "guardrail_rules": "uuids",
              "jira_issue_template_id": "uuid", "mandatory_metadata_fields": "lines",
              "reviewers": "lines", "force_approve_groups": "lines", "redact_enabled": "bool",
              "redact_types": "lines"}
del CONNECTION["agent_id"]
WRONG["title_or_empty"] = [value for value in WRONG["title"] if value != ""]
ATTRIBUTE = {"name!": "title", "description": "text", "connection_names": "names",
             "access_control_group_names": "groups", "guardrail_rule_names": "names",
             "datamasking_rule_names": "names", "access_request_rule_names": "names"}
USER = {"email!": "email", "name": "text", "status": "status", "groups": "groups",
        "picture": "text", "slack_id": "text", "password": "text"}
KEY = {"name!": "title", "groups": "groups", "expires_at": "time"}
ATTRIBUTE_BODY = {"name": "bad-attribute"}
USER_BODY = {"email": "bad@example.com"}
KEY_BODY = {"name": "bad-key"}


def mutations(fields, is_partial=False):
    """(member, what to do with it) for every wrong value, null and absence."""
    for field, kind in fields.items():
        member, is_required = field.rstrip("!"), field.endswith("!")
        for value in WRONG[kind]:
            yield member, value
        if is_required:
            yield member, None
            if not is_partial:
                yield member, "absent"


def changed(body, member, value):
    body = dict(body)
    body[member] = value
    if value == "absent":
        del body[member]
    return body


def cases():
    listed = []

    def add(method, path, body, fields, wrap=lambda body: body, prefix="", is_partial=False):
        for i, (member, value) in enumerate(mutations(fields, is_partial)):
            listed.append(pytest.param(
                method, path, wrap(changed(body, member, value)), prefix + member,
                id=f"{method} {path} {prefix}{member} {i}"))

    add("POST", "/resources", resource("bad"), RESOURCE)
    add("PUT", "/resources/kept", resource("kept"), RESOURCE)
    add("PUT", "/resources/kept", role("kept-role"), ROLE,
        lambda body: resource("kept", roles=[role("fine-role"), body]), "roles[1].")
    add("POST", "/connections", connection("bad"), CONNECTION)
    add("PUT", "/connections/kept-role", connection("kept-role"), CONNECTION)
    add("PATCH", "/connections/kept-role", {}, CONNECTION, is_partial=True)
    add("POST", "/attributes", ATTRIBUTE_BODY, ATTRIBUTE)
    add("PUT", "/attributes/kept-attribute", ATTRIBUTE_BODY, ATTRIBUTE)
    add("POST", "/users", USER_BODY, USER)
    add("POST", "/api-keys", KEY_BODY, KEY)
    add("POST", "/users/groups", {"name": "bad"}, {"name!": "title"})
    add("PUT", "/connections/kept-role/access", {"groups": []}, {"groups!": "groups"})
    add("PUT", "/orgs/hide-role-info", {}, {"hide_role_info!": "bool"})
    for query in ("page=0", "page=-1", "page=x", "page=1.5", "page=", "page=99999999999999999999",
                  "page_size=0", "page_size=101", "page_size=x", "agent_id=x"):
        for path in ("/resources", "/connections"):
            listed.append(pytest.param("GET", f"{path}?{query}", None, query.split("=")[0],
                                       id=f"GET {path}?{query}"))
    for query in ("outcome=maybe", "http_status=x", "http_status=99", "created_after=tomorrow",
                  "created_before=2020-13-01", "page=0"):
        listed.append(pytest.param("GET", f"/audit/logs?{query}", None, query.split("=")[0],
                                   id=f"GET audit {query}"))
    for path, query in (("/connections", "tag_selector=a%20b"), ("/connections", "tag_selector=a-")):
        listed.append(pytest.param("GET", f"{path}?{query}", None, "tag_selector", id=query))
    listed.append(pytest.param("PUT", "/resources/kept?prune_roles=yes", resource("kept"),
                               "prune_roles", id="prune_roles"))
    listed.append(pytest.param("DELETE", "/resources/kept?cascade=1", None, "cascade", id="cascade"))
    return listed


CASES = cases()


@pytest.fixture(scope="module")
def keeper(admin):
    """What must be there afterwards as it was before."""
    kept = role("kept-role", secret={"envvar:A": b64("x")})
    assert admin.post("/resources", resource("kept", roles=[kept])).status == 201
    assert admin.post("/attributes", {"name": "kept-attribute"}).status == 201
    admin.nobody = admin.key()
    before = state(admin)
    yield admin
    assert state(admin) == before


def state(admin):
    keys = [key["name"] for key in admin.get("/api-keys").json]  # they note when they are used
    return [keys] + [admin.get(path).json for path in (
        "/resources/kept", "/resources", "/connections", "/attributes", "/users", "/users/groups",
        "/connections/kept-role/access", "/orgs/hide-role-info")]


def test_there_are_enough_cases():
    assert len(CASES) >= 300


@pytest.mark.parametrize("method,path,body,member", CASES)
def test_a_wrong_member_is_named_and_changes_nothing(keeper, method, path, body, member):
    answer = keeper.call(method, path, body)
    assert answer.status == 400, answer
    assert set(answer.json) == {"message"}
    assert all(part in answer.message for part in member.split(".")), answer
    assert "sql" not in answer.message.lower()


DOCUMENTS = {
    "nothing": b"", "no JSON": b"name", "cut": b'{"name":"bad"', "trailing": b"{} x",
    "two": b"{}{}", "an array": b"[]", "a text": b'"x"', "null": b"null", "a number": b"5",
    "a duplicate": b'{"name":"bad","name":"bad"}', "deep": b"[" * 65 + b"]" * 65,
    "deep inside": b'{"x":' * 65 + b"1" + b"}" * 65, "very deep": b"[" * 60000,
    "bad UTF-8": b'{"name":"\xff"}', "overlong UTF-8": b'{"name":"\xc0\xaf"}',
    "a NUL": b'{"name":"a\\u0000b"}', "a raw NUL": b'{"name":"a\x00b"}', "a lone half": b'{"name":"\\ud800"}',
    "a byte order mark": b"\xef\xbb\xbf{}", "a huge number": b'{"page":1e999}',
    "a long number": b'{"page":' + b"9" * 400 + b"}", "a comment": b'{} // "x"',
    "single quotes": b"{'name':'x'}", "a trailing comma": b'{"name":"x",}', "a NaN": b'{"x":NaN}',
}


@pytest.mark.parametrize("path", ["/resources", "/connections", "/attributes", "/users", "/api-keys"])
@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_that_is_none_is_400(keeper, path, document):
    answer = keeper.post(path, document)
    assert answer.status == 400 and set(answer.json) == {"message"}, answer


def test_names_of_roles_come_once(keeper):
    answer = keeper.put("/resources/kept", resource("kept", roles=[role("a-b-c"), role("a-b-c")]))
    assert answer.status == 400 and "roles[1].name" in answer.message


def test_paths_that_are_none(keeper):
    assert keeper.get("/resources/a%2Fb").status == 400
    assert keeper.get("/resources/%ff").status == 400
    assert keeper.get("/resources/a%00").status == 400
    assert keeper.get("/resources/" + "x" * 255).status == 400
    assert keeper.get("/resources/unknown").status == 404
    assert keeper.get("/unknown").status == 404 and "message" in keeper.get("/unknown").json
    answer = keeper.patch("/resources/kept", {})
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD, PUT, DELETE"


def test_a_body_that_is_too_large_is_413(keeper):
    answer = keeper.post("/resources", resource("bad", env_vars={"A": "x" * 1100000}))
    assert answer.status == 413 and "message" in answer.json


def test_what_is_wrong_comes_after_who_asks(keeper):
    assert Api(keeper.gateway).post("/resources", b"{").status == 401
    assert keeper.nobody.post("/resources", b"{").status == 403
    assert json.loads(keeper.post("/resources", {}).body)["message"] == "'name' is required"
    assert keeper.get(f"/resources/{unique('none')}").status == 404
