/* SPDX-License-Identifier: MIT */
/* What the parts of ssh_shell.h share: a command line as it is read, and what its commands are. */
#ifndef GH_SSH_SHELL_INTERNAL_H
#define GH_SSH_SHELL_INTERNAL_H

#include "base/buf.h"
#include "protocol/ssh/ssh_shell.h"

#include <stdint.h>

#define SHELL_HERE_MAX 8 /* here-documents of one line */

struct shell_word {
    struct slice text; /* without quotes */
    bool is_known;
    bool is_bare;    /* nothing of it was quoted */
    size_t assigned; /* "NAME=value": the length of the name; 0: it is none */
};

/* All that comes of one command line, and of those inside of it. */
struct shell_result {
    struct arena *arena;
    struct slice *texts;
    size_t count;
    size_t size; /* of all texts */
    const char *why;
    size_t depth;
    size_t insides; /* command lines that were read */
    size_t commands;
    const struct shell_word *first; /* the words of the first command */
    size_t first_count;
};

struct shell_here {
    struct slice end; /* the line that ends it */
    bool is_quoted;
    bool is_stripped; /* of tabs */
    bool is_script;   /* a shell reads it */
};

/* One command line under way. */
struct shell_reader {
    struct shell_result *result;
    struct slice text;
    size_t index;
    struct shell_word *words; /* of the command under way */
    size_t word_count;
    struct slice here_text; /* of "<<<" */
    bool has_here_text;
    struct shell_here heres[SHELL_HERE_MAX];
    size_t here_count;
    size_t here_start; /* of those of the command under way */
};

void shell_unknown(struct shell_result *result, const char *why);
void shell_add_text(struct shell_result *result, struct slice text);
/* A command line inside of another one. */
void shell_read_inside(struct shell_result *result, struct slice text);

/* ssh_shell_word.c: the word at the index, which is not blank. */
struct shell_word shell_word_next(struct shell_reader *reader);

/* ssh_shell_command.c: what its words run. ret_reads_script: it is a shell that reads commands from
 * its input. */
void shell_examine(struct shell_result *result, const struct shell_word *words, size_t count,
                   bool *ret_reads_script);

static inline char shell_at(const struct shell_reader *reader, size_t index)
{
    return index < reader->text.len ? reader->text.at[index] : '\0';
}

#endif
