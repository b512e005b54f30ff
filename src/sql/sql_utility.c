/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

#include "base/memory.h"

/* Statements of which the first word says nearly all. */
static const struct {
    enum sql_word word;
    enum sql_operation operation;
} sql_simple[] = {
    {SQL_WORD_ABORT, SQL_ROLLBACK},
    {SQL_WORD_BEGIN, SQL_BEGIN},
    {SQL_WORD_CHECKPOINT, SQL_CHECKPOINT},
    {SQL_WORD_CLOSE, SQL_CLOSE},
    {SQL_WORD_COMMIT, SQL_COMMIT},
    {SQL_WORD_DISCARD, SQL_DISCARD},
    {SQL_WORD_END, SQL_COMMIT},
    {SQL_WORD_FETCH, SQL_FETCH},
    {SQL_WORD_LISTEN, SQL_LISTEN},
    {SQL_WORD_MOVE, SQL_FETCH},
    {SQL_WORD_NOTIFY, SQL_NOTIFY},
    {SQL_WORD_RELEASE, SQL_SAVEPOINT},
    {SQL_WORD_RESET, SQL_RESET},
    {SQL_WORD_ROLLBACK, SQL_ROLLBACK},
    {SQL_WORD_SAVEPOINT, SQL_SAVEPOINT},
    {SQL_WORD_SET, SQL_SET},
    {SQL_WORD_SHOW, SQL_SHOW},
    {SQL_WORD_START, SQL_BEGIN},
    {SQL_WORD_UNLISTEN, SQL_LISTEN},
};

static void sql_set_verb(struct sql_scan *scan, enum sql_operation verb)
{
    if (scan->statement->operations == 0) {
        scan->statement->verb = verb;
    }
    sql_operate(scan, verb);
}

/* The value of an option: on without one, as any word but these is an error. */
static bool sql_option_is_on(struct sql_scan *scan)
{
    const struct sql_token *token = &scan->tokens[scan->at];
    struct slice written = slice_sub(scan->text, token->offset, token->len);
    switch (sql_kind_at(scan, scan->at)) {
    case SQL_TOKEN_NUMBER:
        return !slice_equals(written, SLICE("0"));
    case SQL_TOKEN_STRING:
        return !slice_equals_nocase(written, SLICE("'off'")) &&
               !slice_equals_nocase(written, SLICE("'false'"));
    case SQL_TOKEN_WORD:
    case SQL_TOKEN_QUOTED:
    case SQL_TOKEN_QUOTED_UNICODE:
        written = sql_token_name(scan, scan->at);
        return !slice_equals_nocase(written, SLICE("off")) &&
               !slice_equals_nocase(written, SLICE("false"));
    default:
        return true;
    }
}

/* (ANALYZE, VERBOSE off): whether the statement is run. */
static bool sql_explain_options(struct sql_scan *scan)
{
    bool is_run = false;
    size_t end = scan->at;
    scan->at++;
    while (scan->at < scan->end && sql_kind_at(scan, scan->at) != SQL_TOKEN_CLOSE) {
        enum sql_word word = sql_word_at(scan, scan->at);
        bool is_analyze = word == SQL_WORD_ANALYZE || word == SQL_WORD_ANALYSE ||
                          (sql_token_is_name(scan, scan->at) &&
                           slice_equals(sql_token_name(scan, scan->at), SLICE("analyze")));
        scan->at++;
        if (is_analyze) {
            is_run = sql_option_is_on(scan);
        }
        while (scan->at < scan->end && sql_kind_at(scan, scan->at) != SQL_TOKEN_COMMA &&
               sql_kind_at(scan, scan->at) != SQL_TOKEN_CLOSE) {
            scan->at++;
        }
        scan->at += sql_kind_at(scan, scan->at) == SQL_TOKEN_COMMA ? 1 : 0;
    }
    scan->at = end;
    (void)sql_skip_parentheses(scan);
    return is_run;
}

/* EXPLAIN [ANALYZE] [VERBOSE] or EXPLAIN (options). Without ANALYZE nothing happens. */
void sql_utility_explain(struct sql_scan *scan)
{
    bool is_run = false;
    if (sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN && !sql_begins_query(scan, scan->at + 1) &&
        sql_kind_at(scan, scan->at + 1) != SQL_TOKEN_OPEN) {
        is_run = sql_explain_options(scan);
    } else {
        is_run = sql_take_word(scan, SQL_WORD_ANALYZE) || sql_take_word(scan, SQL_WORD_ANALYSE);
        (void)sql_take_word(scan, SQL_WORD_VERBOSE);
    }
    scan->is_planned = scan->is_planned || !is_run;
}

/* Behind FROM or TO: all but STDIN and STDOUT, which can stand for each other, is the server's. */
static void sql_utility_copy_place(struct sql_scan *scan)
{
    struct slice place = SLICE_NONE;
    if (sql_kind_at(scan, scan->at) == SQL_TOKEN_WORD) {
        const struct sql_token *token = &scan->tokens[scan->at];
        place = slice_sub(scan->text, token->offset, token->len);
    }
    if (slice_equals_nocase(place, SLICE("stdin")) || slice_equals_nocase(place, SLICE("stdout"))) {
        return;
    }
    sql_operate(scan, SQL_SERVER_FILE);
    if (slice_equals_nocase(place, SLICE("program"))) {
        sql_unknown(scan, "what a program does is not in the text");
    }
}

/* COPY (query) TO, COPY table [(columns)] FROM | TO. */
void sql_utility_copy(struct sql_scan *scan)
{
    struct sql_name name;
    if (sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN) {
        size_t start = scan->at;
        (void)sql_skip_parentheses(scan);
        size_t end = scan->at;
        scan->at = start;
        if (!scan->is_stopped) {
            sql_run_until(scan, SQL_IN_START, end);
            (void)sql_take_word(scan, SQL_WORD_TO);
            sql_utility_copy_place(scan);
        }
        return;
    }
    (void)sql_take_word(scan, SQL_WORD_BINARY);
    if (!sql_take_name(scan, &name)) {
        sql_stop(scan, "the name of a table is missing");
        return;
    }
    (void)sql_skip_parentheses(scan);
    bool is_from = sql_take_word(scan, SQL_WORD_FROM);
    if (!is_from && !sql_take_word(scan, SQL_WORD_TO)) {
        sql_stop(scan, "COPY says neither FROM nor TO");
        return;
    }
    sql_utility_copy_place(scan);
    (void)sql_add_relation(scan, name, is_from ? SQL_BIT(SQL_COPY) : 0);
    if (!is_from) {
        sql_add_column(scan, SLICE_NONE, sql_all(), false);
    }
    size_t where = sql_find_word(scan, SQL_WORD_WHERE);
    scan->at = where;
    if (where < scan->end) {
        sql_run(scan, SQL_IN_EXPRESSION);
    }
}

/* ON [TABLE | SEQUENCE] name, …: other kinds of objects are no relations. */
void sql_utility_grant(struct sql_scan *scan)
{
    enum sql_operation verb = scan->statement->verb;
    uint64_t bit = SQL_BIT(verb == SQL_REVOKE || verb == SQL_GRANT ? verb : SQL_GRANT);
    if (!sql_skip_to(scan, SQL_WORD_ON)) {
        return; /* of roles */
    }
    if (sql_take_word(scan, SQL_WORD_TABLE)) {
        (void)sql_take_relations(scan, bit);
        return;
    }
    enum sql_word kinds = sql_word_at(scan, scan->at + 1);
    if (sql_word_at(scan, scan->at) == SQL_WORD_ALL &&
        (kinds == SQL_WORD_TABLES || kinds == SQL_WORD_SEQUENCES)) { /* IN SCHEMA */
        scan->at += 4;
        sql_take_schemas(scan, bit);
        return;
    }
    enum sql_word next = sql_word_at(scan, scan->at + 1);
    uint8_t kind = sql_kind_at(scan, scan->at + 1);
    bool is_name = next == SQL_WORD_TO || next == SQL_WORD_FROM || kind == SQL_TOKEN_COMMA ||
                   kind == SQL_TOKEN_DOT;
    if (!is_name && sql_take_word(scan, SQL_WORD_SEQUENCE)) {
        is_name = true;
    }
    if (is_name && sql_token_is_name(scan, scan->at)) {
        (void)sql_take_relations(scan, bit);
    }
}

/* VACUUM and ANALYZE: their options, and their list of tables, each with columns. */
static void sql_utility_vacuum(struct sql_scan *scan, uint64_t operations)
{
    size_t index = 0;
    bool is_analyzed = false;
    for (size_t i = scan->at; i < scan->end; i++) {
        enum sql_word word = sql_word_at(scan, i);
        is_analyzed = is_analyzed || word == SQL_WORD_ANALYZE || word == SQL_WORD_ANALYSE;
    }
    (void)sql_skip_parentheses(scan);
    for (bool is_option = true; is_option;) {
        is_option = sql_take_word(scan, SQL_WORD_FULL) || sql_take_word(scan, SQL_WORD_FREEZE) ||
                    sql_take_word(scan, SQL_WORD_VERBOSE) ||
                    sql_take_word(scan, SQL_WORD_ANALYZE) || sql_take_word(scan, SQL_WORD_ANALYSE);
    }
    if (scan->at >= scan->end) {
        sql_add_all(scan, SLICE_NONE, operations);
        if (is_analyzed) {
            sql_add_all(scan, SLICE_NONE, 0);
        }
    }
    while (sql_take_relation(scan, operations, &index)) {
        scan->statement->relations[index].is_read |= is_analyzed;
        (void)sql_skip_parentheses(scan);
        if (sql_kind_at(scan, scan->at) != SQL_TOKEN_COMMA) {
            break;
        }
        scan->at++;
    }
}

/* CLUSTER [(options)] [VERBOSE] table [USING index]; CLUSTER index ON table. */
static void sql_utility_cluster(struct sql_scan *scan)
{
    size_t index = 0;
    (void)sql_skip_parentheses(scan);
    (void)sql_take_word(scan, SQL_WORD_VERBOSE);
    scan->statement->needs_no_transaction = scan->at >= scan->end;
    if (sql_find_word(scan, SQL_WORD_ON) < scan->end) {
        (void)sql_skip_to(scan, SQL_WORD_ON);
    }
    if (sql_take_relation(scan, SQL_BIT(SQL_CLUSTER), &index)) {
        scan->statement->relations[index].is_read = true;
    } else {
        sql_add_all(scan, SLICE_NONE, SQL_BIT(SQL_CLUSTER));
    }
}

static void sql_utility_reindex(struct sql_scan *scan)
{
    size_t index = 0;
    size_t start = scan->at;
    if (sql_skip_parentheses(scan)) { /* CONCURRENTLY can be an option */
        for (size_t i = start; i < scan->at; i++) {
            scan->statement->needs_no_transaction |= sql_word_at(scan, i) == SQL_WORD_CONCURRENTLY;
        }
    }
    enum sql_word word = sql_word_at(scan, scan->at++);
    scan->statement->needs_no_transaction |= sql_take_word(scan, SQL_WORD_CONCURRENTLY);
    if (word == SQL_WORD_TABLE || word == SQL_WORD_INDEX) {
        if (sql_take_relation(scan, SQL_BIT(SQL_REINDEX), &index)) { /* an error tells a value */
            scan->statement->relations[index].is_read = true;
        }
    } else if (word == SQL_WORD_SCHEMA) {
        sql_take_schemas(scan, SQL_BIT(SQL_REINDEX));
    } else {
        scan->statement->needs_no_transaction = true;
        sql_add_all(scan, SLICE_NONE, SQL_BIT(SQL_REINDEX));
    }
}

/* COMMENT and SECURITY LABEL: ON kind name. */
static void sql_utility_comment(struct sql_scan *scan, uint64_t operations)
{
    struct sql_name name;
    size_t index = 0;
    (void)sql_skip_to(scan, SQL_WORD_ON);
    (void)(sql_take_word(scan, SQL_WORD_MATERIALIZED) || sql_take_word(scan, SQL_WORD_FOREIGN));
    switch ((int)sql_word_at(scan, scan->at++)) {
    case SQL_WORD_TABLE:
    case SQL_WORD_VIEW:
    case SQL_WORD_INDEX:
    case SQL_WORD_SEQUENCE:
        (void)sql_take_relation(scan, operations, &index);
        break;
    case SQL_WORD_COLUMN: /* what is before the last dot */
        if (sql_token_is_name(scan, scan->at)) {
            size_t last = scan->at;
            while (sql_kind_at(scan, last + 1) == SQL_TOKEN_DOT) {
                last += 2;
            }
            size_t end = scan->end;
            scan->end = last > scan->at ? last - 1 : last;
            if (sql_take_name(scan, &name)) {
                (void)sql_add_relation(scan, name, operations);
            }
            scan->end = end;
        }
        break;
    case SQL_WORD_CONSTRAINT:
    case SQL_WORD_TRIGGER:
    case SQL_WORD_RULE:
    case SQL_WORD_POLICY:
        if (!sql_skip_to(scan, SQL_WORD_ON)) {
            break;
        }
        /* ON DOMAIN name, unless a table is called so. */
        if (sql_word_at(scan, scan->at) != SQL_WORD_DOMAIN ||
            sql_word_at(scan, scan->at + 1) == SQL_WORD_IS) {
            (void)sql_take_relation(scan, operations, &index);
        }
        break;
    default:
        break;
    }
}

/* EXECUTE name, DEALLOCATE [PREPARE] name | ALL. */
static void sql_utility_prepared(struct sql_scan *scan, bool is_executed)
{
    if (!is_executed && sql_word_at(scan, scan->at) == SQL_WORD_PREPARE &&
        scan->at + 1 < scan->end) {
        scan->at++;
    }
    if (sql_token_is_name(scan, scan->at)) {
        scan->statement->prepared = sql_token_name(scan, scan->at++);
    }
    if (is_executed) {
        sql_unknown(scan, "what was prepared is not in the text");
        sql_run(scan, SQL_IN_EXPRESSION);
    }
}

static void sql_utility_call(struct sql_scan *scan)
{
    sql_unknown(scan, "what a procedure does is not in the text");
    sql_run(scan, SQL_IN_EXPRESSION);
}

static bool sql_utility_simple(struct sql_scan *scan, enum sql_word verb)
{
    for (size_t i = 0; i < COUNT_OF(sql_simple); i++) {
        if (sql_simple[i].word == verb) {
            enum sql_word next = sql_word_at(scan, scan->at);
            sql_set_verb(scan, sql_simple[i].operation);
            scan->statement->needs_no_transaction =
                next == SQL_WORD_PREPARED || (verb == SQL_WORD_DISCARD && next == SQL_WORD_ALL);
            sql_transaction_read(scan, sql_simple[i].operation);
            scan->at = scan->end;
            return true;
        }
    }
    return false;
}

/* Those that name relations. */
static bool sql_utility_named(struct sql_scan *scan, enum sql_word verb)
{
    size_t index = 0;
    switch ((int)verb) {
    case SQL_WORD_TRUNCATE:
        sql_set_verb(scan, SQL_TRUNCATE);
        (void)sql_take_word(scan, SQL_WORD_TABLE);
        (void)sql_take_relations(scan, SQL_BIT(SQL_TRUNCATE));
        if (sql_find_word(scan, SQL_WORD_CASCADE) < scan->end) { /* by foreign keys */
            sql_add_all(scan, SLICE_NONE, SQL_BIT(SQL_TRUNCATE));
        }
        return true;
    case SQL_WORD_LOCK:
        sql_set_verb(scan, SQL_LOCK);
        scan->statement->locks = !sql_locks_as_reader(scan);
        (void)sql_take_word(scan, SQL_WORD_TABLE);
        (void)sql_take_relations(scan, 0);
        return true;
    case SQL_WORD_VACUUM:
        sql_set_verb(scan, SQL_VACUUM);
        scan->statement->needs_no_transaction = true;
        sql_utility_vacuum(scan, SQL_BIT(SQL_VACUUM));
        return true;
    case SQL_WORD_ANALYZE:
    case SQL_WORD_ANALYSE:
        sql_set_verb(scan, SQL_ANALYZE);
        sql_utility_vacuum(scan, 0);
        return true;
    case SQL_WORD_CLUSTER:
        sql_set_verb(scan, SQL_CLUSTER);
        sql_utility_cluster(scan);
        return true;
    case SQL_WORD_REINDEX:
        sql_set_verb(scan, SQL_REINDEX);
        sql_utility_reindex(scan);
        return true;
    case SQL_WORD_REFRESH:
        sql_set_verb(scan, SQL_REFRESH);
        (void)(sql_take_word(scan, SQL_WORD_MATERIALIZED) && sql_take_word(scan, SQL_WORD_VIEW) &&
               sql_take_word(scan, SQL_WORD_CONCURRENTLY));
        if (!sql_take_relation(scan, SQL_BIT(SQL_REFRESH), &index)) {
            sql_stop(scan, "the name of a view is missing");
        }
        return true;
    default:
        return false;
    }
}

void sql_utility_read(struct sql_scan *scan, enum sql_word verb)
{
    if (sql_utility_simple(scan, verb) || sql_utility_named(scan, verb)) {
        return;
    }
    switch ((int)verb) {
    case SQL_WORD_IMPORT: /* FOREIGN SCHEMA … INTO schema */
        sql_set_verb(scan, SQL_IMPORT);
        sql_operate(scan, SQL_FOREIGN);
        (void)sql_skip_to(scan, SQL_WORD_INTO);
        sql_take_schemas(scan, SQL_BIT(SQL_IMPORT));
        break;
    case SQL_WORD_LOAD:
        sql_set_verb(scan, SQL_LOAD);
        sql_operate(scan, SQL_CODE);
        break;
    case SQL_WORD_REASSIGN:
        sql_set_verb(scan, SQL_REASSIGN);
        sql_add_all(scan, SLICE_NONE, SQL_BIT(SQL_REASSIGN));
        break;
    case SQL_WORD_COMMENT:
        sql_set_verb(scan, SQL_COMMENT);
        sql_utility_comment(scan, SQL_BIT(SQL_COMMENT));
        break;
    case SQL_WORD_SECURITY:
        sql_set_verb(scan, SQL_OTHER);
        sql_utility_comment(scan, SQL_BIT(SQL_OTHER));
        break;
    case SQL_WORD_GRANT:
        sql_set_verb(scan, SQL_GRANT);
        sql_utility_grant(scan);
        break;
    case SQL_WORD_REVOKE:
        sql_set_verb(scan, SQL_REVOKE);
        sql_utility_grant(scan);
        break;
    case SQL_WORD_EXECUTE:
        sql_set_verb(scan, SQL_EXECUTE);
        sql_utility_prepared(scan, true);
        break;
    case SQL_WORD_DEALLOCATE:
        sql_set_verb(scan, SQL_DEALLOCATE);
        sql_utility_prepared(scan, false);
        break;
    case SQL_WORD_CALL:
        sql_set_verb(scan, SQL_CALL);
        sql_utility_call(scan);
        break;
    case SQL_WORD_DO:
        sql_set_verb(scan, SQL_DO);
        sql_operate(scan, SQL_CODE);
        sql_unknown(scan, "what a block of code does is not known");
        break;
    default:
        sql_set_verb(scan, SQL_OTHER);
        sql_stop(scan, "not a statement of PostgreSQL");
        break;
    }
    scan->at = scan->end;
}
