/* SPDX-License-Identifier: MIT */
/* A command line for a shell. Held: it is read with bounded memory, a plain one has words, and
 * words that are quoted again read the same. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/must.h"
#include "fuzz.h"
#include "protocol/ssh/ssh_shell.h"

static void quote(struct buf *buf, struct slice word)
{
    must(buf_append(buf, SLICE("'")) == ERR_NONE);
    for (size_t i = 0; i < word.len; i++) {
        must(buf_append(buf, word.at[i] == '\'' ? SLICE("'\\''") : slice_sub(word, i, 1)) ==
             ERR_NONE);
    }
    must(buf_append(buf, SLICE("' ")) == ERR_NONE);
}

static void check_again(const struct sshd_shell *shell)
{
    struct arena arena;
    struct buf line;
    arena_init(&arena);
    buf_init(&line, LIMIT_MIB(1));
    must(shell->word_count > 0 && shell->why == NULL);
    for (size_t i = 0; i < shell->word_count; i++) {
        quote(&line, shell->words[i]);
    }
    struct sshd_shell again = sshd_shell_in(&arena, buf_view(&line));
    if (line.len <= LIMIT_SSH_COMMAND_SIZE && again.is_plain) {
        must(again.word_count == shell->word_count);
        for (size_t i = 0; i < again.word_count; i++) {
            must(slice_equals(again.words[i], shell->words[i]));
        }
    }
    buf_release(&line);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena;
    size_t sum = 0;
    arena_init(&arena);
    struct sshd_shell shell = sshd_shell_in(&arena, slice_of(bytes, size));
    for (size_t i = 0; i < shell.count; i++) {
        sum += shell.texts[i].len;
    }
    must(shell.count <= LIMIT_SSH_COMMAND_TEXTS && sum <= LIMIT_SSH_COMMAND_TEXTS_SIZE);
    if (shell.is_plain) {
        check_again(&shell);
    }
    must(arena.size <= LIMIT_MIB(32));
    arena_release(&arena);
    return 0;
}
