/* SPDX-License-Identifier: MIT */
#include "sql/sql_mysql_signs.h"

#include "sql/sql_mysql_lexer.h"

struct signs_scan {
    struct mysql_lexer lexer;
    const struct sql_mysql_asked *asked;
    struct sql_mysql_signs *signs;
    size_t depth;     /* of parentheses */
    bool sets;        /* behind the SET of an UPDATE, outside of all parentheses */
    bool is_at_start; /* of a statement */
};

static const struct mysql_token *token_at(const struct signs_scan *scan, size_t index)
{
    static const struct mysql_token none = {.kind = MYSQL_TOKEN_END};
    return index < scan->lexer.count ? &scan->lexer.tokens[index] : &none;
}

static struct slice text_of(const struct signs_scan *scan, const struct mysql_token *token)
{
    return slice_of(scan->lexer.lower + token->offset, token->len);
}

static bool is_name(const struct mysql_token *token)
{
    return token->kind == MYSQL_TOKEN_WORD || token->kind == MYSQL_TOKEN_QUOTED;
}

/* Within the quotes; one that is written twice inside is not looked for. */
static bool is_asked(const struct signs_scan *scan, const struct mysql_token *token)
{
    struct slice name = text_of(scan, token);
    for (size_t i = 0; i < name.len; i++) {
        if ((name.at[i] & 0x80) != 0) {
            return true; /* servers compare columns without accents, and know more letters */
        }
    }
    if (token->kind == MYSQL_TOKEN_QUOTED) {
        char quote = name.at[0];
        name = slice_sub(name, 1, name.len - 2);
        if (slice_find_byte(name, quote) < name.len) {
            return true;
        }
    }
    return scan->asked->is_asked(scan->asked->context, name);
}

/* "SET a = …, t.b = …": what is assigned to is not read. */
static bool is_assigned(const struct signs_scan *scan, size_t index)
{
    size_t first = index;
    while (first >= 2 && token_at(scan, first - 1)->kind == MYSQL_TOKEN_DOT) {
        first -= 2;
    }
    const struct mysql_token *before = token_at(scan, first > 0 ? first - 1 : SIZE_MAX);
    const struct mysql_token *behind = token_at(scan, index + 1);
    bool follows = before->kind == MYSQL_TOKEN_COMMA || before->word == MYSQL_WORD_SET;
    return scan->sets && scan->depth == 0 && follows &&
           (behind->kind == MYSQL_TOKEN_EQUALS || behind->kind == MYSQL_TOKEN_ASSIGN);
}

/* What may stand before the parenthesis of a query that is a value, or a set of them. */
static bool is_before_value(const struct mysql_token *token)
{
    switch ((int)token->word) {
    case MYSQL_WORD_IN:
    case MYSQL_WORD_EXISTS:
    case MYSQL_WORD_ANY:
    case MYSQL_WORD_ALL:
    case MYSQL_WORD_SOME:
    case MYSQL_WORD_SELECT:
    case MYSQL_WORD_WHERE:
    case MYSQL_WORD_HAVING:
    case MYSQL_WORD_NOT:
    case MYSQL_WORD_AND:
    case MYSQL_WORD_OR:
    case MYSQL_WORD_WHEN:
    case MYSQL_WORD_THEN:
    case MYSQL_WORD_ELSE:
        return true;
    default:
        return token->kind == MYSQL_TOKEN_OPERATOR || token->kind == MYSQL_TOKEN_EQUALS;
    }
}

static void take_open(struct signs_scan *scan, size_t index)
{
    const struct mysql_token *behind = token_at(scan, index + 1);
    bool is_query = behind->word == MYSQL_WORD_SELECT || behind->word == MYSQL_WORD_VALUES ||
                    behind->word == MYSQL_WORD_TABLE || behind->kind == MYSQL_TOKEN_OPEN;
    bool is_value = index > 0 && is_before_value(token_at(scan, index - 1));
    /* In "((" the inner one decides, whose parenthesis is no such word. */
    if (is_query && behind->kind != MYSQL_TOKEN_OPEN && !is_value) {
        scan->signs->makes_relations = true;
    }
    scan->depth++;
}

static bool may_compare(const struct mysql_token *token)
{
    switch ((int)token->word) {
    case MYSQL_WORD_ORDER:
    case MYSQL_WORD_GROUP:
    case MYSQL_WORD_DISTINCT:
    case MYSQL_WORD_DISTINCTROW:
    case MYSQL_WORD_MINUS:
    case MYSQL_WORD_UNION:
    case MYSQL_WORD_EXCEPT:
    case MYSQL_WORD_INTERSECT:
    case MYSQL_WORD_NATURAL:
        return true;
    default:
        return false;
    }
}

static void take_word(struct signs_scan *scan, size_t index)
{
    const struct mysql_token *token = token_at(scan, index);
    struct sql_mysql_signs *signs = scan->signs;
    bool is_behind_dot = index > 0 && token_at(scan, index - 1)->kind == MYSQL_TOKEN_DOT;
    if (scan->is_at_start && !is_behind_dot) {
        scan->sets = false;
        scan->is_at_start = false;
    }
    if (token->word == MYSQL_WORD_INTO) {
        const struct mysql_token *before = token_at(scan, index > 0 ? index - 1 : SIZE_MAX);
        bool is_insert = before->word == MYSQL_WORD_INSERT || before->word == MYSQL_WORD_REPLACE ||
                         before->word == MYSQL_WORD_IGNORE;
        signs->keeps_values = signs->keeps_values || !is_insert;
    }
    signs->makes_relations = signs->makes_relations || token->word == MYSQL_WORD_WITH;
    signs->names_asked_at_all =
        signs->names_asked_at_all || token->word == MYSQL_WORD_NATURAL; /* all that are alike */
    signs->compares = signs->compares || may_compare(token) ||
                      (token->word == MYSQL_WORD_SELECT && scan->depth > 0);
    scan->sets = scan->sets || (token->word == MYSQL_WORD_SET && scan->depth == 0);
    if (token->word == MYSQL_WORD_WHERE || token->word == MYSQL_WORD_ORDER) {
        scan->sets = scan->sets && scan->depth > 0;
    }
    signs->names_asked = signs->names_asked || token->word == MYSQL_WORD_TABLE; /* all of it */
    if (is_asked(scan, token)) {
        signs->names_asked_at_all = true;
        signs->names_asked = signs->names_asked || !is_assigned(scan, index);
    }
}

static void take_token(struct signs_scan *scan, size_t index)
{
    const struct mysql_token *token = token_at(scan, index);
    switch ((int)token->kind) {
    case MYSQL_TOKEN_WORD:
    case MYSQL_TOKEN_QUOTED:
        take_word(scan, index);
        break;
    case MYSQL_TOKEN_VARIABLE:
    case MYSQL_TOKEN_ASSIGN:
        scan->signs->keeps_values = true;
        break;
    case MYSQL_TOKEN_STAR:
        scan->signs->names_asked = true;
        break;
    case MYSQL_TOKEN_OPEN:
        take_open(scan, index);
        break;
    case MYSQL_TOKEN_CLOSE:
        scan->depth -= scan->depth > 0 ? 1 : 0;
        break;
    case MYSQL_TOKEN_SEMICOLON:
        scan->is_at_start = true;
        scan->depth = 0;
        break;
    default:
        break;
    }
}

/* Whether there are comments that are code for some servers. */
static bool read_as(struct arena *arena, const struct sql_settings *settings, struct slice text,
                    const struct sql_mysql_asked *asked, bool reads_versioned,
                    struct sql_mysql_signs *signs)
{
    struct signs_scan scan = {
        .lexer = {.arena = arena,
                  .settings = settings,
                  .text = text,
                  .reads_versioned = reads_versioned},
        .asked = asked,
        .signs = signs,
        .is_at_start = true,
    };
    scan.lexer.lower = mysql_lexer_lower_in(arena, text);
    mysql_lexer_read(&scan.lexer);
    signs->is_read = signs->is_read && scan.lexer.why == NULL && !scan.lexer.has_versions;
    for (size_t i = 0; i < scan.lexer.count; i++) {
        take_token(&scan, i);
    }
    struct slice *words[] = {&signs->first, &signs->second, &signs->third};
    for (size_t i = 0; i < 3; i++) {
        const struct mysql_token *token = token_at(&scan, i);
        *words[i] =
            is_name(token) || token->kind == MYSQL_TOKEN_OPEN ? text_of(&scan, token) : SLICE("");
    }
    return scan.lexer.has_versioned;
}

struct sql_mysql_signs sql_mysql_signs(struct arena *arena, const struct sql_settings *settings,
                                       struct slice text, const struct sql_mysql_asked *asked)
{
    struct sql_mysql_signs signs = {
        .is_read = true, .first = SLICE(""), .second = SLICE(""), .third = SLICE("")};
    if (read_as(arena, settings, text, asked, false, &signs)) {
        (void)read_as(arena, settings, text, asked, true, &signs);
    }
    return signs;
}
