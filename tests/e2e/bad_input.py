# SPDX-License-Identifier: MIT
"""Every call that takes a body, and every parameter of every query, as a table; and a generator of
all that can be wrong with them. test_bad_input.py sends it."""
import copy
import json
import re
from dataclasses import dataclass, field
from urllib.parse import quote

from bad_input_bodies import (CONTROL, GROUPS, HIDDEN, NOWHERE, PASSWORD, Field, access_rule,
                              api_key, attribute, connection, decision, email, guardrail, machine_identity,
                              masking_rule, name, new_agent, resource, rulepack, saved_query,
                              service_account, sink, text, user)

DEPTH_MAX = 64


@dataclass(frozen=True)
class Operation:
    """A call with a body. 'refused' are (label, change of the good body, what is named)."""
    method: str
    path: str
    members: tuple
    partial: bool = False
    fixed: tuple = ()  # members that may not change at all
    refused: tuple = field(default=())

    @property
    def id(self):
        return f"{self.method} {self.path}"

    def body(self):
        return {m.name: good(m) for m in self.members}


def good(member):
    if not member.members or member.good is not None:
        return copy.deepcopy(member.good)
    first = {m.name: good(m) for m in member.members}
    if member.kind == "object":
        return first
    return [first, {**first, "name": first["name"] + ".2"}]


def same_role_twice(body):
    body["roles"][1]["name"] = body["roles"][0]["name"]


def role_of_another(body):
    body["roles"][1]["name"] = "kept.connection"


def with_member(key, value):
    def change(body):
        body[key] = value
    return change


RESOURCE_REFUSED = (("same-role-twice", same_role_twice, "roles[1].name"),)
# What every member may call, though perhaps not of this connection or session.
FOR_MEMBERS = ("/connections/open.connection/credentials", "/sessions/some-session/metadata",
               "/reviews/some-review", "/sessions/some-session/review",
               "/reviews/some-review/comments", "/users/me/ssh-keys", "/saved-queries",
               "/saved-queries/some-query")


def with_rule(side, index, **members):
    def change(body):
        body[side]["rules"][index].update(members)
    return change


GUARDRAIL_REFUSED = (
    ("no-words", with_rule("output", 1, words=[]), "output.rules[1].words'"),
    ("no-pattern", with_rule("output", 1, type="pattern_match", words=[]),
     "output.rules[1].pattern_regex'"),
    ("words-of-sql", with_rule("input", 0, words=["a"]), "input.rules[0].words'"),
    ("sql-of-output", with_rule("output", 0, type="sql", words=[]), "output.rules[0].type'"),
    ("budget-of-input", with_rule("input", 0, type="read_budget", rows=1, per="hour"),
     "input.rules[0].type'"),
    *((f"budget-{why}", with_rule("output", 0, **{"type": "read_budget", "words": [],
                                                  "case_sensitive": False, **members}),
       f"output.rules[0]{where}'")
      for why, where, members in (
          ("without-amount", "", {"per": "hour"}), ("without-time", ".per", {"rows": 1}),
          ("other-time", ".per", {"rows": 1, "per": "day"}),
          ("no-rows", ".rows", {"rows": 0, "per": "hour"}),
          ("less-than-no-bytes", ".bytes", {"bytes": -1, "per": "hour"}),
          ("too-many-rows", ".rows", {"rows": 10 ** 12 + 1, "per": "hour"}),
          ("half-a-byte", ".bytes", {"bytes": 0.5, "per": "hour"}),
          ("words", ".words", {"rows": 1, "per": "hour", "words": ["a"]}))),
)

SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDg3lrNq5Fag59XKNgKCb+HF8axkQJzruLPhcfJhH3d7"

OPERATIONS = (
    Operation("POST", "/resources", resource("new-resource", "new.role"),
              refused=RESOURCE_REFUSED),
    Operation("PUT", "/resources/kept-resource", resource("kept-resource", "kept.role"),
              refused=RESOURCE_REFUSED + (
                  ("role-of-another", role_of_another, "roles[1].name'"),
                  ("name-taken", with_member("name", "kept.connection"), "name"),
                  ("type-with-roles", with_member("type", "other"), "type"),
                  ("subtype-with-roles", with_member("subtype", "other"), "subtype"))),
    Operation("POST", "/connections", connection("new.connection")),
    Operation("PUT", "/connections/kept.connection", connection("kept.connection"),
              refused=(("other-name", with_member("name", "other.name"), "name"),)),
    Operation("PATCH", "/connections/kept.connection", connection("kept.connection"), partial=True,
              refused=(("other-name", with_member("name", "other.name"), "name"),)),
    Operation("PUT", "/connections/kept.connection/access", (GROUPS,)),
    Operation("POST", "/connections/open.connection/credentials",
              (Field("access_duration_seconds", "int", 60, low=1, high=172800),
               Field("keep_others", "bool", False))),
    Operation("PATCH", "/sessions/some-session/metadata",
              (Field("metadata", "pairs", {"ticket": "OPS-7"}, required=True, nullable=False,
                     count_max=20, item_max=2500, key_max=128, bad=CONTROL),)),
    Operation("PUT", "/reviews/some-review", decision()),
    Operation("PUT", "/sessions/some-session/review", decision()),
    Operation("POST", "/reviews/some-review/comments",
              (text("comment", 4000, bad=(), required=True, nullable=False, low=1),)),
    Operation("POST", "/access-requests/rules", access_rule("new-access")),
    Operation("PUT", "/access-requests/rules/kept-access", access_rule("kept-access")),
    Operation("POST", "/notifications/sinks", sink("new-sink")),
    Operation("PUT", "/notifications/sinks/kept-sink", sink("kept-sink", required=False)),
    Operation("POST", "/attributes", attribute("new-attribute")),
    Operation("PUT", "/attributes/kept-attribute", attribute("kept-attribute")),
    Operation("POST", "/users", user("new@example.com"),
              refused=(("short-password", with_member("password", HIDDEN), "password"),)),
    Operation("PUT", "/users/kept@example.com", user("kept@example.com"),
              refused=(("other-email", with_member("email", "b@example.com"), "email"),)),
    Operation("POST", "/users/groups", (name("new-group", high=180),)),
    Operation("POST", "/apply", (
        Field("operations", "objects", [{"method": "POST", "path": "/api/users/groups",
                                         "body": '{"name": "applied-group"}'}],
              required=True, nullable=False, count_max=2000),)),
    Operation("POST", "/saved-queries", saved_query("new-query")),
    Operation("PUT", "/saved-queries/some-query", saved_query("kept-query")),
    Operation("POST", "/users/me/ssh-keys",
              (text("public_key", 4096, SSH_KEY, bad=(("no-key", "x"), ("no-base64", "ssh-ed25519 x"),
                                                      ("short", SSH_KEY[:-4])), required=True, nullable=False, low=1),
               text("name", 254))),
    Operation("POST", "/api-keys", api_key("new-key")),
    Operation("PUT", "/api-keys/kept-key", api_key("kept-key")),
    Operation("POST", "/serviceaccounts", service_account("new-client")),
    Operation("PUT", "/serviceaccounts/kept-client", service_account("kept-client", required=False),
              refused=(("other-subject", with_member("subject", "other"), "subject"),)),
    Operation("POST", "/machineidentities", machine_identity("new-machine")),
    Operation("PUT", "/machineidentities/kept-machine", machine_identity("kept-machine")),
    Operation("POST", "/datamasking-rules", masking_rule("new-rule")),
    Operation("PUT", "/datamasking-rules/some-rule", masking_rule("some-rule", False)),
    Operation("POST", "/guardrails", guardrail("new-guardrail"), refused=GUARDRAIL_REFUSED),
    Operation("PUT", "/guardrails/kept-guardrail", guardrail("kept-guardrail"),
              refused=GUARDRAIL_REFUSED),
    Operation("POST", "/guardrails/kept-guardrail/test",
              (Field("days", "int", 7, low=1, high=90),
               Field("rule", "object", None, members=(name("tried"), text("description", 1000))))),
    Operation("POST", "/guardrail-trials",
              (Field("rule", "object", None, required=True, nullable=False,
                     members=(name("tried"), text("description", 1000))),
               text("statement", 65536, "SELECT 1", bad=()), Field("days", "int", 7, low=1, high=90))),
    Operation("POST", "/datamasking-trials",
              (Field("rule", "object", {"name": "tried", "columns": [{"name": "a"}]},
                     required=True, nullable=False),
               Field("samples", "objects", [{"value": "a"}], required=True, nullable=False))),
    Operation("POST", "/rulepacks/read-only/attach", rulepack()),
    Operation("POST", "/rulepacks/read-only/detach", rulepack()),
    Operation("POST", "/agents", new_agent("new-agent")),
    Operation("PUT", "/orgs/provider-roles",
              (Field("trusts_provider_roles", "bool", True, required=True, nullable=False),)),
    Operation("PUT", "/orgs/hide-role-info",
              (Field("hide_role_info", "bool", False, required=True, nullable=False),)),
    Operation("PUT", "/orgs/default-access",
              (Field("default_access", "text", "members", required=True, nullable=False,
                     choices=("members", "nobody")),)),
    Operation("POST", "/localauth/login",
              (email("root@example.com"), PASSWORD, text("organization", 100, "default", bad=()))),
)

# What can be wrong with a member ---------------------------------------------------------------

RAW = "@@raw@@"
WRONG = {
    "text": {"number": 5, "true": True, "array": ["a"], "object": {"a": "b"}},
    "int": {"text": "5", "fraction": 1.5, "whole-fraction": 1.0, "true": True, "array": [5],
            "object": {}},
    "bool": {"text": "true", "number": 1, "array": [True], "object": {}},
    "texts": {"text": "a", "number": 5, "false": False, "object": {"0": "a"}},
    "pairs": {"text": "a", "number": 5, "true": True, "array": [["a", "b"]]},
    "objects": {"text": "a", "number": 5, "true": True, "object": {"name": "abc"}},
    "object": {"text": "a", "number": 5, "true": True, "array": [{}]},
}
# Bytes in place of the value: (label, raw JSON); each makes the document malformed.
BYTES = (("nul", rb'"a\u0000b"'), ("raw-nul", b'"a\x00b"'), ("not-utf-8", b'"a\xffb"'),
         ("overlong-utf-8", b'"a\xc0\xafb"'), ("utf-8-surrogate", b'"a\xed\xa0\x80b"'),
         ("cut-utf-8", b'"a\xf0\x9f\x98"'), ("high-surrogate", rb'"a\ud800b"'),
         ("low-surrogate", rb'"a\udc00b"'), ("raw-newline", b'"a\nb"'), ("bad-escape", rb'"a\qb"'),
         ("nan", b"NaN"), ("single-quotes", b"'a'"), ("no-value", b""))
NUMBERS = (("2^63", b"9223372036854775808"), ("-2^63-1", b"-9223372036854775809"),
           ("10^40", b"1" + b"0" * 40), ("1e400", b"1e400"), ("leading-zero", b"007"),
           ("hex", b"0x10"), ("plus", b"+1"))


def text_values(member, path, required):
    if required and member.kind == "text":
        yield "empty", "", path
    if member.high:
        yield "over-long", "a" * (member.high + 1), path
        yield "over-long-wide", "😀" * (member.high + 1), path
    if member.low > 1:
        yield "short", "a" * (member.low - 1), path
    for label, value in member.bad:
        yield label, value, path
    if member.choices:
        for label, value in (("no-choice", "nonsense"), ("upper-case", member.choices[0].upper()),
                             ("trailing-space", member.choices[0] + " "),
                             ("two", ",".join(member.choices))):
            yield label, value, path


def int_values(member, path, _):
    for label, value in (("below", member.low - 1), ("above", member.high + 1),
                         ("2^63-1", 2 ** 63 - 1), ("-2^63", -2 ** 63)):
        yield label, value, path


def texts_values(member, path, _):
    fine = member.good[0] if member.good else "a"
    for label, value in (("number", 5), ("null", None), ("array", ["a"]), ("empty", ""),
                         ("over-long", "a" * (member.item_max + 1)), *member.bad):
        yield f"item-{label}", [value], f"{path}[0]"
    if not member.bad or member.bad[0][0] != "unknown":
        yield "second-item-number", [fine, 5], f"{path}[1]" if member.good else f"{path}["
    yield "too-many", [f"a{i}" for i in range(member.count_max + 1)], path


def pairs_values(member, path, _):
    [key, value] = next(iter(member.good.items()))
    others = () if member.any_items else (("number", 5), ("true", True), ("array", ["a"]),
                                          ("object", {"a": "b"}))
    for label, wrong in (*others, ("over-long", "a" * (member.item_max + 1)), *member.bad):
        yield f"value-{label}", {key: wrong}, f"{path}.{key}"
    if not member.null_items:
        yield "value-null", {key: None}, f"{path}.{key}"
    yield "key-empty", {"": value}, f"{path}."
    yield "key-over-long", {key + "A" * member.key_max: value}, f"{path}.{key}A"
    yield "key-huge", {key + "A" * 5000: value}, f"{path}.{key}A"
    yield "key-control", {key + "\x1b[2J": value}, f"{path}.{key}"
    for label, wrong in member.bad_keys:
        shown = wrong.split("\n")[0][:100]
        yield f"key-{label}", {wrong: value}, f"{path}.{shown}"
    many = {f"{key}{i}": value for i in range(member.count_max + 1)}
    yield "too-many", many, path


def objects_values(member, path, _):
    fine = good(member)[0]
    for label, value in (("number", 5), ("null", None), ("text", "a"), ("array", [])):
        yield f"item-{label}", [value], f"{path}[0]"
        yield f"second-item-{label}", [fine, value], f"{path}[1]"
    many = [{**fine, "name": f"many.{i}"} for i in range(member.count_max + 1)]
    yield "too-many", many, path


VALUES = {"text": text_values, "int": int_values, "bool": lambda *_: (), "texts": texts_values,
          "pairs": pairs_values, "objects": objects_values, "object": lambda *_: ()}


def container(body, steps):
    for step in steps:
        body = body[step]
    return body


class Case:
    def __init__(self, operation, label, content, named):
        self.operation, self.content, self.named = operation, content, named
        self.id = f"{operation.id}: {label}"


def with_raw(operation, steps, key, raw):
    body = operation.body()
    container(body, steps)[key] = RAW
    return json.dumps(body).encode().replace(json.dumps(RAW).encode(), raw)


def member_cases(operation, member, steps, path):
    required = member.required and not operation.partial

    def changed(value):
        body = operation.body()
        container(body, steps)[member.name] = value
        return body

    if required:
        body = operation.body()
        del container(body, steps)[member.name]
        yield "missing", body, path
    if not member.nullable:
        yield "null", changed(None), path
    for label, value in WRONG[member.kind].items():
        yield f"is-{label}", changed(value), path
    for label, value, named in VALUES[member.kind](member, path, member.required):
        yield label, changed(value), named
    value = json.dumps(good(member)).encode()
    raws = [("twice", value + f', "{member.name}": '.encode() + value),
            ("nested-too-deep", b"[" * (DEPTH_MAX + 1) + b"]" * (DEPTH_MAX + 1)),
            ("objects-too-deep", b'{"a":' * (DEPTH_MAX + 1) + b"1" + b"}" * (DEPTH_MAX + 1)),
            ("10^40", NUMBERS[2][1]), ("1e400", NUMBERS[3][1])]
    is_first = operation.method == "POST"  # the same members need not all be sent thrice
    raws += BYTES if is_first and member.kind in ("text", "texts") else BYTES[:3]
    raws += NUMBERS if member.kind == "int" else ()
    outer = re.match(r"\w+\.\w+\[0\]", path)  # what is nested too deep is named no deeper
    for label, raw in dict(raws).items():
        named = outer.group() if outer and label.endswith("too-deep") else path
        yield label, with_raw(operation, steps, member.name, raw), named


def body_cases(operation):
    """All cases of one operation, with what the message must name."""
    def of(members, steps, prefix):
        for member in members:
            path = prefix + member.name
            for label, content, named in member_cases(operation, member, steps, path):
                yield Case(operation, f"{path} {label}", content, f"'{named}")
            if member.kind == "objects":
                yield from of(member.members, [*steps, member.name, 0], f"{path}[0].")
            if member.kind == "object":
                yield from of(member.members, [*steps, member.name], f"{path}.")
        if prefix == "":
            for label, change, named in operation.refused:
                body = operation.body()
                change(body)
                yield Case(operation, label, body, f"'{named}")
    return of(operation.members, [], "")


def document_cases(operation):
    """What is no document of the right kind at all: nothing can be named but that."""
    body = json.dumps(operation.body()).encode()
    malformed = {
        "empty": b"", "white-space": b" \n\t", "no-json": b"name=value&type=database",
        "xml": b"<name/>", "trailing-bytes": body + b"x", "two-documents": body + body,
        "trailing-nul": body + b"\x00", "trailing-comma": body + b",", "cut": body[:-1],
        "byte-order-mark": b"\xef\xbb\xbf" + body, "utf-16": body.decode().encode("utf-16"),
        "comment": b"/* a */" + body, "deep": b"[" * 65 + b"]" * 65,
        "very-deep": b"[" * 60000, "open": b"{", "member-not-utf-8": b'{"\xff": 1}',
        "member-nul": rb'{"a\u0000": 1}', "member-surrogate": rb'{"\ud800": 1}',
        "leading-zeros": b"00", "unquoted": b"{name: 1}", "nothing-between-commas": b"[1,,2]",
    }
    for label, content in malformed.items():
        yield Case(operation, f"document {label}", content, "JSON")
    for label, content in {"array": b"[]", "text": b'"a"', "number": b"5", "null": b"null",
                           "array-of-it": b"[" + body + b"]"}.items():
        yield Case(operation, f"document {label}", content, "the document must be an object")


# Queries ---------------------------------------------------------------------------------------

PAGES = (("page", "int", 1, 1000000000), ("page_size", "int", 1, 100))
NOT_TIMES = ("yesterday", "2024-13-01", "2024-02-30", "2024-01-01T25:00:00Z",
             "2024-01-01T00:00:00", "2024-01-01T00:00:00Z" + "0" * 40, "1714567890")
QUERIES = {
    "GET /resources": PAGES + (
        ("search", "text", 254), ("name", "text", 254), ("type", "text", 64),
        ("subtype", "text", 64), ("agent_id", "uuid", 36), ("without_values", "bool")),
    "GET /connections": PAGES + (
        ("search", "text", 254), ("name", "text", 254), ("type", "text", 64),
        ("subtype", "text", 64), ("resource_name", "text", 254), ("agent_id", "uuid", 36),
        ("managed_by", "text", 254), ("attribute", "text", 2048),
        ("tag_selector", "tag", 1400)),
    "GET /attributes": PAGES + (("search", "text", 255),),
    "GET /saved-queries": PAGES + (("search", "text", 120), ("connection", "text", 254)),
    "GET /audit/logs": PAGES + (
        ("actor_subject", "text", 254), ("actor_email", "text", 254), ("http_path", "text", 254),
        ("client_ip", "text", 254), ("resource_type", "text", 254), ("action", "text", 254),
        ("http_method", "text", 254), ("http_status", "int", 100, 599), ("outcome", "bool"),
        ("created_after", "time", 40), ("created_before", "time", 40)),
    "GET /connections/kept.connection/tables": (
        ("database", "text", 128), ("schema", "text", 128), ("search", "text", 128),
        ("type", "choice", 100), ("limit", "int", 1, 10000), ("offset", "int", 0, 1000000000)),
    "GET /connections/kept.connection/columns": (
        ("database", "text", 128), ("schema", "text", 128), ("table", "text", 128)),
    "GET /audit/logs/verify": (("from", "int", 1, 10 ** 15),),
    "GET /agents": (("status", "choice", 100),),
    "GET /access-requests/rules": PAGES,
    "GET /notifications/deliveries": PAGES + (("state", "choice", 100), ("sink", "text", 254)),
    "GET /reviews": PAGES + (
        ("mine", "bool"), ("to_decide", "bool"), ("status", "choice", 100),
        ("connection", "text", 254), ("requester", "text", 254), ("start_date", "time", 40),
        ("end_date", "time", 40)),
    "DELETE /agents/kept-agent": (("force", "bool"),),
    "GET /sessions": (
        ("user", "text", 254), ("connection", "text", 254), ("type", "text", 64),
        ("start_date", "time", 40), ("end_date", "time", 40), ("limit", "int", 1, 100),
        ("offset", "int", 0, 10000)),
    "GET /reports/sessions": (
        ("group_by", "choice", 100), ("id", "text", 36), ("verb", "choice", 100),
        ("connection_name", "text", 254), ("user_email", "text", 254),
        ("start_date", "time", 40), ("end_date", "time", 40)),
    "GET /sessions/some-session": (("expand", "choice", 100), ("event_stream", "choice", 100)),
    "GET /sessions/some-session/download": (("extension", "choice", 100), ("events", "text", 8)),
    "DELETE /resources/kept-resource": (("cascade", "bool"),),
    "PUT /resources/kept-resource": (("prune_roles", "bool"),),
    "POST /logout": (("everywhere", "bool"),),
}
BAD_ESCAPES = ("%", "%1", "%zz", "a%00b", "%ff", "%c0%af", "%ed%a0%80")


def query_values(kind, *bounds):
    if kind == "int":
        low, high = bounds
        yield from (low - 1, high + 1, -1, 2 ** 63, 10 ** 40, "", "abc", "1.5", "1e2", "+5", "%2B5",
                    "0x10", "%201", "1%20", "1,2", "%EF%BC%91", "null", "-")
    elif kind == "bool":
        yield from ("", "1", "0", "yes", "TRUE", "True", "null", "true%20", "truefalse")
    else:
        yield "a" * (bounds[0] + 1)
    if kind == "uuid":
        yield from ("abc", NOWHERE[:-1], "g" * 36, NOWHERE.replace("-", "_"), "%27%20OR%201=1--")
    if kind == "choice":
        yield from ("connected", "CONNECTED%20", "CONNECTED,DISCONNECTED", "online", "%00", "0")
    if kind == "tag":
        yield from ("a%20b", "a-", "a/=b", "=b", "=", "a:b=c", "a=b;c", "a=%C3%A9", "a=%0A")
    if kind == "time":
        yield from (quote(value) for value in NOT_TIMES)


def query_cases():
    """(id, method, path, what is named)"""
    for route, parameters in QUERIES.items():
        method, path = route.split()
        for title, kind, *bounds in parameters:
            for value in (*query_values(kind, *bounds), *BAD_ESCAPES):
                shown = str(value) if len(str(value)) < 50 else "over-long"
                yield (f"{route}?{title}={shown}", method, f"{path}?{title}={value}", f"'{title}'")


# Paths and whole requests ----------------------------------------------------------------------

PATHS = ("/resources/{}", "/connections/{}", "/connections/{}/access", "/attributes/{}",
         "/users/{}", "/users/groups/{}", "/api-keys/{}", "/serviceaccounts/{}",
         "/machineidentities/{}", "/agents/{}", "/guardrails/{}", "/access-requests/rules/{}",
         "/notifications/sinks/{}")
BAD_SEGMENTS = ("%", "%0", "%gg", "a%00b", "%ff", "%c0%af", "%ed%a0%80")
BAD_RESOURCE_NAMES = ("%0A", "a%2Fb", "%2e%2e", "%7f", "%C2%85", "a" * 255, "%F0%9F%98%80" * 255)


def path_cases():
    """As query_cases()."""
    for pattern in PATHS:
        for segment in BAD_SEGMENTS:
            method = "DELETE" if "access" not in pattern else "PUT"
            path = pattern.format(segment)
            yield f"{method} {path}", method, path, "path"
    for segment in BAD_RESOURCE_NAMES:
        for method in ("GET", "PUT", "DELETE"):
            path = f"/resources/{segment}"
            yield f"{method} {path[:60]}", method, path, "the name of a resource"
