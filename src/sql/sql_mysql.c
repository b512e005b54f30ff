/* SPDX-License-Identifier: MIT */
#include "sql/sql_mysql.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "sql/sql_lexer.h"
#include "sql/sql_mysql_internal.h"

/* A string that a statement runs as another one. */
struct inner {
    size_t statement; /* of the script */
    size_t token;
};

struct reading {
    struct arena *arena;
    const struct sql_settings *settings;
    struct mysql_lexer lexer;
    struct slice database; /* as the statements before leave it */
    struct sql_script script;
    size_t capacity;
    struct inner *inners;
    size_t inner_count;
    size_t inner_capacity;
};

static struct sql_statement *add_statement(struct reading *reading)
{
    struct sql_script *script = &reading->script;
    script->statements = sql_room(reading->arena, script->statements, script->count,
                                  &reading->capacity, sizeof(*script->statements));
    struct sql_statement *statement = &script->statements[script->count++];
    *statement = (struct sql_statement){.verb = SQL_OTHER, .why = ""};
    return statement;
}

/* What is left from 'offset' on as one statement, which may read anything. */
static void add_rest(struct reading *reading, size_t offset, const char *why)
{
    struct sql_statement *statement = add_statement(reading);
    statement->offset = offset;
    statement->len = reading->lexer.text.len - offset;
    statement->operations = SQL_BIT(SQL_OTHER);
    statement->is_unknown = true;
    statement->why = why;
    statement->relations = arena_alloc(reading->arena, sizeof(*statement->relations));
    *statement->relations =
        (struct sql_relation){.name = {SLICE(""), SLICE("*")}, .is_read = true, .is_all = true};
    statement->relation_count = 1;
}

/* Whether semicolons may be part of it: a body of what runs later, or a block. */
static bool may_go_on(const struct mysql_token *tokens, size_t count)
{
    enum mysql_word first = (enum mysql_word)tokens[0].word;
    enum mysql_word second = count > 1 ? (enum mysql_word)tokens[1].word : MYSQL_NO_WORD;
    bool is_block = first == MYSQL_WORD_BEGIN && second == MYSQL_WORD_NOT;
    bool may_have_body = first == MYSQL_WORD_CREATE || first == MYSQL_WORD_ALTER;
    for (size_t i = 1; i < count && may_have_body; i++) {
        switch ((int)tokens[i].word) {
        case MYSQL_WORD_PROCEDURE:
        case MYSQL_WORD_FUNCTION:
        case MYSQL_WORD_TRIGGER:
        case MYSQL_WORD_EVENT:
        case MYSQL_WORD_PACKAGE:
        case MYSQL_WORD_LIBRARY:
            return true;
        case MYSQL_WORD_TABLE:
        case MYSQL_WORD_VIEW:
        case MYSQL_WORD_INDEX:
        case MYSQL_WORD_DATABASE:
        case MYSQL_WORD_SCHEMA:
        case MYSQL_WORD_USER:
            return false;
        default:
            break;
        }
    }
    return is_block || tokens[0].kind == MYSQL_TOKEN_COLON;
}

/* Statements that only blocks begin with: IF, CASE, LOOP, WHILE …, FOR, and labels before them. */
static bool is_block(const struct mysql_token *tokens, size_t count)
{
    enum mysql_word first = (enum mysql_word)tokens[0].word;
    bool has_label = count > 1 && tokens[1].kind == MYSQL_TOKEN_COLON;
    return has_label || first == MYSQL_WORD_IF || first == MYSQL_WORD_CASE ||
           first == MYSQL_WORD_LOOP || first == MYSQL_WORD_WHILE || first == MYSQL_WORD_REPEAT ||
           first == MYSQL_WORD_FOR;
}

static void read_statement(struct reading *reading, size_t first, size_t end)
{
    const struct mysql_token *tokens = reading->lexer.tokens;
    const struct mysql_token *last = &tokens[end - 1];
    struct sql_statement *statement = add_statement(reading);
    struct mysql_scan scan = {
        .arena = reading->arena,
        .text = reading->lexer.text,
        .lower = reading->lexer.lower,
        .database = reading->database,
        .statement = statement,
        .tokens = tokens,
        .at = first,
        .end = end,
    };
    statement->offset = tokens[first].offset;
    statement->len = (size_t)last->offset + last->len - statement->offset;
    mysql_statement_read(&scan);
    reading->database = scan.database;
    if (scan.inner > 0) {
        reading->inners = sql_room(reading->arena, reading->inners, reading->inner_count,
                                   &reading->inner_capacity, sizeof(*reading->inners));
        reading->inners[reading->inner_count++] =
            (struct inner){reading->script.count - 1, scan.inner - 1};
    }
    if (reading->lexer.has_versions) {
        mysql_unknown(&scan, "comments in it are code for servers of several versions");
    }
}

/* Whether the statement sets what says how a text is read, or runs what may, and something behind
 * it can be read otherwise by then. */
static bool changes_reading(const struct reading *reading, size_t first, size_t end)
{
    const struct mysql_lexer *lexer = &reading->lexer;
    const struct sql_statement *statement = &reading->script.statements[reading->script.count - 1];
    bool changes = (statement->operations & (SQL_BIT(SQL_EXECUTE) | SQL_BIT(SQL_CALL))) != 0;
    for (size_t i = first; i < end && statement->verb == SQL_SET && !changes; i++) {
        const struct mysql_token *token = &lexer->tokens[i];
        struct slice name =
            slice_trim((struct slice){lexer->lower + token->offset, token->len}, "`\"");
        changes = token->word == MYSQL_WORD_NAMES || token->word == MYSQL_WORD_CHARACTER ||
                  token->word == MYSQL_WORD_CHARSET || slice_equals(name, SLICE("sql_mode")) ||
                  slice_equals(name, SLICE("character_set_client"));
    }
    struct slice rest =
        slice_from(lexer->text, lexer->tokens[end - 1].offset + lexer->tokens[end - 1].len);
    return changes && end < lexer->count &&
           (slice_find_byte(rest, '"') < rest.len || slice_find_byte(rest, '\\') < rest.len ||
            !text_is_ascii(rest));
}

/* To its semicolon, or to the end where more than one may belong to it. */
static size_t statement_end(const struct reading *reading, size_t first, bool *ret_goes_on)
{
    const struct mysql_lexer *lexer = &reading->lexer;
    size_t end = first;
    while (end < lexer->count && lexer->tokens[end].kind != MYSQL_TOKEN_SEMICOLON) {
        end++;
    }
    size_t behind = end;
    while (behind < lexer->count && lexer->tokens[behind].kind == MYSQL_TOKEN_SEMICOLON) {
        behind++;
    }
    bool is_body = may_go_on(&lexer->tokens[first], end - first) ||
                   is_block(&lexer->tokens[first], end - first);
    *ret_goes_on = is_body && behind < lexer->count;
    return *ret_goes_on ? lexer->count : end;
}

static void read_statements(struct reading *reading)
{
    const struct mysql_lexer *lexer = &reading->lexer;
    size_t at = 0;
    while (at < lexer->count) {
        bool goes_on = false;
        if (lexer->tokens[at].kind == MYSQL_TOKEN_SEMICOLON) {
            at++;
            continue;
        }
        if (reading->script.count == LIMIT_SQL_STATEMENTS) {
            add_rest(reading, lexer->tokens[at].offset, "too many statements");
            return;
        }
        size_t end = statement_end(reading, at, &goes_on);
        if (end == lexer->count && lexer->why != NULL) {
            add_rest(reading, lexer->tokens[at].offset, lexer->why);
            return;
        }
        read_statement(reading, at, end);
        if (changes_reading(reading, at, end)) {
            add_rest(reading, lexer->tokens[end].offset + lexer->tokens[end].len,
                     "what stands before it may change how it is read");
            return;
        }
        if (goes_on) {
            struct sql_statement *body = &reading->script.statements[reading->script.count - 1];
            body->is_unknown = true;
            body->why = body->why[0] == '\0' ? "statements may stand behind its body" : body->why;
        }
        at = end;
    }
    if (lexer->why != NULL) {
        add_rest(reading, lexer->end, lexer->why);
    }
}

static struct reading read_as(struct arena *arena, const struct sql_settings *settings,
                              struct slice text, bool reads_versioned)
{
    struct reading reading = {
        .arena = arena,
        .settings = settings,
        .database = settings->database,
        .lexer = {.arena = arena,
                  .settings = settings,
                  .text = text,
                  .reads_versioned = reads_versioned},
    };
    reading.lexer.lower = mysql_lexer_lower_in(arena, text);
    mysql_lexer_read(&reading.lexer);
    read_statements(&reading);
    reading.script.is_cut = reading.lexer.why == NULL;
    reading.script.gaps = reading.lexer.gaps;
    reading.script.gap_count = reading.lexer.gap_count;
    reading.script.dialect = SQL_MYSQL;
    return reading;
}

/* What the quotes of a string hold. False: an escape stands for a byte that ends texts. */
static bool string_text(struct arena *arena, const struct sql_settings *settings,
                        struct slice quoted, struct slice *ret_text)
{
    static const char escapes[] = "n\nt\tr\rb\bZ\032";
    char quote = quoted.at[0];
    struct slice inside = slice_sub(quoted, 1, quoted.len - 2);
    char *text = arena_alloc_bare(arena, inside.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < inside.len; i++) {
        char byte = inside.at[i];
        bool is_escape = byte == '\\' && settings->is_backslash_quoted && i + 1 < inside.len;
        i += is_escape || byte == quote ? 1 : 0;
        byte = is_escape ? inside.at[i] : byte;
        for (size_t k = 0; is_escape && k + 1 < sizeof(escapes); k += 2) {
            if (escapes[k] == byte) {
                byte = escapes[k + 1];
                break;
            }
        }
        if (is_escape && byte == '0') {
            return false;
        }
        text[len++] = byte;
    }
    *ret_text = (struct slice){text, len};
    return true;
}

/* What it does takes the place of what was not known; a statement that only prepares it counts as
 * if it ran. What such a text holds of this kind again no server runs. */
static void read_inner(struct reading *reading, const struct inner *inner)
{
    const struct mysql_token *token = &reading->lexer.tokens[inner->token];
    struct sql_statement *statement = &reading->script.statements[inner->statement];
    uint64_t own = statement->operations & SQL_BIT(SQL_PREPARE);
    struct slice text = SLICE("");
    struct slice quoted = slice_sub(reading->lexer.text, token->offset, token->len);
    struct reading read = {.script = {.count = 0}};
    if (string_text(reading->arena, reading->settings, quoted, &text)) {
        read = read_as(reading->arena, reading->settings, text, reading->lexer.reads_versioned);
    }
    bool is_one = read.script.count == 1 && read.inner_count == 0 && !read.lexer.has_versioned;
    if (is_one) {
        const char *why = statement->why;
        bool is_unknown = statement->is_unknown;
        sql_statement_execute_in(reading->arena, statement, &read.script.statements[0]);
        statement->operations |= own | SQL_BIT(statement->verb);
        statement->why = is_unknown ? why : statement->why;
        statement->is_unknown = is_unknown || statement->is_unknown;
        return;
    }
    struct sql_relation any = {.name = {SLICE(""), SLICE("*")}, .is_read = true, .is_all = true};
    const struct sql_statement unknown = {.is_unknown = true,
                                          .why = "it runs a text that is not understood",
                                          .relations = &any,
                                          .relation_count = 1};
    sql_statement_execute_in(reading->arena, statement, &unknown);
    statement->operations |= own | SQL_BIT(statement->verb);
}

static struct reading read_whole(struct arena *arena, const struct sql_settings *settings,
                                 struct slice text, bool reads_versioned)
{
    struct reading reading = read_as(arena, settings, text, reads_versioned);
    for (size_t i = 0; i < reading.inner_count; i++) {
        read_inner(&reading, &reading.inners[i]);
    }
    return reading;
}

struct sql_script sql_mysql_analyze(struct arena *arena, const struct sql_settings *settings,
                                    struct slice text)
{
    struct reading reading = read_whole(arena, settings, text, true);
    if (reading.lexer.has_versioned) {
        struct sql_script *other = arena_alloc(arena, sizeof(*other));
        *other = read_whole(arena, settings, text, false).script;
        reading.script.other = other;
    }
    return reading.script;
}
