# SPDX-License-Identifier: MIT
"""What is found in values of every type, in both formats of both protocols and in copies."""
import struct

import pytest

from api import unique
from native import credential, sql
from pgwire import Refused, Wire, message, text

MAIL, CARD, IBAN, SSN = "ann.lee@example.com", "4111111111111111", "DE89370400440532013000", "219-09-9999"
TYPES = ["EMAIL_ADDRESS", "CREDIT_CARD", "IBAN_CODE", "US_SSN", "PHONE_NUMBER", "DATE_OF_BIRTH"]
WIDE = "".join(chr(ord(digit) + 0xfee0) for digit in CARD)
HEX = MAIL.encode().hex()


def mail(sign, old="@"):
    """The address with something else for one of its characters."""
    return f"'{MAIL.replace(old, sign)}'"


def ssn(sign):
    return f"'{SSN.replace('-', sign)}' AS ssn"



# An expression, and what of it must not show: as text, or as the bytes of the type.
HIDDEN = [
    # numbers
    (f"{CARD}::int8", CARD), (f"{CARD}::numeric", CARD), (f"{CARD}.00::numeric(20,2)", CARD),
    (f"{CARD}::float8", "4.111"), (f"{CARD}::numeric::money", "111,111"), (f"'{CARD}'::xid8", CARD),
    (f"ARRAY[1, {CARD}]::int8[]", CARD), (f"ARRAY[{CARD}.00, 7]::numeric[]", CARD),
    (f"int8range({CARD}, {CARD} + 5)", CARD), (f"numrange(1, {CARD})", CARD),
    (f"int8multirange(int8range({CARD}, {CARD} + 2))", CARD),
    (f"ROW(1, {CARD}::int8, 'x')", CARD), (f"ARRAY[ROW({CARD}::int8)]", CARD),
    (f"{CARD}::int8::{{prefix}}_number", CARD), (f"ROW({CARD}, '{MAIL}')::{{prefix}}_pair", "example"),
    (f"{{prefix}}_span({CARD}, {CARD} + 9)", CARD), (f"{{prefix}}_words('{MAIL}', 'z')", "example"),
    ("219099999::int4 AS ssn", "219099999"), ("219099999::int8 AS ssn", "219099999"),
    ("ARRAY[219099999] AS ssn", "219099999"), ("4155552671::int8 AS phone", "4155552671"),
    ("4155552671::numeric AS phone", "4155552671"), ("4155552671::float8 AS phone", "4155552671"),
    ("219099999.00::numeric(12,2) AS ssn", "219099999"),
    # times
    ("date '1980-02-03' AS birthday", "1980"), ("timestamp '1980-02-03 04:05' AS birthdate", "1980"),
    ("timestamptz '1980-02-03 04:05+00' AS date_of_birth", "1980"),
    ("ARRAY[date '1980-02-03'] AS birthday", "1980"), ("daterange('1980-02-03', NULL) AS born", "1980"),
    ("19800203 AS birthday", "19800203"),
    # bytes, text search, documents, types of extensions and of users
    (f"convert_to('{MAIL}', 'UTF8')", HEX), (f"'\\x00ff'::bytea || convert_to('{MAIL}', 'UTF8')", HEX),
    (f"ARRAY[convert_to('{MAIL}', 'UTF8')]", HEX), (f"convert_to('{CARD}', 'UTF8')::text", CARD.encode().hex()),
    (f"to_tsvector('simple', '{MAIL} here')", "example"), (f"plainto_tsquery('simple', '{MAIL}')", "example"),
    (f"xmlelement(name a, '{MAIL}')", "example"), (f"xmlelement(name a, xmlattributes('{MAIL}' AS m))", "example"),
    (f"json_build_object('m', '{MAIL}', 'c', {CARD})", "example"), (f"jsonb_build_object('c', {CARD}.00)", CARD),
    (f"""'{{"c": 4.111111111111111e15}}'::json""", "111111"), (f"'{MAIL}'::name", "example"),
    (f"jsonb_build_array(jsonb_build_object('m', '{MAIL}'))", "example"), (f"'$.\"{MAIL}\"'::jsonpath", "example"),
    ("hstore('ssn', '219099999')", "219099999"), ("hstore('birthday', '1980-02-03')", "1980"),
    (f"hstore('mail', '{MAIL}')", "example"), (f"hstore('card', '{CARD}')", CARD),
    (f"'a.{CARD}.b'::ltree", CARD), (f"'{MAIL}'::{{prefix}}_mood", "example"), (f"'{MAIL}'::citext", "example"),
    (f"'{MAIL}'::char(30)", "example"), (f"ARRAY['{MAIL}', NULL]", "example"),
    (f"ARRAY[['{MAIL}'], ['x']]", "example"), (f"ARRAY['{MAIL}']::{{prefix}}_mood[]", "example"),
    (f"ROW('{MAIL}', ARRAY['{MAIL}'])", "example"),
    # beside others
    (f"'{MAIL}{CARD}'", CARD), (f"'{CARD}{MAIL}'", "example"), (f"'x{CARD}y'", CARD), (f"'id_{CARD}_7'", CARD),
    (f"'{CARD}{CARD}'", CARD), (f"'{CARD}123'", CARD), (f"'0000{CARD}'", CARD), (f"'{CARD}{IBAN}'", IBAN),
    (f"'ID-{CARD}'", CARD), (f"'{IBAN}_1'", IBAN), (f"'{CARD}.pdf'", CARD),
    # between groups
    *[(f"'{sign.join(('4111', '1111', '1111', '1111'))}'", sign.join(("1111", "1111"))) for sign in (
        ".", "/", "_", " ", "-", "\u00a0", "\u2009", "\u202f", "\u2011", "\u200b", "\u3000", "\u2060")],
    (ssn("."), "9999"), (ssn("/"), "9999"),
    (ssn("\u2013"), "9999"), ("'+49\u00a0151\u00a023456789'", "23456789"),
    ("'DE89.3704.0044.0532.0130.00'", "0532"), ("'DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000'", "0532"),
    # otherwise written
    *[(mail(sign), "example") for sign in ("\uff20", "\ufe6b", "%40", "&#64;", "&#x40;", "&commat;", "\\u0040", "\\x40",
                                          "\u200b@\u00ad")],
    (mail("\u3002com", ".com"), "example"), (mail("%61", "a"), "ex"), (mail("\uff41", "a"), "ex"),
    (f"'{WIDE}'", WIDE),
    ("'\u0664\u0661\u0661\u0661 \u0661\u0661\u0661\u0661 \u0661\u0661\u0661\u0661 \u0661\u0661\u0661\u0661'", "\u0664"),
    (f"encode('\\x{HEX}'::bytea, 'escape')", "example"), (f"'\\x{HEX}'", HEX),
]
# What no rule is about passes as it came.
PASSES = ["true", "1::int2", "41::int8", "1.5::numeric", "0.1::float8", "'12:30'::time", "interval '3 days'",
          "'123e4567-e89b-12d3-a456-426614174000'::uuid", "'10.1.2.3'::inet", "'08:00:2b:01:02:03'::macaddr",
          "B'1010'", "'a b'::tsvector", "hstore('k', 'v')", "'a.b'::ltree", "'\\x00ff10'::bytea",
          "ARRAY[1, 2]::int8[]", "int8range(1, 5)", "point(1, 2)", "'{prefix}'::regtype", "timestamp '2024-01-02 03:04'",
          "'16/B374D848'::pg_lsn", "NULL::int8", "{prefix}_span(1, 5)", "12.34::numeric::money", "'fine'::{prefix}_mood",
          "ARRAY['123e4567-e89b-12d3-a456-426614174000']::uuid[]", "1234567::oid", "current_date - current_date",
          # what programs ask the catalog for
          "'1 2 3'::int2vector", "''::oidvector", "'1259 2 30000'::oidvector", "ARRAY['4 5'::int2vector]", "'(3,4)'::tid",
          "'100:104:100,102'::pg_snapshot", "'10:20:10,14,15'::txid_snapshot", "'04:05:06+02'::timetz",
          "'pg_class'::regclass", "'now()'::regprocedure", "'public'::regnamespace", "ROW('(1,2)'::tid, '7 8'::oidvector)",
          # of users
          "'{{[1,5),[70,900000)}}'::{prefix}_span_multirange", "'{{}}'::{prefix}_span_multirange",
          "'{{[a,b],[x,z]}}'::{prefix}_words_multirange", "ARRAY['{{[1,5)}}'::{prefix}_span_multirange]",
          "ARRAY[{prefix}_span(5, NULL), 'empty']", "ROW(3, 'x')::{prefix}_pair", "ARRAY[ROW(3, 'x')::{prefix}_pair]",
          "ARRAY['fine']::{prefix}_mood[]", "77::int8::{prefix}_number", "hstore(ARRAY['a', 'b'], ARRAY['x', NULL])",
          "hstore('')", "'Word'::citext", "ARRAY['a.b'::ltree]",
          # which a binary copy has nothing but bytes of
          "box(point(78.42642702518539, 37.70214884912122), point(1, 2))", "'((1,2),(3,4),(5.5,6))'::polygon",
          "'<(1,2),3>'::circle", "'[(1,2),(3,4)]'::lseg", "repeat('1', 70)::varbit", "sha256('x')",
          "'\\x89504e470d0a1a0a0000000d49484452'::bytea", "'{{[1,5),[7,9)}}'::int4multirange",
          # digits that only a longer reading has
          "0.03594620593770048::float4", "'0.30000000000000004'::float8", "1e-30::float4", "'NaN'::float8"]
# Under a rule about addresses and times, what is neither.
OTHERS_PASS = ["5::int8", "12345678901::int8", "0.5::float8", "timestamp '2024-01-02 03:04'", "'FFFF/1'::pg_lsn",
               "{prefix}_span(1, 900000)", "'123456'::xid8", "time '04:05:06.789'", "int8range(NULL, 5)"]


def made_for(api, target, **members):
    name = target.connection(api)
    rule = {"name": unique("rule"), "connection_ids": [api.get(f"/connections/{name}").json["id"]],
            "supported_entity_types": [{"name": "PII", "entity_types": TYPES}], **members}
    answer = api.post("/datamasking-rules", rule)
    assert answer.status == 201, answer
    return credential(api, name)


@pytest.fixture(scope="module")
def prefix(target):
    """A name that types of the test's own begin with."""
    name = unique("t").replace("-", "_")
    sql(target.server, f"""
        CREATE EXTENSION IF NOT EXISTS hstore; CREATE EXTENSION IF NOT EXISTS ltree;
        CREATE EXTENSION IF NOT EXISTS citext;
        CREATE DOMAIN {name}_number AS int8; CREATE TYPE {name}_pair AS (a int8, b text);
        CREATE TYPE {name}_mood AS ENUM ('fine', '{MAIL}');
        CREATE TYPE {name}_span AS RANGE (subtype = int8);
        CREATE TYPE {name}_words AS RANGE (subtype = text, collation = "C");
        CREATE TABLE {name} (a int)""")
    yield name
    sql(target.server, f"DROP TABLE {name}; DROP TYPE {name}_pair, {name}_mood, {name}_span, {name}_words;"
                       f"DROP DOMAIN {name}_number")


def filled(expression, prefix):
    return expression.replace("{prefix}", prefix).replace("{{", "{").replace("}}", "}")


def extended(statement, form):
    return [message(b"P", text("", statement) + struct.pack("!H", 0)),
            message(b"B", text("", "") + struct.pack("!HHHH", 0, 0, 1, form)),
            message(b"D", b"P" + text("")), message(b"E", text("") + bytes(4)), message(b"S")]


def rows(wire, *messages):
    wire.send(*messages)
    return b"".join(body for kind, body in wire.until_ready() if kind in (b"D", b"d"))


def ways(expression):
    """The same value by each way out: whether it is bytes of the type, and what is asked."""
    statement = f"SELECT {expression}"
    yield "simple", [message(b"Q", text(statement))]
    yield "text", extended(statement, 0)
    yield "binary", extended(statement, 1)
    if "money" in expression or " AS " in expression:
        return  # a copy of a query says neither types nor names; see docs/masking.md
    yield "copy", [message(b"Q", text(f"COPY ({statement}) TO STDOUT"))]
    yield "csv", [message(b"Q", text(f"COPY ({statement}) TO STDOUT (FORMAT csv)"))]
    yield "copy binary", [message(b"Q", text(f"COPY ({statement}) TO STDOUT (FORMAT binary)"))]


def test_nothing_is_hidden_by_its_type(quick, target, prefix):
    shown = []
    plain = Wire(credential(quick, target.connection(quick)))
    with Wire(made_for(quick, target)) as wire, plain:
        for expression, secret in HIDDEN:
            expression = expression.replace("{prefix}", prefix)
            for way, messages in ways(expression):
                try:
                    raw, told = rows(plain, *messages), rows(wire, *messages)
                except Refused as refused:
                    assert "no binary output" in str(refused), (expression, refused)
                    continue
                if told == raw or secret.encode() in told:
                    shown.append(f"{expression} {way}: {told}")
    assert not shown, "\n".join(shown)


def test_what_no_rule_is_about_passes(quick, target, prefix):
    changed = []
    plain = Wire(credential(quick, target.connection(quick)))
    with Wire(made_for(quick, target)) as wire, plain:
        for expression in PASSES:
            for way, messages in ways(filled(expression, prefix)):
                raw, told = rows(plain, *messages), rows(wire, *messages)
                if told != raw:
                    changed.append((expression, way, raw, told))
    assert not changed, "\n".join(map(str, changed))


def test_eight_bytes_are_no_address(quick, target, prefix):
    """In a binary copy, and in bounds of a range of users', where nothing says what they are."""
    rule = {"supported_entity_types": [{"name": "NET", "entity_types": ["IP_ADDRESS", "MAC_ADDRESS"]}]}
    plain = Wire(credential(quick, target.connection(quick)))
    with Wire(made_for(quick, target, **rule)) as wire, plain:
        for expression in OTHERS_PASS:
            for way, messages in ways(filled(expression, prefix)):
                assert rows(wire, *messages) == rows(plain, *messages), (expression, way)
        for way, messages in ways("'10.1.2.3'::inet"):
            assert rows(wire, *messages) != rows(plain, *messages), way


def test_what_cannot_be_read_is_masked_or_refused_as_the_rule_says(quick, target):
    """A type of an extension that nobody here knows: as text it is examined, in binary it cannot be."""
    sql(target.server, "CREATE EXTENSION IF NOT EXISTS cube")
    asked = "SELECT '(1,2),(3,4)'::cube"
    with Wire(made_for(quick, target)) as wire:
        assert wire.ask(asked) == [("(1, 2),(3, 4)",)]
        assert rows(wire, *extended(asked, 1)) == b"\0\1" + b"\xff" * 4
        assert any("1 value became NULL" in notice["M"] for notice in wire.notices), wire.notices
    with Wire(made_for(quick, target, on_unexaminable="refuse")) as wire:
        assert wire.ask(asked) == [("(1, 2),(3, 4)",)]
        with pytest.raises(Refused) as refused:
            rows(wire, *extended(asked, 1))
        assert refused.value.fields["C"] == "42501"


def test_what_has_no_room_for_text_is_null_or_refused(quick, target, prefix):
    with Wire(made_for(quick, target)) as wire:
        assert wire.ask(f"SELECT {CARD}::int8, ARRAY[5, {CARD}]::int8[], 7") == [(None, "{5,NULL}", "7")]
        assert any("examin" in notice["M"] or "NULL" in notice["M"] for notice in wire.notices), wire.notices
        wire.notices.clear()
        assert wire.ask("SELECT 7, 'x'") == [("7", "x")] and not wire.notices
    with Wire(made_for(quick, target, on_unexaminable="refuse")) as wire:
        for statement in (f"SELECT {CARD}::int8", f"SELECT ARRAY[{CARD}]::int8[]"):
            with pytest.raises(Refused) as refused:
                wire.ask(statement)
            assert refused.value.fields["C"] == "42501"
        assert wire.ask(f"SELECT '{CARD}'") == [("[CREDIT_CARD]",)]
    with Wire(made_for(quick, target, on_unexaminable="refuse", strategy={"type": "null"})) as wire:
        assert wire.ask(f"SELECT {CARD}::int8") == [(None,)]


def test_names_about_a_password_hide_nothing(quick, target):
    """psql's \\password asks how passwords are stored."""
    name = target.connection(quick)
    made = {"name": unique("rule"), "connection_ids": [quick.get(f"/connections/{name}").json["id"]],
            "supported_entity_types": [{"name": "S", "entity_types": ["PASSWORD"]}]}
    assert quick.post("/datamasking-rules", made).status == 201
    with Wire(credential(quick, name)) as wire:
        assert wire.ask("SHOW password_encryption") == [("scram-sha-256",)]
        assert wire.ask("SELECT 'hunter2secret' AS password") == [("[PASSWORD]",)]
