# SPDX-License-Identifier: MIT
"""Bad input is answered 400 with a message that names what is wrong, and changes nothing. The cases
are made in bad_input.py from a table of all members; a test is an operation, and shows each case of
it that went wrong. On SQLite all are sent, on PostgreSQL one for each thing that a message names."""
import http.client
import itertools
import re

import pytest

import bad_input
from api import KeptApi, connection, resource, role


def body_cases(operation):
    for case in itertools.chain(bad_input.body_cases(operation),
                                bad_input.document_cases(operation)):
        yield case.id, operation.method, operation.path, case.content, case.named


def without_body(cases):
    for label, method, path, named in cases:
        body = bad_input.OPERATIONS[1].body() if method == "PUT" else None
        yield label, method, path, body, named


def by_route(cases):
    """{route: its cases}; they come in the order of their routes."""
    return {route: list(group)
            for route, group in itertools.groupby(cases, key=lambda case: case[0].split("?")[0])}


BODIES = {operation.id: list(body_cases(operation)) for operation in bad_input.OPERATIONS}
QUERIES = by_route(without_body(bad_input.query_cases()))
PATHS = {"paths": list(without_body(bad_input.path_cases()))}
ALL = {**BODIES, **{f"{route}?": cases for route, cases in QUERIES.items()}, **PATHS}
LISTS = ("/resources", "/connections", "/attributes", "/users", "/users/groups", "/api-keys",
         "/serviceaccounts", "/machineidentities", "/agents", "/datamasking-rules", "/guardrails",
         "/access-requests/rules", "/notifications/sinks",
         "/orgs/hide-role-info", "/connections/kept.connection/access")
MAKE_NOTHING = ("/test", "-trials", "/attach", "/detach", "/apply")
INTERNALS = re.compile(
    r"sqlite|postgres|libpq|jansson|constraint|violat|savepoint|transaction|\.[ch]:\d|"
    r"\bselect\b|\binsert\b|errno|/tmp/|near '|assert|0x[0-9a-f]{6}|" + bad_input.HIDDEN, re.I)


class World:
    """What is there to be changed, and how to see that it was not."""

    def __init__(self, admin):
        self.api = api = KeptApi(admin)
        created = [
            api.post("/users/groups", {"name": "kept-group"}),
            api.post("/resources", resource("kept-resource", env_vars={"REGION": "eu"},
                                            roles=[role("kept.role"), role("kept.role.2")])),
            api.post("/connections", connection("kept.connection")),
            api.post("/attributes", {"name": "kept-attribute",
                                     "connection_names": ["kept.connection"]}),
            api.post("/users", {"email": "kept@example.com", "name": "Kept"}),
            api.post("/api-keys", {"name": "kept-key", "groups": ["kept-group"]}),
            api.post("/serviceaccounts", {"subject": "kept-client", "status": "active",
                                          "groups": ["kept-group"]}),
            api.post("/machineidentities", {"name": "kept-machine",
                                            "connection_names": ["kept.connection"]}),
            api.post("/agents", {"name": "kept-agent"}),
            api.post("/guardrails", {"name": "kept-guardrail"}),
            api.post("/access-requests/rules", {"name": "kept-access", "access_type": "jit",
                                                "reviewers_groups": ["kept-group"]}),
            api.post("/notifications/sinks", {"name": "kept-sink", "type": "slack",
                                              "url": "https://hooks.example.com/x",
                                              "events": ["review.decided"]}),
            api.put("/connections/kept.connection/access", {"groups": ["kept-group"]}),
        ]
        assert [a.status for a in created] == [201] * 12 + [200], created
        self.before = self.look()
        self.successes = self.count_successes()

    def look(self):
        return {path: self.api.get(path).json for path in LISTS}

    def count_successes(self):
        """Whatever was changed has an entry in the audit log."""
        answer = self.api.get("/audit/logs?outcome=true&page_size=1")
        assert answer.status == 200, answer
        return answer.json["pages"]["total"]

    def newest(self):
        """(how many entries the audit log has, whether the newest is of something that was done).
        Without a filter nothing is counted, so it may be asked after each case."""
        answer = self.api.get("/audit/logs?page_size=1")
        assert answer.status == 200, answer
        return answer.json["pages"]["total"], answer.json["data"][0]["outcome"]

    def check_refused(self, answer, named):
        assert answer.status == 400, answer
        assert set(answer.json) == {"message"}, answer
        assert answer.headers["Content-Type"] == "application/json", answer.headers
        message = answer.message
        assert named in message, f"{named} is not in {message}"
        assert not INTERNALS.search(message), message
        assert message.isprintable() and "\ufffd" not in message and len(message) < 320, message

    def wrong_cases(self, cases):
        """What is wrong with each that is not refused as it should be."""
        total, _ = self.newest()
        for label, method, path, body, named in cases:
            before = total
            try:
                answer = self.api.call(method, path, body)
                total, is_done = self.newest()
                assert total == before or (total == before + 1 and not is_done), \
                    f"in the audit log as done: {answer}"
                self.check_refused(answer, named)
            except (AssertionError, KeyError, ValueError, OSError,
                    http.client.HTTPException) as error:
                yield f"{label}: {type(error).__name__}: {str(error)[:300]}"


def sample(cases):
    """The first case for each thing that is named, and every tenth of the others."""
    first = {case[4]: case for case in reversed(cases)}
    return [case for i, case in enumerate(cases) if first[case[4]] is case or i % 10 == 0]


@pytest.fixture(scope="module")
def world(admin):
    return World(admin)


def test_there_are_many_cases():
    assert sum(map(len, ALL.values())) >= 8000
    labels = [case[0] for cases in BODIES.values() for case in cases]
    assert len(set(labels)) == len(labels)
    sampled = sum(len(sample(cases)) for cases in ALL.values())
    assert 800 <= sampled <= sum(map(len, ALL.values())) / 4


@pytest.mark.parametrize("operation", ALL)
def test_what_is_bad_is_refused(world, request, operation):
    is_sqlite = request.node.callspec.params["admin"] == "sqlite"
    cases = ALL[operation] if is_sqlite else sample(ALL[operation])
    wrong = list(world.wrong_cases(cases))
    assert not wrong, "\n".join([f"{len(wrong)} of {len(cases)} cases:", *wrong])


def test_what_was_done_would_be_seen(world):
    wrong = list(world.wrong_cases([("good", "POST", "/resources", resource("done"), "name"),
                                    ("bad", "POST", "/resources", {}, "name")]))
    assert len(wrong) == 1 and wrong[0].startswith("good: ") and "as done" in wrong[0], wrong
    assert world.api.delete("/resources/done").status == 204
    world.successes += 2


@pytest.mark.parametrize("path", ["/resources/nothing", "/connections/nothing",
                                  "/attributes/nothing", "/users/nothing", "/api-keys/nothing",
                                  "/serviceaccounts/nothing", "/machineidentities/nothing",
                                  "/machineidentities/nothing/credentials", "/agents/nothing",
                                  "/connections/nothing/access", "/nothing", "/resources/a/b",
                                  "/resources/", "//resources"])
def test_what_is_not_there_is_404(world, path):
    answer = world.api.get(path)
    assert answer.status == 404 and set(answer.json) == {"message"}, answer


@pytest.mark.parametrize("path,allowed", [
    ("/resources", "GET, HEAD, POST"), ("/resources/kept-resource", "GET, HEAD, PUT, DELETE"),
    ("/agents", "GET, HEAD, POST"), ("/agents/kept-agent", "GET, HEAD, DELETE"),
    ("/orgs/hide-role-info", "GET, HEAD, PUT"), ("/logout", "POST"),
    ("/audit/logs", "GET, HEAD")])
def test_another_method_is_405(world, path, allowed):
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - set(allowed.split(", ")):
        answer = world.api.call(method, path, {} if method in ("POST", "PUT", "PATCH") else None)
        assert answer.status == 405 and set(answer.json) == {"message"}, answer
        assert answer.headers["Allow"] == allowed
    assert world.count_successes() == world.successes


@pytest.mark.parametrize("method,path,size", [
    ("POST", "/resources", 1 << 20), ("PUT", "/resources/kept-resource", 1 << 20),
    ("PATCH", "/connections/kept.connection", 1 << 20), ("POST", "/users", 1 << 16),
    ("POST", "/agents", 1 << 16),
    ("PUT", "/orgs/hide-role-info", 1 << 16), ("POST", "/localauth/login", 1 << 16)])
def test_a_body_over_the_limit_is_413(world, method, path, size):
    answer = world.api.call(method, path, b'{"name": "' + b"a" * size + b'"}')
    assert answer.status == 413 and set(answer.json) == {"message"}, answer
    assert world.count_successes() == world.successes


def test_who_may_not_call_learns_nothing_of_the_body(admin, world):
    member = KeptApi(world.api.key("kept-group"))
    nobody = KeptApi(admin)
    nobody.token = None
    world.successes += 1  # the key
    for operation in bad_input.OPERATIONS[:-1]:
        callers = [(nobody, 401)]
        if operation.path not in bad_input.FOR_MEMBERS:
            callers.append((member, 403))
        for api, status in callers:
            answer = api.call(operation.method, operation.path, b"{")
            assert answer.status == status and "JSON" not in answer.message, answer
    assert world.count_successes() == world.successes
    answer = world.api.delete("/api-keys/" + next(
        key["id"] for key in world.api.get("/api-keys").json if key["name"] != "kept-key"))
    assert answer.status == 204


def test_messages_about_very_long_names_are_text(world):
    """A message has a limit: it is cut between characters, for the client and in the log."""
    wide = "😀" * 254
    assert world.api.post("/resources", resource(wide)).status == 201
    for name, body in ((wide, resource("kept-resource")), ("kept-resource", resource(wide))):
        path = "/resources/" + "".join(f"%{byte:02X}" for byte in name.encode())
        answer = world.api.put(path, body)
        assert answer.status == 400 and "'name'" in answer.message, answer
        assert "\ufffd" not in answer.message
    assert world.api.post("/resources", resource(wide)).status == 409
    [first] = world.api.get("/audit/logs?outcome=false&page_size=1").json["data"]
    assert first["http_status"] == 409 and "\ufffd" not in first["error_message"]
    path = "/resources/" + "".join(f"%{byte:02X}" for byte in wide.encode())
    assert world.api.delete(path).status == 204


def test_nothing_of_it_changed_anything(world):
    after = world.look()
    after["/api-keys"] = [key for key in after["/api-keys"] if key["name"] == "kept-key"]
    assert after == world.before


def test_the_bodies_were_good_before_they_were_spoilt(world):
    """So that each case above is refused for its own mistake."""
    assert world.api.post("/connections", connection("open.connection")).status == 201
    for operation in bad_input.OPERATIONS:
        if operation.path == "/localauth/login" or "/some-" in operation.path:
            continue
        answer = world.api.call(operation.method, operation.path, operation.body())
        makes = operation.method == "POST" and not operation.path.endswith(MAKE_NOTHING)
        assert answer.status == (201 if makes else 200), answer
