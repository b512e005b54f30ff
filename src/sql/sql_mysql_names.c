/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/text.h"
#include "sql/sql_lexer.h"
#include "sql/sql_mysql_internal.h"

void mysql_unknown(struct mysql_scan *scan, const char *why)
{
    if (!scan->statement->is_unknown) {
        scan->statement->is_unknown = true;
        scan->statement->why = why;
    }
}

void mysql_operate(struct mysql_scan *scan, enum sql_operation operation)
{
    scan->statement->operations |= SQL_BIT(operation);
}

/* Tokens --------------------------------------------------------------------------------------- */

bool mysql_is_name(const struct mysql_scan *scan, size_t index)
{
    uint8_t kind = mysql_kind_at(scan, index);
    return kind == MYSQL_TOKEN_QUOTED ||
           (kind == MYSQL_TOKEN_WORD && !mysql_word_is_reserved(mysql_word_at(scan, index)));
}

/* Two quotes inside of quotes are one. */
static struct slice name_unquote(struct arena *arena, struct slice quoted)
{
    char quote = quoted.at[0];
    struct slice inside = slice_sub(quoted, 1, quoted.len - 2);
    if (slice_find_byte(inside, quote) == inside.len) {
        return inside;
    }
    char *name = arena_alloc_bare(arena, inside.len);
    size_t len = 0;
    for (size_t i = 0; i < inside.len; i++) {
        name[len++] = inside.at[i];
        i += inside.at[i] == quote ? 1 : 0;
    }
    return (struct slice){name, len};
}

struct slice mysql_name_at(struct mysql_scan *scan, size_t index)
{
    const struct mysql_token *token = &scan->tokens[index];
    struct slice name = {scan->lower + token->offset, token->len};
    return token->kind == MYSQL_TOKEN_QUOTED ? name_unquote(scan->arena, name) : name;
}

struct slice mysql_spelled_at(struct mysql_scan *scan, size_t index)
{
    const struct mysql_token *token = &scan->tokens[index];
    struct slice name = slice_sub(scan->text, token->offset, token->len);
    return token->kind == MYSQL_TOKEN_QUOTED ? name_unquote(scan->arena, name) : name;
}

bool mysql_take_name(struct mysql_scan *scan, struct sql_name *ret_name)
{
    *ret_name = (struct sql_name){.schema = SLICE("")};
    scan->at += mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_DOT ? 1 : 0;
    if (!mysql_is_name(scan, scan->at)) {
        return false;
    }
    ret_name->name = mysql_name_at(scan, scan->at++);
    if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_DOT &&
        mysql_kind_at(scan, scan->at + 1) != MYSQL_TOKEN_STAR) {
        if (!mysql_is_name(scan, scan->at + 1)) {
            return false;
        }
        ret_name->schema = ret_name->name;
        ret_name->name = mysql_name_at(scan, scan->at + 1);
        scan->at += 2;
    }
    return true;
}

bool mysql_take_word(struct mysql_scan *scan, enum mysql_word word)
{
    bool is_there = mysql_word_at(scan, scan->at) == word;
    scan->at += is_there ? 1 : 0;
    return is_there;
}

size_t mysql_find_word(const struct mysql_scan *scan, enum mysql_word word)
{
    size_t depth = 0;
    for (size_t i = scan->at; i < scan->end; i++) {
        depth += scan->tokens[i].kind == MYSQL_TOKEN_OPEN ? 1 : 0;
        depth -= scan->tokens[i].kind == MYSQL_TOKEN_CLOSE && depth > 0 ? 1 : 0;
        if (depth == 0 && scan->tokens[i].word == word) {
            return i;
        }
    }
    return scan->end;
}

void mysql_skip_parentheses(struct mysql_scan *scan)
{
    size_t depth = 0;
    do {
        uint8_t kind = mysql_kind_at(scan, scan->at);
        depth += kind == MYSQL_TOKEN_OPEN ? 1 : 0;
        depth -= kind == MYSQL_TOKEN_CLOSE && depth > 0 ? 1 : 0;
        scan->at++;
    } while (depth > 0 && scan->at < scan->end);
    if (depth > 0) {
        mysql_stop(scan, "a parenthesis does not end");
    }
}

/* What was found ------------------------------------------------------------------------------- */

static bool name_equals(const struct sql_name *a, const struct sql_name *b)
{
    return slice_equals(a->name, b->name) && slice_equals(a->schema, b->schema);
}

static size_t find_entry(const struct sql_statement *statement, const struct sql_name *name,
                         bool is_all)
{
    size_t index = 0;
    while (index < statement->relation_count &&
           (statement->relations[index].is_all != is_all ||
            !name_equals(&statement->relations[index].name, name))) {
        index++;
    }
    return index;
}

static size_t add_entry(struct mysql_scan *scan, struct sql_name name, bool is_all)
{
    struct sql_statement *statement = scan->statement;
    size_t index = find_entry(statement, &name, is_all);
    if (index == statement->relation_count && index >= LIMIT_SQL_MYSQL_NAMES) {
        mysql_unknown(scan, "there are too many names");
        name = (struct sql_name){SLICE(""), SLICE("*")};
        is_all = true;
        index = find_entry(statement, &name, is_all);
    }
    if (index < statement->relation_count) {
        return index;
    }
    statement->relations = sql_room(scan->arena, statement->relations, statement->relation_count,
                                    &scan->relation_capacity, sizeof(*statement->relations));
    statement->relations[index] = (struct sql_relation){.name = name, .is_all = is_all};
    return statement->relation_count++;
}

size_t mysql_add_named(struct mysql_scan *scan, struct sql_name name)
{
    if (!text_is_ascii(name.name) || !text_is_ascii(name.schema)) {
        mysql_unknown(scan, "servers may take names beyond ASCII for others");
    }
    if (name.name.len > LIMIT_SQL_MYSQL_NAME_SIZE || name.schema.len > LIMIT_SQL_MYSQL_NAME_SIZE) {
        mysql_unknown(scan, "a name is too long");
    }
    name.schema = name.schema.len == 0 ? scan->database : name.schema;
    return add_entry(scan, name, false);
}

void mysql_write_relation(struct mysql_scan *scan, size_t index, uint64_t operations)
{
    struct sql_relation *relation = &scan->statement->relations[index];
    relation->is_read = relation->is_read || operations == 0;
    relation->is_written = relation->is_written || operations != 0;
    relation->operations |= operations;
    scan->statement->operations |= operations;
}

size_t mysql_add_relation(struct mysql_scan *scan, struct sql_name name, uint64_t operations)
{
    size_t index = mysql_add_named(scan, name);
    mysql_write_relation(scan, index, operations);
    return index;
}

void mysql_add_all(struct mysql_scan *scan, struct slice schema, uint64_t operations)
{
    size_t index = add_entry(scan, (struct sql_name){schema, SLICE("*")}, true);
    mysql_write_relation(scan, index, operations);
}

void mysql_add_function(struct mysql_scan *scan, struct slice schema, struct slice name)
{
    struct sql_statement *statement = scan->statement;
    const struct sql_name full = {schema, name};
    for (size_t i = 0; i < statement->function_count; i++) {
        if (name_equals(&statement->functions[i].name, &full)) {
            return;
        }
    }
    if (statement->function_count >= LIMIT_SQL_MYSQL_NAMES) {
        mysql_unknown(scan, "there are too many names");
        return;
    }
    statement->functions = sql_room(scan->arena, statement->functions, statement->function_count,
                                    &scan->function_capacity, sizeof(*statement->functions));
    statement->functions[statement->function_count++] =
        (struct sql_function){.name = full, .argument_max = UINT32_MAX};
}

void mysql_see_column(struct mysql_scan *scan)
{
    scan->has_columns = true;
    scan->has_condition = scan->has_condition || scan->is_in_where;
}

/* Words that are none ------------------------------------------------------------------------- */

static bool is_type(const struct mysql_scan *scan, size_t index)
{
    static const struct slice names[] = {
        SLICE_INIT("signed"),  SLICE_INIT("unsigned"), SLICE_INIT("char"), SLICE_INIT("nchar"),
        SLICE_INIT("date"),    SLICE_INIT("datetime"), SLICE_INIT("time"), SLICE_INIT("decimal"),
        SLICE_INIT("integer"), SLICE_INIT("double"),   SLICE_INIT("json"), SLICE_INIT("year")};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (mysql_text_is(scan, index, names[i])) {
            return true;
        }
    }
    return false;
}

/* CONVERT(…, type). */
static bool is_converted_to(const struct mysql_scan *scan, size_t index)
{
    size_t depth = 0;
    size_t at = index;
    bool may_be =
        index > 0 && is_type(scan, index) && mysql_kind_at(scan, index - 1) == MYSQL_TOKEN_COMMA;
    while (may_be && at-- > 0) {
        uint8_t kind = mysql_kind_at(scan, at);
        if (kind == MYSQL_TOKEN_OPEN && depth == 0) {
            return at > 0 && mysql_word_at(scan, at - 1) == MYSQL_WORD_CONVERT;
        }
        depth += kind == MYSQL_TOKEN_CLOSE ? 1 : 0;
        depth -= kind == MYSQL_TOKEN_OPEN ? 1 : 0;
    }
    return false;
}

bool mysql_is_word_alone(const struct mysql_scan *scan, size_t index)
{
    enum mysql_word before = index > 0 ? mysql_word_at(scan, index - 1) : MYSQL_NO_WORD;
    bool is_behind_is = before == MYSQL_WORD_IS || before == MYSQL_WORD_NOT;
    return mysql_word_at(scan, index) == MYSQL_WORD_BINARY ||
           mysql_text_is(scan, index, SLICE("current_role")) ||
           (is_behind_is && mysql_text_is(scan, index, SLICE("unknown"))) ||
           is_converted_to(scan, index);
}

/* What is not read ----------------------------------------------------------------------------- */

void mysql_guess(struct mysql_scan *scan)
{
    while (scan->at < scan->end) {
        size_t start = scan->at;
        struct sql_name name;
        enum mysql_word word = mysql_word_at(scan, start);
        if (word == MYSQL_WORD_EXECUTE || word == MYSQL_WORD_PREPARE) {
            mysql_add_all(scan, SLICE(""), 0); /* a text is run */
        }
        if (!mysql_take_name(scan, &name)) {
            scan->at = start + 1;
        } else if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_OPEN) {
            mysql_add_function(scan, name.schema, name.name);
        } else {
            (void)mysql_add_relation(scan, name, 0);
        }
    }
}

void mysql_stop(struct mysql_scan *scan, const char *why)
{
    mysql_unknown(scan, why);
    if (!scan->is_stopped) {
        scan->is_stopped = true;
        mysql_guess(scan);
    }
    scan->at = scan->end;
}
