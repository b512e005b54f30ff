/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_shell.h"

#include "base/limits.h"
#include "protocol/ssh/ssh_shell_internal.h"

#define DEPTH_MAX 12

void shell_unknown(struct shell_result *result, const char *why)
{
    result->why = result->why == NULL ? why : result->why;
}

void shell_add_text(struct shell_result *result, struct slice text)
{
    if (text.len == 0) {
        return;
    }
    if (result->count == LIMIT_SSH_COMMAND_TEXTS ||
        result->size + text.len > LIMIT_SSH_COMMAND_TEXTS_SIZE) {
        shell_unknown(result, "it is too long to be looked through");
        return;
    }
    result->texts[result->count++] = text;
    result->size += text.len;
}

/* Here-documents ------------------------------------------------------------------------------ */

static struct slice shell_line(struct shell_reader *reader)
{
    struct slice rest = slice_from(reader->text, reader->index);
    struct slice line = slice_sub(rest, 0, slice_find_byte(rest, '\n'));
    reader->index += line.len + (line.len < rest.len ? 1 : 0);
    return line;
}

/* What stands behind the line that names them. */
static void shell_take_here(struct shell_reader *reader, const struct shell_here *here)
{
    struct buf body;
    bool is_over = false;
    buf_init(&body, reader->text.len + 1);
    while (!is_over && reader->index < reader->text.len) {
        struct slice line = shell_line(reader);
        while (here->is_stripped && line.len > 0 && line.at[0] == '\t') {
            line = slice_from(line, 1);
        }
        is_over = slice_equals(line, here->end);
        const struct slice parts[] = {line, SLICE("\n")};
        /* it has room for all of the text */
        (void)!(is_over ? ERR_NONE : buf_append_parts(&body, parts, 2));
    }
    struct slice text = arena_copy(reader->result->arena, buf_view(&body));
    buf_release(&body);
    if (!is_over) {
        shell_unknown(reader->result, "a here-document does not end");
    }
    if (!here->is_quoted &&
        (slice_find_byte(text, '$') < text.len || slice_find_byte(text, '`') < text.len ||
         slice_find_byte(text, '\\') < text.len)) {
        shell_unknown(reader->result, "a variable is in a here-document");
    }
    if (here->is_script) {
        shell_read_inside(reader->result, text);
    } else {
        shell_add_text(reader->result, text);
    }
}

static void shell_take_heres(struct shell_reader *reader)
{
    for (size_t i = 0; i < reader->here_count; i++) {
        shell_take_here(reader, &reader->heres[i]);
    }
    reader->here_count = 0;
    reader->here_start = 0;
}

/* Redirections -------------------------------------------------------------------------------- */

static void shell_skip_blanks(struct shell_reader *reader)
{
    for (;;) {
        char byte = shell_at(reader, reader->index);
        bool is_joined = byte == '\\' && shell_at(reader, reader->index + 1) == '\n';
        if (byte != ' ' && byte != '\t' && !is_joined) {
            return;
        }
        reader->index += is_joined ? 2 : 1;
    }
}

static void shell_note_here(struct shell_reader *reader, bool is_stripped)
{
    size_t from = reader->index;
    struct shell_word end = shell_word_next(reader);
    if (reader->here_count == SHELL_HERE_MAX || end.text.len == 0) {
        shell_unknown(reader->result, "a here-document has no end, or there are too many");
        return;
    }
    struct slice written = slice_sub(reader->text, from, reader->index - from);
    reader->heres[reader->here_count++] = (struct shell_here){
        .end = end.text,
        .is_quoted = !slice_equals(written, end.text),
        .is_stripped = is_stripped,
    };
}

/* At "<" or ">". A number before it is not a word. */
static void shell_redirect(struct shell_reader *reader)
{
    char first = shell_at(reader, reader->index);
    size_t from = reader->index;
    while (slice_find_byte(SLICE("<>&|"), shell_at(reader, reader->index)) < 4 &&
           reader->index - from < 3) {
        reader->index++;
    }
    struct slice operator= slice_sub(reader->text, from, reader->index - from);
    bool is_stripped =
        slice_equals(operator, SLICE("<<")) && shell_at(reader, reader->index) == '-';
    reader->index += is_stripped ? 1 : 0;
    if (shell_at(reader, reader->index) == '(') {
        shell_unknown(reader->result, "a command stands in the place of a file");
        return; /* the parenthesis is a group, and what is in it commands */
    }
    shell_skip_blanks(reader);
    if (slice_equals(operator, SLICE("<<"))) {
        shell_note_here(reader, is_stripped);
        return;
    }
    struct shell_word word = shell_word_next(reader);
    if (slice_equals(operator, SLICE("<<<"))) {
        reader->here_text = word.text;
        reader->has_here_text = word.is_known;
    }
    shell_add_text(reader->result,
                   arena_format(reader->result->arena, "%c %.*s", first, SLICE_ARG(word.text)));
}

/* Commands ------------------------------------------------------------------------------------ */

static void shell_end_command(struct shell_reader *reader)
{
    struct shell_result *result = reader->result;
    bool reads_script = false;
    if (reader->word_count > 0) {
        result->commands++;
        if (result->first == NULL) {
            struct shell_word *first =
                arena_alloc_array(result->arena, reader->word_count, sizeof(*first));
            for (size_t i = 0; i < reader->word_count; i++) {
                first[i] = reader->words[i];
            }
            result->first = first;
            result->first_count = reader->word_count;
        }
        shell_examine(result, reader->words, reader->word_count, &reads_script);
    }
    if (reads_script && reader->has_here_text) {
        shell_read_inside(result, reader->here_text);
    } else if (reads_script && reader->here_count > reader->here_start) {
        reader->heres[reader->here_count - 1].is_script = true;
    } else if (reads_script) {
        shell_unknown(result, "a shell reads commands from its input");
    }
    reader->word_count = 0;
    reader->has_here_text = false;
    reader->here_start = reader->here_count;
}

static void shell_add_word(struct shell_reader *reader)
{
    size_t from = reader->index;
    struct shell_word word = shell_word_next(reader);
    char next = shell_at(reader, reader->index);
    bool is_number = word.is_bare && word.text.len > 0 && (next == '<' || next == '>');
    for (size_t i = 0; i < word.text.len; i++) {
        is_number = is_number && word.text.at[i] >= '0' && word.text.at[i] <= '9';
    }
    if (reader->index == from) {
        reader->index++; /* never: a word has a byte */
        shell_unknown(reader->result, "it is not understood");
    } else if (reader->word_count == LIMIT_SSH_COMMAND_WORDS) {
        shell_unknown(reader->result, "it has too many words");
    } else if (!is_number) {
        reader->words[reader->word_count++] = word;
    }
}

static void shell_operator(struct shell_reader *reader, char byte)
{
    char next = shell_at(reader, reader->index + 1);
    if (byte == '(' && reader->word_count > 0) {
        shell_unknown(reader->result, "it defines a function, or groups words");
    }
    if (byte == '&' && next == '>') {
        reader->index++;
        shell_redirect(reader);
        return;
    }
    shell_end_command(reader);
    reader->index++;
    if (byte == '\n') {
        shell_take_heres(reader);
    }
    if (byte == '(' || byte == ')') {
        reader->result->commands++; /* more than one plain command */
    }
}

static void shell_read(struct shell_reader *reader)
{
    while (reader->index < reader->text.len) {
        shell_skip_blanks(reader);
        if (reader->index >= reader->text.len) {
            break;
        }
        char byte = shell_at(reader, reader->index);
        if (byte == '#') {
            struct slice rest = slice_from(reader->text, reader->index);
            reader->index += slice_find_byte(rest, '\n');
        } else if (byte == '<' || byte == '>') {
            shell_redirect(reader);
            reader->result->commands++;
        } else if (slice_find_byte(SLICE("\n;&|()"), byte) < 6) {
            shell_operator(reader, byte);
        } else {
            shell_add_word(reader);
        }
    }
    shell_end_command(reader);
    shell_take_heres(reader);
}

void shell_read_inside(struct shell_result *result, struct slice text)
{
    if (result->depth == DEPTH_MAX || result->insides++ == LIMIT_SSH_COMMAND_LINES) {
        shell_unknown(result, "too many command lines are inside of each other");
        return;
    }
    result->depth++;
    result->commands++;
    struct shell_reader reader = {.result = result, .text = text};
    reader.words = arena_alloc_array(result->arena, LIMIT_SSH_COMMAND_WORDS, sizeof(*reader.words));
    shell_read(&reader);
    result->depth--;
}

struct sshd_shell sshd_shell_in(struct arena *arena, struct slice text)
{
    struct shell_result result = {.arena = arena};
    result.texts = arena_alloc_array(arena, LIMIT_SSH_COMMAND_TEXTS, sizeof(*result.texts));
    shell_add_text(&result, text);
    if (text.len > LIMIT_SSH_COMMAND_SIZE) {
        shell_unknown(&result, "it is too long to be looked through");
    } else {
        shell_read_inside(&result, text);
    }
    struct sshd_shell shell = {.texts = result.texts, .count = result.count, .why = result.why};
    shell.is_plain = result.why == NULL && result.commands == 2 && result.first != NULL;
    if (shell.is_plain) {
        struct slice *words = arena_alloc_array(arena, result.first_count, sizeof(*words));
        for (size_t i = 0; i < result.first_count; i++) {
            words[i] = result.first[i].text;
        }
        shell.words = words;
        shell.word_count = result.first_count;
    }
    return shell;
}
