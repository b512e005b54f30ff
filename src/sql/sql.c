/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"

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

/* What is left from 'offset' on as one statement. */
static void sql_add_rest(struct sql_splitter *splitter, size_t offset, const char *why)
{
    struct sql_statement *statement = sql_add_statement(splitter);
    statement->offset = offset;
    statement->len = splitter->lexer.text.len - offset;
    statement->verb = SQL_OTHER;
    statement->operations = SQL_BIT(SQL_OTHER);
    statement->is_unknown = true;
    statement->why = why;
}

/* U&"…" UESCAPE '!': the name's token takes the character, and the two others go. */
static bool sql_take_escape(struct sql_scan *scan)
{
    size_t count = scan->token_count;
    if (count < 3 || scan->tokens[count - 2].word != SQL_WORD_UESCAPE ||
        scan->tokens[count - 1].kind != SQL_TOKEN_STRING ||
        (scan->tokens[count - 3].kind != SQL_TOKEN_QUOTED_UNICODE &&
         scan->tokens[count - 3].kind != SQL_TOKEN_STRING_UNICODE)) {
        return true;
    }
    const struct sql_token *string = &scan->tokens[count - 1];
    struct slice written = slice_sub(scan->text, string->offset, string->len);
    if (written.len != 3 || written.at[0] != '\'' ||
        slice_find_byte(SLICE("0123456789abcdefABCDEF+'\" \t\n\r\f\v"), written.at[1]) < 28) {
        return false;
    }
    scan->tokens[count - 3].escape = written.at[1];
    scan->tokens[count - 3].len = string->offset + string->len - scan->tokens[count - 3].offset;
    scan->token_count -= 2;
    return true;
}

/* Bodies in SQL have semicolons of their own: BEGIN ATOMIC …; …; END, in a CREATE FUNCTION. */
static size_t sql_atomic_depth(const struct sql_scan *scan, size_t depth)
{
    size_t count = scan->token_count;
    const struct sql_token *last = &scan->tokens[count - 1];
    if (depth > 0 && last->word == SQL_WORD_END &&
        (scan->tokens[count - 2].kind == SQL_TOKEN_SEMICOLON ||
         scan->tokens[count - 2].word == SQL_WORD_ATOMIC)) {
        return depth - 1;
    }
    if (last->word != SQL_WORD_ATOMIC || count < 3 ||
        scan->tokens[count - 2].word != SQL_WORD_BEGIN || scan->tokens[0].word != SQL_WORD_CREATE) {
        return depth;
    }
    size_t kind = scan->tokens[1].word == SQL_WORD_OR ? 3 : 1;
    return scan->tokens[kind].word == SQL_WORD_FUNCTION ||
                   scan->tokens[kind].word == SQL_WORD_PROCEDURE
               ? depth + 1
               : depth;
}

/* The tokens of one statement, without the semicolon behind it. Returns the kind of what ended it.
 */
static uint8_t sql_collect(struct sql_splitter *splitter)
{
    struct sql_scan *scan = &splitter->scan;
    size_t depth = 0;
    size_t atomic_depth = 0;
    scan->token_count = 0;
    for (;;) {
        scan->tokens = sql_room(scan->arena, scan->tokens, scan->token_count, &scan->token_capacity,
                                sizeof(*scan->tokens));
        struct sql_token *token = &scan->tokens[scan->token_count];
        sql_lexer_next(&splitter->lexer, token);
        uint8_t kind = token->kind;
        bool is_outside = depth == 0 && atomic_depth == 0;
        if (kind == SQL_TOKEN_END || kind == SQL_TOKEN_BAD ||
            (kind == SQL_TOKEN_SEMICOLON && is_outside)) {
            return kind;
        }
        scan->token_count++;
        depth += kind == SQL_TOKEN_OPEN ? 1 : 0;
        depth -= kind == SQL_TOKEN_CLOSE && depth > 0 ? 1 : 0;
        if (kind == SQL_TOKEN_STRING && !sql_take_escape(scan)) {
            splitter->lexer.why = "UESCAPE has no escape character";
            return SQL_TOKEN_BAD;
        }
        if (token->word != SQL_NO_WORD && depth == 0) {
            atomic_depth = sql_atomic_depth(scan, atomic_depth);
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
    sql_statement_read(scan);
}

static bool sql_is_ascii(struct slice text)
{
    unsigned char all = 0;
    for (size_t i = 0; i < text.len; i++) {
        all |= (unsigned char)text.at[i];
    }
    return all < 0x80;
}

/* NULL: it can be read. */
static const char *sql_refuse_text(struct slice text)
{
    if (text.len > LIMIT_SQL_TEXT_SIZE) {
        return "the text is too long";
    }
    if (slice_find_byte(text, '\0') < text.len) {
        return "there is a NUL in the text";
    }
    return sql_is_ascii(text) || text_is_utf8(text) ? NULL : "the text is not UTF-8";
}

struct sql_script sql_analyze(struct arena *arena, const struct sql_settings *settings,
                              struct slice text)
{
    struct sql_desk desk; /* not cleared: nothing of it is read that was not written */
    /* Where memory lies is nothing that those who write SQL know. */
    struct sql_splitter splitter = {
        .lexer = {.text = text, .is_backslash_quoted = settings->is_backslash_quoted},
        .scan = {.arena = arena,
                 .desk = &desk,
                 .text = text,
                 .tokens = desk.tokens,
                 .token_capacity = COUNT_OF(desk.tokens),
                 .frames = desk.frames,
                 .frame_capacity = COUNT_OF(desk.frames),
                 .entries = desk.entries,
                 .entry_capacity = COUNT_OF(desk.entries),
                 .seed = (uint64_t)(uintptr_t)arena * UINT64_C(0x9e3779b97f4a7c15)},
    };
    const char *refused = sql_refuse_text(text);
    if (refused != NULL) {
        sql_add_rest(&splitter, 0, refused);
        return splitter.script;
    }
    for (uint8_t kind = SQL_TOKEN_SEMICOLON; kind == SQL_TOKEN_SEMICOLON;) {
        kind = sql_collect(&splitter);
        if (kind == SQL_TOKEN_BAD) {
            splitter.script.count = 0;
            sql_add_rest(&splitter, 0, splitter.lexer.why);
        } else if (splitter.scan.token_count > 0 && splitter.script.count == LIMIT_SQL_STATEMENTS) {
            sql_add_rest(&splitter, splitter.scan.tokens[0].offset, "too many statements");
            break;
        } else if (splitter.scan.token_count > 0) {
            sql_read_collected(&splitter);
        }
        splitter.script.is_tight = kind == SQL_TOKEN_END && !splitter.lexer.is_spread;
    }
    return splitter.script;
}
