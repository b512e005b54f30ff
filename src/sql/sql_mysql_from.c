/* SPDX-License-Identifier: MIT */
/* Lists of FROM and of UPDATE, word by word: what does not belong there is unknown. */
#include "base/limits.h"
#include "sql/sql_lexer.h"
#include "sql/sql_mysql_internal.h"

static bool with_has(const struct mysql_scan *scan, struct slice name)
{
    bool is_there = false;
    for (size_t i = 0; i < scan->with_count && !is_there; i++) {
        is_there = slice_equals(scan->with_names[i], name);
    }
    return is_there;
}

/* What is named here may be written: in the statement's own list, not in that of a query in it. */
static bool is_of_change(const struct mysql_scan *scan)
{
    bool is_own = scan->is_changing;
    for (size_t i = 1; i < scan->depth && is_own; i++) {
        is_own = scan->frames[i].is_from && !scan->frames[i].is_select;
    }
    return is_own;
}

static void item_add(struct mysql_scan *scan, struct mysql_frame *frame, size_t relation)
{
    frame->item = 0;
    if (!is_of_change(scan)) {
        return;
    }
    scan->items = sql_room(scan->arena, scan->items, scan->item_count, &scan->item_capacity,
                           sizeof(*scan->items));
    scan->items[scan->item_count++] = (struct mysql_item){.alias = SLICE(""), .relation = relation};
    frame->item = scan->item_count;
}

static void item_name(struct mysql_scan *scan, struct mysql_frame *frame)
{
    struct sql_name name;
    if (!mysql_take_name(scan, &name)) {
        mysql_stop(scan, "a FROM that is not understood");
        return;
    }
    frame->clause = MYSQL_AT_JOINED;
    frame->has_alias = false;
    if (name.schema.len == 0 && with_has(scan, mysql_spelled_at(scan, scan->at - 1))) {
        item_add(scan, frame, SIZE_MAX);
        return;
    }
    size_t relation = mysql_add_named(scan, name);
    item_add(scan, frame, relation);
    if (frame->item == 0) {
        mysql_write_relation(scan, relation, 0);
    }
}

void mysql_from_item(struct mysql_scan *scan, struct mysql_frame *frame)
{
    enum mysql_word word = mysql_word_at(scan, scan->at);
    uint8_t kind = mysql_kind_at(scan, scan->at);
    if (kind == MYSQL_TOKEN_OPEN_BRACE && mysql_word_at(scan, scan->at + 1) == MYSQL_WORD_OJ) {
        scan->at += 2;
    } else if (word == MYSQL_WORD_LATERAL) {
        scan->at++;
    } else if (word == MYSQL_WORD_DUAL) {
        scan->at++;
        frame->clause = MYSQL_AT_JOINED;
        frame->has_alias = false;
        frame->item = 0;
    } else if (word == MYSQL_WORD_JSON_TABLE &&
               mysql_kind_at(scan, scan->at + 1) == MYSQL_TOKEN_OPEN) {
        scan->at += 2;
        (void)mysql_push(scan, MYSQL_AT_EXPRESSION);
    } else {
        item_name(scan, frame);
    }
}

/* USE INDEX FOR JOIN (…) and the like. */
static void joined_hint(struct mysql_scan *scan)
{
    scan->at++;
    if (!mysql_take_word(scan, MYSQL_WORD_INDEX) && !mysql_take_word(scan, MYSQL_WORD_KEY)) {
        mysql_stop(scan, "a FROM that is not understood");
        return;
    }
    if (mysql_take_word(scan, MYSQL_WORD_FOR) && !mysql_take_word(scan, MYSQL_WORD_JOIN)) {
        scan->at += 2; /* ORDER BY, GROUP BY */
    }
    if (mysql_kind_at(scan, scan->at) != MYSQL_TOKEN_OPEN) {
        mysql_stop(scan, "a FROM that is not understood");
        return;
    }
    mysql_skip_parentheses(scan);
}

static void joined_parentheses(struct mysql_scan *scan)
{
    scan->at++;
    if (mysql_kind_at(scan, scan->at) != MYSQL_TOKEN_OPEN) {
        mysql_stop(scan, "a FROM that is not understood");
        return;
    }
    mysql_skip_parentheses(scan);
}

/* FOR SYSTEM_TIME …: an expression, behind which the FROM may go on; others end it. */
static void joined_for(struct mysql_scan *scan, struct mysql_frame *frame)
{
    if (mysql_word_at(scan, scan->at + 1) != MYSQL_WORD_SYSTEM_TIME) {
        frame->clause = MYSQL_AT_EXPRESSION;
        return;
    }
    scan->at += 2;
    if (mysql_take_word(scan, MYSQL_WORD_ALL)) {
        return;
    }
    scan->at++; /* AS, FROM, BETWEEN */
    (void)mysql_take_word(scan, MYSQL_WORD_OF);
    scan->is_behind_operand = false;
    frame->clause = MYSQL_AT_ON;
}

static void joined_alias(struct mysql_scan *scan, struct mysql_frame *frame)
{
    (void)mysql_take_word(scan, MYSQL_WORD_AS);
    bool is_string = mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_STRING;
    if (frame->has_alias || (!is_string && !mysql_is_name(scan, scan->at))) {
        mysql_stop(scan, "a FROM that is not understood");
        return;
    }
    struct slice alias = mysql_name_at(scan, scan->at++);
    frame->has_alias = true;
    if (frame->item > 0) {
        scan->items[frame->item - 1].alias = alias;
    }
    if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_OPEN) {
        mysql_skip_parentheses(scan); /* the names of its columns */
    }
}

/* A word of joins, but for the last. */
static bool is_of_join(enum mysql_word word)
{
    return word == MYSQL_WORD_CROSS || word == MYSQL_WORD_INNER || word == MYSQL_WORD_LEFT ||
           word == MYSQL_WORD_RIGHT || word == MYSQL_WORD_OUTER || word == MYSQL_WORD_NATURAL ||
           word == MYSQL_WORD_FULL;
}

static bool is_join(enum mysql_word word)
{
    return word == MYSQL_WORD_JOIN || word == MYSQL_WORD_STRAIGHT_JOIN;
}

static void joined_word(struct mysql_scan *scan, struct mysql_frame *frame, enum mysql_word word)
{
    switch ((int)word) {
    case MYSQL_WORD_ON:
        scan->at++;
        scan->is_behind_operand = false;
        frame->clause = MYSQL_AT_ON;
        return;
    case MYSQL_WORD_USING:
    case MYSQL_WORD_PARTITION:
        joined_parentheses(scan);
        return;
    case MYSQL_WORD_USE:
    case MYSQL_WORD_FORCE:
    case MYSQL_WORD_IGNORE:
        joined_hint(scan);
        return;
    case MYSQL_WORD_FOR:
        joined_for(scan, frame);
        return;
    case MYSQL_WORD_WINDOW:
    case MYSQL_WORD_RETURNING:
    case MYSQL_WORD_OFFSET:
        frame->clause = MYSQL_AT_EXPRESSION;
        return;
    default:
        break;
    }
    if (word != MYSQL_WORD_AS && mysql_word_is_reserved(word)) {
        frame->clause = MYSQL_AT_EXPRESSION; /* whose words go on from here */
    } else {
        joined_alias(scan, frame);
    }
}

void mysql_from_joined(struct mysql_scan *scan, struct mysql_frame *frame)
{
    enum mysql_word word = mysql_word_at(scan, scan->at);
    uint8_t kind = mysql_kind_at(scan, scan->at);
    if (kind == MYSQL_TOKEN_COMMA || is_join(word)) {
        scan->at++;
        frame->clause = MYSQL_AT_FROM;
    } else if (is_of_join(word) || kind == MYSQL_TOKEN_CLOSE_BRACE) {
        scan->at++;
    } else if (kind == MYSQL_TOKEN_WORD || kind == MYSQL_TOKEN_QUOTED) {
        joined_word(scan, frame, word);
    } else {
        mysql_stop(scan, "a FROM that is not understood");
    }
}

bool mysql_from_goes_on(struct mysql_scan *scan, struct mysql_frame *frame)
{
    enum mysql_word word = mysql_word_at(scan, scan->at);
    bool is_call = mysql_kind_at(scan, scan->at + 1) == MYSQL_TOKEN_OPEN;
    if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_COMMA || is_join(word)) {
        scan->at++;
        frame->clause = MYSQL_AT_FROM;
        return true;
    }
    if (is_of_join(word) && scan->is_behind_operand &&
        !(is_call && (word == MYSQL_WORD_LEFT || word == MYSQL_WORD_RIGHT))) {
        scan->at++;
        frame->clause = MYSQL_AT_JOINED;
        return true;
    }
    return false;
}
