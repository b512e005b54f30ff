/* SPDX-License-Identifier: MIT */
#include "protocol/tcp/tcp.h"

#include "base/text.h"

#define NO_CODE "08001" /* agents and gateways of earlier releases read five characters */

bool tcp_line_read(struct slice line, struct tcp_line *ret_line)
{
    struct slice rest = SLICE_NONE;
    if (line.len > 0 && line.at[line.len - 1] == '\r') {
        line = slice_sub(line, 0, line.len - 1);
    }
    if (!slice_starts_with(line, SLICE(TCP_GREETING))) {
        return false;
    }
    ret_line->secret = slice_cut(slice_from(line, sizeof(TCP_GREETING) - 1), ' ', &rest);
    ret_line->name = rest.at == NULL ? SLICE("") : rest;
    return ret_line->secret.len > 0;
}

/* Words stand on one line, whatever they hold. */
enum err tcp_answer_write(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                          struct buf *buf)
{
    struct writer writer = writer_to(buf);
    memcpy(code, NO_CODE, sizeof(NO_CODE));
    writer_bytes(&writer, SLICE(TCP_ERROR));
    text_escape(&writer, slice_sub(words->message, 0, TCP_WORDS_SIZE_MAX));
    if (words->hint.len > 0) {
        writer_bytes(&writer, SLICE(": "));
        text_escape(&writer, slice_sub(words->hint, 0, TCP_WORDS_SIZE_MAX));
    }
    writer_bytes(&writer, SLICE("\n"));
    return writer_done(&writer);
}

bool tcp_answer_read(struct slice answer, struct ending_words *ret_words)
{
    struct slice rest;
    bool is_one = answer.len <= 2 * TCP_ANSWER_SIZE_MAX &&
                  slice_starts_with(answer, SLICE(TCP_ERROR)) && answer.at[answer.len - 1] == '\n';
    if (!is_one) {
        return false;
    }
    *ret_words = (struct ending_words){
        .why = ENDING_TARGET,
        .code = SLICE(""),
        .message = slice_cut(slice_from(answer, sizeof(TCP_ERROR) - 1), '\n', &rest),
        .hint = SLICE(""),
    };
    return true;
}

/* A target of bytes says nothing before its client has. */
static enum err tcp_arrival_check(const struct arrival *arrival, struct error *reterr)
{
    return arrival->greeting.len == 0 && arrival->rest.len == 0
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "there are words of a start that has none");
}

const struct protocol tcp_protocol = {
    .subtype = SLICE_INIT("tcp"),
    .name = "TCP",
    .url = "tcp",
    .needs_tls = true,
    .front = &tcp_front_ops,
    .target =
        {
            .open = tcp_open_start,
            .check_arrival = tcp_arrival_check,
            .read_answer = tcp_answer_read,
            .write_answer = tcp_answer_write,
        },
    .passage = &tcp_passage_ops,
};
