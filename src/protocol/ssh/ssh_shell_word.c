/* SPDX-License-Identifier: MIT */
/* A word of a command line: its quotes are taken off, and what a shell would put in place of parts
 * of it makes it unknown. */
#include "base/limits.h"
#include "protocol/ssh/ssh_shell_internal.h"

struct word {
    struct shell_reader *reader;
    struct buf text;
    struct shell_word word;
    bool is_start; /* nothing of it was read yet */
    size_t braces; /* that are open, unquoted */
};

static void word_unknown(struct word *word, const char *why)
{
    word->word.is_known = false;
    shell_unknown(word->reader->result, why);
}

static void word_add(struct word *word, struct slice bytes)
{
    if (buf_append(&word->text, bytes) != ERR_NONE) {
        word_unknown(word, "a word is too long");
    }
}

static bool word_is_name(char byte, bool is_first)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           (!is_first && byte >= '0' && byte <= '9');
}

static bool word_ends(char byte)
{
    return slice_find_byte(SLICE(" \t\n;&|()<>"), byte) < 10;
}

/* Substitutions ------------------------------------------------------------------------------- */

/* From behind "(" to behind the ")" that ends it, by quotes and parentheses. */
static struct slice word_take_parentheses(struct shell_reader *reader)
{
    size_t from = reader->index;
    size_t depth = 1;
    char quote = '\0';
    for (; reader->index < reader->text.len; reader->index++) {
        char byte = reader->text.at[reader->index];
        if (byte == '\\' && quote != '\'') {
            reader->index++;
        } else if (quote != '\0') {
            quote = byte == quote ? '\0' : quote;
        } else if (byte == '\'' || byte == '"') {
            quote = byte;
        } else if (byte == '(') {
            depth++;
        } else if (byte == ')' && --depth == 0) {
            return slice_sub(reader->text, from, reader->index++ - from);
        }
    }
    shell_unknown(reader->result, "a parenthesis is not closed");
    return slice_from(reader->text, from);
}

static void word_command(struct word *word)
{
    struct shell_reader *reader = word->reader;
    word_unknown(word, "what a command prints becomes a part of another one");
    shell_read_inside(reader->result, word_take_parentheses(reader));
}

/* "`…`"; a backslash stands before what would end it. */
static void word_backquote(struct word *word)
{
    struct shell_reader *reader = word->reader;
    struct buf inside;
    buf_init(&inside, reader->text.len + 1);
    word_unknown(word, "what a command prints becomes a part of another one");
    reader->index++;
    while (reader->index < reader->text.len && shell_at(reader, reader->index) != '`') {
        char next = shell_at(reader, reader->index + 1);
        if (shell_at(reader, reader->index) == '\\' &&
            (next == '`' || next == '\\' || next == '$')) {
            reader->index++;
        }
        /* it has room for all of the text */
        (void)!buf_append(&inside, slice_sub(reader->text, reader->index++, 1));
    }
    reader->index++;
    shell_read_inside(reader->result, arena_copy(reader->result->arena, buf_view(&inside)));
    buf_release(&inside);
}

/* "${…}", as far as its braces and commands can be told. */
static void word_braced(struct word *word)
{
    struct shell_reader *reader = word->reader;
    size_t depth = 0;
    while (reader->index < reader->text.len) {
        char byte = shell_at(reader, reader->index++);
        if (byte == '\\') {
            reader->index++;
        } else if (byte == '{') {
            depth++;
        } else if (byte == '}' && --depth == 0) {
            return;
        } else if (byte == '$' && shell_at(reader, reader->index) == '(') {
            reader->index++;
            word_command(word);
        }
    }
}

/* "$'…'": bytes by their numbers. */
static void word_escapes(struct word *word)
{
    struct shell_reader *reader = word->reader;
    word_unknown(word, "bytes are written by their numbers");
    reader->index++;
    while (reader->index < reader->text.len && shell_at(reader, reader->index) != '\'') {
        reader->index += shell_at(reader, reader->index) == '\\' ? 2 : 1;
    }
    reader->index++;
}

static void word_dollar(struct word *word, bool is_quoted)
{
    struct shell_reader *reader = word->reader;
    char next = shell_at(reader, ++reader->index);
    if (next == '(') {
        reader->index++;
        word_command(word);
    } else if (next == '{') {
        word_unknown(word, "a variable is in it");
        word_braced(word);
    } else if (next == '\'' && !is_quoted) {
        word_escapes(word);
    } else if (word_is_name(next, true)) {
        word_unknown(word, "a variable is in it");
        while (word_is_name(shell_at(reader, reader->index), false)) {
            reader->index++;
        }
    } else if (reader->index >= reader->text.len || word_ends(next) ||
               (is_quoted && (next == '"' || next == '\\'))) {
        word_add(word, SLICE("$"));
    } else {
        word_unknown(word, "a variable is in it");
        reader->index += next == '"' ? 0 : 1;
    }
}

/* Quotes -------------------------------------------------------------------------------------- */

static void word_single(struct word *word)
{
    struct shell_reader *reader = word->reader;
    struct slice rest = slice_from(reader->text, ++reader->index);
    struct slice inside = slice_sub(rest, 0, slice_find_byte(rest, '\''));
    word_add(word, inside);
    reader->index += inside.len + 1;
    if (inside.len == rest.len) {
        word_unknown(word, "a quote is not closed");
    }
}

static void word_backslash(struct word *word, bool is_quoted)
{
    struct shell_reader *reader = word->reader;
    char next = shell_at(reader, reader->index + 1);
    bool escapes = !is_quoted || next == '$' || next == '`' || next == '"' || next == '\\';
    reader->index++;
    if (reader->index >= reader->text.len) {
        word_unknown(word, "it ends with a backslash");
        return;
    }
    if (next != '\n') { /* with it, the line goes on */
        word_add(word, escapes ? SLICE("") : SLICE("\\"));
        word_add(word, slice_sub(reader->text, reader->index, 1));
    }
    reader->index++;
}

static void word_double(struct word *word)
{
    struct shell_reader *reader = word->reader;
    reader->index++;
    while (reader->index < reader->text.len && shell_at(reader, reader->index) != '"') {
        switch (shell_at(reader, reader->index)) {
        case '$':
            word_dollar(word, true);
            break;
        case '`':
            word_backquote(word);
            break;
        case '\\':
            word_backslash(word, true);
            break;
        default:
            word_add(word, slice_sub(reader->text, reader->index++, 1));
            break;
        }
    }
    if (reader->index >= reader->text.len) {
        word_unknown(word, "a quote is not closed");
    }
    reader->index++;
}

/* The rest ------------------------------------------------------------------------------------ */

/* "~" is somebody's home, and "=name" of zsh where a program is. */
static void word_look_at_start(struct word *word, char byte)
{
    struct shell_reader *reader = word->reader;
    char next = shell_at(reader, reader->index + 1);
    if (byte == '=' && next != ' ' && next != '\0') {
        word_unknown(word, "where a program is stands in it");
    }
    bool is_home = next == '/' || next == ' ' || next == '\t' || next == '\n' || next == '\0' ||
                   next == ';' || next == '&' || next == '|' || next == ')';
    if (byte == '~' && (!is_home || slice_find(reader->text, SLICE("HOME")) < reader->text.len)) {
        word_unknown(word, "somebody's home is in it");
    }
}

/* "{a,b}" and "{1..3}" are several words; "{}" and a brace by itself are what they are. */
static bool word_is_brace(const struct word *word)
{
    const struct shell_reader *reader = word->reader;
    char next = shell_at(reader, reader->index + 1);
    bool ends = next == ' ' || next == '\t' || next == '\n' || next == ';' || next == '\0';
    return next != '}' && !(word->is_start && ends);
}

static void word_plain(struct word *word, char byte)
{
    struct shell_reader *reader = word->reader;
    char next = shell_at(reader, reader->index + 1);
    bool is_test = word->is_start && byte == '[' && (next == ' ' || next == '\t');
    if (word->is_start) {
        word_look_at_start(word, byte);
    }
    if ((byte == '*' || byte == '?' || byte == '[') && !is_test) {
        word_unknown(word, "names of files stand in for it");
    } else if (byte == '{' && word_is_brace(word)) {
        word_unknown(word, "braces make several words of it");
    } else if (byte < ' ' || byte == '\x7f') {
        if (!((unsigned char)byte & 0x80)) {
            word_unknown(word, "a control character is in it");
        }
    } else if (byte == '=' && word->word.assigned == 0 && word->word.is_bare && !word->is_start) {
        struct slice name = buf_view(&word->text);
        bool is_name = name.len > 0 && word_is_name(name.at[0], true);
        for (size_t i = 0; i < name.len; i++) {
            bool is_plus = name.at[i] == '+' && i + 1 == name.len;
            is_name = is_name && (word_is_name(name.at[i], false) || is_plus);
        }
        word->word.assigned = is_name ? name.len : 0;
    }
    word_add(word, slice_sub(reader->text, reader->index++, 1));
}

struct shell_word shell_word_next(struct shell_reader *reader)
{
    struct word word = {
        .reader = reader, .word = {.is_known = true, .is_bare = true}, .is_start = true};
    buf_init(&word.text, LIMIT_SSH_COMMAND_SIZE);
    while (reader->index < reader->text.len && !word_ends(reader->text.at[reader->index])) {
        char byte = reader->text.at[reader->index];
        bool is_quote = byte == '\'' || byte == '"' || byte == '\\';
        word.word.is_bare = word.word.is_bare && !is_quote;
        switch (byte) {
        case '\'':
            word_single(&word);
            break;
        case '"':
            word_double(&word);
            break;
        case '\\':
            word_backslash(&word, false);
            break;
        case '$':
            word_dollar(&word, false);
            break;
        case '`':
            word_backquote(&word);
            break;
        default:
            word_plain(&word, byte);
            break;
        }
        word.is_start = false;
    }
    word.word.text = arena_copy(reader->result->arena, buf_view(&word.text));
    buf_release(&word.text);
    return word.word;
}
