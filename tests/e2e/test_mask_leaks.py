# SPDX-License-Identifier: MIT
"""Attempts to get at a masked column, each in both forms of the protocol: nothing of its value may
come back, however it is written; and what has nothing to do with it comes back as it is."""
import base64
import hashlib
import os
import struct

import pytest

from api import unique
from mask_attempts import ATTEMPTS, EXTENSIONS, LISTS, MORE_THAN_A_LIST, SETUP
from native import OwnDatabase, credential, sql
from pgwire import Refused, Wire, message, rows_of, text

SECRET = "Zebra-9731-quokka"
IS_LONG = os.environ.get("GATEHOUSE_LONG_TESTS") == "1"
NEEDLES = [SECRET, SECRET[::-1], SECRET.upper(), SECRET.lower(), SECRET.encode().hex(),
           base64.b64encode(SECRET.encode()).decode(), hashlib.md5(SECRET.encode()).hexdigest(),
           SECRET[1:], SECRET[:-1], "9731", SECRET.replace("-", "+")]

EXPRESSIONS = """secret; secret || ''; '' || secret; upper(secret); lower(secret); reverse(secret)
left(secret, 16); right(secret, 16); substring(secret from 2); substr(secret, 1, 16); md5(secret)
encode(secret::bytea, 'hex'); encode(secret::bytea, 'base64'); secret::bytea; secret::varchar(99)
to_json(secret); to_jsonb(secret); array[secret]; row(secret); quote_literal(secret)
format('%s', secret); concat('', secret); concat_ws('-', secret, ''); coalesce(secret, '')
case when true then secret end; greatest(secret, ''); least(secret, 'zzzz'); nullif(secret, '')
json_build_object('a', secret); jsonb_build_array(secret); xmlelement(name a, secret)
regexp_replace(secret, 'q', 'q'); replace(secret, '-', '+'); translate(secret, '-', '-')
overlay(secret placing 'Z' from 1 for 1); lpad(secret, 40); trim(secret); split_part(secret, '-', 2)
string_to_array(secret, '-'); convert_to(secret, 'UTF8'); quote_ident(secret)
regexp_match(secret, '.*'); (select secret); (array[secret])[1]; (row(secret, 1)).f1
cast(secret as text); secret collate "C"; position('9' in secret) || secret; repeat(secret, 1)
json_build_object('a', array[secret])::text; starts_with(secret, 'Z')::text || secret
(json_build_object('a', secret) ->> 'a')::text""".replace("\n", ";").split(";")

SOURCES = ["{t}", "only {t}", "{t} as q(a, secret, c)", "(select * from {t}) q",
           "(select id, secret from {t} limit 1) q", "{t} join {t}_other using (id)",
           "{t}_view", "{t}_kid", "{t}_other o, lateral (select secret from {t} where {t}.id = o.id) q"]

QUERIES = """select p from {t} p
select p.* from {t} p; select (p).secret from {t} p; select (p.*)::text from {t} p
select row_to_json(p) from {t} p; select to_jsonb(p) from {t} p; select json_agg(p) from {t} p
select array_agg(secret) from {t}; select string_agg(secret, ',') from {t}; table {t}
select max(secret) from {t}; select min(secret) from {t}; select mode() within group (order by secret) from {t}
select distinct secret as x from {t}; select secret from {t} union select 'a'
select 'a' union all select secret from {t}; select secret from {t} intersect select secret from {t}
select secret from {t} except select 'a'; with c as (select secret s from {t}) select s || '' from c
with recursive r(n, s) as (select 1, secret from {t} union all select n + 1, s from r where n < 2) select * from r
select * from (values (1)) v, {t}; select x.b from {t} as x(a, b, c); select * from {t} as x(a, b, c)
select b || '' from {t} as x(a, b, c); select first_value(secret) over () from {t}
select lag(secret, 0) over (order by id) from {t}; select s from {t}_renamed; select * from {t}_renamed
select s || '' from {t}_renamed; select * from {t}_whole; select (w).secret from {t}_whole
select * from {t}_all; select total from {t}_count where total::text = 'x' or true
select f.v from {t}_two f; select f.v || '' from {t}_two f; select * from {t}_two natural join {t}_other
select {t}_fetch(); select {t}_fetch() || ''; select * from {t}_set(); select s from {t}_set() as q(s)
select query_to_xml('select secret from {t}', true, true, ''); select table_to_xml('{t}', true, true, '')
select query_to_xml_and_xmlschema('select * from {t}', true, true, '')
select schema_to_xml('public', true, true, ''); select database_to_xml(true, true, '')
select cursor_to_xml('c', 1, true, true, ''); select * from ts_stat('select to_tsvector(secret) from {t}')
select most_common_vals::text from pg_stats where tablename = '{t}'
select histogram_bounds::text from pg_stats where tablename = '{t}'
select * from pg_stats where tablename = '{t}'; select s::text from pg_stats s where tablename = '{t}'
select stavalues1::text from pg_statistic; select query from pg_stat_activity
select query || '' from pg_stat_activity; select * from pg_stat_activity
select pg_stat_get_activity(null)::text
select 1 / (length(secret) - length(secret)) from {t}; select secret::int from {t}
select cast(secret as date) from {t}; select secret::regclass from {t}; select secret::regtype from {t}
select secret::jsonpath from {t}; select secret::inet from {t}; select to_tsquery('!' || secret) from {t}
select nextval(secret) from {t}; select (secret || '(')::tsquery from {t}; select secret::xml from {t}
select ('{{' || secret)::json from {t}; select '' ~ ('(' || secret) from {t}
select pg_input_error_info(secret, 'int') from {t}
insert into {t} select id, secret, note from {t}; insert into {t} values (1, 'x', 'y')
update {t} set id = 1 where id <= 2; delete from {t}_other where id = 1 returning (select secret from {t} limit 1)
update {t} set note = note returning secret || ''; update {t} set note = note returning *
insert into {t}_other values (77) returning (select secret from {t} limit 1)
begin; create temp table made as select 1 as one; select secret || '' from {t}; rollback
begin; create view inside as select secret || '' as v from {t}; select v from inside; rollback
begin; create or replace view {t}_open as select id, secret as label from {t}; select label from {t}_open; rollback
begin; declare c cursor for select secret || '' from {t}; fetch all from c; rollback
begin; declare c cursor for select secret from {t} union select ''; fetch all from c; rollback
begin; declare c cursor for select secret || '' from {t}_view; move c; fetch backward 1 from c; rollback
prepare {u}1 as select secret || '' from {t}; execute {u}1
prepare {u}2(int) as select upper(secret) from {t} where id = $1; execute {u}2(1)
do $$ begin raise notice '%', (select secret from {t} limit 1); end $$
do $$ begin raise exception '%', (select secret from {t} limit 1) using errcode = '42601'; end $$
do $$ begin execute 'select ' || (select quote_ident(secret) from {t} limit 1); end $$
do $$ begin perform set_config('leak.it', (select secret from {t} limit 1), false); end $$; show leak.it
do $$ begin perform set_config('leak.it', (select secret from {t} limit 1), false); end $$; select current_setting('leak.it')
do $$ begin perform set_config('application_name', (select secret from {t} limit 1), false); end $$
select set_config('leak.it', secret, false) from {t}; select pg_notify('c', secret) from {t}
listen {u}c; do $$ begin perform pg_notify('{u}c', (select secret from {t} limit 1)); end $$; select 1
create table {u}copy as select * from {t}; select * from {u}copy
create table {u}copy2 as select secret || '' as s from {t}; select s from {u}copy2
select secret into {u}copy3 from {t}; select * from {u}copy3
create temp table {u}copy4 as table {t}; select * from {u}copy4
insert into {t}_other(id, note) select id + 100, secret from {t}; select note from {t}_other
insert into {t}_other(id, note) select id + 200, s from {t}_renamed; select note from {t}_other
update {t} set note = secret; select note from {t}
update {t}_other set note = p.secret from {t} p; select note from {t}_other
merge into {t}_other o using {t} p on o.id = p.id when matched then update set note = p.secret; select note from {t}_other
insert into {t}_other(id, note) values (1, (select secret from {t} limit 1)) on conflict (id) do update set note = excluded.note; select note from {t}_other
alter table {t} rename to {u}renamed; select secret from {u}renamed
alter table {t} rename column secret to open; select open from {t}
alter table {t} add column {u}gen text generated always as (secret) stored; select {u}gen from {t}
alter table {t} alter note type text using secret; select note from {t}
alter table {t}_kid no inherit {t}; select secret from {t}_kid
create rule {u}r as on update to {t} do also insert into {t}_other values (old.id + 500, old.secret); select note from {t}_other
create materialized view {u}mat as select secret || '' as m from {t}; select m from {u}mat
create view {u}late as select secret || '' as m from {t}; select m from {u}late; select m || '' from {u}late
select a from {t}_union; select a from {t}_beneath; select id from {t}_beneath; select * from {t}_faked
select id from {t}_within; select a from {t}_within; select note from {t}_swapped; select (v).a from (select v from {t}_union v) x
select id || note from {t}_swapped; select v::text from {t}_swapped v; select n from {t}_tree; select x from {t}_rows
select m from {t}_kept; select * from {t}_kept; select note || '' from {t}_upon; table {t}_upon
begin; create or replace view {t}_renamed as select id, secret as s from {t}; create view {u}v as select s as id from {t}_renamed; select id from {u}v; rollback
create view {u}shown as select secret as id, note from {t}; select id from {u}shown; create or replace view {u}shown as select note as id, secret as note from {t}; select note from {u}shown
create index {u}i on {t} ((1 / (length(secret) - length(secret))))
create index {u}i on {t} ((secret::int)); create unique index {u}u on {t} ((1)) ; create statistics {u}s on (secret || '') , id from {t}
alter table {t} add constraint {u}k check (secret = ''); alter table {t} add constraint {u}q unique (note, secret, id)
copy {t} to stdout; copy {t} (secret) to stdout; copy {t} (id, secret) to stdout csv
copy {t} to stdout (format csv, header); copy (select secret from {t}) to stdout
copy (select secret || '' from {t}) to stdout; copy (select * from {t}_renamed) to stdout
copy (select upper(secret) from {t}) to stdout csv; copy (table {t}) to stdout binary
copy (select * from {t}_fetch()) to stdout; copy {t} to stdout binary
explain (analyze, verbose) select * from {t} where secret = (select secret from {t} limit 1)
select * from {t} where note in (select note from {t}) and 1 / (id - id) = 1
select count(*) from {t} where 1 = (select 1 / length(secret) / 0 from {t} limit 1)
select id, (select q.secret from {t} q where q.id = {t}_other.id) from {t}_other
select exists (select secret from {t} intersect select 'x') from {t}_other
select {t}_other.id, {t}.secret || '' from {t}_other, {t}; select secret from {t} order by 1 limit 1
select secret || '' from {t} tablesample system (100); select secret || '' as id from {t}
select secret || '' as note from {t} for update; select 1 as id, secret as note from {t} union select 2, 'x'
select * from json_to_record((select json_build_object('a', secret) from {t} limit 1)) as x(a text)
select * from unnest((select array_agg(secret) from {t})) u; select * from regexp_split_to_table((select secret from {t} limit 1), '') r
select (select string_agg(secret, '') from {t}) from {t}_other; select lo_from_bytea(0, secret::bytea) from {t}
select xmlforest(secret) from {t}; select * from xmltable('/a' passing (select xmlelement(name a, secret) from {t} limit 1) columns v text path '.')
select jsonb_path_query(to_jsonb(p), '$.secret') from {t} p; select p.secret || '' from only {t} p
select to_jsonb(p) ->> 'secret' from {t} p; select secret || '' from {t} group by secret
select secret || '' from {t} group by 1 having count(*) > 0; select ({t}.*)::text from {t}
select max((p)::text) from {t} p; select secret || '' from {t} window w as (order by id)
select format('%s', p) from {t} p; select p::text::varchar from {t} p; select concat(p) from {t} p
select hstore from (select secret as hstore from {t}) z union select ''
select public.{t}_fetch(); select {t}.secret || '' from public.{t}; select "secret" || '' from "{t}"
select U&"\\0073ecret" || '' from {t}; select /* x */ secret/**/||/**/'' from {t}
select secret||'' from {t} -- end""".split("\n")

OPEN = """select count(*) from (select * from {t}_other) x where id < 4 | 3
select 1 as secret | 1
select note from {t}_other where id = 1 | plain
select upper(note) from {t}_other where id = 1 | PLAIN
select * from generate_series(1, 1) | 1
select label from {t}_open where id = 1 | plain
select name from {t}_names where id = 1 | Ann
select id from {t} where id = 1 | 1
select note from {t} where id = 1 | plain
select count(*) from {t} | 1
select id + 1 from {t} | 2
select upper(note) || '!' from {t} | PLAIN!
select o.note || p.note from {t} p join {t}_other o using (id) | plainplain
select sum(id) from {t} p where exists (select 1 from {t}_other o where o.id = p.id) | 1
with c as (select id, note from {t}) select note || id from c | plain1
select x.n from (select note as n from {t} union all select 'z') x order by 1 limit 1 | plain
select case when id = 1 then 'one' else 'more' end from {t} | one
select row_number() over (order by id) from {t} | 1
select max(note) from {t} group by id | plain
select id from {t}_view | 1
select note from {t}_view | plain
select note || id from {t}_view | plain1
select id from {t}_renamed | 1
select o.note || r.id from {t}_renamed r join {t}_other o using (id) | plain1
select secret from {t}_swapped | plain
select id from {t}_faked | 1
select note from {t}_upon | plain
select id from {t}_kept | 1
select current_database() | postgres
show server_encoding | UTF8
select relname from pg_class where relname = '{t}' | {t}
select attname from pg_attribute where attrelid = '{t}'::regclass and attnum = 2 | secret
select pg_get_viewdef('{t}_open'::regclass) is not null | t
select s from (values ('raw')) v(s) | raw
insert into {t}_other values (9, 'kept') on conflict (id) do update set note = excluded.note returning note | kept
update {t} set note = 'plain' where secret is not null returning note | plain""".split("\n")


@pytest.fixture(scope="module")
def zoo(quick, target):
    t = unique("vault").replace("-", "_")
    sql(target.server, f"""
        CREATE TABLE {t} (id int PRIMARY KEY, secret text, note text);
        CREATE TABLE {t}_kid () INHERITS ({t});
        CREATE TABLE {t}_other (id int PRIMARY KEY, note text);
        INSERT INTO {t} VALUES (1, '{SECRET}', 'plain');
        INSERT INTO {t}_other VALUES (1, 'plain'), (2, 'plain'), (3, 'plain');
        CREATE VIEW {t}_view AS SELECT * FROM {t};
        CREATE VIEW {t}_renamed AS SELECT id, secret AS s FROM {t};
        CREATE VIEW {t}_whole AS SELECT p AS w FROM {t} p;
        CREATE VIEW {t}_all AS SELECT p::text AS line FROM {t} p;
        CREATE VIEW {t}_count AS SELECT count(*) AS total FROM {t};
        CREATE VIEW {t}_two AS SELECT s AS v FROM {t}_renamed;
        CREATE VIEW {t}_open AS SELECT id, note AS label FROM {t}_other;
        CREATE VIEW {t}_names AS SELECT id, 'Ann'::text AS name FROM {t};
        CREATE VIEW {t}_union AS SELECT note AS a FROM {t} UNION ALL SELECT secret FROM {t};
        CREATE VIEW {t}_beneath AS SELECT (SELECT secret FROM {t} LIMIT 1) AS a, max(secret) AS id
          FROM {t};
        CREATE VIEW {t}_faked AS SELECT id, secret AS "x :resno 2 :resname a :ressortgroupref 0
:resorigtbl {{1259}} :resorigcol 2 :resjunk false" FROM {t};
        CREATE VIEW {t}_within AS SELECT q.id, q.a FROM
          (SELECT secret AS id, note AS a FROM {t} UNION SELECT note, secret FROM {t}) q;
        CREATE VIEW {t}_swapped AS SELECT id, note AS secret, secret AS note FROM {t};
        CREATE VIEW {t}_tree AS WITH RECURSIVE r(n) AS (SELECT note FROM {t} UNION
          SELECT p.secret FROM r, {t} p) SELECT n FROM r;
        CREATE VIEW {t}_rows AS SELECT x FROM (VALUES ((SELECT secret FROM {t} LIMIT 1))) v(x);
        CREATE MATERIALIZED VIEW {t}_kept AS SELECT id, secret AS m FROM {t};
        CREATE VIEW {t}_upon AS SELECT s.id, s.secret AS note, s.note AS more FROM {t}_swapped s;
        CREATE FUNCTION {t}_fetch() RETURNS text LANGUAGE sql AS 'SELECT secret FROM {t} LIMIT 1';
        CREATE FUNCTION {t}_set() RETURNS SETOF text LANGUAGE sql AS 'SELECT secret FROM {t}';
        ANALYZE {t};
        ALTER TABLE {t} OWNER TO {target.user}; ALTER TABLE {t}_kid OWNER TO {target.user};
        ALTER TABLE {t}_other OWNER TO {target.user}; ALTER VIEW {t}_open OWNER TO {target.user};
        GRANT CREATE ON SCHEMA public TO {target.user};
        GRANT ALL ON ALL TABLES IN SCHEMA public TO {target.user}""")
    name = target.connection(quick)
    connection_id = quick.get(f"/connections/{name}").json["id"]
    answer = quick.post("/datamasking-rules", {
        "name": unique("rule"), "connection_ids": [connection_id],
        "columns": [{"name": f"public.{t}.secret"}]})
    assert answer.status == 201, answer
    made = credential(quick, name)
    yield t, made
    sql(target.server, f"DROP TABLE {t}, {t}_other CASCADE")


def whole(wire):
    """All that comes up to ReadyForQuery, as bytes."""
    said = b""
    while True:
        kind, body = wire.read()
        said += kind + body
        if kind == b"Z":
            return said


def simple(statement):
    return [message(b"Q", text(statement))]


def extended(statement, result_format):
    bind = text("", "") + struct.pack("!HHHH", 0, 0, 1, result_format)
    return [message(b"P", text("", statement) + struct.pack("!H", 0)), message(b"B", bind),
            message(b"D", b"P\0"), message(b"E", text("") + bytes(4)), message(b"S")]


def attempts(t):
    made = [f"select {expression.strip()} from {source.format(t=t)}"
            for expression in EXPRESSIONS if expression.strip()
            for source in (SOURCES if len(expression.strip()) < 14 else SOURCES[:1])]
    for index, line in enumerate(QUERIES):
        made += one_line(line.format(t=t, u=f"{t}_{index}_"))
    return made


def one_line(line):
    """Its statements; those between BEGIN and ROLLBACK, DO and what comes of it, belong together."""
    if line.startswith(("begin", "do ", "prepare", "listen", "create", "alter", "insert", "update",
                        "select secret into", "merge")):
        return [line]
    return [part for part in line.split("; ") if part.strip()]


def tells(said):
    return [needle for needle in NEEDLES if needle.encode() in said]


def test_there_are_many_attempts(zoo):
    assert len(attempts(zoo[0])) > 280


@pytest.mark.parametrize("form", ["simple", "extended", "binary"])
def test_no_statement_tells_a_masked_value(zoo, form):
    t, made = zoo
    told = []
    wire = Wire(made)
    for line in attempts(t):
        parts = line.split("; ") if "$$" not in line else [line.rsplit("$$; ", 1)[0]] + \
            line.split("$$; ")[1:]
        parts = [part if part.count("$$") % 2 == 0 else part + "$$" for part in parts]
        for part in parts:
            is_simple = form == "simple" or part.startswith("copy") or "\\" in part
            wire.send(*(simple(part) if is_simple else extended(part, int(form == "binary"))))
            found = tells(whole(wire))
            if found and not any(needle in part for needle in found):
                told.append((part, found))
        wire.send(*simple("rollback"))
        whole(wire)
        if "$$" in line or "cursor" in line or "leak" in line:
            wire.conn.close()
            wire = Wire(made)
    wire.conn.close()
    assert not told


def test_what_a_transaction_defines_hides_nothing_until_it_is_committed(zoo):
    """Neither from itself nor from others: nobody else sees it before."""
    t, made = zoo
    with Wire(made) as one, Wire(made) as other:
        for statement in ("begin", f"create temp table {t}_mine (i int)",
                          f"insert into {t}_mine values (7)"):
            one.ask(statement)
        assert one.ask(f"select i from {t}_mine") == [("7",)] and one.ask("select 1") == [("1",)]
        assert other.ask(f"select note from {t}_other where id = 2") == [("plain",)]
        assert other.ask(f"select note from {t} where id = 1") == [("plain",)]
        one.ask("rollback")


@pytest.mark.parametrize("form", ["simple", "extended"])
def test_what_has_nothing_to_do_with_it_is_not_touched(zoo, target, form):
    t, made = zoo
    wrong = []
    sql(target.server, f"DELETE FROM {t}; INSERT INTO {t} VALUES (1, '{SECRET}', 'plain'); "
                    f"DELETE FROM {t}_other; "
                    f"INSERT INTO {t}_other VALUES (1, 'plain'), (2, 'plain'), (3, 'plain')")
    with Wire(made) as wire:
        for line in OPEN:
            statement, _, expected = line.format(t=t).rpartition(" | ")
            wire.send(*(simple(statement) if form == "simple" else extended(statement, 0)))
            try:
                rows = rows_of(wire.until_ready())
            except Refused as refused:
                rows = refused.fields["M"]
            if not rows or rows[0][0] != expected:
                wrong.append((statement, rows))
    assert not wrong


def test_the_servers_words_about_a_text_stay(zoo):
    t, made = zoo
    with Wire(made) as wire:
        for statement, words in ((f"select nobody from {t}", "nobody"),
                                 (f"selec secret from {t}", "selec"),
                                 (f"select secret from {t}_nowhere", "nowhere")):
            with pytest.raises(Refused) as refused:
                wire.ask(statement)
            assert words in refused.value.fields["M"], statement


# What people have tried since, in a database of its own -------------------------------------------

OTHERS = [SECRET, "Okapi-5526-zinnia", "Numbat-3307-quince"]
PAY = 731559
SIGNS = [sign.encode() for one in OTHERS for sign in (
    one, one[1:], one[:-1], one[3:10], one[::-1], one.upper(), one.lower(), one.replace("-", "+"),
    one.encode().hex(), base64.b64encode(one.encode()).decode())] + [
    str(PAY).encode(), struct.pack("!i", PAY), struct.pack("!q", PAY), struct.pack("!d", PAY)]


@pytest.fixture(scope="module")
def vault(quick, postgres):
    """Credentials of a connection with a rule, and of one where it refuses predicates, too."""
    target = OwnDatabase(postgres, SETUP)
    target.ask("".join(f"CREATE EXTENSION {name};" for name in EXTENSIONS))
    made = []
    for refuses in (False, True):
        name = target.connection(quick)
        answer = quick.post("/datamasking-rules", {
            "name": unique("rule"), "refuse_predicates": refuses,
            "connection_ids": [quick.get(f"/connections/{name}").json["id"]],
            "columns": [{"name": f"public.{column}"} for column in (
                "vault.secret", "vault.pay", "vault.doc", "vault.raw", "zvery*.secret")]})
        assert answer.status == 201, answer
        made.append(credential(quick, name))
    return made


def said_in(wire, statement, form):
    """What comes for it; nothing is given to a COPY that wants something."""
    is_simple = form == "simple" or statement.startswith("copy") or (
        ";" in statement and "$$" not in statement)
    wire.send(*(simple(statement) if is_simple else extended(statement, int(form == "binary"))))
    said = b""
    while True:
        kind, body = wire.read()
        said += kind + body
        if kind == b"G":
            wire.send(message(b"f", b"\0"))
        elif kind == b"Z":
            return said


def test_where_predicates_are_refused_only_lists_pass(vault):
    """Before the attempts make more of the names that they use."""
    wrong = []
    with Wire(vault[1]) as wire:
        for index, (is_list, statement) in enumerate(
                [(True, one) for one in LISTS] + [(False, one) for one in MORE_THAN_A_LIST]):
            said = said_in(wire, statement, ("simple", "text")[index % 2])
            if (b"SERROR\0" in said) == is_list:
                wrong.append((is_list, statement, said[-200:]))
    assert not wrong, "\n".join(map(str, wrong))


def attempt(wires, line, form):
    """What came of it that was not in the words themselves."""
    found = []
    for part in line.split(" ;; "):
        statement = part.removeprefix("B>")
        said = said_in(wires[statement != part], statement, form)
        found += [sign for sign in SIGNS if sign in said and sign not in statement.encode()]
    return found


def leaves_nothing(line):
    """No session remembers it."""
    return all(part.startswith(("select", "with", "values", "copy", "explain (", "table"))
               for part in line.split(" ;; "))


def test_no_attempt_tells_a_masked_value(vault):
    """Each in one form of the protocol; with patience, in all."""
    forms, told, wires = ("simple", "text", "binary"), [], []
    for index, line in enumerate(ATTEMPTS):
        for form in forms if IS_LONG else forms[index % 2:index % 2 + 1]:
            wires = wires or [Wire(vault[0]), Wire(vault[0])]
            found = attempt(wires, line.replace("{u}", f"u{index}{form[0]}_"), form)
            if found:
                told.append((form, line, found[:2]))
            if not leaves_nothing(line):
                said_in(wires[0], "rollback", "simple")
                for wire in wires:
                    wire.conn.close()
                wires = []
    assert len(ATTEMPTS) > 250 and not told, "\n".join(map(str, told))
