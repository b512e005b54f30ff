/* SPDX-License-Identifier: MIT */
#include "protocol/exec/exec.h"

#include "base/text.h"
#include "wire/execwire.h"

#define NO_CODE "08001" /* agents and gateways of earlier releases read five characters */

enum err exec_answer_write(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                           struct buf *buf)
{
    const struct execwire_exit exit = {.end = EXECWIRE_REFUSED, .words = words->message};
    memcpy(code, NO_CODE, sizeof(NO_CODE));
    return execwire_exit_write(buf, &exit);
}

bool exec_answer_read(struct slice answer, struct ending_words *ret_words)
{
    struct execwire_frame frame;
    struct execwire_exit exit;
    size_t taken = 0;
    if (execwire_read(answer, &taken, &frame) != ERR_NONE || taken != answer.len ||
        frame.type != EXECWIRE_EXIT || execwire_exit_read(frame.payload, &exit) != ERR_NONE ||
        !text_is_utf8(exit.words)) {
        return false;
    }
    *ret_words = (struct ending_words){
        .why = ENDING_TARGET, .code = SLICE(""), .message = exit.words, .hint = SLICE("")};
    return true;
}

/* Nothing is said before there is a script. */
static enum err exec_arrival_check(const struct arrival *arrival, struct error *reterr)
{
    return arrival->greeting.len == 0 && arrival->rest.len == 0
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "there are words of a start that has none");
}

const struct protocol exec_protocol = {
    .subtype = SLICE_INIT("exec"),
    .name = "commands",
    .is_inside = true,
    .can = CAN_GUARD_TEXT | CAN_GUARD_OUTPUT,
    .row_limit = LIMIT_COMMAND_OUTPUT,
    .front = &exec_front_ops,
    .target =
        {
            .place = {.is_command = true},
            .open = exec_open_start,
            .check_arrival = exec_arrival_check,
            .read_answer = exec_answer_read,
            .write_answer = exec_answer_write,
        },
    .passage = &exec_passage_ops,
    .replay = &exec_replay_ops,
    .run = &exec_run_ops,
};

/* What rules would look for can be written and shown in pieces, moved and erased: none can act. */
const struct protocol terminal_protocol = {
    .subtype = SLICE_INIT("terminal"),
    .name = "terminals",
    .is_inside = true,
    .is_terminal = true,
    .row_limit = LIMIT_COMMAND_OUTPUT,
    .front = &exec_front_ops,
    .target =
        {
            .place = {.is_command = true},
            .open = terminal_open_start,
            .check_arrival = exec_arrival_check,
            .read_answer = exec_answer_read,
            .write_answer = exec_answer_write,
        },
    .passage = &terminal_passage_ops,
    .replay = &terminal_replay_ops,
};
