# SPDX-License-Identifier: MIT
"""Attempts at a masked column in a database of their own, as data. A line is one attempt: what a
session says, " ;; " between; "B>" is another session's, {u} a name of its own."""

EXTENSIONS = """hstore pageinspect dblink tablefunc pg_trgm citext ltree pgcrypto xml2 unaccent intarray fuzzystrmatch""".split()

# vault.secret, .pay, .doc and .raw are masked.
SETUP = r"""
CREATE TABLE vault (id int PRIMARY KEY, secret text, pay int, note text, doc jsonb, raw bytea);
CREATE TABLE vault_kid () INHERITS (vault);
CREATE TABLE vault_part (id int, secret text, note text) PARTITION BY RANGE (id);
INSERT INTO vault VALUES (1,'Zebra-9731-quokka',731559,'plain','{"k":"Okapi-5526-zinnia","n":[1,"Okapi-5526-zinnia"]}','Numbat-3307-quince'::bytea);
CREATE TABLE other (id int PRIMARY KEY, note text);
INSERT INTO other VALUES (1,'plain'),(2,'plain');
CREATE TABLE dropbox (id serial PRIMARY KEY, note text, n int);
CREATE VIEW v_ren AS SELECT id, secret AS s, pay AS p, note FROM vault;
CREATE VIEW v_open AS SELECT id, note AS label FROM other;
CREATE VIEW v_trig AS SELECT id, note FROM other;
CREATE MATERIALIZED VIEW m_all AS SELECT id, secret || '' AS m, note FROM vault;
CREATE FUNCTION getit() RETURNS text LANGUAGE sql AS 'SELECT secret FROM vault LIMIT 1';
CREATE FUNCTION fetch_def() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT secret FROM vault LIMIT 1';
CREATE FUNCTION fetch_plp() RETURNS text LANGUAGE plpgsql AS $$ declare x text; begin select secret into x from vault limit 1; return x; end $$;
CREATE FUNCTION fetch_imm() RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ declare x text; begin execute 'select sec'||'ret from vault limit 1' into x; return x; end $$;
CREATE FUNCTION f_rec() RETURNS record LANGUAGE sql AS 'SELECT id, secret FROM vault LIMIT 1';
CREATE FUNCTION f_set() RETURNS SETOF vault LANGUAGE sql AS 'SELECT * FROM vault';
CREATE FUNCTION f_set_other() RETURNS SETOF other LANGUAGE sql AS 'SELECT id, secret FROM vault';
CREATE FUNCTION f_tab() RETURNS TABLE(id int, note text) LANGUAGE sql AS 'SELECT id, secret FROM vault';
CREATE FUNCTION f_json() RETURNS json LANGUAGE sql AS 'SELECT row_to_json(v) FROM vault v LIMIT 1';
CREATE FUNCTION f_out(out a int, out b text) LANGUAGE sql AS 'SELECT pay, secret FROM vault LIMIT 1';
CREATE FUNCTION f_cur(refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$ begin open $1 for select id, secret||'' as note from vault; return $1; end $$;
CREATE FUNCTION f_cur2(refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$ begin open $1 for select 1 as id, secret as note from vault union all select 2, 'x'; return $1; end $$;
CREATE FUNCTION f_other(other) RETURNS text LANGUAGE sql AS 'SELECT secret FROM vault LIMIT 1';
CREATE FUNCTION f_trig() RETURNS trigger LANGUAGE plpgsql AS $$ begin new.note := (select secret from vault limit 1); return new; end $$;
CREATE FUNCTION f_raise() RETURNS trigger LANGUAGE plpgsql AS $$ begin raise exception 'value %', (select secret from vault limit 1); end $$;
CREATE FUNCTION f_notice() RETURNS trigger LANGUAGE plpgsql AS $$ begin raise notice 'value %', (select secret from vault limit 1); return null; end $$;
CREATE FUNCTION f_rename() RETURNS void LANGUAGE plpgsql AS $$ begin execute 'alter table vault rename column sec'||'ret to opened'; end $$;
CREATE FUNCTION f_op(text, text) RETURNS text LANGUAGE sql AS 'SELECT secret FROM vault LIMIT 1';
CREATE TABLE trig (id int, note text);
CREATE TRIGGER trig_t BEFORE INSERT OR UPDATE ON trig FOR EACH ROW EXECUTE FUNCTION f_trig();
CREATE TRIGGER v_trig_t INSTEAD OF INSERT OR UPDATE ON v_trig FOR EACH ROW EXECUTE FUNCTION f_trig();
CREATE TABLE deferred (id int, note text);
CREATE CONSTRAINT TRIGGER deferred_t AFTER INSERT ON deferred DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f_raise();
CREATE TABLE noticed (id int, note text);
CREATE TRIGGER noticed_t AFTER INSERT ON noticed FOR EACH ROW EXECUTE FUNCTION f_notice();
CREATE TABLE ruled (id int, note text);
INSERT INTO ruled VALUES (1,'plain');
CREATE VIEW v_rule AS SELECT id, note FROM other;
CREATE RULE v_rule_u AS ON UPDATE TO v_rule DO INSTEAD UPDATE other SET note = 'plain' RETURNING other.id, (select secret from vault limit 1);
CREATE RULE v_rule_i AS ON INSERT TO v_rule DO INSTEAD SELECT secret AS note FROM vault UNION SELECT 'a';
CREATE RULE ruled_r AS ON DELETE TO ruled DO INSTEAD SELECT id, secret || '' AS note FROM vault;
CREATE TABLE child_fk (id int, sec text);
ALTER TABLE vault ADD CONSTRAINT vu UNIQUE (secret);
ALTER TABLE child_fk ADD CONSTRAINT cf FOREIGN KEY (sec) REFERENCES vault(secret) ON UPDATE CASCADE;
INSERT INTO child_fk VALUES (1,'Zebra-9731-quokka');
CREATE TABLE zverylongname_zverylongname_zverylongname_zverylongname_zverylo AS SELECT id, secret, note FROM vault;
CREATE TABLE rls (id int, note text); INSERT INTO rls VALUES (1,'plain');
CREATE TYPE pair AS (a text, b int);
CREATE TABLE typed (id int, note text, p pair, arr text[]);
CREATE SEQUENCE seq;
ANALYZE;
CREATE VIEW nv AS SELECT * FROM noticed;
CREATE VIEW nv2 AS SELECT * FROM nv;
CREATE VIEW v_trig2 AS SELECT * FROM v_trig;
CREATE VIEW v_rule2 AS SELECT * FROM v_rule;
CREATE TABLE parent (id int, note text) PARTITION BY RANGE (id);
CREATE TABLE parent_1 PARTITION OF parent FOR VALUES FROM (0) TO (10);
CREATE TRIGGER pt AFTER INSERT ON parent_1 FOR EACH ROW EXECUTE FUNCTION f_notice();
"""

ATTEMPTS = r"""
create table {u}c as select v from vault v ;; select * from {u}c ;; select v::text from {u}c
create table {u}c as select v::text as t from vault v ;; select t from {u}c
create table {u}c as select row_to_json(v) as t from vault v ;; select t from {u}c
create table {u}c as select to_jsonb(vault) as t from vault ;; select t from {u}c
create table {u}c as select b from vault as q(a,b,c,d,e,f) ;; select b from {u}c
create table {u}c as select q.b from vault as q(a,b) ;; select b from {u}c
create table {u}c(x) as select max(b) from vault as q(a,b) ;; select x from {u}c
create table {u}c as select concat(vault) as t from vault ;; select t from {u}c
create table {u}c as select json_agg(v)::text as t from vault v ;; select t from {u}c
create table {u}c as with w as (table vault) select w.* from w ;; select * from {u}c
create table {u}c as with w(i,j) as (table vault) select j from w ;; select * from {u}c
create table {u}c as select (v).secret as t from vault v ;; select t from {u}c
create table {u}c as select (v.*)::text as t from vault v ;; select t from {u}c
create table {u}c as select s as t from v_ren ;; select t from {u}c
create table {u}c as select m as t from m_all ;; select t from {u}c
create table {u}c as select * from v_ren natural join other ;; table {u}c
create table {u}c as select x from (values ((select secret from vault))) q(x) ;; table {u}c
create table {u}c as select x from (values ((select b from vault as z(a,b)))) q(x) ;; table {u}c
create table {u}c as select * from json_each_text((select row_to_json(v) from vault v)) ;; table {u}c
create table {u}c as select value from vault v, lateral jsonb_each_text(to_jsonb(v)) ;; table {u}c
create table {u}c as execute nothing ;; table {u}c
prepare {u}p as select * from vault ;; create table {u}c as execute {u}p ;; table {u}c
select v::text as t into {u}c from vault v ;; table {u}c
select b into temp {u}c from vault as q(a,b) ;; table {u}c
insert into dropbox(note) select v::text from vault v ;; select note from dropbox
insert into dropbox(note) select b from vault as q(a,b) ;; select note from dropbox
insert into dropbox(note) values ((select v::text from vault v)) ;; select note from dropbox
insert into dropbox(note) values ((select b from vault as q(a,b))) ;; select note from dropbox
insert into dropbox(note,n) select 'x', d from vault as q(a,b,d) ;; select n from dropbox
insert into dropbox(note) select 'x' returning (select v::text from vault v)
insert into dropbox(note) select json_agg(vault)::text from vault ;; table dropbox
insert into dropbox(note) with w as (select vault as r from vault) select (r).secret from w ;; table dropbox
with w as (select b from vault as q(a,b)) insert into dropbox(note) select b from w ;; table dropbox
with w as (insert into dropbox(note) select b from vault as q(a,b) returning note) select * from w
update dropbox set note = (select v::text from vault v) ;; table dropbox
update dropbox set (note, n) = (select b, d from vault as q(a,b,d)) ;; table dropbox
update dropbox set note = v::text from vault v ;; table dropbox
update dropbox set note = q.b from vault as q(a,b) ;; table dropbox
update dropbox set note = q.x from (select b as x from vault as z(a,b)) q ;; table dropbox
merge into dropbox o using vault v on true when matched then update set note = v::text ;; table dropbox
merge into dropbox o using (select b from vault as q(a,b)) v on true when matched then update set note = v.b ;; table dropbox
merge into dropbox o using vault v on false when not matched then insert (note) values (v::text) ;; table dropbox
merge into dropbox o using vault as v(a,b) on false when not matched then insert (note) values (v.b) ;; table dropbox
insert into dropbox(id,note) values (1,'x') on conflict (id) do update set note = (select v::text from vault v) ;; table dropbox
insert into typed(p) select row(b,d)::pair from vault as q(a,b,d) ;; table typed
insert into typed(arr) select array[v::text] from vault v ;; table typed
update typed set arr[1] = (select v::text from vault v) ;; table typed
update typed set p.a = (select b from vault as q(a,b)) ;; table typed
begin ;; create view {u}v as select secret as s from vault ;; create table {u}c as select s from {u}v ;; commit ;; select s from {u}c
begin ;; create view {u}v as select v as s from vault v ;; create table {u}c as select s::text as t from {u}v ;; commit ;; select t from {u}c
create view {u}v as select secret as s from vault; create table {u}c as select s from {u}v ;; select s from {u}c
begin; create view {u}v as select secret as s from vault; insert into dropbox(note) select s from {u}v; commit ;; select note from dropbox
begin ;; create or replace view v_open as select id, secret as label from vault ;; create table {u}c as select label from v_open ;; create or replace view v_open as select id, note as label from other ;; commit ;; select label from {u}c
begin ;; create temp view {u}v as select secret as s from vault ;; insert into dropbox(note) select s from {u}v ;; commit ;; select note from dropbox
begin ;; create materialized view {u}m as select secret as s from vault ;; create table {u}c as select s from {u}m ;; commit ;; select s from {u}c
begin ;; create recursive view {u}v(s) as select secret from vault ;; create table {u}c as select s from {u}v ;; commit ;; select s from {u}c
create view {u}v as select secret as s from vault ;; create table {u}c as select s from {u}v ;; select s from {u}c
create temp view vv as select secret as s from vault ;; create table {u}c as select s from vv ;; select s from {u}c
create function {u}f() returns text language sql as 'select secret from vault' ;; select {u}f() ;; select upper({u}f())
create function {u}f() returns text language sql begin atomic select secret from vault; end ;; select {u}f()
select pg_notify('c', v::text) from vault v
listen c1 ;; select pg_notify('c1', (select b from vault as q(a,b)))
select set_config('leak.x', v::text, false) from vault v ;; show leak.x
select set_config('leak.y', b, false) from vault as q(a,b) ;; show leak.y
select set_config('application_name', b, false) from vault as q(a,b) ;; show application_name
select set_config('leak.z', getit(), false) ;; show leak.z
select set_config('leak.w', (select s from v_ren), false) ;; select current_setting('leak.w')
select setval('seq', c) from vault as q(a,b,c) ;; select last_value from seq
select setval('seq', (select p from v_ren)) ;; select nextval('seq')
select pg_advisory_lock(c) from vault as q(a,b,c) ;; select objid from pg_locks where locktype = 'advisory'
select pg_try_advisory_xact_lock(p) from v_ren ;; select objid::text from pg_locks
select lo_from_bytea(424242, b::bytea) from vault as q(a,b) ;; select lo_get(424242) ;; select data from pg_largeobject
select lo_from_bytea(0, v::text::bytea) from vault v
begin ;; select pg_advisory_xact_lock(pay) from vault ;; select objid from pg_locks where locktype='advisory' ;; commit
do $$ begin perform pg_advisory_lock((select pay from vault limit 1)); end $$ ;; select objid from pg_locks where locktype = 'advisory'
do $$ begin perform pg_advisory_lock((select pay from vault limit 1)); end $$ ;; B>select objid from pg_locks where locktype = 'advisory'
do $$ begin perform pg_advisory_lock((select pay from vault limit 1)); end $$ ;; B>select objid + 1 from pg_locks where locktype = 'advisory'
do $$ begin perform set_config('application_name', (select secret from vault limit 1), false); end $$ ;; select setting from pg_settings where name = 'application_name'
do $$ begin perform set_config('application_name', (select secret from vault limit 1), false); end $$ ;; select application_name from pg_stat_activity
do $$ begin perform set_config('application_name', (select secret from vault limit 1), false); end $$ ;; B>select application_name from pg_stat_activity
do $$ begin perform set_config('application_name', (select secret from vault limit 1), false); end $$ ;; B>select upper(application_name) from pg_stat_activity
do $$ begin perform set_config('application_name', (select secret from vault limit 1), false); end $$ ;; show all
do $$ begin perform set_config('search_path', quote_ident((select secret from vault limit 1)), false); end $$ ;; show search_path
do $$ begin perform set_config('search_path', quote_ident((select secret from vault limit 1)), false); end $$ ;; select current_schemas(true)
do $$ begin execute 'listen ' || quote_ident((select secret from vault limit 1)); end $$ ;; select pg_listening_channels() ;; select * from pg_listening_channels() c
do $$ begin execute 'prepare ' || quote_ident((select secret from vault limit 1)) || ' as select 1'; end $$ ;; select name from pg_prepared_statements ;; select statement from pg_prepared_statements ;; select * from pg_prepared_statements
do $$ begin execute 'prepare zz as select ' || quote_literal((select secret from vault limit 1)); end $$ ;; select statement from pg_prepared_statements ;; execute zz ;; explain execute zz
do $$ begin execute 'declare ' || quote_ident((select secret from vault limit 1)) || ' cursor with hold for select 1'; end $$ ;; select name from pg_cursors ;; select * from pg_cursors
begin ;; do $$ begin execute 'declare cc cursor for select ' || quote_literal((select secret from vault limit 1)); end $$ ;; fetch all from cc ;; select statement from pg_cursors
begin ;; do $$ begin execute 'savepoint ' || quote_ident((select secret from vault limit 1)); exception when others then null; end $$ ;; commit
do $$ begin execute 'notify c2, ' || quote_literal((select secret from vault limit 1)); end $$
listen c2 ;; do $$ begin execute 'notify c2, ' || quote_literal((select secret from vault limit 1)); end $$ ;; select 1
B>listen c3 ;; do $$ begin perform pg_notify('c3', (select secret from vault limit 1)); end $$ ;; B>select 1
do $$ begin raise sqlstate '22012' using message = (select secret from vault limit 1), detail = (select secret from vault limit 1), hint = (select secret from vault limit 1), table = (select secret from vault limit 1), column = 'x', constraint = (select secret from vault limit 1), datatype = (select secret from vault limit 1), schema = (select secret from vault limit 1); end $$
do $$ begin raise warning using message = (select secret from vault limit 1), errcode = '01000'; end $$
do $$ begin raise info '%', (select secret from vault limit 1); end $$
do $$ begin raise log '%', (select secret from vault limit 1); end $$
set client_min_messages = debug5 ;; do $$ begin raise debug '%', (select secret from vault limit 1); end $$ ;; select secret || '' from vault
set client_min_messages = log ;; set debug_print_plan = on ;; set debug_print_parse=on ;; select upper(secret) from vault where secret > fetch_imm()
set client_min_messages = log ;; set debug_print_plan = on ;; select 1 where 'a' = fetch_imm() ;; select note from other where note > fetch_imm()
do $$ begin assert false, (select secret from vault limit 1); end $$
do $$ declare x int; begin select secret into strict x from vault; end $$
do $$ declare x vault; begin select * into x from vault; raise exception '%', x; end $$
do language plpgsql $$ begin execute 'fetch 1 from ' || quote_ident((select secret from vault limit 1)); end $$
do $$ begin execute 'execute ' || quote_ident((select secret from vault limit 1)); end $$
do $$ begin execute 'set role ' || quote_ident((select secret from vault limit 1)); end $$
do $$ begin execute 'grant ' || quote_ident((select secret from vault limit 1)) || ' to postgres'; end $$
do $$ begin execute 'select 1 from ' || quote_ident((select secret from vault limit 1)); end $$
select getit() ;; select fetch_def() ;; select fetch_plp() ;; select fetch_imm() ;; select f_rec() ;; select f_json() ;; select f_out() ;; select f_tab()
select * from getit() ;; select * from f_rec() as (a int, b text) ;; select * from f_set() ;; select * from f_set_other() ;; select note from f_set_other() ;; select * from f_tab() ;; select note from f_tab() ;; select * from f_out() ;; select b from f_out()
select (f_set()).* ;; select (f_set_other()).note ;; select (f_tab()).note ;; select (f_out()).b ;; select note, id from f_set_other() q where q.id = 1
select (f_json()) ->> 'secret' ;; select f_json()->'secret'
select o.f_other from other o ;; select f_other(o) from other o ;; select o.f_other || '' from other o ;; select other.f_other from other
select note from other union select getit() ;; select coalesce(null, getit())
select * from rows from (getit(), f_tab()) ;; select * from rows from (generate_series(1,2), getit()) as q(a,b)
select 1 where getit() = 'x' ;; select note from other where getit() = note or true
begin ;; select f_cur('cur') ;; fetch all from cur ;; commit
begin ;; select f_cur2('cur') ;; fetch all from cur ;; fetch backward all from cur ;; commit
begin ;; select f_cur('cur') ;; fetch all in "cur"
begin ;; declare c cursor for select secret || '' from vault union select 'a' ;; fetch all from c ;; fetch first from c ;; fetch absolute 1 from c
begin ;; declare c scroll cursor for select pay + 0, note from vault union all select 1, 'b' ;; fetch last from c ;; fetch prior from c
begin ;; declare c binary cursor for select pay + 0, secret || '' from vault ;; fetch all from c
begin ;; declare c cursor with hold for select secret || '' as note from vault ;; commit ;; fetch all from c ;; close all
declare c cursor with hold for table vault ;; fetch all from c
declare c cursor with hold for select note from other union select secret from vault ;; select 1 ;; fetch 2 from c ;; fetch relative 0 from c
declare c cursor with hold for select secret||'' from vault ;; discard plans ;; fetch all from c
declare "note" cursor with hold for select secret||'' as note from vault ;; fetch all from note
begin ;; declare c cursor for select id, note from other ;; close c ;; declare c cursor for select id, secret||'' from vault ;; fetch all c
begin ;; savepoint a ;; declare c cursor for select id, secret||'' from vault ;; release a ;; fetch all c
begin ;; declare c cursor for select secret || '' from vault ;; move forward 0 in c ;; fetch 1 c
insert into v_trig values (1,'x') returning note ;; insert into v_trig values (1,'x') returning *
update v_trig set id = 1 returning note ;; with w as (update v_trig set id=1 returning note) select note from w
insert into v_rule values (1,'x') ;; update v_rule set id = 1 returning note ;; update v_rule set id = 1 returning id, note ;; with w as (update v_rule set id = 1 returning note) select * from w
delete from ruled ;; delete from ruled where id = 1
begin ;; create rule "_RETURN" as on select to rls do instead select id, secret as note from vault ;; select note from rls ;; rollback
begin ;; create rule {u}r as on insert to other do instead select secret || '' from vault ;; insert into other values (70,'x') ;; rollback
create rule {u}r as on insert to typed do instead select secret || '' as note from vault ;; insert into typed(id) values (1) ;; drop rule {u}r on typed
create rule {u}r as on update to typed do instead update dropbox set note='x' returning id, (select secret from vault limit 1), null::pair, null::text[] ;; update typed set id = 1 returning note ;; drop rule {u}r on typed
insert into deferred values (1,'x') ;; begin; insert into deferred values (1,'x'); commit
begin ;; insert into deferred values (1,'x') ;; commit
begin ;; insert into deferred values (1,'x') ;; select 1 ;; set constraints all immediate ;; rollback
begin ;; insert into deferred values (1,'x') ;; select note from other ;; prepare transaction 'x' ;; rollback
insert into noticed values (1,'x') ;; copy noticed from stdin
begin ;; insert into noticed values (1,'x') ;; rollback
insert into vault(id,secret) values (2,'Zebra-9731-quokk') on conflict (secret) do nothing returning *
insert into vault(id,secret,pay) select 3,'x',5 returning *, vault ;; delete from vault where id in (2,3)
update vault set note = note returning vault ;; update vault set note = note returning (vault).secret || '' ;; update vault v set note = note returning v::text
delete from vault where id = 99 returning *
merge into vault v using other o on v.id = o.id when matched then do nothing
insert into vault(id) values (1) ;; update vault set id = null ;; insert into vault values (1,'Zebra') ;; insert into vault(id,note) values (null,'x')
update vault set id = 5 where id = 1 returning id, secret ;; update vault set id = 1 where id = 5
alter table vault add constraint {u}k check (pay < 3) ;; alter table vault add constraint {u}e exclude using btree (id with =) ;; alter table vault alter secret type int using secret::int
alter table vault alter secret type int ;; alter table vault alter column secret type uuid ;; alter table vault add check (secret !~ 'Zeb')
alter table vault alter pay set not null ;; alter table vault validate constraint vu ;; create unique index on vault ((pay/pay)) ;; drop index if exists vault_expr_idx
create index {u}i on vault ((secret::int)) ;; create index {u}i on vault (fetch_imm()) ;; create index {u}i on vault ((1/(length(secret)-17)))
create domain {u}d as text check (value !~ 'Zebra') ;; alter table vault alter secret type {u}d ;; select secret::{u}d from vault ;; select 'x'::{u}d from vault
create table {u}p partition of vault_part for values from (1) to (5) ;; insert into {u}p values (7,'Zebra','x') ;; insert into vault_part values (9,(select b from vault as q(a,b)),'x')
create policy {u}p on rls using (getit() = note) ;; alter table rls enable row level security ;; alter table rls force row level security ;; select note from rls ;; alter table rls disable row level security ;; drop policy {u}p on rls
create statistics {u}s on note, (upper(secret)) from vault ;; analyze vault ;; select * from pg_stats_ext_exprs ;; select * from pg_stats_ext ;; select stxdexpr::text from pg_statistic_ext_data ;; select stxdmcv::text from pg_statistic_ext_data
create index {u}ix on vault ((upper(secret))) ;; analyze vault ;; select * from pg_stats where tablename = '{u}ix' ;; select histogram_bounds::text, most_common_vals::text from pg_stats ;; select array_to_string(most_common_vals::text::text[],',') from pg_stats ;; drop index {u}ix
select pg_stats from pg_stats where tablename='vault' ;; select s::text from pg_statistic s ;; select to_json(s) from pg_stats s ;; select stavalues1 from pg_statistic ;; select count(*), max(most_common_vals::text) from pg_stats ;; table pg_stats ;; table pg_statistic
select * from pg_catalog.pg_stats ;; select * from (select * from pg_stats) q(a,b,c,d,e,f,g,h,i) ;; select x.j from pg_stats as x(a,b,c,d,e,f,g,h,i,j)
create view {u}v as select most_common_vals::text as m, histogram_bounds::text as h from pg_stats ;; select m from {u}v ;; select h from {u}v ;; create table {u}c as select m from {u}v ;; table {u}c
create table {u}c as select most_common_vals::text m from pg_stats ;; table {u}c ;; create table {u}d as select s::text as m from pg_stats s ;; table {u}d ;; insert into dropbox(note) select x.j::text from pg_stats as x(a,b,c,d,e,f,g,h,i,j) ;; table dropbox
create view {u}v as select v as r from vault v ;; select (r).secret from {u}v ;; select (r).note from {u}v ;; select (r).* from {u}v ;; select r::text from {u}v
create view {u}v as select count(*) as n, max(pay) as note from vault ;; select n, note from {u}v ;; select note+0 from {u}v
create view {u}v(note, secret) as select secret, note from vault ;; select note from {u}v ;; select secret from {u}v
create view {u}v as select note as secret, secret as note, id from vault order by secret limit 1 ;; select note || '' from {u}v ;; select * from (select note from {u}v) q
create view {u}v as select o.id, o.note, (select secret from vault v where v.id = o.id) as x from other o ;; select x from {u}v ;; select note || x from {u}v ;; table {u}v
create view {u}v as select o.id, o.note from other o join vault v on v.id=o.id where v.secret like 'Z%' ;; select note from {u}v
create view {u}v as select b as note from vault as q(a,b) ;; select note from {u}v ;; create view {u}w as select note as id from {u}v ;; select id from {u}w ;; select id||'' from {u}w
create view {u}v as select x.* from vault v, lateral (select v.secret as note union all select v.secret) x ;; select note from {u}v
create view {u}v as select note from vault union all select secret from vault ;; select note from {u}v ;; select note from {u}v limit 5
create view {u}v as with recursive r(n) as (select secret from vault union select n || '' from r where false) select n as note from r ;; select note from {u}v
create view {u}v as select t.note from vault v, unnest(array[v.secret]) as t(note) ;; select note from {u}v
create view {u}v as select t.* from vault v, jsonb_each_text(to_jsonb(v)) t ;; select value from {u}v ;; select key, value from {u}v
create view {u}v as select note from f_tab() ;; select note from {u}v
create view {u}v as select id, case when id > 0 then secret else note end as note from vault ;; select note from {u}v ;; select note from (select * from {u}v) q
create view {u}v as select id, coalesce(note, secret) n1, lag(secret,0) over () n2, (vault).secret n3, array[secret] n4, row(secret,1) n5 from vault ;; table {u}v ;; select n1,n2 from {u}v ;; select n4[1] from {u}v ;; select (n5).f1 from {u}v
create view {u}v as select g.note, grouping(g.note) gg from (select secret as note from vault) g group by rollup(g.note) ;; select note from {u}v ;; select gg, note from {u}v
create view {u}v as select v.secret as note from vault v full join other o using (id) ;; select note from {u}v
create view {u}v as select id from other o join (select pay as id from vault) q using (id) ;; select id from {u}v
create view {u}v as select id from (select id from other) o full join (select pay as id from vault) q using (id) ;; select id from {u}v ;; select max(id) from {u}v
create view {u}v as select id from (select id from other) o right join (select pay as id from vault) q using (id) ;; select id from {u}v ;; select id+0 from {u}v
create materialized view {u}m as select id, secret as note from vault ;; select note from {u}m ;; refresh materialized view {u}m ;; select note||'' from {u}m ;; copy {u}m to stdout ;; copy (select note from {u}m) to stdout
create materialized view {u}m as select id, secret as note from vault with no data ;; refresh materialized view {u}m ;; select note from {u}m
create materialized view {u}m as select getit() as note ;; select note from {u}m
create view {u}v as select getit() as note ;; select note from {u}v ;; create view {u}w as select note from {u}v ;; select note from {u}w
create view {u}v as select query from pg_stat_activity ;; select query from {u}v
create view {u}v as select id, note from vault where secret <> '' with check option ;; insert into {u}v values (1,'a') ;; insert into {u}v values (50,'a') ;; update {u}v set note='x' returning *
create view {u}v as select o.tableoid, o.ctid, v.secret as xmin from other o, vault v ;; select xmin from {u}v ;; select * from {u}v
create view {u}v as table vault ;; select secret || '' from {u}v ;; alter view {u}v rename column secret to opened ;; select opened from {u}v ;; alter view {u}v rename to {u}w ;; select opened from {u}w ;; alter view {u}w set schema pg_catalog
create schema {u}s ;; create view {u}s.vault as select id, secret as note from public.vault ;; set search_path = {u}s, public ;; select note from vault ;; select note||'' from vault
create schema {u}s ;; create table {u}s.x () inherits (public.vault) ;; insert into {u}s.x(id,note) values (1,'a') ;; select note, secret from {u}s.x ;; alter table {u}s.x no inherit public.vault ;; drop table {u}s.x
create table {u}k () inherits (vault_kid) ;; copy {u}k to stdout ;; create table {u}l (like vault including all) ;; insert into {u}l select * from vault ;; table {u}l
create temp table vault as select 1 as id, 'a' as secret ;; select secret from vault ;; select secret from public.vault ;; select secret || '' from public.vault ;; set search_path = public, pg_temp ;; select secret || '' from vault
create temp table other (id int, note text) ;; insert into other select id, b from public.vault as q(id,b) ;; select note from other
create temp view other as select id, secret as note from public.vault ;; select note from other ;; select note || '' from other ;; select note from pg_temp.other
set search_path = pg_temp ;; create temp view zork as select secret as note from public.vault ;; select note from zork
select secret || '' from postgres.public.vault ;; select vault.secret || '' from public . vault ;; select public.vault.secret || '' from public.vault ;; select "vault"."secret" || '' from "public"."vault"
select "secret"||'' from U&"v\0061ult" ;; select secret || '' from U&"v!0061ult" uescape '!' ;; select upper(U&"s\0065cret") from vault ;; select SECRET||'' from VAULT ;; select "secret" from "vault"
select secret || '' from zverylongname_zverylongname_zverylongname_zverylongname_zverylongname ;; select upper(secret) from vault
begin ;; create temp table {u}t(i int) ;; select f_other(o) from other o ;; rollback
begin ;; create temp table {u}t(i int) ;; select note from other ;; select f_rename() ;; select opened || '' from vault ;; select opened from vault ;; rollback
begin ;; create temp table {u}t(i int) ;; do $$ begin execute 'alter table vault rename to vaultx'; end $$ ;; select secret || '' from vaultx ;; select secret from vaultx ;; rollback
begin ;; create temp table {u}t(i int) ;; select secret || '' from vault ;; do $$ begin execute 'create temp table {u}y as select secret from vault'; end $$ ;; select secret||'' from {u}y ;; select secret from {u}y ;; rollback
select secret(v) from vault v ;; select secret(vault) from vault ;; select note(v), secret(v)||'' from vault v ;; select v.upper from vault v ;; select (v).text from vault v ;; select text(v) from vault v ;; select (v.*)::text::varchar from vault v
select vault from vault ;; select vault.* from vault ;; select (vault) from vault ;; select row(vault.*) from vault ;; select row(v, 1) from vault v ;; select array[v] from vault v ;; select (array_agg(v))[1] from vault v ;; select array_agg(v) from vault v
select v is null, v = v, v::text from vault v ;; select v::text like 'x' from vault v ;; select count(v) , max(v::text) from vault v ;; select hstore(v) from vault v ;; select hstore(v)->'secret' from vault v ;; select each(hstore(v)) from vault v ;; select %%v from vault v
select json_populate_record(null::pair, json_build_object('a', secret)) from vault ;; select (json_populate_record(null::pair, json_build_object('a', b))).a from vault as q(x,b) ;; select jsonb_populate_recordset(null::other, jsonb_build_array(jsonb_build_object('id',1,'note',secret))) from vault
select * from jsonb_to_recordset((select jsonb_agg(to_jsonb(v)) from vault v)) as x(secret text, pay int) ;; select x.note from jsonb_populate_recordset(null::other, (select jsonb_agg(jsonb_build_object('note', b)) from vault as q(a,b))) x
select doc from vault ;; select doc->>'k' from vault ;; select doc #>> '{k}' from vault ;; select doc['k'] from vault ;; select jsonb_path_query(doc, '$.k') from vault ;; select jsonb_path_query_first(doc, '$.n[1]') from vault ;; select jsonb_each_text(doc) from vault ;; select value from vault, jsonb_each_text(doc) ;; select k from vault, jsonb_to_record(doc) as x(k text) ;; select jsonb_pretty(doc) from vault ;; select jsonb_object_keys(jsonb_build_object(doc->>'k',1)) from vault
select raw from vault ;; select encode(raw,'escape') from vault ;; select convert_from(raw,'utf8') from vault ;; select raw||'' from vault ;; select get_byte(raw,0), chr(get_byte(raw,1)) from vault ;; select string_agg(chr(get_byte(raw, i)), '') from vault, generate_series(0,17) i ;; select substring(raw from 1 for 18) from vault
select string_agg(chr(c), '') from (select ascii(substr(secret, i, 1)) c from vault, generate_series(1,17) i) q ;; select array_agg(ascii(x)) from (select regexp_split_to_table(secret,'') x from vault) q ;; select * from string_to_table((select secret from vault), '-') ;; select u from vault, unnest(string_to_array(secret,'-')) u
select pay + 0 from vault ;; select sum(pay), avg(pay), max(pay), min(pay) from vault ;; select pay::text, to_char(pay,'FM999999') from vault ;; select -pay, pay*1.0, pay::float8, pay::numeric, to_hex(pay) from vault ;; select p.pay from vault p order by 1 ;; select int4range(pay, null) from vault ;; select array[pay,1] from vault ;; select percentile_cont(0.5) within group (order by pay) from vault ;; select generate_series(pay, pay) from vault ;; select width_bucket(pay, 0, 1000000, 1000000) from vault ;; select chr(pay % 1000) from vault ;; select repeat('x', 3) || pay from vault ;; select make_interval(secs => pay) from vault ;; select date '2000-01-01' + pay from vault ;; select money(pay) from vault ;; select pay::bit(32) from vault ;; select 1 as pay, pay as one from vault
select * from generate_series(1, (select pay from vault)) g order by g desc limit 1 ;; select max(g) from generate_series((select pay from vault), 731600) g ;; select count(*) from generate_series(1, (select pay from vault)) g
select count(*) from generate_series(1, (select p from v_ren)) ;; select (select count(*) from generate_series(1, c)) from vault as q(a,b,c) ;; select row_number() over () from generate_series(1, (select pay from vault)) order by 1 desc limit 1 ;; select sum(1) from vault v, generate_series(1, v.pay)
select id from other limit (select pay from vault) ;; select * from other offset (select pay - 731559 from vault) ;; select note from other fetch first (select pay from vault) rows only ;; select 1 limit (select secret::int from vault)
select grouping(secret), secret from vault group by rollup(secret) ;; select secret || '', count(*) from vault group by grouping sets ((secret),()) ;; select coalesce(secret,'t') from vault group by cube(secret) ;; select distinct on (secret) secret || '' from vault ;; select secret||'' from vault group by all
select first_value(secret) over w || '' from vault window w as (order by id) ;; select nth_value(v, 1) over () from vault v ;; select string_agg(secret, ',') over () from vault ;; select secret from (select secret, row_number() over (order by id) r from vault) q where r = 1 ;; select array_agg(secret) filter (where true) over () from vault
with recursive r(n, s) as (select 1, left(secret,1) from vault union all select n+1, substr((select secret from vault), n+1, 1) from r where n < 17) select string_agg(s,'') from r ;; with recursive r(n,s) as (select 1, b from vault as q(a,b) union select n+1, s from r where n<2) search depth first by n set o cycle n set c using p select o, p, s from r ;; with recursive r(n,s) as (select 1, b from vault as q(a,b) union select n+1, s from r where n<2) search breadth first by s set o select o from r ;; with recursive r(n,s) as (select 1, b from vault as q(a,b) union all select n+1, s from r where n<3) cycle s set c using p select p from r
with w as materialized (select secret as note from vault) select note from w ;; with w(note) as (select secret from vault) select note||'' from w ;; with other as (select secret as note from vault) select note from other ;; with other(id,note) as (select id, secret from vault) select note || '' from other ;; with vault as (select 'x' as secret) select secret from vault ;; with a as (select secret s from vault), b as (select s t from a), c as (select t u from b) select u || '' from c ;; with w as (select 1), other as (table vault) table other
select q.note from (select secret as note from vault) q ;; select note||'' from (select secret as note from vault union all select note from other) q ;; select (select secret) from vault ;; select (select note from (select secret as note from vault) z) from other ;; select array(select secret from vault) ;; select row(1,(select secret from vault)) ;; select note from other where note = any(array(select note from other)) and (select secret from vault) is not null
select o.note, x.* from other o cross join lateral (select secret as note2 from vault) x ;; select x.note from other o left join lateral (select secret as note from vault limit 1) x on true ;; select note from (other o join vault v using (id)) as j(id, n1, note) ;; select j.b from (other o cross join vault v) as j(x,y,z,b) ;; select (j).b from (other o cross join vault v) as j(x,y,z,b) ;; select j::text from (other o cross join vault v) as j
select note from other natural full join (select id, secret as note from vault) q ;; select note from other full join (select secret as note from vault) q using (note) ;; select coalesce(a.note, b.note) from other a full join (select secret as note from vault) b on false ;; select note||'' from other right join (select secret as note from vault) q using (note) ;; select x.note from other a join (select secret as note from vault) b using (note) as x ;; select x.note from other a full join (select secret as note from vault) b using (note) as x
select max(x) from vault v, unnest(array[v.secret]) x ;; select x from vault v, xmltable('/r' passing xmlelement(name r, v.secret) columns x text path '.') ;; select xmlparse(content secret) from vault ;; select xpath('/a/text()', xmlelement(name a, secret)) from vault ;; select (xpath('/a/text()', xmlelement(name a, secret)))[1]::text from vault ;; select xmlserialize(content xmlelement(name a, secret) as text) from vault ;; select xmlcomment(translate(secret,'-','+')) from vault ;; select xmlpi(name a, secret) from vault ;; select xmlagg(xmlelement(name a, secret)) from vault
select query_to_xml('select * from vault', true, true, '') ;; select table_to_xml('vault'::regclass, true, false, '') ;; select query_to_xml('table vault', false, false, '')::text ;; select xpath('//secret/text()', query_to_xml('table vault', false, false, '')) ;; select schema_to_xml('public',false,false,'') ;; select * from xmltable('//row' passing query_to_xml('table vault', true, false, '') columns s text path 'secret')
select * from dblink('dbname=' || current_database(), 'select secret from vault') as t(s text) ;; select dblink_exec('dbname=' || current_database(), 'select 1') ;; select * from crosstab('select id, note, secret from vault') as c(id int, a text) ;; select * from connectby('vault','id','id','1',0) as t(a int, b int, c int) ;; select xpath_table('id','secret','vault','/','true')
select get_raw_page('vault',0) ;; select * from heap_page_items(get_raw_page('vault',0)) ;; select t_data from heap_page_items(get_raw_page('vault', 0)) ;; select tuple_data_split('vault'::regclass, t_data, t_infomask, t_infomask2, t_bits) from heap_page_items(get_raw_page('vault',0)) ;; select data from bt_page_items('vu',1) ;; select * from bt_page_items(get_raw_page('vu',1)) ;; select encode(get_raw_page('vault',0),'escape')
select pg_read_file('PG_VERSION') ;; select pg_relation_filepath('vault') ;; select * from ts_stat('select to_tsvector(''simple'', secret) from vault') ;; select word from ts_stat($q$select array_to_tsvector(array[secret]) from vault$q$) ;; select ts_rewrite('a'::tsquery, 'select secret::tsquery, secret::tsquery from vault') ;; select lo_import('/etc/passwd') ;; select cursor_to_xml('x',1,true,true,'')
select to_tsvector('simple', secret) from vault ;; select ts_headline(secret, to_tsquery('zebra')) from vault ;; select ts_lexize('simple', secret) from vault ;; select ts_debug('simple', secret) from vault ;; select ts_parse('default', secret) from vault ;; select tsvector_to_array(to_tsvector('simple',secret)) from vault ;; select plainto_tsquery('simple', secret) from vault ;; select numnode(plainto_tsquery(secret)), querytree(plainto_tsquery('simple',secret)) from vault
select similarity(secret,'x'), show_trgm(secret) from vault ;; select levenshtein(secret, 'x'), soundex(secret), metaphone(secret, 20) from vault ;; select unaccent(secret) from vault ;; select digest(secret,'md5') from vault ;; select encode(digest(secret,'md5'),'hex') from vault ;; select armor(secret::bytea) from vault ;; select icount(array[pay]), array[pay] + 1 from vault ;; select secret::citext, secret::citext || '' from vault ;; select text2ltree(replace(secret,'-','_')) from vault
select ascii(secret), length(secret), octet_length(secret), bit_length(secret) from vault ;; select secret < 'z', secret like 'Z%', secret ~ '9731' from vault ;; select hashtext(secret), md5(secret), sha256(secret::bytea) from vault ;; select pg_column_size(secret) from vault ;; select quote_nullable(secret) from vault ;; select normalize(secret) from vault ;; select secret is distinct from 'x' from vault ;; select parse_ident(secret, false) from vault ;; select format('%I %L %s', secret, secret, secret) from vault ;; select to_ascii(secret,'latin1') from vault ;; select convert(secret::bytea,'utf8','latin1') from vault ;; select initcap(secret) from vault ;; select set_byte(secret::bytea,0,65) from vault ;; select decode(encode(secret::bytea,'hex'),'hex') from vault ;; select regexp_substr(secret, '.*') from vault ;; select regexp_matches(secret,'(.*)-(.*)') from vault
select 1/0 from vault ;; select 1/(pay-731559) from vault ;; select secret::int from vault ;; select cast(secret as date) from vault ;; select secret::json from vault ;; select secret::xml from vault ;; select secret::uuid from vault ;; select secret::inet from vault ;; select secret::bit from vault ;; select secret::tsquery from vault ;; select secret::jsonpath from vault ;; select secret::pg_lsn from vault ;; select secret::point from vault ;; select secret::int4range from vault ;; select secret::int[] from vault ;; select secret::hstore from vault ;; select secret::ltree from vault ;; select secret::regproc from vault ;; select secret::"char" from vault ;; select secret::bool from vault ;; select secret::interval from vault ;; select secret::money from vault ;; select secret::macaddr from vault ;; select secret::oid from vault ;; select secret::txid_snapshot from vault ;; select secret::pair from vault ;; select secret::bytea from vault ;; select secret::regrole from vault ;; select secret::regnamespace from vault ;; select secret::regcollation from vault ;; select secret::regconfig from vault ;; select secret::regdictionary from vault ;; select secret::regoper from vault ;; select secret::regoperator from vault
select to_number(secret,'9'), to_date(secret,'YYYY') from vault ;; select to_timestamp(secret,'YYYY') from vault ;; select to_regclass(secret) from vault ;; select regexp_replace('a',secret || '(','b') from vault ;; select 'a' similar to secret || '[' from vault ;; select 'a' like 'b' escape secret from vault ;; select overlay('a' placing 'b' from pay) from vault ;; select chr(pay * 10) from vault ;; select decode(secret,'hex') from vault ;; select decode(secret,'base64') from vault ;; select encode('a', secret) from vault ;; select convert_from('a', secret) from vault ;; select date_trunc(secret, now()) from vault ;; select extract(epoch from now()) , date_part(secret, now()) from vault ;; select now() at time zone secret from vault ;; select to_char(now(), secret) from vault ;; select to_char(1, secret) from vault ;; select current_setting(secret) from vault ;; select jsonb_path_query('{}', secret::jsonpath) from vault ;; select json_extract_path(secret::json,'a') from vault ;; select make_date(pay,1,1) from vault ;; select power(10, pay) from vault ;; select (array[1])[pay] from vault ;; select xmlparse(document secret) from vault ;; select xpath(secret, '<a/>') from vault ;; select has_table_privilege(secret, 'select') from vault ;; select pg_get_serial_sequence(secret,'x') from vault ;; select nextval(secret) from vault ;; select to_tsvector(secret::regconfig, 'a') from vault ;; select setseed(pay) from vault ;; select pg_size_bytes(secret) from vault ;; select enum_range(null::pg_lsn) from vault ;; select parse_ident(secret||'.') from vault ;; select string_to_array(secret,'-')::int[] from vault ;; select format('%' || secret, 1) from vault ;; select col_description(secret::regclass,1) from vault ;; select aclexplode(array[secret]::aclitem[]) from vault ;; select makeaclitem(1,1,secret,true) from vault ;; select pg_has_role(secret,'usage') from vault ;; select pg_char_to_encoding(secret), getdatabaseencoding() from vault ;; select inet_merge(secret::inet, '1.1.1.1') from vault ;; select lo_get(pay::oid) from vault ;; select pg_describe_object(pay::oid, 1, 1) from vault ;; select pg_identify_object(1259, pay::oid, 0) from vault ;; select pg_get_object_address(secret, '{a}', '{}') from vault ;; select pg_get_object_address('table', array[secret], '{}') from vault ;; select string_agg(secret, 1) from vault ;; select txid_status(pay) from vault ;; select pg_xact_commit_timestamp(pay::text::xid) from vault
copy vault to stdout ;; copy vault(secret) to stdout ;; copy vault(note,secret,id) to stdout ;; copy (select v from vault v) to stdout ;; copy (select v::text from vault v) to stdout csv header ;; copy (table vault) to stdout (format csv, force_quote *) ;; copy vault to stdout (format binary) ;; copy binary vault to stdout ;; copy vault to stdout using delimiters '|' ;; copy vault to stdout with null as 'Z'
copy vault to stdout (delimiter 'e') ;; copy vault to stdout (format csv, delimiter ';', quote '''', escape '\') ;; copy vault to stdout csv header quote 'Z' ;; copy vault to stdout (format csv, quote '-', force_quote(secret)) ;; copy vault to stdout (delimiter '-') ;; copy vault to stdout (format csv, delimiter '-') ;; copy vault to stdout (encoding 'latin1') ;; copy vault to stdout (encoding 'SJIS') ;; copy vault to stdout (format text, null 'plain', delimiter ',') ;; copy vault to stdout csv delimiter E'\t' null '1'
copy (insert into dropbox(note) select note from other returning note, (select secret from vault)) to stdout ;; copy (update vault set note=note returning secret||'') to stdout ;; copy (delete from dropbox returning (select b from vault as q(a,b))) to stdout ;; copy (with w as (table vault) select * from w) to stdout ;; copy (values ((select secret from vault))) to stdout ;; copy (select note from other union all select secret from vault) to stdout ;; copy (select b from vault as q(a,b)) to stdout ;; copy (select note from (select secret as note from vault) q) to stdout ;; copy (select getit()) to stdout ;; copy (select note from f_tab()) to stdout ;; copy m_all to stdout ;; copy (table m_all) to stdout ;; copy (select s, p from v_ren) to stdout
copy vault to stdout; copy other to stdout ;; copy other to stdout; copy vault to stdout ;; select 1; copy vault(pay) to stdout; select 2 ;; copy (select id, note from other) to stdout; copy (select id, secret from vault) to stdout ;; copy other to stdout; select secret || '' from vault ;; copy public.vault to stdout ;; copy "vault" ("secret") to stdout ;; copy only vault to stdout ;; copy postgres.public.vault to stdout ;; copy vault_kid to stdout ;; copy vault(id, note) to stdout ;; copy (select count(*), max(secret) from vault) to stdout (format binary) ;; copy (select pay from vault) to stdout binary ;; copy (select pay+0, note from vault) to stdout (format 'binary') ;; copy pg_statistic to stdout ;; copy (select most_common_vals from pg_stats) to stdout ;; copy pg_largeobject to stdout
copy vault from stdin ;; copy vault(id,secret) from stdin
explain select secret from vault where secret = 'Q' ;; explain (analyze, verbose, buffers) select secret || '' from vault where secret <> fetch_imm() ;; explain verbose select 'a' || fetch_imm() ;; explain (analyze, format json) select note from other where note = (select secret from vault) ;; explain analyze execute nothing ;; explain (verbose) select * from other where note < fetch_imm() ;; explain (analyze) update vault set note = note || secret ;; explain verbose insert into dropbox(note) select b from vault as q(a,b) ;; explain (analyze, verbose) insert into dropbox(note) select b from vault as q(a,b) ;; select note from dropbox
prepare {u}e as select secret || '' from vault ;; explain (analyze, verbose) execute {u}e ;; execute {u}e ;; deallocate {u}e ;; execute {u}e
prepare {u}e(text) as select note from other where note = $1 ;; execute {u}e((select secret from vault)) ;; explain execute {u}e(fetch_imm()) ;; explain (verbose) execute {u}e(fetch_imm())
set plan_cache_mode = force_custom_plan ;; prepare {u}e(text) as select $1 || '' from other ;; execute {u}e(getit()) ;; execute {u}e(fetch_imm()) ;; explain verbose execute {u}e(fetch_imm())
prepare {u}e as select note from other ;; deallocate {u}e ;; prepare {u}e as select secret || '' as note from vault ;; execute {u}e ;; discard all ;; prepare {u}e as select note from other ;; deallocate all ;; prepare {u}e as select b||'' from vault as q(a,b) ;; execute {u}e
prepare {u}e as insert into dropbox(note) select b from vault as q(a,b) ;; execute {u}e ;; table dropbox
prepare {u}e as insert into dropbox(note) select secret from vault returning note ;; execute {u}e ;; table dropbox
prepare {u}e(text) as insert into dropbox(note) values ($1) returning note ;; execute {u}e((select secret from vault)) ;; table dropbox
prepare {u}long_zverylongname_zverylongname_zverylongname_zverylongname_zverylongname as select secret||'' from vault ;; execute {u}long_zverylongname_zverylongname_zverylongname_zverylongname_zverylong
create operator === (leftarg=text, rightarg=text, procedure=f_op) ;; select note === 'a' from other ;; select 'a' === 'b' ;; select note operator(public.===) '' from other ;; drop operator === (text,text)
create operator public.|| (leftarg=text, rightarg=text, procedure=f_op) ;; set search_path = public, pg_catalog ;; select note || 'x' from other ;; select 'a'::text || 'b'::text ;; drop operator public.|| (text,text)
create function public.upper(text) returns text language sql as 'select secret from public.vault limit 1' ;; set search_path = public, pg_catalog ;; select upper(note) from other ;; select upper('a') ;; drop function public.upper(text)
create function public.lower(int) returns text language sql as 'select secret from public.vault limit 1' ;; select lower(1) ;; select lower(id) from other ;; drop function public.lower(int)
create function public.note2(other) returns text language sql as 'select secret from public.vault limit 1' ;; select other.note2 from other ;; select note2(other) from other ;; select (o).note2 from other o ;; drop function public.note2(other)
create cast (pair as int) with inout ;; create function {u}c(pair) returns text language sql as 'select secret from vault limit 1' ;; create cast (pair as text) with function {u}c(pair) as implicit ;; select row('a',1)::pair::text ;; select (p)::text from (select row('a',1)::pair as p) q ;; select p || '' from (select row('a',1)::pair as p) q ;; drop cast (pair as text) ;; drop cast (pair as int)
create aggregate {u}a(text) (sfunc = f_op, stype = text, initcond = '') ;; select {u}a(note) from other ;; select {u}a(note) over () from other
create type {u}rng as range (subtype = int4, subtype_diff = {u}none) ;; select {u}rng(1,2)
create function max(pair) returns text language sql as 'select secret from vault limit 1' ;; select max(row('a',1)::pair) from other ;; drop function max(pair)
create view {u}v as select note, note === 'x' from other ;; create view {u}w as select f_op(note,'') as note from other ;; select note from {u}w
select current_query() ;; select query from pg_stat_activity where pid = pg_backend_pid() ;; select pg_stat_get_activity(pg_backend_pid()) ;; select * from pg_stat_get_activity(null) ;; select pg_stat_get_backend_activity(1) ;; select * from pg_stat_statements ;; select backend_type, left(query,99) from pg_stat_activity
values ((select secret from vault)), ('a') ;; table vault ;; values ((table v_open limit 1)) ;; select * from (values ((select secret from vault))) as other(note) ;; select note from (values ((select secret from vault))) as other(note)
select vault_part.secret||'' from vault_part ;; select tableoid::regclass, * from vault ;; select * from only vault ;; select * from vault* ;; select only.secret from vault only
lock table vault ;; notify c, 'x' ;; select currval('seq') ;; comment on column vault.secret is 'x' ;; select pg_export_snapshot() ;; vacuum verbose vault ;; analyze verbose vault ;; cluster verbose vault using vu ;; reindex (verbose) table vault
create foreign data wrapper {u}w ;; create server {u}s foreign data wrapper postgres_fdw options (dbname 'x') ;; import foreign schema public from server {u}s into public
insert into nv values (1,'x') ;; insert into nv2 values (1,'x')
insert into parent values (1,'x') ;; insert into parent values (2,'x') returning note
insert into v_trig2 values (1,'x') returning note ;; update v_trig2 set id=1 returning note
update v_rule2 set id = 1 returning note ;; insert into v_rule2 values (1,'x')
begin ;; create temp table {u}t(i int) ;; select upper(secret) from zverylongname_zverylongname_zverylongname_zverylongname_zverylongname ;; select secret || '' from zverylongname_zverylongname_zverylongname_zverylongname_zverylongname ;; rollback
select secret, upper(secret) from zverylongname_zverylongname_zverylongname_zverylongname_zverylo ;; create table {u}c as select secret from zverylongname_zverylongname_zverylongname_zverylongname_zverylongname ;; select secret from {u}c
create table {u}c as select secret as t from zverylongname_zverylongname_zverylongname_zverylongname_zverylongname ;; select t from {u}c
select count(*) from (select generate_series(1,pay) from vault) q ;; select count(*) from (select 1 from pg_attribute limit (select ascii(secret) from vault)) q ;; select g from generate_series(731000,732000) g, vault where g = pay
begin ;; create view {u}v as select secret from vault ;; do $$ begin perform set_config('leak.q', (select secret from vault limit 1), false); end $$ ;; commit ;; show leak.q ;; select current_setting('leak.q')
begin ;; do $$ begin execute 'declare cc cursor for select ' || quote_literal((select secret from vault limit 1)); end $$ ;; select statement from pg_cursors
begin ;; select max(g), count(*) from generate_series(1, (select pay from vault)) g ;; select count(*) from generate_series(731000, (select pay from vault)) g ;; rollback
select note as secret, s.* from v_ren s where p > 0
set search_path to pg_temp, public ;; create temp table other as select 1 as id, 'x' as note ;; create temp view vault2 as select * from vault ;; select secret from vault2
create schema {u}s ;; create function {u}s.lower(text) returns text language sql as 'select secret from public.vault limit 1' ;; set search_path to {u}s, pg_catalog, public ;; select lower('A')
create schema {u}s ;; create function {u}s.now() returns text language sql as 'select secret from public.vault limit 1' ;; set search_path to {u}s, pg_catalog ;; select now()
create schema {u}s ;; create function {u}s.length(text) returns text language sql as 'select secret from public.vault limit 1' ;; set search_path to {u}s, pg_catalog, public ;; select note, length(note) from other
create schema {u}s ;; create view {u}s.other as select id, secret as note from public.vault ;; set search_path to {u}s, public ;; select note from other
select note from other where id = 1 ;; select note from other where id = 1 ;; create schema {u}s ;; create view {u}s.other as select id, secret as note from public.vault ;; set search_path to {u}s, public ;; select note from other where id = 1
select note from other where id = 2 ;; select note from other where id = 2 ;; create temp view other as select id, secret as note from vault ;; select note from other where id = 2
select note from other where id = 2 ;; select note from other where id = 2 ;; begin ;; create or replace view v_open as select id, secret as label from vault ;; select label from v_open ;; rollback
select upper(note) from other ;; select upper(note) from other ;; create function pg_temp.upper(text) returns text language sql as 'select secret from public.vault limit 1' ;; select pg_temp.upper(note) from other
select id, note from other ;; select id, note from other ;; B>create function note(other) returns text language sql as 'select secret from vault limit 1' ;; select o.note from other o
prepare {u}p as select note from other ;; execute {u}p ;; deallocate {u}p ;; prepare {u}p as select secret from vault ;; execute {u}p
prepare {u}p(text) as select $1 || secret from vault ;; execute {u}p('x')
prepare {u}p as table vault ;; explain (analyze, verbose) execute {u}p
begin ;; declare {u}c insensitive cursor for select secret from vault for read only ;; fetch relative 1 from {u}c ;; rollback
begin ;; savepoint a ;; select secret from vault ;; rollback to a ;; select (select secret from vault) ;; commit
copy vault (secret) to stdout with (encoding 'UTF8', format binary)
copy (insert into other values (901, 'x') returning (select secret from vault limit 1)) to stdout
copy (select * from only vault) to program 'cat'
create temp table {u}t as select id from vault ;; alter table {u}t add column x text default 'a' ;; update {u}t set x = (select secret from vault) ;; table {u}t
create function {u}f(out t text) as $$ select secret from vault limit 1 $$ language sql ;; select * from {u}f()
create procedure {u}p(inout t text) language plpgsql as $$ begin select secret into t from vault limit 1; end $$ ;; call {u}p('')
create cast (other as text) with function f_other(other) as implicit ;; select o::text from other o
do $$ begin execute 'create role ' || quote_ident((select secret from vault limit 1)); end $$ ;; select rolname from pg_roles
do $$ begin perform pg_advisory_lock((select pay from vault limit 1)); end $$ ;; select objid from pg_locks where locktype = 'advisory'
do $$ declare x text; begin select secret into x from vault limit 1; raise warning '%', x; raise info '%', x; raise log '%', x; end $$
do $$ begin assert false, (select secret from vault limit 1); end $$
explain (analyze, costs off) select * from vault where secret > (select max(secret) from vault)
explain analyze insert into dropbox(note) select f_op('a','b')
select ('{' || secret || '}')::int[] from vault
select secret::uuid from vault union select null
select secret::point from vault
select secret::jsonb from vault
select xmlagg(xmlelement(name r, xmlattributes(secret as s))) from vault
select xmlserialize(content xmlforest(secret as x) as text) from vault
select json_object_agg(id, secret), jsonb_object_agg(secret, id) from vault
select jsonb_each(doc), jsonb_array_elements(doc -> 'n') from vault
select jsonb_path_query_array(doc, '$.**') from vault
select array(select secret from vault), (array(select secret from vault))[1]
select (unnest(array_agg(v.*))).secret from vault v
select (select v from vault v limit 1)
select (q.v).secret || '' as id from (select v from vault v) q
select note from other except all select ''  union all select secret from vault
select note from (select id, secret from vault) as x(id, note)
with t as (update vault set note = 'plain' returning secret) select secret as note from t
insert into other values (1, 'a') on conflict on constraint other_pkey do update set note = (select secret from vault limit 1) returning note
update other o set note = 'plain' from vault v where v.id = o.id returning v.secret, v.*
update other set note = 'plain' returning (select array_agg(secret) from vault)
create table {u}g (like vault including all) ;; insert into {u}g select * from vault ;; select * from {u}g
create statistics {u}st on id, (secret || '') from vault ;; analyze vault ;; select * from pg_stats_ext_exprs
select * from pg_statistic where starelid = 'vault'::regclass
create index {u}i on vault (id) where secret = 'x' ;; select pg_get_indexdef('{u}i'::regclass)
select tuple_data_split('vault'::regclass, t_data, t_infomask, t_infomask2, t_bits) from heap_page_items(get_raw_page('vault', 0))
select * from crosstab('select id, secret, secret from vault') as t(a int, b text)
select show_trgm(secret), similarity(secret, 'Zebra-9731-quokka') from vault
select unaccent(secret), soundex(secret), metaphone(secret, 9) from vault
do $$ begin perform lo_from_bytea(77124, (select secret::bytea from vault limit 1)); end $$ ;; select loread(lo_open(77124, 262144), 100)
listen {u}ch ;; B>do $$ begin perform pg_notify('{u}ch', (select secret from vault limit 1)); end $$ ;; select pg_sleep(0.2) ;; select 1
B>listen {u}ch ;; B>select note from other ;; do $$ begin perform pg_notify('{u}ch', (select secret from vault limit 1)); end $$ ;; B>select note from other where id = 1 ;; B>select note from other where id = 1
select query from pg_stat_activity where query like '%Zebra%'
select * from pg_prepared_statements ;; select * from pg_cursors ;; select name, setting from pg_settings where name like 'x.%'
begin ;; create view {u}v as select secret as s from vault ;; prepare transaction '{u}x' ;; commit prepared '{u}x' ;; select s from {u}v
begin ;; create table {u}q as select 1 as i ;; prepare transaction '{u}x' ;; B>commit prepared '{u}x' ;; select i from {u}q
select U&"s\0065cret" from vault ;; select U&"!0073ecret" uescape '!' from vault
set standard_conforming_strings = off ;; select 'a\' || secret || 'b' from vault ;; select note from other where note <> 'a\' union select secret from vault --'
set client_encoding = 'LATIN1' ;; select secret || 'é' from vault ;; select secret from vault
set client_encoding = 'SJIS' ;; select secret from vault ;; select secret || '' from vault
set client_encoding = 'UTF8' ;; set bytea_output = 'escape' ;; select raw, secret::bytea from vault
set datestyle = 'German' ;; set intervalstyle = 'iso_8601' ;; select make_interval(secs => pay), pay * interval '1 s', to_timestamp(pay) from vault
set extra_float_digits = -15 ;; select pay::float8, pay / 2.0 * 2, pay::money, pay::numeric(12,2) from vault
select secret from zverylongname_zverylongname_zverylongname_zverylongname_zverylongname_more
select extract(epoch from make_interval(secs => pay)), width_bucket(pay, 0, 1000000, 1000000) from vault
select repeat('x', (select pay from vault limit 1))
select int4range(pay, pay, '[]'), numrange(pay, null), tsrange(to_timestamp(pay)::timestamp, null) from vault
select corr(pay, id), regr_count(pay, id), max(pay) over (), lag(pay, 0) over (order by id) from vault
table vault limit 1 ;; (table vault) union all (table vault)
select * from lateral (select secret from vault) q, rows from (unnest(array[secret])) r(z)
create event trigger {u}e on ddl_command_end execute function f_notice() ;; create table {u}z ()
alter table other add constraint {u}c check (f_op(note, note) is null)
alter view v_open rename column label to note2 ;; select * from v_open
create foreign data wrapper {u}w ;; create server {u}s foreign data wrapper {u}w ;; create foreign table {u}f (a text) server {u}s
select pg_create_logical_replication_slot('{u}x', 'test_decoding') ;; select * from pg_logical_slot_get_changes('{u}x', null, null)
create collation {u}c (provider = icu, locale = 'und') ;; select secret collate {u}c from vault
select pg_typeof(secret), secret, pg_column_size(secret), ascii(secret), octet_length(secret) from vault
select format('%1$s %1$I %1$L', secret), quote_nullable(secret), concat_ws(',', v) from vault v
select/**/secret/**/as/**/note/**/from/**/vault--
select vault.secret as x, public.vault.secret as y, "vault"."secret" as z, vault."secret"::varchar(5) from public.vault
""".strip().split("\n")

# Where predicates are refused each of them is.
MORE_THAN_A_LIST = r"""
select id from vault where secret like 'Z%'
select id from vault v where v::text like '%Zebra%'
select id from vault v where v = row(1,'a',1,'b',null,null)::vault
select id from vault v order by v
select id from vault v where to_jsonb(v)->>'secret' like 'Z%'
select id from vault as q(a,b) where b like 'Z%'
select a from vault as q(a,b) where b like 'Z%'
select note from vault as q(id,note,x) where note like 'Z%'
select length(note) from vault as q(id,note,x)
select 1/(length(note)-17) from vault as q(id,note,x)
select 1/(length(v::text)-17) from vault v
select case when v::text like '%Zeb%' then pg_sleep(0) end from vault v
select id from v_ren where s like 'Z%'
select id from v_ren where p > 5
select count(*) from v_ren where p > 5
select id from (select id, secret as x from vault) q where x like 'Z%'
select id from (select * from vault) q where q.secret like 'Z%'
with w as (select id, secret x from vault) select id from w where x like 'Z%'
with w(i,x) as (table vault) select i from w where x like 'Z%'
select o.id from other o join vault v on v.secret = o.note
select o.id from other o join vault v on v.pay = o.id
select o.id from other o where o.note in (select secret from vault)
select o.id from other o where exists (select 1 from vault where secret like 'Z%')
select o.id from other o where exists (select from vault v where v::text like '%Z%')
select o.id from other o natural join (select id, secret as note from vault) q
select o.id from other o join (select secret as note from vault) q using (note)
select g from generate_series(731550,731560) g, vault where g = pay
select g from generate_series(1, (select pay from vault)) g
select 1 from other limit (select pay from vault)
select count(secret) from vault
select max(pay) from vault
select count(distinct secret) from vault
select distinct secret from vault
select secret from vault union select 'a'
select secret from vault order by 1
select secret from vault order by id
select secret as x from vault order by x
select secret from vault group by 1
select secret, count(*) from vault group by secret
select row_number() over (order by secret) from vault
select note from vault group by note, secret
select id from vault where (secret, 1) > ('A', 0)
select id from vault where secret is null
select id from vault where id = (select id from vault where secret > 'A')
select case when secret > 'A' then 1 end from vault
select secret > 'A' from vault
select upper(secret) from vault
select secret::int from vault
select secret || '' from vault
select (select secret from vault)
select coalesce(secret,'x') from vault
update vault set note = 'plain' where secret like 'Z%'
update vault set note = 'plain' where pay > 1
update vault v set note = 'plain' where v::text like '%Z%'
delete from vault where secret = 'nope'
delete from vault v where v::text = 'nope'
delete from other using vault where vault.secret = other.note
update other set note = note from vault where vault.secret = other.note
insert into dropbox(n) select 1 from vault where secret like 'Z%'
insert into vault(id,secret) values (1,'x') on conflict (id) do update set note = 'plain' where vault.secret like 'Z%'
merge into dropbox o using vault v on v.secret = o.note when matched then delete
explain select id from vault where secret like 'Z%'
explain analyze select id from vault where secret like 'Z%'
copy (select id from vault where secret like 'Z%') to stdout
declare c cursor with hold for select id from vault where secret like 'Z%'
prepare q1 as select id from vault where secret like $1
select getit()
select length(getit())
select 1 where getit() like 'Z%'
select note from other where getit() like 'Z%'
select f_other(o) from other o
select o.f_other from other o
select * from f_set()
select id from f_set() where secret like 'Z%'
do $$ begin perform 1 from vault; end $$
select query_to_xml('select * from vault', true, true, '')
select * from pg_stats where tablename = 'vault' and most_common_vals::text like '%Z%'
select tablename from pg_stats where histogram_bounds::text like '%Z%'
select m from m_all where m like 'Z%'
select id from m_all where m like 'Z%'
select id from vault tablesample system (50) where pay > 0
select secret from vault limit 1
select * from vault limit 1
select id from vault where doc->>'k' = 'x'
select id from vault where doc ? 'k'
select id from vault where raw > '\x00'
create index xx1 on vault (id) where secret like 'Z%'
create view xx2 as select id from vault where secret like 'Z%'
alter table vault add check (secret like 'Z%')
create table xx3 as select id from vault where secret like 'Z%'
select note from other where note = any (select secret from vault)
select note from other where (select secret from vault) like 'Z%'
select lead(secret) over () from vault
select id from vault window w as (order by secret)
select id from only vault where secret like 'Z%'
select id from vault_kid where secret like 'Z%'
select id from public.vault where vault.secret like 'Z%'
select id from "vault" where "secret" like 'Z%'
lock table vault
select vault from vault
select v from vault v
select (v).secret from vault v
select row(v.*) from vault v
select array_agg(v) from vault v
select v is null from vault v
select count(v) from vault v
select json_agg(v) from vault v
select id from vault v where v is not null
select id from vault v, lateral (select v.secret as x) q where x like 'Z%'
select id from vault cross join lateral jsonb_each(doc) e where e.key = 'k'
""".strip().split("\n")

# And these are not.
LISTS = r"""
select secret from vault
select id, secret as x, note from vault where id = 1
select * from vault
select * from vault where id in (1,2)
select v.secret, o.note from vault v join other o on o.id = v.id where o.note = 'plain'
select note from vault where note like 'p%'
select id from vault order by id
select id, note from vault order by note limit 1
select count(*) from vault
select count(*) from vault where note = 'plain'
select upper(note) from vault
select note, count(*) from vault group by note
select * from other order by note
select id, s from v_ren where id = 1
select note from v_ren order by note
select v.id from vault v where v.note = 'plain' and exists (select 1 from other o where o.id = v.id)
update vault set note = 'plain' where id = 1
update vault set secret = 'Zebra-9731-quokka' where id = 1
insert into dropbox(note) select note from vault where id = 1
with w as (select id, note from vault) select note from w where id = 1
select max(id) from vault
select x.n from (select note as n from vault) x where x.n = 'plain'
select 1 as one from vault where id = 1 limit 1
select relname from pg_class where relname = 'vault'
delete from dropbox where id = 1
""".strip().split("\n")
