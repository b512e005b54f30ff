/* SPDX-License-Identifier: MIT */
/* The first line of a client of TCP, and the line that an agent passes on as the target's answer.
 * Held: what is read lies inside the line, and words that were read can be written and read again
 * as one line. */
#include "base/must.h"
#include "fuzz.h"
#include "protocol/tcp/tcp.h"

static bool lies_in(struct slice part, struct slice whole)
{
    return part.len == 0 || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len);
}

static void check_answer(struct slice answer)
{
    struct ending_words words;
    struct ending_words again;
    struct buf buf;
    char code[TARGET_CODE_SIZE];
    if (!tcp_answer_read(answer, &words)) {
        return;
    }
    must(lies_in(words.message, answer));
    buf_init(&buf, TCP_ANSWER_SIZE_MAX);
    must(tcp_answer_write(&words, code, &buf) == ERR_NONE);
    must(slice_find_byte(buf_view(&buf), '\n') == buf.len - 1);
    must(tcp_answer_read(buf_view(&buf), &again));
    buf_release(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice text = slice_of(bytes, size);
    struct tcp_line line;
    if (tcp_line_read(text, &line)) {
        must(line.secret.len > 0 && lies_in(line.secret, text) && lies_in(line.name, text));
    }
    check_answer(text);
    return 0;
}
