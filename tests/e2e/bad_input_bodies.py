# SPDX-License-Identifier: MIT
"""Every member of every body that the API takes, as a table: what is good, and what its own rules
refuse. bad_input.py spoils them."""
from dataclasses import dataclass, replace

from api import EMBEDDED_AGENT, b64

NOWHERE = "00000000-0000-7000-8000-00000000dead"
HIDDEN = "hunter2"  # in whatever is secret: no message may quote it


@dataclass(frozen=True)
class Field:
    """One member. 'bad' are (label, value) that its own rules refuse; of 'texts' and 'pairs' they
    are items and values."""
    name: str
    kind: str
    good: object
    required: bool = False
    nullable: bool = True
    low: int = 0
    high: int = 0
    choices: tuple = ()
    bad: tuple = ()
    bad_keys: tuple = ()
    count_max: int = 0
    item_max: int = 0
    key_max: int = 0
    null_items: bool = False
    any_items: bool = False
    one_line: bool = True
    members: tuple = ()


CONTROL = (("control", "a\x07b"), ("newline", "a\nb"), ("c1-control", "a\x85b"), ("del", "a\x7fb"))
TITLES = CONTROL + (("slash", "a/b"), ("dot", "."), ("dots", ".."))
NAMES = (("space", "a b c"), ("slash", "a/bc"), ("accent", "früh"), ("starts-with-dash", "-abc"),
         ("ends-with-dot", "abc."), ("two-dashes", "a--b"), ("newline", "abc\n"))
UUIDS = (("no-uuid", "g" * 36), ("bare", NOWHERE.replace("-", "x")), ("short", NOWHERE[:-1]),
         ("long", NOWHERE + "0"), ("braces", "{" + NOWHERE[:-2] + "}"))
SECRETS = (("no-base64", HIDDEN + "!"), ("bad-padding", b64(HIDDEN).rstrip("=") + "==="),
           ("url-base64", HIDDEN + "_-=="), ("no-reference", "_gcp:" + HIDDEN + ":key"),
           ("half-reference", "_aws:" + HIDDEN), ("reference-without-key", "_aws:" + HIDDEN + ":"),
           ("white-space", " " + b64(HIDDEN)))
VARIABLES = (("loader", "envvar:LD_PRELOAD"), ("shell", "envvar:BASH_ENV"),
             ("digit-first", "envvar:1A"), ("dash", "envvar:A-B"), ("nameless", "envvar:"),
             ("newline", "envvar:A\nB"), ("equals", "envvar:A=B"),
             ("name-128", "envvar:" + "A" * 128))


def name(good, nullable=False, high=254, low=1, bad=TITLES):
    return Field("name", "text", good, required=True, nullable=nullable, low=low, high=high,
                 bad=bad)


def text(title, high, good="fine", bad=CONTROL, **more):
    return Field(title, "text", good, high=high, bad=bad, **more)


def texts(title, item_max, count_max=100, good=("fine",), bad=CONTROL, **more):
    return Field(title, "texts", list(good), item_max=item_max, count_max=count_max, bad=bad,
                 **more)


def agent(required=False):
    return Field("agent_id", "text", EMBEDDED_AGENT, required=required, nullable=not required,
                 bad=UUIDS + (("unknown", NOWHERE),))


SECRET = Field("secret", "pairs", {"envvar:PASS": b64(HIDDEN), "filesystem:CA": "_aws:a:b"},
               null_items=True, any_items=True, count_max=100, item_max=262144, key_max=140,
               bad=SECRETS,
               bad_keys=VARIABLES + (("no-prefix", "PASS"), ("other-prefix", "header:PASS")))
TYPE = Field("type", "text", "database", required=True, nullable=False,
             choices=("database", "application", "custom"))
ATTRIBUTES = texts("attributes", 255, bad=TITLES)
COMMAND = texts("command", 16384, 200, good=("true", "a\nb"), bad=())
FLOW = text("mcp_oauth_flow_id", 255)


def role(title):
    return (name(title, low=3, bad=NAMES), TYPE, text("subtype", 64, "postgres"), agent(),
            ATTRIBUTES, COMMAND, SECRET, FLOW)


def resource(title, roles):
    return (
        name(title),
        Field("type", "text", "database", required=True, nullable=False, low=1, high=64,
              bad=CONTROL),
        Field("env_vars", "pairs", {"envvar:HOST": b64("10.0.0.5"), "REGION": "eu"}, required=True,
              nullable=False, null_items=True, count_max=100, item_max=262144, key_max=140,
              bad=SECRETS, bad_keys=VARIABLES + (("plain-loader", "LD_PRELOAD"),
                                                 ("plain-dash", "A-B"))),
        agent(), text("subtype", 64, "postgres"),
        Field("roles", "objects", None, count_max=100, members=role(roles)),
    )


def switch(title):
    return Field(title, "text", "enabled", required=True, nullable=False,
                 choices=("enabled", "disabled"))


def connection(title):
    return (
        name(title, low=3, bad=NAMES), text("resource_name", 254, title, bad=TITLES), TYPE,
        text("subtype", 64, "postgres"), agent(required=True), COMMAND, SECRET,
        switch("access_mode_connect"), switch("access_mode_exec"), switch("access_mode_runbooks"),
        switch("access_schema"),
        Field("access_max_duration", "int", 3600, low=0, high=172800), ATTRIBUTES,
        Field("connection_tags", "pairs", {"team/a": "x y"}, count_max=10, item_max=256,
              key_max=64,
              bad=(("empty", ""), ("semicolon", "a;b"), ("accent", "é"), ("newline", "a\nb")),
              bad_keys=(("space", "a b"), ("ends-with-dash", "a-"), ("ends-with-slash", "a/"),
                        ("ends-with-dot", "a."), ("colon", "a:b"), ("accent", "é"))),
        texts("tags", 128, bad=NAMES),
        texts("guardrail_rules", 36, good=(), bad=UUIDS + (("unknown", NOWHERE),)),
        text("jira_issue_template_id", 36, "", bad=UUIDS + (("unknown", NOWHERE),)),
        texts("mandatory_metadata_fields", 128),
        Field("min_review_approvals", "int", 1, low=0, high=100),
        texts("reviewers", 180), texts("force_approve_groups", 180),
        Field("redact_enabled", "bool", False), texts("redact_types", 128), FLOW,
    )


def attribute(title):
    unknown = (("unknown", "nothing-of-this-name"),)
    return (
        name(title, high=255), text("description", 1000),
        texts("connection_names", 254, 1000, good=(), bad=CONTROL + unknown),
        texts("access_request_rule_names", 254, 1000, good=(), bad=CONTROL + unknown),
        texts("guardrail_rule_names", 254, 1000, good=(), bad=CONTROL + unknown),
        texts("datamasking_rule_names", 254, 1000, good=(), bad=CONTROL + unknown),
        texts("access_control_group_names", 180, 1000, good=(), bad=CONTROL + unknown),
    )


EMAILS = (("no-at", "someone.example.com"), ("two-ats", "a@b@c"), ("no-host", "someone@"),
          ("no-one", "@example.com"), ("space", "some one@example.com"),
          ("newline", "someone@example.com\n"), ("host-ends-with-dot", "someone@example.com."),
          ("host-starts-with-dash", "someone@-example.com"))


def email(good):
    return Field("email", "text", good, required=True, nullable=False, low=3, high=254, bad=EMAILS)


def user(address):
    return (
        text("name", 255), email(address),
        Field("status", "text", "active", choices=("active", "inactive", "invited")),
        text("slack_id", 64), text("picture", 2048),
        texts("groups", 180, 200, bad=TITLES),
        text("password", 256, "a long " + HIDDEN, bad=()),
    )


def api_key(title):
    times = (("a-word", "tomorrow"), ("month-13", "2099-13-01T00:00:00Z"),
             ("day-30", "2099-02-30"), ("hour-25", "2099-01-01T25:00:00Z"),
             ("no-zone", "2099-01-01T00:00:00"), ("past", "2001-01-01T00:00:00Z"),
             ("year-10000", "10000-01-01T00:00:00Z"))
    return (name(title), texts("groups", 180, 200, bad=TITLES),
            text("expires_at", 40, "2099-01-01T00:00:00Z", bad=times))


def service_account(subject, required=True):
    return (
        Field("subject", "text", subject, required=required, nullable=not required, low=1, high=255,
              bad=CONTROL + (("many-bytes", "é" * 128),)),
        Field("issuer", "text", "", high=1024, bad=CONTROL),
        text("name", 255),
        Field("status", "text", "active", required=True, nullable=False,
              choices=("active", "inactive")),
        texts("groups", 180, 200, bad=TITLES),
    )


def guard_rule(kind, *conditions):
    """Of one of the types; the list of operations is too long for a message of this table."""
    return (
        Field("type", "text", kind, required=True, nullable=False,
              choices=("deny_words_list", "pattern_match", "sql", "read_budget")),
        text("name", 254), text("message", 1000),
        Field("action", "text", "warn", choices=("block", "warn", "observe")),
        texts("groups", 180, bad=TITLES), texts("except_groups", 180, bad=TITLES), *conditions)


def guard_rules(side, *members):
    return Field(side, "object", None, members=(
        Field("rules", "objects", None, count_max=1000, members=members),))


GLOBS = CONTROL + (("two-dots", "a.b.c"), ("dot-first", ".a"), ("dot-last", "a."), ("quote", 'a"b'))


def guardrail(title):
    return (
        name(title), text("description", 1000),
        guard_rules("input", *guard_rule(
            "sql", Field("without_where", "bool", True), Field("multi_statement", "bool", True),
            texts("functions", 255, 500, good=("pg_read_*",), bad=GLOBS),
            Field("relations", "objects", None, count_max=500, members=(
                Field("name", "text", "shop", required=True, nullable=False, low=1, high=255,
                      bad=GLOBS),
                Field("access", "text", "write", choices=("read", "write", "any")))),
            Field("unknown", "text", "block", choices=("block", "allow")))),
        guard_rules("output", *guard_rule(
            "deny_words_list", Field("case_sensitive", "bool", True),
            texts("words", 500, 1000, bad=()))),
        texts("connection_ids", 36, 10000, good=(), bad=UUIDS + (("unknown", NOWHERE),)),
        texts("attributes", 255, 1000, good=(), bad=TITLES + (("unknown", "nothing"),)),
    )


def rulepack():
    return (
        texts("connection_ids", 36, 1000, good=(), bad=UUIDS + (("unknown", NOWHERE),)),
        texts("connection_names", 254, 1000, good=("kept.connection",),
              bad=CONTROL + (("unknown", "nothing"),)),
    )


def machine_identity(title):
    unknown = (("unknown", "nothing-of-this-name"),)
    return (
        name(title), text("description", 1000),
        texts("connection_names", 254, 1000, good=(), bad=CONTROL + unknown),
        texts("attributes", 255, good=(), bad=TITLES + unknown),
    )


def masking_rule(title, names_unknown=True):
    """What only the store knows to be wrong comes after whether the rule is there."""
    unknown = (("unknown", NOWHERE),) if names_unknown else ()
    types = (("lower", "email_address"), ("dash", "E-MAIL"), ("space", "A B"))
    named = Field("name", "text", "PII", required=True, nullable=False, low=1, high=64, bad=types)
    columns = (("empty-part", "a..b"), ("four-parts", "a.b.c.d"), ("newline", "a\nb"),
               ("open-backslash", "a\\"))
    return (
        name(title), text("description", 1000),
        texts("connection_ids", 36, 1000, good=(), bad=UUIDS + unknown),
        texts("attributes", 255, 1000, good=(), bad=TITLES + unknown),
        Field("supported_entity_types", "objects",
              [{"name": "PII", "entity_types": ["EMAIL_ADDRESS"]}], count_max=100, members=(
                  named, texts("entity_types", 64, 200, good=("EMAIL_ADDRESS",), required=True,
                               nullable=False, bad=types + (("no-type", "NOTHING_LIKE_IT"),)))),
        Field("custom_entity_types", "objects",
              [{"name": "STAFF", "regex": "E[0-9]{6}", "deny_list": ["a b"], "score": 0.9}],
              count_max=100, members=(
                  named, text("regex", 1000, "E[0-9]{6}", bad=()),
                  texts("deny_list", 256, 1000, good=("a b",)))),
        Field("columns", "objects", [{"name": "public.people.email"}], count_max=100, members=(
            Field("name", "text", "public.people.email", required=True, nullable=False, low=1,
                  high=255, bad=columns),)),
        Field("on_unexaminable", "text", "mask", choices=("mask", "refuse")),
        Field("refuse_predicates", "bool", False),
    )


def access_rule(title):
    unknown = (("unknown", "nothing-of-this-name"),)
    return (
        name(title), text("description", 1000),
        Field("access_type", "text", "jit", required=True, nullable=False,
              choices=("jit", "command", "jit_command")),
        texts("connection_names", 254, 1000, good=(), bad=CONTROL + unknown),
        texts("attributes", 255, 1000, good=(), bad=TITLES + unknown),
        texts("reviewers_groups", 180, 20, good=("kept-group",), required=True, nullable=False,
              bad=TITLES + unknown),
        texts("approval_required_groups", 180, 20, good=(), bad=TITLES + unknown),
        texts("skip_review_groups", 180, 20, good=()),
        texts("force_approval_groups", 180, 20, good=("kept-group",), bad=TITLES + unknown),
        Field("all_groups_must_approve", "bool", False),
        Field("min_approvals", "int", 2, low=1, high=100),
        Field("access_max_duration", "int", 60, low=1, high=172800),
    )


def sink(title, required=True):
    return (
        name(title),
        Field("type", "text", "webhook", required=True, nullable=False,
              choices=("webhook", "slack", "teams", "email")),
        text("url", 2000, "https://hooks.example.com/services/T0/B0", required=required,
             nullable=False, bad=CONTROL + (
                 ("space", "https://a.example.com/ b"), ("no-url", HIDDEN), ("file", "file:///etc"),
                 ("user", f"https://u:{HIDDEN}@a.example.com/"), ("accent", "https://früh.de/"),
                 ("fragment", "https://a.example.com/#x"), ("loopback", "https://127.0.0.1/"),
                 ("localhost", "https://localhost/"), ("private", "http://10.1.2.3/"),
                 ("mapped", "http://[::ffff:192.168.0.1]/"), ("link-local", "http://[fe80::1]/"),
                 ("metadata", "http://169.254.169.254/"), ("backslash", "https://a.b\\@c/"))),
        Field("events", "texts", ["review.requested"], required=True, nullable=False, count_max=9,
              item_max=64),
        Field("enabled", "bool", False),
        Field("statement_size", "int", 100, low=0, high=2000),
    )


def decision():
    return (Field("status", "text", "APPROVED", required=True, nullable=False, low=1, high=32),
            Field("force_review", "bool", False), text("reason", 2000, bad=()),
            text("rejection_reason", 2000, "", bad=()))


def new_agent(title):
    return (name(title, low=3, bad=NAMES + (("at", "abc@d"), ("colon", "abc:d"))),
            Field("mode", "text", "standard", choices=("standard", "embedded")))


GROUPS = replace(texts("groups", 180, 200, good=("kept-group",),
                       bad=TITLES + (("unknown", "no-such-group"),)),
                 required=True, nullable=False)
PASSWORD = text("password", 256, "a long " + HIDDEN, bad=(), required=True, nullable=False, low=1)


def saved_query(title):
    needed = {"required": True, "nullable": False, "low": 1}
    return (text("name", 120, title, **needed),
            text("connection", 254, "kept.connection", bad=(), **needed),
            text("script", 16384, "SELECT 1", bad=(), **needed), Field("is_shared", "bool", True))
