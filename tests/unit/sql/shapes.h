/* SPDX-License-Identifier: MIT */
/* Texts that are dear to read: a head, and a piece again and again behind it, in which '#' is a
 * number that counts. */
#ifndef GH_UNIT_SQL_SHAPES_H
#define GH_UNIT_SQL_SHAPES_H

#include "base/arena.h"

struct shape_of_text {
    const char *head;
    const char *piece;
};

static const struct shape_of_text shapes[] = {
    {"select ", "("},
    {"select ", "(("},
    {"select 1", ")"},
    {"select ", "(1)+"},
    {"select 1", "+1"},
    {"select 1", ",1"},
    {"", ";"},
    {"", "a;"},
    {"", "a ;  "},
    {"", "select # from t#;"},
    {"", "/**/a;"},
    {"select ", "''"},
    {"select ", "'a'\n"},
    {"select ", "'a#',"},
    {"select ", "E'\\'#',"},
    {"select ", "$$"},
    {"select ", "$a$"},
    {"select ", "$#$ "},
    {"select ", "$a#$x$a#$,"},
    {"select ", "$1$a$x$a$"},
    {"select ", "a$"},
    {"select ", "\"\"\"\""},
    {"select ", "\"a\"\"#\","},
    {"select ", "U&\"\\0061#\","},
    {"select ", "U&\"!0061#\" uescape '!',"},
    {"select ", "/*"},
    {"select ", "/* */ "},
    {"select ", "/*/**/*/"},
    {"select ", "a  "},
    {"select ", "--\n"},
    {"select ", "a - "},
    {"select ", "a#,"},
    {"select ", "a#.b#,"},
    {"select ", "a.a#.b,"},
    {"select ", "a b#,"},
    {"select * from t", ",t#"},
    {"select * from t", ",s#.t#"},
    {"select * from t", ",t x#"},
    {"select * from t", ",\"T#\""},
    {"select * from t where a in (1", ",#"},
    {"select ", "f#(),"},
    {"select ", "s.f#(),"},
    {"select ", "pg_stat_get_#(),"},
    {"select ", "information_schema.f#(),"},
    {"select ", "f("},
    {"select ", "["},
    {"select ", "substring("},
    {"select ", "f(1, "},
    {"select (a)", ".b#"},
    {"select a", " #> b"},
    {"select a", " operator(s#.+) b"},
    {"select a", "::t#"},
    {"select a from t group by a", ",cube(a#)"},
    {"select a from t group by ", "grouping sets ("},
    {"delete from t where 1=1", " or (true)"},
    {"", "delete from t where a = 1;"},
    {"with ", "a# as (delete from t where a# = 1),"},
    {"create publication p for table t", ",t# (a) where (b# > 1)"},
    {"create aggregate a (", "sfunc = f#,"},
    {"drop schema s", ",s#"},
    {"alter table t ", "alter a# type int,"},
    {"frobnicate ", "a#.b#("},
    {"select a from ", "\xe4#,"},
    {"select * from t where a = ", "'x' or '"},
    {"select ", "case "},
    {"select ", "a::int#::"},
    {"with ", "a# as (select 1),"},
    {"with a as (select 1)", ",a as (select * from a)"},
    {"with ", "a# as (with "},
    {"select ", "(select "},
    {"select ", "(select * from ("},
    {"select * from t", " join t on true"},
    {"select * from t", " join t# using (a#)"},
    {"insert into t values ", "(1,'a',$1),"},
    {"insert into t values ", "(#,'a#',null),"},
    {"insert into t (a", ",b#"},
    {"update t set a = 1", ",b# = c#"},
    {"delete from ", "a."},
    {"truncate t", ",t#"},
    {"create table t (a int", ",b# int references c#"},
    {"create schema s ", "create table t# (a int) "},
    {"create function f() begin atomic ", "select 1;"},
    {"", "create function f() begin atomic "},
    {"create rule r as on insert to t do (", "delete from t#;"},
    {"alter table t ", "add a#,"},
    {"grant select on t to a", ",b#"},
    {"", "explain "},
    {"drop table t", ",t#"},
    {"select 1 ", "union select 1 "},
    {"select 1 ", "union select * from t# "},
    {"merge into t using s on true ", "when matched then delete "},
    {"select 'a'", "\n--b"},
    {"select 'a'", "\n'b#'"},
    {"", "\xc3\xa9 "},
    {"select ", "\xc3\xa9#,"},
    {"", "abcdefgh"},
    {"", "0"},
    {"", "\xff"},
};

/* That many bytes of a shape, and some more. */
static inline struct slice shape_fill(struct arena *arena, const struct shape_of_text *shape,
                                      size_t size)
{
    struct slice piece = slice_of_text(shape->piece);
    char *at = arena_alloc(arena, size + 128);
    size_t len = 0;
    for (size_t i = 0; shape->head[i] != '\0'; i++) {
        at[len++] = shape->head[i];
    }
    for (size_t count = 0; len < size; count++) {
        for (size_t i = 0; i < piece.len; i++) {
            if (piece.at[i] == '#') {
                len += (size_t)snprintf(at + len, 12, "%zu", count);
            } else {
                at[len++] = piece.at[i];
            }
        }
    }
    return slice_of(at, len);
}

#endif
