/* SPDX-License-Identifier: MIT */
/* What is in question, and the names that the text gives to it: see sql_mysql_lineage.h. */
#include "sql/sql_mysql_lineage_internal.h"

#define NAMES_MAX 256 /* that are given to what is in question */

static void close_name(struct names_scan *scan, struct slice name)
{
    for (size_t i = 0; i < scan->name_count; i++) {
        if (slice_equals(scan->names[i], name)) {
            return;
        }
    }
    if (scan->name_count == NAMES_MAX) {
        scan->is_denied = true;
        return;
    }
    scan->names[scan->name_count++] = name;
    scan->has_changed = true;
    for (size_t i = 0; i < scan->end; i++) {
        const struct mysql_token *token = names_token(scan, i);
        scan->closed[i] = scan->closed[i] ||
                          (names_is_name(token) && slice_equals(names_bare(scan, token), name));
    }
}

/* A name that the text gives. Servers cut spaces off, and read escapes: then it may be any. */
static void close_given(struct names_scan *scan, const struct mysql_token *token)
{
    struct slice name = names_bare(scan, token);
    if (names_is_plain(name)) {
        close_name(scan, name);
    } else if (scan->list_count > 1) {
        scan->is_denied = true;
    }
}

/* COUNT(*) tells no value, nor does the list of EXISTS (SELECT * … */
static bool is_star_open(const struct names_scan *scan, size_t index)
{
    const struct mysql_token *before = names_token(scan, index - 1);
    if (before->kind == MYSQL_TOKEN_OPEN) {
        return index > 1 &&
               slice_equals(names_text(scan, names_token(scan, index - 2)), SLICE("count"));
    }
    return before->word == MYSQL_WORD_SELECT && index > 2 &&
           names_token(scan, index - 2)->kind == MYSQL_TOKEN_OPEN &&
           names_token(scan, index - 3)->word == MYSQL_WORD_EXISTS;
}

static bool is_closed(const struct names_scan *scan, size_t at, size_t end)
{
    for (size_t i = at; i < end; i++) {
        const struct mysql_token *token = names_token(scan, i);
        bool compares = token->word == MYSQL_WORD_NATURAL || /* all that are called alike */
                        (token->word == MYSQL_WORD_PARTITION &&
                         names_token(scan, i + 1)->kind == MYSQL_TOKEN_OPEN);
        if (scan->closed[i] || compares || (names_is_star(scan, i) && !is_star_open(scan, i))) {
            return true;
        }
    }
    return false;
}

/* Whether END is that of a CASE. */
static bool ends_case(const struct names_scan *scan, const struct names_item *item)
{
    size_t cases = 0;
    size_t ends = 0;
    for (size_t i = item->at; i < item->end; i = names_next(scan, i)) {
        cases += names_token(scan, i)->word == MYSQL_WORD_CASE;
        ends += names_token(scan, i)->word == MYSQL_WORD_END;
    }
    return ends <= cases;
}

/* Whether "expression [AS] name" gives the name away there: behind it clauses may stand, whose
 * words are names to some servers. */
static bool may_be_given(const struct names_scan *scan, const struct names_item *item, size_t index)
{
    const struct mysql_token *token = names_token(scan, index);
    const struct mysql_token *behind = names_token(scan, index + 1);
    if ((!names_is_name(token) && token->kind != MYSQL_TOKEN_STRING) ||
        token->word == MYSQL_WORD_AS) {
        return false;
    }
    if (names_token(scan, index - 1)->word == MYSQL_WORD_AS) {
        return true;
    }
    bool is_over = token->word == MYSQL_WORD_OVER &&
                   (behind->kind == MYSQL_TOKEN_OPEN || names_is_name(behind));
    bool is_end = token->word == MYSQL_WORD_END && ends_case(scan, item);
    return names_is_behind_operand(scan, index) && !names_is_operator(token) && !is_over && !is_end;
}

static void close_item(struct names_scan *scan, const struct names_item *item)
{
    size_t at = item->at < item->end ? names_next(scan, item->at) : item->end;
    for (; at < item->end && !scan->is_denied; at = names_next(scan, at)) {
        if (may_be_given(scan, item, at)) {
            close_given(scan, names_token(scan, at));
        }
    }
}

/* Of nothing but operands, parentheses and signs that change nothing: "(x)" and "+x" are called as
 * x is, "('a')" as 'a' is. */
static bool is_bare_operand(const struct names_scan *scan, const struct names_item *item)
{
    bool is_bare = true;
    for (size_t i = item->at; i < item->end && is_bare; i++) {
        const struct mysql_token *token = names_token(scan, i);
        switch ((int)token->kind) {
        case MYSQL_TOKEN_OPEN:
        case MYSQL_TOKEN_CLOSE:
        case MYSQL_TOKEN_DOT:
        case MYSQL_TOKEN_STRING:
        case MYSQL_TOKEN_NUMBER:
            break;
        default:
            is_bare = names_is_name(token) || slice_equals(names_text(scan, token), SLICE("+"));
        }
    }
    return is_bare;
}

/* Whatever the server calls it: a column by its own name, a literal as it is written, strings that
 * stand behind each other by all of them, or by the first. */
static void close_called(struct names_scan *scan, const struct names_item *item)
{
    if (item->at == item->end) {
        return;
    }
    close_item(scan, item);
    bool is_bare = is_bare_operand(scan, item);
    for (size_t i = item->at; i < item->end && !scan->is_denied; i++) {
        const struct mysql_token *token = names_token(scan, i);
        bool is_string = token->kind == MYSQL_TOKEN_STRING;
        bool is_outer = i == item->at || (i + 1 == item->end && !is_string);
        bool is_qualifier = i + 1 < item->end && names_token(scan, i + 1)->kind == MYSQL_TOKEN_DOT;
        if ((!is_bare && !is_outer) || is_qualifier || token->word == MYSQL_WORD_AS) {
            continue;
        }
        if (names_is_name(token) || is_string) {
            close_given(scan, token);
        } else if (token->kind == MYSQL_TOKEN_NUMBER) {
            close_name(scan, names_text(scan, token));
        }
        scan->is_denied = scan->is_denied || (is_string && i + 1 < item->end &&
                                              names_token(scan, i + 1)->kind == token->kind);
    }
}

/* Of set operations the first list has the names, and the values of all. */
static void close_place(struct names_scan *scan, size_t place)
{
    for (size_t i = 0; i < scan->list_count; i++) {
        if (place < scan->lists[i].count) {
            close_called(scan, &scan->lists[i].items[place]);
        }
    }
}

bool names_is_place_closed(const struct names_scan *scan, const struct names_list *list,
                           size_t place)
{
    const struct names_item *item = &list->items[place];
    if (!scan->is_combined) {
        return is_closed(scan, item->at, item->end);
    }
    for (size_t i = 0; i < scan->list_count; i++) {
        const struct names_list *other = &scan->lists[i];
        if (place < other->count &&
            is_closed(scan, other->items[place].at, other->items[place].end)) {
            return true;
        }
    }
    return false;
}

static void close_lists(struct names_scan *scan)
{
    for (size_t i = 0; i < scan->list_count; i++) {
        const struct names_list *list = &scan->lists[i];
        for (size_t k = 0; k < list->count && !scan->is_denied; k++) {
            if (list->items[k].is_star || !names_is_place_closed(scan, list, k)) {
                continue;
            }
            if (scan->is_combined) {
                close_place(scan, k);
            } else {
                close_item(scan, &list->items[k]);
            }
        }
    }
}

/* Names of columns in parentheses, of a query whose own names say nothing then. */
static void close_aliases(struct names_scan *scan, size_t open)
{
    for (size_t i = open + 1; i < scan->partners[open]; i++) {
        if (names_is_name(names_token(scan, i))) {
            close_given(scan, names_token(scan, i));
        }
    }
}

/* None of the words, reserved in all versions, that stand between two parentheses. */
static bool may_be_alias(const struct mysql_token *token)
{
    switch ((int)token->word) {
    case MYSQL_WORD_JOIN:
    case MYSQL_WORD_STRAIGHT_JOIN:
    case MYSQL_WORD_ON:
    case MYSQL_WORD_USING:
    case MYSQL_WORD_UNION:
    case MYSQL_WORD_ALL:
        return token->kind == MYSQL_TOKEN_QUOTED;
    default:
        return names_is_name(token) && !names_is_operator(token);
    }
}

/* What stands around a parenthesis with something in question: "name (columns) AS (…)", "(…) [AS]
 * name (columns)"; of a window its name. */
static void close_around(struct names_scan *scan, size_t open)
{
    size_t close = scan->partners[open];
    if (!is_closed(scan, open + 1, close)) {
        return;
    }
    if (open > 1 && names_token(scan, open - 1)->word == MYSQL_WORD_AS) {
        const struct mysql_token *before = names_token(scan, open - 2);
        if (before->kind == MYSQL_TOKEN_CLOSE) {
            close_aliases(scan, scan->partners[open - 2]);
        } else if (names_is_name(before) &&
                   names_token(scan, open + 1)->word != MYSQL_WORD_SELECT) {
            close_given(scan, before);
        }
    }
    size_t name = close + 1 + (names_token(scan, close + 1)->word == MYSQL_WORD_AS ? 1 : 0);
    const struct mysql_token *inside = names_token(scan, open + 1);
    bool may_be_query = inside->word == MYSQL_WORD_SELECT || inside->word == MYSQL_WORD_WITH ||
                        inside->kind == MYSQL_TOKEN_OPEN;
    if (may_be_query && may_be_alias(names_token(scan, name)) &&
        names_token(scan, name + 1)->kind == MYSQL_TOKEN_OPEN) {
        close_aliases(scan, name + 1);
    }
}

void names_settle(struct names_scan *scan)
{
    scan->names = arena_alloc_array(scan->arena, NAMES_MAX, sizeof(*scan->names));
    scan->has_changed = true;
    while (scan->has_changed && !scan->is_denied) {
        scan->has_changed = false;
        close_lists(scan);
        for (size_t i = 0; i < scan->end && !scan->is_denied; i++) {
            if (names_token(scan, i)->kind == MYSQL_TOKEN_OPEN) {
                close_around(scan, i);
            }
        }
    }
}
