/* SPDX-License-Identifier: MIT */
/* Statements that neither query, change rows nor define: settings, transactions, accounts, the
 * server's own affairs. */
#include "base/limits.h"
#include "sql/sql_mysql_internal.h"

/* All that they are: what stands behind them is looked through for calls and subqueries. */
struct utility {
    enum mysql_word word;
    enum sql_operation verb;
    uint64_t more;
    bool reads_relations; /* names of tables stand behind it, with TABLE or without */
};

#define OTHER SQL_BIT(SQL_OTHER)

static const struct utility utilities[] = {
    {MYSQL_WORD_HELP, SQL_SHOW, 0, false},
    {MYSQL_WORD_DO, SQL_DO, 0, false},
    {MYSQL_WORD_COMMIT, SQL_COMMIT, 0, false},
    {MYSQL_WORD_ROLLBACK, SQL_ROLLBACK, 0, false},
    {MYSQL_WORD_SAVEPOINT, SQL_SAVEPOINT, 0, false},
    {MYSQL_WORD_RELEASE, SQL_SAVEPOINT, 0, false},
    {MYSQL_WORD_SIGNAL, SQL_SET, 0, false},
    {MYSQL_WORD_GET, SQL_SHOW, 0, false},
    {MYSQL_WORD_KILL, SQL_OTHER, 0, false},
    {MYSQL_WORD_SHUTDOWN, SQL_OTHER, 0, false},
    {MYSQL_WORD_RESTART, SQL_OTHER, 0, false},
    {MYSQL_WORD_PURGE, SQL_OTHER, 0, false},
    {MYSQL_WORD_CHANGE, SQL_OTHER, SQL_BIT(SQL_FOREIGN), false},
    {MYSQL_WORD_STOP, SQL_OTHER, 0, false},
    {MYSQL_WORD_RESET, SQL_RESET, OTHER, false},
    {MYSQL_WORD_BACKUP, SQL_OTHER, SQL_BIT(SQL_SERVER_FILE), false},
    {MYSQL_WORD_CLONE, SQL_OTHER, SQL_BIT(SQL_SERVER_FILE), false},
    {MYSQL_WORD_IMPORT, SQL_IMPORT, SQL_BIT(SQL_SERVER_FILE), false},
    {MYSQL_WORD_INSTALL, SQL_CODE, SQL_BIT(SQL_LOAD), false},
    {MYSQL_WORD_UNINSTALL, SQL_CODE, 0, false},
    {MYSQL_WORD_CACHE, SQL_OTHER, 0, false},
    {MYSQL_WORD_UNLOCK, SQL_LOCK, 0, false},
    {MYSQL_WORD_CHECK, SQL_ANALYZE, 0, true},
    {MYSQL_WORD_CHECKSUM, SQL_SELECT, 0, true},
    {MYSQL_WORD_OPTIMIZE, SQL_VACUUM, 0, true},
    {MYSQL_WORD_REPAIR, SQL_VACUUM, SQL_BIT(SQL_ALTER), true},
};

static void take_verb(struct mysql_scan *scan, enum sql_operation verb, uint64_t more)
{
    scan->statement->verb = verb;
    scan->statement->operations |= SQL_BIT(verb) | more;
}

/* [LOCAL | NO_WRITE_TO_BINLOG] TABLE[S] name [, …] …; what stands behind is options. */
static void read_tables(struct mysql_scan *scan)
{
    size_t table = mysql_find_word(scan, MYSQL_WORD_TABLE);
    table = table < scan->end ? table : mysql_find_word(scan, MYSQL_WORD_TABLES);
    if (table == scan->end) { /* CHECK VIEW */
        table = mysql_find_word(scan, MYSQL_WORD_VIEW);
    }
    scan->at = table < scan->end ? table + 1 : scan->end;
    if (table == scan->end) {
        mysql_unknown(scan, "a table is missing");
        return;
    }
    mysql_take_relations(scan, 0);
}

/* SET ------------------------------------------------------------------------------------------ */

static bool is_setting(const struct mysql_scan *scan, size_t index, struct slice wanted)
{
    const struct mysql_token *token = &scan->tokens[index];
    struct slice text = {scan->lower + token->offset, token->len};
    if (token->kind == MYSQL_TOKEN_QUOTED) {
        text = slice_sub(text, 1, text.len - 2);
    }
    return slice_equals(text, wanted);
}

/* Of other sessions, or of the server; or whether this one may write. */
static void look_at_settings(struct mysql_scan *scan)
{
    for (size_t i = scan->at; i < scan->end; i++) {
        enum mysql_word word = (enum mysql_word)scan->tokens[i].word;
        bool is_system = i > 0 && scan->tokens[i - 1].kind == MYSQL_TOKEN_SYSTEM;
        bool is_global = word == MYSQL_WORD_GLOBAL || word == MYSQL_WORD_PERSIST ||
                         word == MYSQL_WORD_PERSIST_ONLY;
        /* Behind a value @@global.name is read alone. */
        bool is_set = !is_system || mysql_kind_at(scan, i + 3) == MYSQL_TOKEN_EQUALS ||
                      mysql_kind_at(scan, i + 3) == MYSQL_TOKEN_ASSIGN;
        if (is_global && is_set) {
            scan->statement->operations |= SQL_BIT(SQL_ALTER) | OTHER;
        }
        if (is_setting(scan, i, SLICE("transaction_read_only")) ||
            is_setting(scan, i, SLICE("tx_read_only")) ||
            (word == MYSQL_WORD_READ && mysql_word_at(scan, i + 1) == MYSQL_WORD_WRITE)) {
            scan->statement->lets_write = true;
        }
    }
}

/* SET STATEMENT setting = value [, …] FOR statement: the statement is read in its place. */
static bool read_set_statement(struct mysql_scan *scan)
{
    size_t behind = mysql_find_word(scan, MYSQL_WORD_FOR);
    if (behind == scan->end) {
        mysql_unknown(scan, "a SET that is not understood");
        return false;
    }
    size_t end = scan->end;
    scan->end = behind;
    look_at_settings(scan);
    scan->end = end;
    mysql_run(scan, MYSQL_AT_EXPRESSION, behind);
    scan->at = behind + 1;
    scan->has_columns = false;
    return true;
}

static void read_set(struct mysql_scan *scan)
{
    enum mysql_word next = mysql_word_at(scan, scan->at);
    take_verb(scan, SQL_SET, 0);
    look_at_settings(scan);
    if (next == MYSQL_WORD_PASSWORD) {
        scan->statement->operations |= SQL_BIT(SQL_ALTER) | OTHER;
    }
    if (next == MYSQL_WORD_DEFAULT && mysql_word_at(scan, scan->at + 1) == MYSQL_WORD_ROLE) {
        scan->statement->operations |= SQL_BIT(SQL_GRANT);
    }
    mysql_run(scan, MYSQL_AT_EXPRESSION, scan->end);
}

/* Transactions ----------------------------------------------------------------------------------*/

/* BEGIN [WORK], START TRANSACTION …; BEGIN NOT ATOMIC is a block. */
static void read_begin(struct mysql_scan *scan)
{
    take_verb(scan, SQL_BEGIN, 0);
    if (mysql_word_at(scan, scan->at) == MYSQL_WORD_NOT) {
        scan->statement->operations |= SQL_BIT(SQL_DO);
        mysql_stop(scan, "it is a block of statements");
        return;
    }
    look_at_settings(scan);
    if (scan->at + 1 < scan->end && mysql_word_at(scan, scan->at) != MYSQL_WORD_TRANSACTION) {
        mysql_stop(scan, "it is a block of statements");
    }
}

static void read_start(struct mysql_scan *scan)
{
    if (mysql_word_at(scan, scan->at) == MYSQL_WORD_TRANSACTION) {
        read_begin(scan);
    } else { /* REPLICA, GROUP_REPLICATION */
        take_verb(scan, SQL_OTHER, 0);
    }
}

static void read_xa(struct mysql_scan *scan)
{
    switch ((int)mysql_word_at(scan, scan->at)) {
    case MYSQL_WORD_START:
    case MYSQL_WORD_BEGIN:
        take_verb(scan, SQL_BEGIN, 0);
        return;
    case MYSQL_WORD_COMMIT:
        take_verb(scan, SQL_COMMIT, 0);
        return;
    case MYSQL_WORD_ROLLBACK:
        take_verb(scan, SQL_ROLLBACK, 0);
        return;
    case MYSQL_WORD_END:
        take_verb(scan, SQL_SET, 0);
        return;
    default:
        take_verb(scan, SQL_OTHER, 0);
        return;
    }
}

/* Others ----------------------------------------------------------------------------------------*/

/* LOCK TABLES name [[AS] alias] READ [LOCAL] | WRITE, …; INSTANCE. */
static void read_lock(struct mysql_scan *scan)
{
    take_verb(scan, SQL_LOCK, 0);
    scan->statement->locks = true;
    if (!mysql_take_word(scan, MYSQL_WORD_TABLES) && !mysql_take_word(scan, MYSQL_WORD_TABLE)) {
        scan->statement->operations |= OTHER;
        return;
    }
    while (scan->at < scan->end && !scan->is_stopped) {
        struct sql_name name;
        if (!mysql_take_name(scan, &name)) {
            mysql_stop(scan, "a LOCK that is not understood");
            return;
        }
        (void)mysql_add_relation(scan, name, 0);
        while (scan->at < scan->end && mysql_kind_at(scan, scan->at) != MYSQL_TOKEN_COMMA) {
            scan->at++;
        }
        scan->at++;
    }
}

/* HANDLER name OPEN | READ … | CLOSE: rows of the table, past the optimizer. */
static void read_handler(struct mysql_scan *scan)
{
    struct sql_name name;
    take_verb(scan, SQL_FETCH, SQL_BIT(SQL_SELECT));
    if (!mysql_take_name(scan, &name)) {
        mysql_stop(scan, "a name is missing");
        return;
    }
    (void)mysql_add_relation(scan, name, 0);
    mysql_run(scan, MYSQL_AT_EXPRESSION, scan->end);
}

/* … ON [TABLE | FUNCTION | PROCEDURE] [schema .] name | * | schema.* …, or of roles and accounts.
 */
static void read_grant(struct mysql_scan *scan, enum sql_operation verb)
{
    struct sql_name name;
    take_verb(scan, verb, 0);
    size_t on = mysql_find_word(scan, MYSQL_WORD_ON);
    if (on == scan->end) {
        return;
    }
    scan->at = on + 1;
    enum mysql_word kind = mysql_word_at(scan, scan->at);
    if (kind == MYSQL_WORD_FUNCTION || kind == MYSQL_WORD_PROCEDURE || kind == MYSQL_WORD_PACKAGE) {
        return;
    }
    (void)mysql_take_word(scan, MYSQL_WORD_TABLE);
    if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_STAR) {
        bool is_any = mysql_kind_at(scan, scan->at + 1) == MYSQL_TOKEN_DOT;
        mysql_add_all(scan, is_any ? SLICE("") : scan->database, SQL_BIT(verb));
    } else if (mysql_take_name(scan, &name)) {
        if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_DOT) {
            bool is_glob = slice_find_byte(name.name, '%') < name.name.len ||
                           slice_find_byte(name.name, '_') < name.name.len;
            mysql_add_all(scan, is_glob ? SLICE("") : name.name, SQL_BIT(verb));
        } else {
            (void)mysql_add_relation(scan, name, SQL_BIT(verb));
        }
    } else {
        mysql_unknown(scan, "a name is missing");
    }
}

static void read_flush(struct mysql_scan *scan)
{
    take_verb(scan, SQL_OTHER, 0);
    if (mysql_find_word(scan, MYSQL_WORD_LOCK) < scan->end) {
        mysql_operate(scan, SQL_LOCK);
        scan->statement->locks = true;
    }
}

/* What runs may read anything. */
static void run_any(struct mysql_scan *scan, const char *why)
{
    mysql_unknown(scan, why);
    mysql_add_all(scan, SLICE(""), 0);
    mysql_run(scan, MYSQL_AT_EXPRESSION, scan->end);
}

/* A text that is run as a statement: one string and nothing else is read in its place. */
static void run_text(struct mysql_scan *scan)
{
    enum mysql_word behind = mysql_word_at(scan, scan->at + 1);
    char first = scan->at < scan->end ? scan->text.at[scan->tokens[scan->at].offset] : '\0';
    bool is_plain = mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_STRING &&
                    (first == '\'' || first == '"') &&
                    (scan->at + 1 == scan->end || behind == MYSQL_WORD_USING);
    if (!is_plain) {
        run_any(scan, "it runs a text that is computed");
        return;
    }
    scan->inner = scan->at + 1;
    mysql_run(scan, MYSQL_AT_EXPRESSION, scan->end);
}

/* PREPARE name FROM text, EXECUTE name [USING …], EXECUTE IMMEDIATE text, DEALLOCATE PREPARE name.
 */
static void read_prepared(struct mysql_scan *scan, enum sql_operation verb)
{
    take_verb(scan, verb, 0);
    (void)mysql_take_word(scan, MYSQL_WORD_PREPARE);
    if (verb == SQL_EXECUTE && mysql_take_word(scan, MYSQL_WORD_IMMEDIATE)) {
        run_text(scan);
        return;
    }
    if (mysql_is_name(scan, scan->at)) {
        scan->statement->prepared = mysql_name_at(scan, scan->at++);
    }
    if (verb == SQL_PREPARE && mysql_take_word(scan, MYSQL_WORD_FROM)) {
        run_text(scan);
    } else if (verb == SQL_PREPARE) {
        run_any(scan, "a PREPARE that is not understood");
    } else if (verb == SQL_EXECUTE) {
        mysql_unknown(scan, "it runs a prepared statement");
        mysql_run(scan, MYSQL_AT_EXPRESSION, scan->end);
    }
}

static void read_call(struct mysql_scan *scan)
{
    struct sql_name name;
    take_verb(scan, SQL_CALL, 0);
    mysql_unknown(scan, "it calls a procedure");
    if (mysql_take_name(scan, &name)) {
        mysql_add_function(scan, name.schema, name.name);
    }
    mysql_run(scan, MYSQL_AT_EXPRESSION, scan->end);
}

/* USE name: names without a database are in it from here on. */
static void read_use(struct mysql_scan *scan)
{
    struct sql_name name;
    take_verb(scan, SQL_SET, 0);
    scan->database = SLICE("");
    if (mysql_take_name(scan, &name) && scan->at == scan->end) {
        scan->database = name.name;
    }
}

/* SHOW: a WHERE may hold a subquery. */
static void read_show(struct mysql_scan *scan)
{
    take_verb(scan, SQL_SHOW, 0);
    mysql_run(scan, MYSQL_AT_EXPRESSION, scan->end);
}

static bool read_common(struct mysql_scan *scan, enum mysql_word first)
{
    for (size_t i = 0; i < sizeof(utilities) / sizeof(utilities[0]); i++) {
        const struct utility *utility = &utilities[i];
        if (utility->word != first) {
            continue;
        }
        take_verb(scan, utility->verb, utility->more);
        if (utility->reads_relations) {
            read_tables(scan);
        } else {
            scan->statement->ends_transaction =
                first == MYSQL_WORD_COMMIT || first == MYSQL_WORD_ROLLBACK;
            mysql_run(scan, MYSQL_AT_EXPRESSION, scan->end);
        }
        return true;
    }
    return false;
}

bool mysql_read_utility(struct mysql_scan *scan, enum mysql_word first)
{
    switch ((int)first) {
    case MYSQL_WORD_SET:
        if (mysql_take_word(scan, MYSQL_WORD_STATEMENT)) {
            return !read_set_statement(scan);
        }
        read_set(scan);
        return true;
    case MYSQL_WORD_BEGIN:
        read_begin(scan);
        return true;
    case MYSQL_WORD_START:
        read_start(scan);
        return true;
    case MYSQL_WORD_XA:
        read_xa(scan);
        return true;
    case MYSQL_WORD_LOCK:
        read_lock(scan);
        return true;
    case MYSQL_WORD_HANDLER:
        read_handler(scan);
        return true;
    case MYSQL_WORD_GRANT:
        read_grant(scan, SQL_GRANT);
        return true;
    case MYSQL_WORD_REVOKE:
        read_grant(scan, SQL_REVOKE);
        return true;
    case MYSQL_WORD_FLUSH:
        read_flush(scan);
        return true;
    case MYSQL_WORD_PREPARE:
        read_prepared(scan, SQL_PREPARE);
        return true;
    case MYSQL_WORD_EXECUTE:
        read_prepared(scan, SQL_EXECUTE);
        return true;
    case MYSQL_WORD_DEALLOCATE:
        read_prepared(scan, SQL_DEALLOCATE);
        return true;
    case MYSQL_WORD_CALL:
        read_call(scan);
        return true;
    case MYSQL_WORD_USE:
        read_use(scan);
        return true;
    case MYSQL_WORD_SHOW:
        read_show(scan);
        return true;
    default:
        return read_common(scan, first);
    }
}
