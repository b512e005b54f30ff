/* SPDX-License-Identifier: MIT */
/* CREATE, ALTER, DROP and RENAME. */
#include "base/limits.h"
#include "sql/sql_mysql_internal.h"

static void skip_if_exists(struct mysql_scan *scan)
{
    if (mysql_take_word(scan, MYSQL_WORD_IF)) {
        (void)mysql_take_word(scan, MYSQL_WORD_NOT);
        (void)mysql_take_word(scan, MYSQL_WORD_EXISTS);
    }
}

void mysql_take_relations(struct mysql_scan *scan, uint64_t operations)
{
    struct sql_name name;
    do {
        if (!mysql_take_name(scan, &name)) {
            mysql_stop(scan, "a name is missing");
            return;
        }
        (void)mysql_add_relation(scan, name, operations);
    } while (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_COMMA && ++scan->at < scan->end);
}

/* [IF [NOT] EXISTS] name. */
static bool take_defined(struct mysql_scan *scan, uint64_t operations)
{
    struct sql_name name;
    skip_if_exists(scan);
    if (!mysql_take_name(scan, &name)) {
        mysql_stop(scan, "a name is missing");
        return false;
    }
    (void)mysql_add_relation(scan, name, operations);
    return true;
}

/* What runs later: its body is looked through; where it is one statement that changes something,
 * that is read as if it ran now. */
static void define_code(struct mysql_scan *scan)
{
    mysql_operate(scan, SQL_CODE);
    scan->body = mysql_find_body(scan);
    mysql_guess(scan);
}

/* Tables: definitions, options, partitions ------------------------------------------------------*/

static bool is_own_engine(struct slice name)
{
    static const struct slice own[] = {
        SLICE_INIT("innodb"),     SLICE_INIT("myisam"),   SLICE_INIT("memory"),
        SLICE_INIT("heap"),       SLICE_INIT("aria"),     SLICE_INIT("csv"),
        SLICE_INIT("archive"),    SLICE_INIT("rocksdb"),  SLICE_INIT("merge"),
        SLICE_INIT("mrg_myisam"), SLICE_INIT("blackhole")};
    bool is_own = false;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && !is_own; i++) {
        is_own = slice_equals(own[i], name);
    }
    return is_own;
}

/* ENGINE [=] name, which may be a string. */
static void option_engine(struct mysql_scan *scan)
{
    scan->at += mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_EQUALS ? 1 : 0;
    uint8_t kind = mysql_kind_at(scan, scan->at);
    struct slice name = SLICE("");
    if (kind == MYSQL_TOKEN_STRING) {
        const struct mysql_token *token = &scan->tokens[scan->at];
        name = (struct slice){scan->lower + token->offset + 1, token->len - 2};
    } else if (kind == MYSQL_TOKEN_WORD || kind == MYSQL_TOKEN_QUOTED) {
        name = mysql_name_at(scan, scan->at);
    }
    if (!is_own_engine(name)) {
        mysql_operate(scan, SQL_FOREIGN);
    }
}

/* UNION [=] (name, …): the tables that a MERGE table shows, and writes. */
static void option_union(struct mysql_scan *scan)
{
    scan->at += mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_EQUALS ? 1 : 0;
    if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_OPEN) {
        scan->at++;
        while (mysql_kind_at(scan, scan->at) != MYSQL_TOKEN_CLOSE && !scan->is_stopped) {
            mysql_take_relations(scan, SQL_BIT(SQL_ALTER));
        }
        for (size_t i = 0; i < scan->statement->relation_count; i++) {
            mysql_write_relation(scan, i, 0);
        }
    }
}

/* A call, or a word that belongs to no definition. */
static void definition_name(struct mysql_scan *scan)
{
    size_t index = scan->at++;
    struct slice schema = SLICE("");
    while (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_DOT && scan->at + 1 < scan->end) {
        schema = mysql_name_at(scan, index);
        index = scan->at + 1;
        scan->at += 2;
    }
    uint8_t kind = mysql_kind_at(scan, index);
    bool is_name = kind == MYSQL_TOKEN_WORD || kind == MYSQL_TOKEN_QUOTED;
    if (is_name && mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_OPEN) {
        mysql_add_function(scan, schema, mysql_name_at(scan, index));
    }
}

/* One word of a definition, or of options. */
static void definition_word(struct mysql_scan *scan)
{
    struct sql_name name;
    enum mysql_word word = mysql_word_at(scan, scan->at);
    enum mysql_word next = mysql_word_at(scan, scan->at + 1);
    scan->at++;
    switch ((int)word) {
    case MYSQL_WORD_REFERENCES:
        if (mysql_take_name(scan, &name)) {
            (void)mysql_add_relation(scan, name, 0);
        }
        return;
    case MYSQL_WORD_UNION:
        option_union(scan);
        return;
    case MYSQL_WORD_ENGINE:
        option_engine(scan);
        return;
    case MYSQL_WORD_CONNECTION:
        mysql_operate(scan, SQL_FOREIGN);
        return;
    case MYSQL_WORD_DATA:
    case MYSQL_WORD_INDEX:
        if (next == MYSQL_WORD_DIRECTORY) {
            mysql_operate(scan, SQL_SERVER_FILE);
        }
        return;
    case MYSQL_WORD_SELECT:
        mysql_unknown(scan, "SELECT where none can stand");
        scan->at--;
        mysql_guess(scan);
        return;
    default:
        if (word == MYSQL_NO_WORD || !mysql_word_is_reserved(word)) {
            scan->at--;
            definition_name(scan);
        }
        return;
    }
}

static void read_definitions(struct mysql_scan *scan, size_t end)
{
    while (scan->at < end && !scan->is_stopped) {
        uint8_t kind = mysql_kind_at(scan, scan->at);
        if (kind == MYSQL_TOKEN_WORD || kind == MYSQL_TOKEN_QUOTED) {
            definition_word(scan);
        } else {
            scan->at++;
        }
    }
}

/* Where the query of a CREATE TABLE begins: at SELECT, VALUES, TABLE, or WITH behind AS, or the
 * parentheses before it. */
static size_t find_query(const struct mysql_scan *scan)
{
    size_t depth = 0;
    for (size_t i = scan->at; i < scan->end; i++) {
        uint8_t kind = scan->tokens[i].kind;
        enum mysql_word word = (enum mysql_word)scan->tokens[i].word;
        bool is_behind_as = i > 0 && scan->tokens[i - 1].word == MYSQL_WORD_AS;
        bool begins = word == MYSQL_WORD_SELECT || word == MYSQL_WORD_VALUES ||
                      word == MYSQL_WORD_TABLE ||
                      ((is_behind_as || kind == MYSQL_TOKEN_OPEN) && mysql_begins_query(scan, i));
        if (depth == 0 && begins) {
            return i;
        }
        depth += kind == MYSQL_TOKEN_OPEN ? 1 : 0;
        depth -= kind == MYSQL_TOKEN_CLOSE && depth > 0 ? 1 : 0;
    }
    return scan->end;
}

static bool take_like(struct mysql_scan *scan)
{
    struct sql_name name;
    size_t start = scan->at;
    scan->at += mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_OPEN ? 1 : 0;
    if (!mysql_take_word(scan, MYSQL_WORD_LIKE)) {
        scan->at = start;
        return false;
    }
    if (mysql_take_name(scan, &name)) {
        (void)mysql_add_relation(scan, name, 0);
    } else {
        mysql_stop(scan, "a name is missing");
    }
    return true;
}

static void create_table(struct mysql_scan *scan, bool replaces)
{
    uint64_t operations = SQL_BIT(SQL_CREATE) | (replaces ? SQL_BIT(SQL_DROP) : 0);
    if (!take_defined(scan, operations) || take_like(scan)) {
        return;
    }
    size_t query = find_query(scan);
    read_definitions(scan, query);
    mysql_run_query(scan, scan->end);
}

/* CREATE ----------------------------------------------------------------------------------------*/

/* DEFINER = who, who being a name and perhaps a host. */
static void skip_definer(struct mysql_scan *scan)
{
    scan->at += 2;
    if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_VARIABLE) {
        bool is_bare = scan->tokens[scan->at].len == 1;
        scan->at += is_bare ? 2 : 1;
    }
    if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_OPEN) {
        mysql_skip_parentheses(scan); /* CURRENT_USER() */
    }
}

/* To the word that says what is made. */
static enum mysql_word find_kind(struct mysql_scan *scan, bool *ret_replaces)
{
    *ret_replaces = false;
    while (scan->at < scan->end) {
        enum mysql_word word = mysql_word_at(scan, scan->at++);
        switch ((int)word) {
        case MYSQL_WORD_OR:
            *ret_replaces = mysql_take_word(scan, MYSQL_WORD_REPLACE);
            break;
        case MYSQL_WORD_DEFINER:
            skip_definer(scan);
            break;
        case MYSQL_WORD_TABLE:
        case MYSQL_WORD_TABLES:
        case MYSQL_WORD_VIEW:
        case MYSQL_WORD_INDEX:
        case MYSQL_WORD_KEY:
        case MYSQL_WORD_DATABASE:
        case MYSQL_WORD_SCHEMA:
        case MYSQL_WORD_PROCEDURE:
        case MYSQL_WORD_FUNCTION:
        case MYSQL_WORD_TRIGGER:
        case MYSQL_WORD_EVENT:
        case MYSQL_WORD_PACKAGE:
        case MYSQL_WORD_LIBRARY:
        case MYSQL_WORD_SERVER:
        case MYSQL_WORD_USER:
        case MYSQL_WORD_ROLE:
        case MYSQL_WORD_SEQUENCE:
        case MYSQL_WORD_TABLESPACE:
        case MYSQL_WORD_LOGFILE:
        case MYSQL_WORD_RESOURCE:
        case MYSQL_WORD_INSTANCE:
        case MYSQL_WORD_PREPARE:
            return word;
        default:
            break;
        }
    }
    return MYSQL_NO_WORD;
}

/* name [(columns)] AS query. */
static void create_view(struct mysql_scan *scan, uint64_t operations)
{
    if (!take_defined(scan, operations)) {
        return;
    }
    size_t as = mysql_find_word(scan, MYSQL_WORD_AS);
    scan->at = as < scan->end ? as + 1 : scan->end;
    if (as == scan->end) {
        mysql_unknown(scan, "a view without a query");
    }
    mysql_run_query(scan, scan->end);
}

/* … ON name …: what sees the rows of the table reads it. */
static void create_on_table(struct mysql_scan *scan, uint64_t operations)
{
    struct sql_name name;
    size_t on = mysql_find_word(scan, MYSQL_WORD_ON);
    scan->at = on < scan->end ? on + 1 : scan->end;
    if (on == scan->end || !mysql_take_name(scan, &name)) {
        mysql_stop(scan, "a table is missing");
        return;
    }
    size_t index = mysql_add_relation(scan, name, operations);
    mysql_write_relation(scan, index, 0);
}

static void read_all_of_schema(struct mysql_scan *scan, uint64_t operations)
{
    struct sql_name name;
    skip_if_exists(scan);
    struct slice schema = scan->database;
    if (mysql_is_name(scan, scan->at) && mysql_take_name(scan, &name)) {
        schema = name.name;
    }
    mysql_add_all(scan, schema, operations);
}

static void read_other_kind(struct mysql_scan *scan, enum mysql_word kind)
{
    switch ((int)kind) {
    case MYSQL_WORD_PROCEDURE:
    case MYSQL_WORD_FUNCTION:
    case MYSQL_WORD_EVENT:
    case MYSQL_WORD_PACKAGE:
    case MYSQL_WORD_LIBRARY:
    case MYSQL_WORD_TRIGGER:
        define_code(scan);
        return;
    case MYSQL_WORD_SERVER:
        mysql_operate(scan, SQL_FOREIGN);
        return;
    case MYSQL_WORD_TABLESPACE:
    case MYSQL_WORD_LOGFILE:
        mysql_operate(scan, SQL_SERVER_FILE);
        return;
    case MYSQL_WORD_DATABASE:
    case MYSQL_WORD_SCHEMA:
    case MYSQL_WORD_USER:
    case MYSQL_WORD_ROLE:
        return;
    default:
        mysql_operate(scan, SQL_OTHER);
        return;
    }
}

void mysql_read_create(struct mysql_scan *scan)
{
    bool replaces = false;
    enum mysql_word kind = find_kind(scan, &replaces);
    switch ((int)kind) {
    case MYSQL_WORD_TABLE:
        create_table(scan, replaces);
        return;
    case MYSQL_WORD_VIEW:
        create_view(scan, SQL_BIT(SQL_CREATE));
        return;
    case MYSQL_WORD_SEQUENCE:
        (void)take_defined(scan, SQL_BIT(SQL_CREATE) | (replaces ? SQL_BIT(SQL_DROP) : 0));
        return;
    case MYSQL_WORD_INDEX:
        create_on_table(scan, SQL_BIT(SQL_CREATE));
        read_definitions(scan, scan->end);
        return;
    case MYSQL_WORD_TRIGGER:
        create_on_table(scan, SQL_BIT(SQL_CREATE));
        define_code(scan);
        return;
    case MYSQL_WORD_DATABASE:
    case MYSQL_WORD_SCHEMA:
        if (replaces) {
            read_all_of_schema(scan, SQL_BIT(SQL_DROP));
        }
        return;
    case MYSQL_NO_WORD:
        mysql_unknown(scan, "it is not known what is made");
        return;
    default:
        read_other_kind(scan, kind);
        return;
    }
}

/* ALTER -----------------------------------------------------------------------------------------*/

/* RENAME [TO | AS | =] name; not of a column, or of an index. */
static void alter_rename(struct mysql_scan *scan)
{
    struct sql_name name;
    enum mysql_word next = mysql_word_at(scan, scan->at);
    if (next == MYSQL_WORD_COLUMN || next == MYSQL_WORD_INDEX || next == MYSQL_WORD_KEY) {
        return;
    }
    if (!mysql_take_word(scan, MYSQL_WORD_TO) && !mysql_take_word(scan, MYSQL_WORD_AS)) {
        scan->at += mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_EQUALS ? 1 : 0;
    }
    if (mysql_take_name(scan, &name)) {
        size_t index = mysql_add_relation(scan, name, SQL_BIT(SQL_RENAME) | SQL_BIT(SQL_ALTER));
        mysql_write_relation(scan, index, 0);
    }
}

/* The other table of EXCHANGE PARTITION … WITH TABLE, and of CONVERT … TABLE. */
static void alter_other_table(struct mysql_scan *scan)
{
    struct sql_name name;
    size_t start = scan->at;
    scan->at = mysql_find_word(scan, MYSQL_WORD_TABLE) + 1;
    if (scan->at < scan->end && mysql_take_name(scan, &name)) {
        size_t index = mysql_add_relation(scan, name, SQL_BIT(SQL_ALTER));
        mysql_write_relation(scan, index, 0);
    }
    scan->at = start;
}

static void alter_word(struct mysql_scan *scan, size_t target)
{
    enum mysql_word word = mysql_word_at(scan, scan->at);
    enum mysql_word next = mysql_word_at(scan, scan->at + 1);
    struct sql_statement *statement = scan->statement;
    switch ((int)word) {
    case MYSQL_WORD_RENAME:
        scan->at++;
        alter_rename(scan);
        return;
    case MYSQL_WORD_EXCHANGE:
        alter_other_table(scan);
        scan->at++;
        return;
    case MYSQL_WORD_CONVERT:
        statement->rewrites_rows = true;
        if (next == MYSQL_WORD_PARTITION || next == MYSQL_WORD_TABLE) {
            alter_other_table(scan);
        }
        scan->at++;
        return;
    case MYSQL_WORD_MODIFY:
    case MYSQL_WORD_CHANGE:
        statement->rewrites_rows = true;
        scan->at++;
        return;
    case MYSQL_WORD_DROP:
    case MYSQL_WORD_TRUNCATE:
        if (next == MYSQL_WORD_PARTITION) {
            mysql_write_relation(scan, target, SQL_BIT(SQL_TRUNCATE));
        }
        scan->at++;
        return;
    case MYSQL_WORD_DISCARD:
        mysql_write_relation(scan, target, SQL_BIT(SQL_TRUNCATE));
        scan->at++;
        return;
    case MYSQL_WORD_IMPORT:
        mysql_operate(scan, SQL_SERVER_FILE);
        scan->at++;
        return;
    default:
        definition_word(scan);
        return;
    }
}

static void alter_table(struct mysql_scan *scan)
{
    struct sql_name name;
    skip_if_exists(scan);
    if (!mysql_take_name(scan, &name)) {
        mysql_stop(scan, "a name is missing");
        return;
    }
    size_t target = mysql_add_relation(scan, name, SQL_BIT(SQL_ALTER));
    mysql_write_relation(scan, target, 0);
    while (scan->at < scan->end && !scan->is_stopped) {
        uint8_t kind = mysql_kind_at(scan, scan->at);
        if (kind == MYSQL_TOKEN_WORD) {
            alter_word(scan, target);
        } else {
            scan->at++;
        }
    }
}

void mysql_read_alter(struct mysql_scan *scan)
{
    bool replaces = false;
    enum mysql_word kind = find_kind(scan, &replaces);
    switch ((int)kind) {
    case MYSQL_WORD_TABLE:
        alter_table(scan);
        return;
    case MYSQL_WORD_VIEW:
        create_view(scan, SQL_BIT(SQL_ALTER));
        return;
    case MYSQL_WORD_SEQUENCE:
        (void)take_defined(scan, SQL_BIT(SQL_ALTER));
        return;
    case MYSQL_WORD_DATABASE:
    case MYSQL_WORD_SCHEMA:
        read_all_of_schema(scan, SQL_BIT(SQL_ALTER));
        return;
    case MYSQL_NO_WORD:
        mysql_unknown(scan, "it is not known what is changed");
        return;
    default:
        read_other_kind(scan, kind);
        return;
    }
}

/* DROP, RENAME ----------------------------------------------------------------------------------*/

void mysql_read_drop(struct mysql_scan *scan)
{
    bool replaces = false;
    enum mysql_word kind = find_kind(scan, &replaces);
    switch ((int)kind) {
    case MYSQL_WORD_TABLE:
    case MYSQL_WORD_TABLES:
    case MYSQL_WORD_VIEW:
    case MYSQL_WORD_SEQUENCE:
        skip_if_exists(scan);
        mysql_take_relations(scan, SQL_BIT(SQL_DROP));
        return;
    case MYSQL_WORD_INDEX:
        create_on_table(scan, SQL_BIT(SQL_DROP));
        return;
    case MYSQL_WORD_DATABASE:
    case MYSQL_WORD_SCHEMA:
        read_all_of_schema(scan, SQL_BIT(SQL_DROP));
        return;
    case MYSQL_WORD_PREPARE:
        scan->statement->verb = SQL_DEALLOCATE;
        scan->statement->operations = SQL_BIT(SQL_DEALLOCATE);
        return;
    case MYSQL_WORD_FUNCTION:
    case MYSQL_WORD_PROCEDURE:
    case MYSQL_WORD_TRIGGER:
    case MYSQL_WORD_EVENT:
    case MYSQL_WORD_PACKAGE:
    case MYSQL_WORD_LIBRARY:
        mysql_operate(scan, SQL_CODE);
        return;
    case MYSQL_NO_WORD:
        mysql_unknown(scan, "it is not known what is dropped");
        return;
    default:
        read_other_kind(scan, kind);
        return;
    }
}

/* TABLE[S] name TO name [, …]; USER. */
void mysql_read_rename(struct mysql_scan *scan)
{
    const uint64_t operations = SQL_BIT(SQL_RENAME) | SQL_BIT(SQL_ALTER);
    mysql_operate(scan, SQL_ALTER);
    if (mysql_take_word(scan, MYSQL_WORD_USER)) {
        return;
    }
    if (!mysql_take_word(scan, MYSQL_WORD_TABLE) && !mysql_take_word(scan, MYSQL_WORD_TABLES)) {
        mysql_stop(scan, "it is not known what is renamed");
        return;
    }
    skip_if_exists(scan);
    while (scan->at < scan->end && !scan->is_stopped) {
        struct sql_name name;
        if (mysql_take_name(scan, &name)) {
            size_t index = mysql_add_relation(scan, name, operations);
            mysql_write_relation(scan, index, 0);
        } else if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_COMMA ||
                   mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_NUMBER ||
                   mysql_word_at(scan, scan->at) == MYSQL_WORD_TO) {
            scan->at++;
        } else {
            mysql_stop(scan, "a RENAME that is not understood");
        }
    }
}
