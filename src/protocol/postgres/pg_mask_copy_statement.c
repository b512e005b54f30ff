/* SPDX-License-Identifier: MIT */
/* What COPY … TO STDOUT says about the rows that come (sql-copy). Whatever is not understood makes
 * the whole not understood, and its rows are then texts of which nothing is known. */
#include "protocol/postgres/pg_mask_copy.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,   /* a name or a key word; folded to lower case unless it was quoted */
    TOKEN_STRING, /* of a literal */
    TOKEN_SIGN,   /* one byte */
    TOKEN_BAD,
};

struct copy_reader {
    struct arena *arena;
    struct slice text;
    size_t index;
    enum token_kind kind;
    struct slice token;
    bool is_quoted;
    bool is_inside_query;
};

static bool is_word_byte(char byte, bool is_first)
{
    bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
                     ((unsigned char)byte & 0x80u) != 0;
    return is_letter || (!is_first && ((byte >= '0' && byte <= '9') || byte == '$'));
}

static char byte_at(const struct copy_reader *reader, size_t index)
{
    return index < reader->text.len ? reader->text.at[index] : '\0';
}

/* Comments stay in no statement that a program writes, and are not understood. */
static void skip_space(struct copy_reader *reader)
{
    while (reader->index < reader->text.len &&
           strchr(" \t\n\r\f\v", byte_at(reader, reader->index)) != NULL &&
           byte_at(reader, reader->index) != '\0') {
        reader->index++;
    }
}

/* At least as long as what stands between quotes. */
static size_t quoted_len(const struct copy_reader *reader, size_t start, char quote)
{
    size_t len = 0;
    while (start + len < reader->text.len) {
        if (reader->text.at[start + len] == quote) {
            if (byte_at(reader, start + len + 1) != quote) {
                break;
            }
            len++;
        }
        len++;
    }
    return len;
}

/* Between two such quotes, which stand for one of them inside when they come twice. */
static void take_quoted(struct copy_reader *reader, char quote)
{
    char *at = arena_alloc(reader->arena, quoted_len(reader, reader->index + 1, quote) + 1);
    size_t len = 0;
    reader->index++;
    for (;;) {
        if (reader->index >= reader->text.len) {
            reader->kind = TOKEN_BAD;
            return;
        }
        char byte = byte_at(reader, reader->index++);
        if (byte == quote && byte_at(reader, reader->index) != quote) {
            break;
        }
        reader->index += byte == quote;
        if (byte == '\\' && reader->is_inside_query) { /* who knows what it does here */
            reader->kind = TOKEN_BAD;
            return;
        }
        at[len++] = byte;
    }
    reader->token = slice_of(at, len);
}

static char escaped_byte(char byte)
{
    static const char letters[] = "bfnrt";
    static const char bytes[] = "\b\f\n\r\t";
    const char *found = byte != '\0' ? strchr(letters, byte) : NULL;
    return found != NULL ? bytes[found - letters] : byte;
}

/* E'…': what can be a delimiter, and nothing with digits in it. */
static void take_escaped(struct copy_reader *reader)
{
    size_t size = quoted_len(reader, reader->index + 2, '\'') + 1;
    char *at = arena_alloc(reader->arena, size);
    size_t len = 0;
    for (reader->index += 2; reader->index < reader->text.len;) {
        char byte = byte_at(reader, reader->index++);
        if (byte == '\'') {
            bool is_end = byte_at(reader, reader->index) != '\'';
            reader->kind = is_end ? TOKEN_STRING : TOKEN_BAD;
            reader->token = slice_of(at, len);
            return;
        }
        if (byte == '\\') {
            byte = byte_at(reader, reader->index++);
            if (strchr("01234567xuU", byte) != NULL) {
                break;
            }
            byte = escaped_byte(byte);
        }
        if (len >= size) {
            break;
        }
        at[len++] = byte;
    }
    reader->kind = TOKEN_BAD;
}

static void take_word(struct copy_reader *reader)
{
    size_t start = reader->index;
    while (is_word_byte(byte_at(reader, reader->index), reader->index == start)) {
        reader->index++;
    }
    struct slice word = slice_sub(reader->text, start, reader->index - start);
    char *at = arena_alloc(reader->arena, word.len + 1);
    for (size_t i = 0; i < word.len; i++) {
        char byte = word.at[i];
        at[i] = byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
    }
    reader->token = slice_of(at, word.len);
}

static void next(struct copy_reader *reader)
{
    skip_space(reader);
    char byte = byte_at(reader, reader->index);
    reader->is_quoted = false;
    if (reader->index >= reader->text.len) {
        reader->kind = TOKEN_END;
        reader->token = SLICE_NONE;
    } else if (byte == '"') {
        reader->kind = TOKEN_WORD;
        reader->is_quoted = true;
        take_quoted(reader, '"');
    } else if (byte == '\'') {
        reader->kind = TOKEN_STRING;
        take_quoted(reader, '\'');
    } else if ((byte == 'e' || byte == 'E') && byte_at(reader, reader->index + 1) == '\'') {
        take_escaped(reader);
    } else if (is_word_byte(byte, true)) {
        reader->kind = TOKEN_WORD;
        take_word(reader);
    } else {
        reader->kind = strchr("(),.*", byte) != NULL ? TOKEN_SIGN : TOKEN_BAD;
        reader->token = slice_sub(reader->text, reader->index, 1);
        reader->index++;
    }
}

static bool is_word(const struct copy_reader *reader, const char *word)
{
    return reader->kind == TOKEN_WORD && !reader->is_quoted &&
           slice_equals(reader->token, slice_of_text(word));
}

static bool is_sign(const struct copy_reader *reader, char sign)
{
    return reader->kind == TOKEN_SIGN && reader->token.at[0] == sign;
}

static bool take_if_word(struct copy_reader *reader, const char *word)
{
    bool is_it = is_word(reader, word);
    if (is_it) {
        next(reader);
    }
    return is_it;
}

static bool take_if_sign(struct copy_reader *reader, char sign)
{
    bool is_it = is_sign(reader, sign);
    if (is_it) {
        next(reader);
    }
    return is_it;
}

/* What is copied ------------------------------------------------------------------------------- */

/* To the parenthesis that closes the one that was read; comments and dollar quotes are not
 * understood. */
static bool skip_query(struct copy_reader *reader)
{
    size_t depth = 1;
    reader->is_inside_query = true;
    while (depth > 0) {
        skip_space(reader);
        char byte = byte_at(reader, reader->index);
        char behind = byte_at(reader, reader->index + 1);
        bool is_string = byte == '\'' || byte == '"';
        bool is_comment = (byte == '-' && behind == '-') || (byte == '/' && behind == '*');
        if (reader->index >= reader->text.len || is_comment || byte == '$') {
            return false;
        }
        if (is_string || is_word_byte(byte, true)) {
            next(reader);
            if (reader->kind == TOKEN_BAD) {
                return false;
            }
            continue;
        }
        depth += byte == '(';
        depth -= byte == ')';
        reader->index++;
    }
    reader->is_inside_query = false;
    next(reader);
    return true;
}

static bool read_columns(struct copy_reader *reader, struct copy_statement *copy)
{
    copy->columns = arena_alloc_array(reader->arena, COPY_COLUMNS_MAX, sizeof(copy->columns[0]));
    do {
        if (reader->kind != TOKEN_WORD || copy->column_count == COPY_COLUMNS_MAX) {
            return false;
        }
        copy->columns[copy->column_count++] = reader->token;
        next(reader);
    } while (take_if_sign(reader, ','));
    return take_if_sign(reader, ')');
}

static bool read_source(struct copy_reader *reader, struct copy_statement *copy)
{
    if (is_sign(reader, '(')) {
        copy->is_query = true;
        return skip_query(reader);
    }
    for (unsigned parts = 0;; parts++) {
        if (reader->kind != TOKEN_WORD || parts == 3) {
            return false;
        }
        copy->schema = copy->table;
        copy->table = reader->token;
        next(reader);
        if (!take_if_sign(reader, '.')) {
            break;
        }
    }
    return !take_if_sign(reader, '(') || read_columns(reader, copy);
}

/* How --------------------------------------------------------------------------------------------
 */

static bool take_byte(struct copy_reader *reader, char *ret_byte)
{
    if (reader->kind != TOKEN_STRING || reader->token.len != 1) {
        return false;
    }
    *ret_byte = reader->token.at[0];
    next(reader);
    return true;
}

static bool take_null(struct copy_reader *reader, struct pgwire_copy_format *format)
{
    if (reader->kind != TOKEN_STRING || reader->token.len > sizeof(format->null)) {
        return false;
    }
    format->null_len = reader->token.len;
    memcpy(format->null, reader->token.at, reader->token.len);
    next(reader);
    return true;
}

/* What was said, before the format says what the rest means. */
struct copy_said {
    struct pgwire_copy_format format;
    bool has_kind;
    bool has_delimiter;
    bool has_null;
    bool has_quote;
    bool has_escape;
};

static bool take_kind(struct copy_said *said, enum pgwire_copy_kind kind)
{
    bool is_first = !said->has_kind;
    said->has_kind = true;
    said->format.kind = kind;
    return is_first;
}

static bool take_format_name(struct copy_reader *reader, struct copy_said *said)
{
    bool is_name = reader->kind == TOKEN_WORD || reader->kind == TOKEN_STRING;
    struct slice name = reader->token;
    if (!is_name) {
        return false;
    }
    next(reader);
    return slice_equals(name, SLICE("text"))     ? take_kind(said, PGWIRE_COPY_TEXT)
           : slice_equals(name, SLICE("csv"))    ? take_kind(said, PGWIRE_COPY_CSV)
           : slice_equals(name, SLICE("binary")) ? take_kind(said, PGWIRE_COPY_BINARY)
                                                 : false;
}

static bool take_header(struct copy_reader *reader, struct copy_said *said)
{
    said->format.has_header = true;
    if (is_sign(reader, ',') || is_sign(reader, ')')) {
        return true;
    }
    said->format.has_header = is_word(reader, "true") || is_word(reader, "on");
    bool is_off = is_word(reader, "false") || is_word(reader, "off");
    next(reader);
    return said->format.has_header || is_off;
}

static bool take_quoted_columns(struct copy_reader *reader)
{
    if (take_if_sign(reader, '*')) {
        return true;
    }
    bool is_list = take_if_sign(reader, '(');
    do {
        if (reader->kind != TOKEN_WORD) {
            return false;
        }
        next(reader);
    } while (take_if_sign(reader, ','));
    return !is_list || take_if_sign(reader, ')');
}

/* Those that both ways of writing have. */
static bool take_byte_option(struct copy_reader *reader, struct copy_said *said, bool *ret_is_it)
{
    *ret_is_it = true;
    if (take_if_word(reader, "delimiter")) {
        (void)take_if_word(reader, "as");
        said->has_delimiter = true;
        return take_byte(reader, &said->format.delimiter);
    }
    if (take_if_word(reader, "null")) {
        (void)take_if_word(reader, "as");
        said->has_null = true;
        return take_null(reader, &said->format);
    }
    if (take_if_word(reader, "quote")) {
        (void)take_if_word(reader, "as");
        said->has_quote = true;
        return take_byte(reader, &said->format.quote);
    }
    if (take_if_word(reader, "escape")) {
        (void)take_if_word(reader, "as");
        said->has_escape = true;
        return take_byte(reader, &said->format.escape);
    }
    *ret_is_it = false;
    return false;
}

static bool read_list(struct copy_reader *reader, struct copy_said *said)
{
    do {
        bool is_it;
        bool is_read = take_byte_option(reader, said, &is_it);
        if (!is_it && take_if_word(reader, "format")) {
            is_read = take_format_name(reader, said);
        } else if (!is_it && take_if_word(reader, "header")) {
            is_read = take_header(reader, said);
        } else if (!is_it && take_if_word(reader, "force_quote")) {
            is_read = take_quoted_columns(reader);
        }
        if (!is_read) {
            return false;
        }
    } while (take_if_sign(reader, ','));
    return take_if_sign(reader, ')');
}

/* As it was written before 9.0, and is still. */
static bool read_words(struct copy_reader *reader, struct copy_said *said)
{
    while (reader->kind != TOKEN_END) {
        bool is_it;
        bool is_read = take_byte_option(reader, said, &is_it);
        if (!is_it && take_if_word(reader, "csv")) {
            is_read = take_kind(said, PGWIRE_COPY_CSV);
        } else if (!is_it && take_if_word(reader, "binary")) {
            is_read = take_kind(said, PGWIRE_COPY_BINARY);
        } else if (!is_it && take_if_word(reader, "header")) {
            said->format.has_header = true;
            is_read = true;
        } else if (!is_it && take_if_word(reader, "force")) {
            is_read = take_if_word(reader, "quote") && take_quoted_columns(reader);
        }
        if (!is_read) {
            return false;
        }
    }
    return true;
}

static void settle(const struct copy_said *said, struct pgwire_copy_format *format)
{
    pgwire_copy_format_init(format, said->format.kind);
    format->has_header = said->format.has_header;
    format->delimiter = said->has_delimiter ? said->format.delimiter : format->delimiter;
    format->quote = said->has_quote ? said->format.quote : format->quote;
    format->escape = said->has_escape ? said->format.escape : format->quote;
    if (said->has_null) {
        memcpy(format->null, said->format.null, sizeof(format->null));
        format->null_len = said->format.null_len;
    }
}

bool pg_mask_copy_read(struct arena *arena, struct slice text, struct copy_statement *ret_copy)
{
    struct copy_reader reader = {.arena = arena, .text = text};
    struct copy_said said = {.format = {.kind = PGWIRE_COPY_TEXT}};
    next(&reader);
    if (text.len > LIMIT_KIB(64) || !take_if_word(&reader, "copy")) {
        return false;
    }
    if (take_if_word(&reader, "binary") && !take_kind(&said, PGWIRE_COPY_BINARY)) {
        return false;
    }
    if (!read_source(&reader, ret_copy) || !take_if_word(&reader, "to") ||
        (!is_word(&reader, "stdout") && !is_word(&reader, "stdin"))) {
        return false;
    }
    next(&reader);
    (void)take_if_word(&reader, "with");
    bool is_read =
        take_if_sign(&reader, '(') ? read_list(&reader, &said) : read_words(&reader, &said);
    settle(&said, &ret_copy->format);
    return is_read && reader.kind == TOKEN_END;
}
