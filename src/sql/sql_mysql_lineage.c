/* SPDX-License-Identifier: MIT */
#include "sql/sql_mysql_lineage.h"

#include "base/limits.h"
#include "sql/sql_mysql_lineage_internal.h"

#define NAME_SIZE  256   /* that a server says; longer ones are not read */
#define TOKENS_MAX 16384 /* of a longer text nothing is known */

/* Tokens --------------------------------------------------------------------------------------- */

bool names_is_plain(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.at[i];
        if (!(byte >= 'a' && byte <= 'z') && !(byte >= '0' && byte <= '9') && byte != '_' &&
            byte != '$') {
            return false;
        }
    }
    return name.len > 0;
}

struct slice names_bare(const struct names_scan *scan, const struct mysql_token *token)
{
    struct slice text = names_text(scan, token);
    bool is_quoted = token->kind != MYSQL_TOKEN_WORD && text.len >= 2;
    return is_quoted ? slice_sub(text, 1, text.len - 2) : text;
}

/* Words of expressions, reserved in all versions: what stands behind them is an operand. */
bool names_is_operator(const struct mysql_token *token)
{
    switch ((int)token->word) {
    case MYSQL_WORD_AND:
    case MYSQL_WORD_OR:
    case MYSQL_WORD_XOR:
    case MYSQL_WORD_NOT:
    case MYSQL_WORD_DIV:
    case MYSQL_WORD_MOD:
    case MYSQL_WORD_LIKE:
    case MYSQL_WORD_RLIKE:
    case MYSQL_WORD_REGEXP:
    case MYSQL_WORD_IN:
    case MYSQL_WORD_IS:
    case MYSQL_WORD_BETWEEN:
    case MYSQL_WORD_BINARY:
    case MYSQL_WORD_COLLATE:
    case MYSQL_WORD_WHEN:
    case MYSQL_WORD_THEN:
    case MYSQL_WORD_ELSE:
    case MYSQL_WORD_CASE:
    case MYSQL_WORD_INTERVAL:
    case MYSQL_WORD_SELECT:
    case MYSQL_WORD_DISTINCT:
        return token->kind == MYSQL_TOKEN_WORD;
    default:
        return false;
    }
}

bool names_is_behind_operand(const struct names_scan *scan, size_t index)
{
    const struct mysql_token *before = names_token(scan, index - 1);
    switch ((int)before->kind) {
    case MYSQL_TOKEN_WORD:
        return !names_is_operator(before);
    case MYSQL_TOKEN_QUOTED:
    case MYSQL_TOKEN_STRING:
    case MYSQL_TOKEN_NUMBER:
    case MYSQL_TOKEN_PARAMETER:
    case MYSQL_TOKEN_CLOSE:
        return true;
    default:
        return false;
    }
}

bool names_is_star(const struct names_scan *scan, size_t index)
{
    if (names_token(scan, index)->kind != MYSQL_TOKEN_STAR || index == 0) {
        return false;
    }
    const struct mysql_token *before = names_token(scan, index - 1);
    switch ((int)before->word) {
    case MYSQL_WORD_SELECT:
    case MYSQL_WORD_ALL:
    case MYSQL_WORD_DISTINCT:
    case MYSQL_WORD_DISTINCTROW:
    case MYSQL_WORD_HIGH_PRIORITY:
    case MYSQL_WORD_STRAIGHT_JOIN:
    case MYSQL_WORD_SQL_BIG_RESULT:
    case MYSQL_WORD_SQL_BUFFER_RESULT:
    case MYSQL_WORD_SQL_CACHE:
    case MYSQL_WORD_SQL_CALC_FOUND_ROWS:
    case MYSQL_WORD_SQL_NO_CACHE:
    case MYSQL_WORD_SQL_SMALL_RESULT:
        return true;
    default:
        return before->kind == MYSQL_TOKEN_COMMA || before->kind == MYSQL_TOKEN_DOT ||
               before->kind == MYSQL_TOKEN_OPEN;
    }
}

/* Names that servers make up themselves for what has none. */
static bool is_made_up(struct slice name)
{
    static const char *const starts[] = {"name_exp_", "my_exp_"};
    for (size_t i = 0; i < 2; i++) {
        if (slice_starts_with(name, slice_of_text(starts[i]))) {
            return true;
        }
    }
    return false;
}

/* What is not plain may be the text of an expression, by which servers call a column without a
 * name; and they compare names without accents. */
static bool is_in_question(const struct sql_mysql_asked *asked, struct slice name)
{
    return !names_is_plain(name) || is_made_up(name) || asked->is_asked(asked->context, name);
}

/* What is not followed: tables that are made of values, statistics in the place of a result. */
static bool is_denied_word(enum mysql_word word)
{
    switch ((int)word) {
    case MYSQL_WORD_VALUES:
    case MYSQL_WORD_VALUE:
    case MYSQL_WORD_TABLE:
    case MYSQL_WORD_JSON_TABLE:
    case MYSQL_WORD_LATERAL:
    case MYSQL_WORD_PROCEDURE:
    case MYSQL_WORD_INTO:
    case MYSQL_WORD_RETURNING:
        return true;
    default:
        return false;
    }
}

static bool is_denied_token(const struct mysql_token *token)
{
    switch ((int)token->kind) {
    case MYSQL_TOKEN_SEMICOLON:
    case MYSQL_TOKEN_VARIABLE:
    case MYSQL_TOKEN_ASSIGN:
    case MYSQL_TOKEN_OPEN_BRACE:
    case MYSQL_TOKEN_CLOSE_BRACE:
        return true;
    default:
        return token->kind == MYSQL_TOKEN_WORD && is_denied_word((enum mysql_word)token->word);
    }
}

/* Parentheses find each other; names in question are marked. */
static void read_tokens(struct names_scan *scan)
{
    uint32_t opened[LIMIT_SQL_DEPTH];
    size_t depth = 0;
    scan->partners = arena_alloc_array(scan->arena, scan->end + 1, sizeof(uint32_t));
    scan->closed = arena_alloc_array(scan->arena, scan->end + 1, sizeof(bool));
    for (size_t i = 0; i < scan->end && !scan->is_denied; i++) {
        const struct mysql_token *token = names_token(scan, i);
        scan->is_denied = is_denied_token(token);
        scan->closed[i] =
            names_is_name(token) && is_in_question(scan->asked, names_bare(scan, token));
        scan->is_combined = scan->is_combined || token->word == MYSQL_WORD_UNION ||
                            token->word == MYSQL_WORD_EXCEPT ||
                            token->word == MYSQL_WORD_INTERSECT || token->word == MYSQL_WORD_MINUS;
        if (token->kind == MYSQL_TOKEN_OPEN) {
            if (depth == LIMIT_SQL_DEPTH) {
                scan->is_denied = true;
                return;
            }
            opened[depth++] = (uint32_t)i;
        } else if (token->kind == MYSQL_TOKEN_CLOSE) {
            if (depth == 0) {
                scan->is_denied = true;
                return;
            }
            scan->partners[i] = opened[--depth];
            scan->partners[opened[depth]] = (uint32_t)i;
        }
    }
    scan->is_denied = scan->is_denied || depth > 0;
}

/* Lists ---------------------------------------------------------------------------------------- */

static bool begins_term(const struct mysql_token *token)
{
    return token->word == MYSQL_WORD_SELECT || token->word == MYSQL_WORD_ALL ||
           token->word == MYSQL_WORD_DISTINCT || token->kind == MYSQL_TOKEN_OPEN;
}

/* Most are reserved in servers of all versions, so they are no names; others are known by what
 * stands around them. */
static bool ends_list(const struct names_scan *scan, size_t at)
{
    const struct mysql_token *token = names_token(scan, at);
    const struct mysql_token *behind = names_token(scan, at + 1);
    switch ((int)token->word) {
    case MYSQL_WORD_FROM: /* not of IS DISTINCT FROM */
        return at == 0 || names_token(scan, at - 1)->word != MYSQL_WORD_DISTINCT;
    case MYSQL_WORD_GROUP: /* not of WITHIN GROUP (…) */
    case MYSQL_WORD_ORDER:
        return behind->word == MYSQL_WORD_BY;
    case MYSQL_WORD_EXCEPT:
    case MYSQL_WORD_INTERSECT:
    case MYSQL_WORD_MINUS:
        return begins_term(behind) && names_is_behind_operand(scan, at);
    case MYSQL_WORD_WHERE:
    case MYSQL_WORD_HAVING:
    case MYSQL_WORD_LIMIT:
    case MYSQL_WORD_UNION:
    case MYSQL_WORD_FOR:
    case MYSQL_WORD_LOCK:
        return token->kind == MYSQL_TOKEN_WORD;
    default:
        return token->kind == MYSQL_TOKEN_CLOSE || token->kind == MYSQL_TOKEN_END;
    }
}

static void add_item(struct names_scan *scan, struct names_list *list, size_t at, size_t end)
{
    struct names_item item = {at, end, end > at && names_is_star(scan, end - 1)};
    list->items = sql_room(scan->arena, list->items, list->count, &list->capacity, sizeof(item));
    list->items[list->count++] = item;
    list->has_star = list->has_star || item.is_star;
}

static void read_list(struct names_scan *scan, size_t select, size_t enclosing)
{
    scan->lists = sql_room(scan->arena, scan->lists, scan->list_count, &scan->list_capacity,
                           sizeof(*scan->lists));
    struct names_list *list = &scan->lists[scan->list_count++];
    *list = (struct names_list){.enclosing = enclosing};
    size_t at = select + 1;
    size_t begin = at;
    while (!ends_list(scan, at)) {
        if (names_token(scan, at)->kind == MYSQL_TOKEN_COMMA) {
            add_item(scan, list, begin, at);
            begin = at + 1;
        }
        at = names_next(scan, at);
    }
    add_item(scan, list, begin, at);
}

static void read_lists(struct names_scan *scan)
{
    size_t opened[LIMIT_SQL_DEPTH + 1] = {0};
    size_t depth = 0;
    for (size_t i = 0; i < scan->end; i++) {
        const struct mysql_token *token = names_token(scan, i);
        if (token->kind == MYSQL_TOKEN_OPEN) {
            opened[++depth] = i + 1;
        } else if (token->kind == MYSQL_TOKEN_CLOSE) {
            depth--;
        } else if (token->word == MYSQL_WORD_SELECT) {
            read_list(scan, i, opened[depth]);
        }
    }
}

/* The result ----------------------------------------------------------------------------------- */

/* Of the whole statement: outside of all parentheses, or in those that it begins with. */
static const struct names_list *outermost(const struct names_scan *scan)
{
    size_t begin = 0;
    for (size_t i = 0; i < scan->list_count; i++) {
        if (scan->lists[i].enclosing == 0) {
            return &scan->lists[i];
        }
    }
    while (names_token(scan, begin)->kind == MYSQL_TOKEN_OPEN) {
        begin++;
    }
    return begin > 0 && names_token(scan, begin)->word == MYSQL_WORD_SELECT && scan->list_count > 0
               ? &scan->lists[0]
               : NULL;
}

static void tell(struct names_scan *scan, struct sql_mysql_lineage *lineage)
{
    const struct names_list *list = outermost(scan);
    if (list == NULL || (scan->is_combined && list->has_star)) {
        return;
    }
    bool *open = arena_alloc_array(scan->arena, list->count + 1, sizeof(*open));
    for (size_t i = 0; i < list->count; i++) {
        open[i] = !names_is_place_closed(scan, list, i);
    }
    lineage->is_known = true;
    lineage->has_star = list->has_star;
    lineage->front = open;
    lineage->front_count = list->count;
    lineage->closed = scan->names;
    lineage->closed_count = scan->name_count;
    if (list->has_star) {
        size_t first = 0;
        size_t last = list->count;
        while (!list->items[first].is_star) {
            first++;
        }
        while (!list->items[last - 1].is_star) {
            last--;
        }
        lineage->front_count = first;
        lineage->back = open + last;
        lineage->back_count = list->count - last;
    }
}

static bool begins_query(const struct names_scan *scan)
{
    const struct mysql_token *first = names_token(scan, 0);
    return first->word == MYSQL_WORD_SELECT || first->word == MYSQL_WORD_WITH ||
           first->kind == MYSQL_TOKEN_OPEN;
}

/* Under set operations a star's columns have no places. */
static bool has_star(const struct names_scan *scan)
{
    for (size_t i = 0; i < scan->list_count; i++) {
        if (scan->lists[i].has_star) {
            return true;
        }
    }
    return false;
}

struct sql_mysql_lineage sql_mysql_lineage_of(struct arena *arena,
                                              const struct sql_settings *settings,
                                              struct slice text,
                                              const struct sql_mysql_asked *asked)
{
    struct sql_mysql_lineage lineage = {0};
    struct names_scan scan = {
        .arena = arena,
        .asked = asked,
        .lexer = {.arena = arena, .settings = settings, .text = text},
    };
    scan.lexer.lower = mysql_lexer_lower_in(arena, text);
    mysql_lexer_read(&scan.lexer);
    if (scan.lexer.why != NULL || scan.lexer.has_versions || scan.lexer.has_versioned) {
        return lineage;
    }
    scan.end = scan.lexer.count;
    while (scan.end > 0 && names_token(&scan, scan.end - 1)->kind == MYSQL_TOKEN_SEMICOLON) {
        scan.end--;
    }
    scan.is_denied = scan.end > TOKENS_MAX || !begins_query(&scan);
    if (!scan.is_denied) {
        read_tokens(&scan);
    }
    if (!scan.is_denied) {
        read_lists(&scan);
        scan.is_denied = scan.is_combined && has_star(&scan);
        names_settle(&scan);
    }
    if (!scan.is_denied) {
        tell(&scan, &lineage);
    }
    return lineage;
}

static bool is_name_open(const struct sql_mysql_lineage *lineage,
                         const struct sql_mysql_asked *asked, struct slice name)
{
    char lower[NAME_SIZE];
    if (name.len > sizeof(lower)) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.at[i];
        lower[i] = (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
    }
    struct slice folded = slice_of(lower, name.len);
    for (size_t i = 0; i < lineage->closed_count; i++) {
        if (slice_equals(lineage->closed[i], folded)) {
            return false;
        }
    }
    return !is_in_question(asked, folded);
}

bool sql_mysql_lineage_is_open(const struct sql_mysql_lineage *lineage,
                               const struct sql_mysql_asked *asked,
                               const struct sql_mysql_place *place)
{
    size_t index = place->index;
    size_t count = place->count;
    size_t known = lineage->front_count + lineage->back_count;
    if (!lineage->is_known || (lineage->has_star ? count <= known : count != known)) {
        return false;
    }
    if (index < lineage->front_count) {
        return lineage->front[index];
    }
    if (index >= count - lineage->back_count) {
        return lineage->back[index - (count - lineage->back_count)];
    }
    return is_name_open(lineage, asked, place->name);
}
