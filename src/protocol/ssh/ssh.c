/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh.h"

#include "base/reader.h"
#include "base/text.h"
#include "base/writer.h"
#include "protocol/ssh/ssh_key.h"
#include "protocol/ssh/ssh_voucher.h"

#define NO_CODE        "08001" /* agents and gateways read five characters */
#define DISCONNECT     1       /* the message's number, RFC 4253 section 11.1 */
#define BY_APPLICATION 11      /* its reason */
#define WORDS_SIZE_MAX 2000    /* of a message and of a hint */

enum err sshd_answer_write(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                           struct buf *buf)
{
    struct slice message = slice_sub(words->message, 0, WORDS_SIZE_MAX);
    struct slice hint = slice_sub(words->hint, 0, WORDS_SIZE_MAX);
    struct writer writer = writer_to(buf);
    size_t before = buf->len;
    memcpy(code, NO_CODE, sizeof(NO_CODE));
    writer_u32(&writer, 0);
    writer_u8(&writer, DISCONNECT);
    writer_u32(&writer, BY_APPLICATION);
    writer_u32(&writer, (uint32_t)message.len);
    writer_bytes(&writer, message);
    writer_u32(&writer, (uint32_t)hint.len);
    writer_bytes(&writer, hint);
    if (writer_done(&writer) == ERR_NONE) {
        writer_u32_at(&writer, before, (uint32_t)(buf->len - before - 4));
    }
    return writer_done(&writer);
}

bool sshd_answer_read(struct slice answer, struct ending_words *ret_words)
{
    struct reader reader = reader_of(answer);
    size_t size = reader_u32(&reader);
    bool is_one = size == reader_left(&reader) && reader_u8(&reader) == DISCONNECT &&
                  reader_u32(&reader) == BY_APPLICATION;
    struct slice message = reader_view(&reader, reader_u32(&reader));
    struct slice hint = reader_view(&reader, reader_u32(&reader));
    if (!is_one || reader_done(&reader) != ERR_NONE || !text_is_utf8(message) ||
        !text_is_utf8(hint) || answer.len > SSHD_ANSWER_SIZE_MAX) {
        return false;
    }
    *ret_words = (struct ending_words){
        .why = ENDING_TARGET, .code = SLICE(""), .message = message, .hint = hint};
    return true;
}

/* A target says nothing before a channel is open. */
static enum err sshd_arrival_check(const struct arrival *arrival, struct error *reterr)
{
    return arrival->greeting.len == 0 && arrival->rest.len == 0
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "there are words of a start that has none");
}

const struct protocol sshd_protocol = {
    .subtype = SLICE_INIT("ssh"),
    .name = "SSH",
    .url = "ssh",
    .front = &sshd_front_ops,
    .target =
        {
            .place = {.port = 22,
                      .needs_user = true,
                      .has_host_key = true,
                      .prepare = sshd_place_prepare},
            .open = sshd_open_start,
            .vouch = sshd_vouch,
            .check_secret = sshd_check_secret,
            .check_arrival = sshd_arrival_check,
            .read_answer = sshd_answer_read,
            .write_answer = sshd_answer_write,
        },
    .can = CAN_GUARD_TEXT | CAN_GUARD_OUTPUT | CAN_READ_ONLY | CAN_MASK | CAN_HOLD,
    .row_limit = LIMIT_RECORDED_SSH_SIZE,
    .passage = &sshd_passage_ops,
    .replay = &sshd_replay_ops,
    .catalog = &sshd_catalog_ops,
    .host_key_in = sshd_host_key_line_in,
};
