/* SPDX-License-Identifier: MIT */
/* INSERT, REPLACE, UPDATE, DELETE and LOAD. */
#include "base/limits.h"
#include "sql/sql_mysql_internal.h"

/* Words like LOW_PRIORITY and IGNORE, before anything that counts. */
static void skip_modifiers(struct mysql_scan *scan)
{
    for (;;) {
        switch ((int)mysql_word_at(scan, scan->at)) {
        case MYSQL_WORD_LOW_PRIORITY:
        case MYSQL_WORD_HIGH_PRIORITY:
        case MYSQL_WORD_DELAYED:
        case MYSQL_WORD_QUICK:
        case MYSQL_WORD_IGNORE:
        case MYSQL_WORD_CONCURRENT:
            scan->at++;
            continue;
        default:
            return;
        }
    }
}

static size_t first_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* SET -------------------------------------------------------------------------------------------*/

/* Which of the items a name with a qualifier is of; without one, or where none fits: all. */
static void write_items(struct mysql_scan *scan, struct sql_name of, uint64_t operations)
{
    bool is_found = false;
    for (size_t i = 0; i < scan->item_count && of.name.len > 0; i++) {
        const struct mysql_item *item = &scan->items[i];
        if (item->relation == SIZE_MAX) {
            continue;
        }
        const struct sql_name *name = &scan->statement->relations[item->relation].name;
        bool is_alias = of.schema.len == 0 && slice_equals(item->alias, of.name);
        bool is_name = slice_equals(name->name, of.name) &&
                       (of.schema.len == 0 || slice_equals(name->schema, of.schema));
        if (is_alias || (is_name && item->alias.len == 0)) {
            mysql_write_relation(scan, item->relation, operations);
            is_found = true;
        }
    }
    for (size_t i = 0; i < scan->item_count && !is_found; i++) {
        if (scan->items[i].relation != SIZE_MAX) {
            mysql_write_relation(scan, scan->items[i].relation, operations);
        }
    }
}

/* [[schema .] table .] column = …; what stands left of '=' names no column that is read. */
static void take_assignment(struct mysql_scan *scan, uint64_t operations)
{
    struct sql_name of = {SLICE(""), SLICE("")};
    size_t names[3] = {0};
    size_t count = 0;
    while (count < 3 && (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_WORD ||
                         mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_QUOTED)) {
        names[count++] = scan->at++;
        if (mysql_kind_at(scan, scan->at) != MYSQL_TOKEN_DOT) {
            break;
        }
        scan->at++;
    }
    uint8_t kind = mysql_kind_at(scan, scan->at);
    if (count == 0 || (kind != MYSQL_TOKEN_EQUALS && kind != MYSQL_TOKEN_ASSIGN)) {
        mysql_stop(scan, "a SET that is not understood");
        return;
    }
    scan->at++;
    if (count > 1) {
        of.name = mysql_name_at(scan, names[count - 2]);
        of.schema = count > 2 ? mysql_name_at(scan, names[0]) : of.schema;
    }
    write_items(scan, of, operations);
}

/* To 'end'; each value is run through by itself. */
static void take_assignments(struct mysql_scan *scan, size_t end, uint64_t operations)
{
    while (scan->at < end && !scan->is_stopped) {
        take_assignment(scan, operations);
        size_t comma = scan->at;
        for (size_t depth = 0; comma < end; comma++) {
            uint8_t kind = scan->tokens[comma].kind;
            depth += kind == MYSQL_TOKEN_OPEN ? 1 : 0;
            depth -= kind == MYSQL_TOKEN_CLOSE && depth > 0 ? 1 : 0;
            if (kind == MYSQL_TOKEN_COMMA && depth == 0) {
                break;
            }
        }
        mysql_run(scan, MYSQL_AT_EXPRESSION, comma);
        scan->at = comma < end && !scan->is_stopped ? comma + 1 : scan->at;
    }
}

/* INSERT, REPLACE -------------------------------------------------------------------------------*/

/* Behind ON DUPLICATE KEY UPDATE. */
static void insert_duplicates(struct mysql_scan *scan, size_t end)
{
    scan->at = first_of(mysql_find_word(scan, MYSQL_WORD_UPDATE) + 1, end);
    take_assignments(scan, end, SQL_BIT(SQL_UPDATE));
    scan->has_columns = true;
}

/* ON DUPLICATE KEY, outside of parentheses; a join has an ON, too. */
static size_t find_duplicates(struct mysql_scan *scan)
{
    size_t start = scan->at;
    size_t found = mysql_find_word(scan, MYSQL_WORD_ON);
    while (found < scan->end && mysql_word_at(scan, found + 1) != MYSQL_WORD_DUPLICATE) {
        scan->at = found + 1;
        found = mysql_find_word(scan, MYSQL_WORD_ON);
    }
    scan->at = start;
    return found;
}

static void insert_rows(struct mysql_scan *scan, size_t end, uint64_t operations)
{
    if (mysql_take_word(scan, MYSQL_WORD_SET)) {
        size_t alias = first_of(mysql_find_word(scan, MYSQL_WORD_AS), end);
        take_assignments(scan, alias, operations);
    } else if (mysql_take_word(scan, MYSQL_WORD_VALUES) ||
               mysql_take_word(scan, MYSQL_WORD_VALUE)) {
        mysql_run(scan, MYSQL_AT_EXPRESSION, end);
    } else if (mysql_begins_query(scan, scan->at)) {
        mysql_run_query(scan, end);
        return;
    } else {
        mysql_stop(scan, "an INSERT that is not understood");
        return;
    }
    scan->at = scan->is_stopped ? scan->at : end;
}

void mysql_read_insert(struct mysql_scan *scan, uint64_t operations)
{
    struct sql_name name;
    scan->at++;
    skip_modifiers(scan);
    (void)mysql_take_word(scan, MYSQL_WORD_INTO);
    if (!mysql_take_name(scan, &name)) {
        mysql_stop(scan, "an INSERT that is not understood");
        return;
    }
    size_t target = mysql_add_relation(scan, name, operations);
    const struct mysql_item item = {.alias = SLICE(""), .relation = target};
    scan->items = arena_alloc(scan->arena, sizeof(item));
    scan->items[0] = item;
    scan->item_count = 1;
    if (mysql_take_word(scan, MYSQL_WORD_PARTITION)) {
        mysql_skip_parentheses(scan);
    }
    if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_OPEN && !mysql_begins_query(scan, scan->at)) {
        mysql_skip_parentheses(scan);
    }
    size_t duplicates = find_duplicates(scan);
    size_t returning = mysql_find_word(scan, MYSQL_WORD_RETURNING);
    insert_rows(scan, first_of(duplicates, returning), operations);
    scan->has_columns = false;
    if (duplicates < returning && !scan->is_stopped) {
        insert_duplicates(scan, returning);
    }
    if (returning < scan->end && !scan->is_stopped) {
        scan->at = returning + 1;
        mysql_run(scan, MYSQL_AT_EXPRESSION, scan->end);
        scan->has_columns = true;
    }
    if (scan->has_columns) {
        mysql_write_relation(scan, target, 0);
    }
}

/* UPDATE, DELETE --------------------------------------------------------------------------------*/

/* All that was joined is read; a single one where anything is named that may be its column. */
static void finish_change(struct mysql_scan *scan)
{
    bool are_read = scan->item_count > 1 || scan->has_columns;
    for (size_t i = 0; i < scan->item_count; i++) {
        size_t relation = scan->items[i].relation;
        if (relation != SIZE_MAX &&
            (are_read || scan->statement->relations[relation].operations == 0)) {
            mysql_write_relation(scan, relation, 0);
        }
    }
    scan->statement->without_where = scan->statement->without_where || !scan->has_condition;
}

void mysql_read_update(struct mysql_scan *scan)
{
    mysql_operate(scan, SQL_UPDATE);
    scan->at++;
    skip_modifiers(scan);
    scan->is_changing = true;
    size_t set = mysql_find_word(scan, MYSQL_WORD_SET);
    mysql_run(scan, MYSQL_AT_FROM, set);
    if (set == scan->end) {
        mysql_stop(scan, "an UPDATE that is not understood");
    }
    scan->at = scan->is_stopped ? scan->at : set + 1;
    size_t end = first_of(mysql_find_word(scan, MYSQL_WORD_WHERE),
                          first_of(mysql_find_word(scan, MYSQL_WORD_ORDER),
                                   first_of(mysql_find_word(scan, MYSQL_WORD_LIMIT),
                                            mysql_find_word(scan, MYSQL_WORD_RETURNING))));
    take_assignments(scan, end, SQL_BIT(SQL_UPDATE));
    if (!scan->is_stopped) {
        mysql_run(scan, MYSQL_AT_JOINED, scan->end);
    }
    finish_change(scan);
}

/* name [.*] [, name [.*] …], which are written once it is known what they stand for. */
static size_t take_targets(struct mysql_scan *scan, struct sql_name *targets, size_t count_max)
{
    size_t count = 0;
    for (;;) {
        if (count == count_max || !mysql_take_name(scan, &targets[count])) {
            mysql_stop(scan, "a DELETE that is not understood");
            return count;
        }
        count++;
        if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_DOT) {
            scan->at += 2;
        }
        if (mysql_kind_at(scan, scan->at) != MYSQL_TOKEN_COMMA) {
            return count;
        }
        scan->at++;
    }
}

static void delete_several(struct mysql_scan *scan, enum mysql_word before_items)
{
    struct sql_name targets[32];
    size_t count = take_targets(scan, targets, sizeof(targets) / sizeof(targets[0]));
    if (!mysql_take_word(scan, before_items)) {
        mysql_stop(scan, "a DELETE that is not understood");
    }
    mysql_run(scan, MYSQL_AT_FROM, scan->end);
    for (size_t i = 0; i < count; i++) {
        write_items(scan, targets[i], SQL_BIT(SQL_DELETE));
    }
    if (scan->item_count > 0) {
        scan->has_columns = true;
    }
}

/* Of the parts of a table's past: there is no column to say which. */
static void delete_history(struct mysql_scan *scan)
{
    struct sql_name name;
    scan->at += 2;
    if (!mysql_take_name(scan, &name)) {
        mysql_stop(scan, "a DELETE that is not understood");
        return;
    }
    (void)mysql_add_relation(scan, name, SQL_BIT(SQL_DELETE));
    scan->statement->without_where = true;
    mysql_guess(scan);
}

void mysql_read_delete(struct mysql_scan *scan)
{
    mysql_operate(scan, SQL_DELETE);
    scan->at++;
    skip_modifiers(scan);
    scan->is_changing = true;
    if (mysql_word_at(scan, scan->at) != MYSQL_WORD_FROM) {
        size_t start = scan->at;
        struct sql_name name;
        bool is_history = mysql_take_name(scan, &name) &&
                          slice_equals(name.name, SLICE("history")) &&
                          mysql_word_at(scan, scan->at) == MYSQL_WORD_FROM;
        scan->at = start;
        if (is_history) {
            delete_history(scan);
        } else {
            delete_several(scan, MYSQL_WORD_FROM);
            finish_change(scan);
        }
        return;
    }
    scan->at++;
    if (mysql_find_word(scan, MYSQL_WORD_USING) <
        first_of(mysql_find_word(scan, MYSQL_WORD_WHERE), scan->end)) {
        delete_several(scan, MYSQL_WORD_USING);
    } else {
        mysql_run(scan, MYSQL_AT_FROM, scan->end);
        write_items(scan, (struct sql_name){SLICE(""), SLICE("")}, SQL_BIT(SQL_DELETE));
    }
    finish_change(scan);
}

/* LOAD ------------------------------------------------------------------------------------------*/

/* LOAD DATA | XML [LOW_PRIORITY | CONCURRENT] [LOCAL] INFILE … [REPLACE | IGNORE] INTO TABLE name …
 * SET assignments. Any number of rows; the file is the server's but for LOCAL. */
void mysql_read_load(struct mysql_scan *scan)
{
    struct sql_name name;
    uint64_t operations = SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_COPY);
    scan->statement->verb = SQL_COPY;
    scan->at++;
    skip_modifiers(scan);
    if (!mysql_take_word(scan, MYSQL_WORD_LOCAL)) {
        mysql_operate(scan, SQL_SERVER_FILE);
    }
    size_t into = mysql_find_word(scan, MYSQL_WORD_INTO);
    if (mysql_word_at(scan, into - 1) == MYSQL_WORD_REPLACE) {
        operations |= SQL_BIT(SQL_DELETE);
    }
    scan->at = into + 1;
    if (into >= scan->end || !mysql_take_word(scan, MYSQL_WORD_TABLE) ||
        !mysql_take_name(scan, &name)) {
        scan->at = first_of(scan->at, scan->end);
        mysql_stop(scan, "a LOAD that is not understood");
        return;
    }
    (void)mysql_add_relation(scan, name, operations);
    mysql_run(scan, MYSQL_AT_EXPRESSION, scan->end);
}
