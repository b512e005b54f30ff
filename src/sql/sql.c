/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "sql/sql_mysql.h"

static const char *const sql_operation_words[] = {
#define SQL_OPERATION(name, word) [SQL_##name] = word,
    SQL_OPERATIONS(SQL_OPERATION)
#undef SQL_OPERATION
};

const char *sql_operation_word(enum sql_operation operation)
{
    return sql_operation_words[operation];
}

bool sql_operation_parse(struct slice word, enum sql_operation *ret_operation)
{
    for (size_t i = 0; i < COUNT_OF(sql_operation_words); i++) {
        if (slice_equals(word, slice_of_text(sql_operation_words[i]))) {
            *ret_operation = (enum sql_operation)i;
            return true;
        }
    }
    return false;
}

struct sql_splitter {
    struct sql_lexer lexer;
    struct sql_scan scan;
    struct sql_script script;
    size_t capacity; /* of the script */
};

static struct sql_statement *sql_add_statement(struct sql_splitter *splitter)
{
    struct sql_script *script = &splitter->script;
    script->statements = sql_room(splitter->scan.arena, script->statements, script->count,
                                  &splitter->capacity, sizeof(*script->statements));
    struct sql_statement *statement = &script->statements[script->count++];
    *statement = (struct sql_statement){.why = ""};
    return statement;
}

/* What is left from 'offset' on as one statement, which may read anything. */
static void sql_add_rest(struct sql_splitter *splitter, size_t offset, const char *why)
{
    struct sql_statement *statement = sql_add_statement(splitter);
    statement->offset = offset;
    statement->len = splitter->lexer.text.len - offset;
    statement->verb = SQL_OTHER;
    statement->operations = SQL_BIT(SQL_OTHER);
    statement->is_unknown = true;
    statement->why = why;
    statement->relations = arena_alloc(splitter->scan.arena, sizeof(*statement->relations));
    *statement->relations =
        (struct sql_relation){.name = {SLICE_NONE, sql_all()}, .is_read = true, .is_all = true};
    statement->relation_count = 1;
}

/* Bodies in SQL have semicolons of their own: BEGIN ATOMIC …; …; END, in a CREATE FUNCTION. */
struct sql_body {
    size_t depth; /* of parentheses */
    size_t atomic_depth;
    size_t index; /* of the next token */
};

static bool sql_begins_body(const struct sql_token *tokens, size_t index)
{
    size_t kind = index > 3 && tokens[1].word == SQL_WORD_OR ? 3 : 1;
    return index > kind && tokens[index].word == SQL_WORD_ATOMIC &&
           tokens[index - 1].word == SQL_WORD_BEGIN &&
           (tokens[kind].word == SQL_WORD_FUNCTION || tokens[kind].word == SQL_WORD_PROCEDURE);
}

/* Goes on over the tokens of a CREATE. */
static void sql_follow_body(struct sql_body *body, const struct sql_token *tokens, size_t count)
{
    for (size_t i = body->index; i < count; i++) {
        body->depth += tokens[i].kind == SQL_TOKEN_OPEN ? 1 : 0;
        body->depth -= tokens[i].kind == SQL_TOKEN_CLOSE && body->depth > 0 ? 1 : 0;
        if (body->depth > 0) {
            continue;
        }
        if (body->atomic_depth > 0 && tokens[i].word == SQL_WORD_END &&
            (tokens[i - 1].kind == SQL_TOKEN_SEMICOLON || tokens[i - 1].word == SQL_WORD_ATOMIC)) {
            body->atomic_depth--;
        } else if (sql_begins_body(tokens, i)) {
            body->atomic_depth++;
        }
    }
    body->index = count;
}

/* The tokens of one statement, without the semicolon behind it. Returns the kind of what ended it.
 */
static uint8_t sql_collect(struct sql_splitter *splitter)
{
    struct sql_lexer *lexer = &splitter->lexer;
    struct sql_body body = {0, 0, 0};
    lexer->count = 0;
    lexer->depth = 0;
    for (;;) {
        uint8_t kind = sql_lexer_read(lexer);
        splitter->scan.tokens = lexer->tokens;
        splitter->scan.token_count = lexer->count;
        if (kind != SQL_TOKEN_SEMICOLON) {
            return kind;
        }
        if (lexer->tokens[0].word == SQL_WORD_CREATE) {
            sql_follow_body(&body, lexer->tokens, lexer->count);
        }
        if (lexer->depth == 0 && body.atomic_depth == 0) {
            splitter->scan.token_count--;
            return kind;
        }
    }
}

static void sql_read_collected(struct sql_splitter *splitter)
{
    struct sql_scan *scan = &splitter->scan;
    const struct sql_token *first = &scan->tokens[0];
    const struct sql_token *last = &scan->tokens[scan->token_count - 1];
    scan->statement = sql_add_statement(splitter);
    scan->statement->offset = first->offset;
    scan->statement->len = (size_t)last->offset + last->len - first->offset;
    scan->is_utf8 = splitter->lexer.is_utf8 ||
                    text_is_utf8(slice_sub(scan->text, first->offset, scan->statement->len));
    sql_statement_read(scan);
}

/* NULL: it can be read. */
static const char *sql_take_text(struct sql_splitter *splitter, struct slice text)
{
    struct sql_scan *scan = &splitter->scan;
    uint8_t *marks = scan->scratch->marks;
    splitter->lexer.text = text;
    if (text.len > LIMIT_SQL_TEXT_SIZE) {
        return "the text is too long";
    }
    if (text.len + SQL_PADDING > sizeof(scan->scratch->marks)) {
        marks = arena_alloc_bare(scan->arena, text.len + SQL_PADDING);
    }
    const char *refused = sql_lexer_text(&splitter->lexer, text, marks);
    scan->text = text;
    scan->lower = splitter->lexer.lower;
    return refused;
}

/* Where the statement begins that cannot be read to its end. */
static size_t sql_rest_offset(const struct sql_splitter *splitter)
{
    const struct sql_script *script = &splitter->script;
    if (script->count == 0) {
        return 0;
    }
    const struct sql_statement *last = &script->statements[script->count - 1];
    return splitter->scan.token_count > 0 ? splitter->scan.tokens[0].offset
                                          : last->offset + last->len;
}

static struct sql_script sql_split(struct arena *arena, const struct sql_settings *settings,
                                   struct slice text, bool wants_columns)
{
    struct sql_scratch scratch; /* not cleared: nothing of it is read that was not written */
    /* Where memory lies is nothing that those who write SQL know. */
    struct sql_splitter splitter = {
        .lexer = {.arena = arena,
                  .tokens = scratch.tokens,
                  .capacity = COUNT_OF(scratch.tokens),
                  .is_backslash_quoted = settings->is_backslash_quoted},
        .scan = {.arena = arena,
                 .scratch = &scratch,
                 .frames = scratch.frames,
                 .frame_capacity = COUNT_OF(scratch.frames),
                 .entries = scratch.entries,
                 .entry_capacity = COUNT_OF(scratch.entries),
                 .wants_columns = wants_columns,
                 .seed = (uint64_t)(uintptr_t)arena * UINT64_C(0x9e3779b97f4a7c15)},
    };
    const char *refused = sql_take_text(&splitter, text);
    if (refused != NULL) {
        sql_add_rest(&splitter, 0, refused);
        return splitter.script;
    }
    for (uint8_t kind = SQL_TOKEN_SEMICOLON; kind == SQL_TOKEN_SEMICOLON;) {
        kind = sql_collect(&splitter);
        if (kind == SQL_TOKEN_BAD) {
            sql_add_rest(&splitter, sql_rest_offset(&splitter), splitter.lexer.why);
        } else if (splitter.scan.token_count > 0 && splitter.script.count == LIMIT_SQL_STATEMENTS) {
            sql_add_rest(&splitter, splitter.scan.tokens[0].offset, "too many statements");
            break;
        } else if (splitter.scan.token_count > 0) {
            sql_read_collected(&splitter);
        }
        splitter.script.is_cut = kind == SQL_TOKEN_END && splitter.lexer.is_utf8;
    }
    splitter.script.gaps = splitter.lexer.gaps;
    splitter.script.gap_count = splitter.lexer.gap_count;
    return splitter.script;
}

static void *sql_concat(struct arena *arena, const void *first, size_t first_count,
                        const void *second, size_t second_count, size_t size)
{
    char *all = arena_alloc_array(arena, first_count + second_count, size);
    if (first_count > 0) {
        memcpy(all, first, first_count * size);
    }
    if (second_count > 0) {
        memcpy(all + first_count * size, second, second_count * size);
    }
    return all;
}

#define ADD_ALL(member, count)                                                                     \
    do {                                                                                           \
        statement->member =                                                                        \
            sql_concat(arena, statement->member, statement->count, prepared->member,               \
                       prepared->count, sizeof(*statement->member));                               \
        statement->count += prepared->count;                                                       \
    } while (0)

void sql_statement_execute_in(struct arena *arena, struct sql_statement *statement,
                              const struct sql_statement *prepared)
{
    uint64_t inner = prepared->operations & ~SQL_BIT(SQL_PREPARE);
    statement->operations = (statement->operations & ~SQL_BIT(SQL_EXECUTE)) | inner;
    statement->without_where = statement->without_where || prepared->without_where;
    statement->rewrites_rows = statement->rewrites_rows || prepared->rewrites_rows;
    statement->lets_write = statement->lets_write || prepared->lets_write;
    statement->locks = statement->locks || prepared->locks;
    statement->is_unknown = prepared->is_unknown;
    statement->why = prepared->why;
    statement->needs_no_transaction =
        statement->needs_no_transaction || prepared->needs_no_transaction;
    ADD_ALL(relations, relation_count);
    ADD_ALL(functions, function_count);
    ADD_ALL(columns, column_count);
    ADD_ALL(operators, operator_count);
    ADD_ALL(types, type_count);
}

struct sql_script sql_analyze(struct arena *arena, const struct sql_settings *settings,
                              struct slice text)
{
    return settings->dialect == SQL_MYSQL ? sql_mysql_analyze(arena, settings, text)
                                          : sql_split(arena, settings, text, true);
}

struct sql_script sql_analyze_effects(struct arena *arena, const struct sql_settings *settings,
                                      struct slice text)
{
    return settings->dialect == SQL_MYSQL ? sql_mysql_analyze(arena, settings, text)
                                          : sql_split(arena, settings, text, false);
}
