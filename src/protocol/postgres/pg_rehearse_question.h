/* SPDX-License-Identifier: MIT */
/* What a server is asked when a statement has run and is not committed: what it did, and which rows
 * can be shown of it. Whatever the question sets ends with its savepoint, but for the time that the
 * server may take to answer. */
#ifndef GH_POSTGRES_PG_REHEARSE_QUESTION_H
#define GH_POSTGRES_PG_REHEARSE_QUESTION_H

#include "base/arena.h"

/* What tables were written counts what the session did before as well, until the server has sent
 * that to its statistics: so what they said before is kept in a setting of the transaction. The
 * statement is the client's, which could write it anew, so nobody else knows its name, and servers
 * do not list such. */
struct slice pg_rehearse_setting_in(struct arena *arena);
/* The text behind BEGIN: it waits for locks for some seconds only, and for people as long as the
 * gateway says. Whatever the search path. */
struct slice pg_rehearse_begin_in(struct arena *arena, struct slice setting);

/* A Query. Its answer is a row of two texts, JSON: the effects that people see, and a plan of the
 * sample, whose members are
 *
 *   tables  those of which rows may be shown: n, schema, table, is_child, inserted, updated,
 *           deleted, why (not; else empty), has_key, columns (name and type), hidden (how many
 *           columns are not shown)
 *   more    how many other tables were written
 *   after   a query for the same transaction; null: there is nothing to ask
 *   before  a query for another session, while the transaction is open, with the answer to 'after'
 *           as its parameter; likewise
 *
 * Both answer with a row of one text, JSON: for each table n, rows (the key, and the values of the
 * columns; of a long one how many bytes it has), locked (there are rows that were only locked). New
 * rows are found by who wrote them (xmin), old ones by their primary key, as nobody else can have
 * changed them, and deleted ones by who deleted them (xmax). Only plain tables are read, without
 * policies, and only types of the server's own, so nothing runs that somebody has defined. */
struct slice pg_rehearse_question_in(struct arena *arena, struct slice setting);

/* The same around a query that the plan has. */
struct slice pg_rehearse_sample_in(struct arena *arena, struct slice query);
/* When that has failed: the transaction is as it was before. */
#define PG_REHEARSE_SAMPLE_UNDO                                                                    \
    "ROLLBACK TO SAVEPOINT gatehouse_rehearsal; RELEASE SAVEPOINT gatehouse_rehearsal"

#endif
