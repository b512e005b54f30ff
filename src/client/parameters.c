/* SPDX-License-Identifier: MIT */
#include "client/parameters.h"

#include "base/limits.h"

#include <string.h>

#define COUNT_MAX 64 /* as many as the command line takes, and more */

struct putting {
    const struct client_parameters *all;
    struct slice text;
    size_t at;
    struct buf *out;
    bool is_used[COUNT_MAX];
    bool is_unclear; /* where a string ends, to MySQL, depends on sql_mode */
};

static bool stands(const struct putting *self, size_t at, const char *word)
{
    return slice_starts_with(slice_from(self->text, at), slice_of_text(word));
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_word(const struct putting *self, size_t at)
{
    char byte = self->text.at[at];
    bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    return is_letter || is_digit(byte) || byte == '_' || (unsigned char)byte >= 0x80;
}

/* Behind the quote that ends what begins at 'at'; a doubled one does not. */
static size_t skip_quoted(struct putting *self, size_t at, bool has_escapes)
{
    char quote = self->text.at[at];
    for (at++; at < self->text.len; at++) {
        if (has_escapes && self->text.at[at] == '\\') {
            at++;
            bool is_quote = at < self->text.len && self->text.at[at] == quote;
            self->is_unclear = self->is_unclear || (is_quote && self->all->is_mysql);
        } else if (self->text.at[at] == quote) {
            bool is_doubled = at + 1 < self->text.len && self->text.at[at + 1] == quote;
            if (!is_doubled) {
                return at + 1;
            }
            at++;
        }
    }
    return self->text.len;
}

static size_t skip_line(const struct putting *self, size_t at)
{
    return at + slice_find_byte(slice_from(self->text, at), '\n');
}

/* PostgreSQL's comments nest. */
static size_t skip_comment(const struct putting *self, size_t at)
{
    size_t depth = 1;
    for (at += 2; at < self->text.len && depth > 0;) {
        if (!self->all->is_mysql && stands(self, at, "/*")) {
            depth++;
            at += 2;
        } else if (stands(self, at, "*/")) {
            depth--;
            at += 2;
        } else {
            at++;
        }
    }
    return at;
}

/* $tag$ … $tag$; a lone $ is itself. */
static size_t skip_dollar(const struct putting *self, size_t at)
{
    size_t end = at + 1;
    while (end < self->text.len && is_word(self, end)) {
        end++;
    }
    bool is_tag = end < self->text.len && self->text.at[end] == '$' &&
                  (end == at + 1 || !is_digit(self->text.at[at + 1]));
    if (!is_tag) {
        return end;
    }
    struct slice tag = slice_sub(self->text, at, end + 1 - at);
    for (size_t look = end + 1; look + tag.len <= self->text.len; look++) {
        if (slice_starts_with(slice_from(self->text, look), tag)) {
            return look + tag.len;
        }
    }
    return self->text.len;
}

/* E'…', in which a backslash escapes; e belongs to no longer word. */
static bool is_escape_string(const struct putting *self, size_t at)
{
    char before = at > 0 ? self->text.at[at - 1] : ' ';
    return (before == 'e' || before == 'E') && (at < 2 || !is_word(self, at - 2));
}

/* Behind what is no code; 'at' itself where code stands. */
static size_t skip_other(struct putting *self, size_t at)
{
    char byte = self->text.at[at];
    bool is_mysql = self->all->is_mysql;
    if (byte == '\'') {
        return skip_quoted(self, at, is_mysql || is_escape_string(self, at));
    }
    if (byte == '"') {
        return skip_quoted(self, at, is_mysql);
    }
    if (is_mysql && byte == '`') {
        return skip_quoted(self, at, false);
    }
    if (stands(self, at, "--") || (is_mysql && byte == '#')) {
        return skip_line(self, at);
    }
    if (stands(self, at, "/*")) {
        return skip_comment(self, at);
    }
    bool is_in_word = at > 0 && is_word(self, at - 1);
    return !is_mysql && byte == '$' && !is_in_word ? skip_dollar(self, at) : at;
}

/* Values ----------------------------------------------------------------------------------------
 */

static enum err put_doubled(struct putting *self, struct slice value, char quote, char also)
{
    enum err err = buf_append(self->out, slice_of(&quote, 1));
    for (size_t i = 0; i < value.len && err == ERR_NONE; i++) {
        struct slice byte = slice_sub(value, i, 1);
        bool is_doubled = value.at[i] == quote || value.at[i] == also;
        err = buf_append(self->out, byte);
        err = err == ERR_NONE && is_doubled ? buf_append(self->out, byte) : err;
    }
    return err == ERR_NONE ? buf_append(self->out, slice_of(&quote, 1)) : err;
}

/* What backslashes and quotes mean to MySQL depends on the session of the target (sql_mode): these
 * bytes mean the same in each. */
static bool is_plain(struct slice value)
{
    for (size_t i = 0; i < value.len; i++) {
        char byte = value.at[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        bool is_sign = byte != '\0' && strchr(" _-.,:+@", byte) != NULL;
        if (!is_letter && !is_digit(byte) && !is_sign) {
            return false;
        }
    }
    return true;
}

static enum err put_hex(struct putting *self, struct slice value)
{
    static const char digits[] = "0123456789abcdef";
    enum err err = buf_append(self->out, SLICE("_utf8mb4 X'"));
    for (size_t i = 0; i < value.len && err == ERR_NONE; i++) {
        const char pair[] = {digits[(unsigned char)value.at[i] >> 4],
                             digits[(unsigned char)value.at[i] & 15]};
        err = buf_append(self->out, slice_of(pair, sizeof(pair)));
    }
    return err == ERR_NONE ? buf_append(self->out, SLICE("'")) : err;
}

static enum err put_value(struct putting *self, struct slice value, char quote)
{
    bool has_backslash = slice_find_byte(value, '\\') < value.len;
    if (quote == '"') {
        char mark = self->all->is_mysql ? '`' : '"';
        return put_doubled(self, value, mark, mark);
    }
    if (self->all->is_mysql && !is_plain(value)) {
        return put_hex(self, value);
    }
    /* A blank, lest a word before it becomes one with the E. */
    enum err err = has_backslash ? buf_append(self->out, SLICE(" E")) : ERR_NONE;
    return err == ERR_NONE ? put_doubled(self, value, '\'', has_backslash ? '\\' : '\'') : err;
}

static bool can_name(const struct putting *self, struct slice value)
{
    return value.len > 0 && (!self->all->is_mysql || is_plain(value));
}

/* What stands at a colon: ERR_NOT_FOUND when that is none of these. */
static enum err put_parameter(struct putting *self, struct error *reterr)
{
    size_t at = self->at;
    bool is_one = self->text.at[at] == ':' && at + 1 < self->text.len &&
                  (self->text.at[at + 1] == '\'' || self->text.at[at + 1] == '"') &&
                  (at == 0 || self->text.at[at - 1] != ':');
    if (!is_one) {
        return ERR_NOT_FOUND;
    }
    char quote = self->text.at[at + 1];
    struct slice name = slice_from(self->text, at + 2);
    name = slice_sub(name, 0, slice_find_byte(name, quote));
    for (size_t i = 0; i < self->all->count; i++) {
        if (slice_equals(name, self->all->items[i].name)) {
            if (quote == '"' && !can_name(self, self->all->items[i].value)) {
                return fail(reterr, ERR_INPUT, "--param %.*s: a name is not empty%s",
                            SLICE_ARG(name),
                            self->all->is_mysql
                                ? ", and of MySQL has no quotes and no signs but _ - . , : + @"
                                : "");
            }
            self->is_used[i] = true;
            self->at += name.len + 3;
            enum err err = put_value(self, self->all->items[i].value, quote);
            return err == ERR_NONE ? err : fail(reterr, err, "the script is too long");
        }
    }
    return fail(reterr, ERR_INPUT, "the script wants a value for '%.*s': --param %.*s=VALUE",
                SLICE_ARG(slice_sub(name, 0, 100)), SLICE_ARG(slice_sub(name, 0, 100)));
}

enum err client_parameters_put(const struct client_parameters *parameters, struct slice script,
                               struct buf *out, struct error *reterr)
{
    struct putting self = {.all = parameters, .text = script, .out = out};
    if (parameters->count > COUNT_MAX) {
        return fail(reterr, ERR_INPUT, "there are more than %d values", COUNT_MAX);
    }
    size_t kept = 0; /* what is before it is in 'out' */
    while (self.at < script.len) {
        size_t end = skip_other(&self, self.at);
        if (self.is_unclear) {
            return fail(reterr, ERR_INPUT,
                        "with --param a string must not have a quote behind a backslash, which "
                        "sql_mode may take for its end: write the quote twice");
        }
        if (end > self.at) {
            self.at = end;
            continue;
        }
        size_t before = self.at;
        struct slice code = slice_sub(script, kept, before - kept);
        bool is_one = script.at[before] == ':';
        enum err err = is_one ? buf_append(out, code) : ERR_NOT_FOUND;
        kept = is_one ? before : kept;
        err = err == ERR_NONE ? put_parameter(&self, reterr) : err;
        if (err == ERR_NONE) {
            kept = self.at;
        } else if (err == ERR_NOT_FOUND) {
            self.at++;
        } else {
            return err == ERR_INPUT ? err : fail(reterr, err, "the script is too long");
        }
    }
    for (size_t i = 0; i < parameters->count; i++) {
        if (!self.is_used[i]) {
            struct slice name = parameters->items[i].name;
            return fail(reterr, ERR_INPUT, "the script has no :'%.*s' for --param %.*s",
                        SLICE_ARG(name), SLICE_ARG(name));
        }
    }
    return buf_append(out, slice_from(script, kept)) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_LIMIT, "the script is too long");
}
