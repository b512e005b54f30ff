/* SPDX-License-Identifier: MIT */
/* What the gateway says itself to a command, in the place of the target. */
#include "base/must.h"
#include "protocol/mysql/mysql_kill.h"
#include "protocol/mysql/mysql_passage_internal.h"
#include "wire/mysqlwire_start.h"

bool passage_is_judged(const struct mysql_passage *self, uint8_t command)
{
    return self->filter != NULL && mysql_filter_looks_at(self->filter, command);
}

struct slice passage_command(const struct mysql_passage *self)
{
    struct slice command = slice_from(buf_view(&self->held), MYSQLWIRE_HEADER_SIZE);
    bool is_judged = command.len > 0 && passage_is_judged(self, (uint8_t)command.at[0]);
    return is_judged ? command : slice_sub(command, 0, LIMIT_MYSQL_HELD_SIZE);
}

/* Only between two commands can something be said, since each waits for its answer in turn. */
static enum err passage_answer(struct mysql_passage *self, struct slice packet,
                               enum mysql_record type, struct error *reterr)
{
    struct slice command = passage_command(self);
    bool is_served = mysqlwire_answers_of((uint8_t)command.at[0]) != MYSQLWIRE_NOT_SERVED;
    if (mysql_tap_state(self->tap)->count > 0) {
        return fail(reterr, ERR_INPUT,
                    "the client sends a command that is answered by the gateway before it has the "
                    "answer to another one");
    }
    /* What others hold may be the proof of a password. */
    mysql_tap_answered(self->tap, is_served ? command : slice_sub(command, 0, 1), type, packet);
    return buf_append(&self->back, packet) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_LIMIT, "the client does not wait for answers");
}

enum err passage_refuse_with(struct mysql_passage *self, uint16_t number,
                             const struct ending_words *words, struct error *reterr)
{
    struct buf packet;
    buf_init(&packet, LIMIT_KIB(4));
    uint8_t sequence = (uint8_t)(self->piece.sequence + 1);
    must(mysql_ending_write(number, sequence, words, &packet) == ERR_NONE);
    enum err err = passage_answer(self, buf_view(&packet), MYSQL_RECORD_ERROR, reterr);
    buf_release(&packet);
    return err;
}

enum err passage_refuse(struct mysql_passage *self, uint16_t number, const char *message,
                        struct error *reterr)
{
    const struct ending_words words = {.message = slice_of_text(message), .hint = SLICE("")};
    return passage_refuse_with(self, number, &words, reterr);
}

static enum err passage_agree(struct mysql_passage *self, struct error *reterr)
{
    uint32_t passing = MYSQLWIRE_STATUS_MORE_RESULTS | MYSQLWIRE_STATUS_STATE_CHANGED;
    const struct mysqlwire_ok ok = {
        .status = (uint16_t)(mysql_tap_state(self->tap)->status & (UINT16_MAX & ~passing)),
        .info = SLICE(""),
        .state_changes = SLICE("")};
    struct buf packet;
    buf_init(&packet, LIMIT_KIB(1));
    must(mysqlwire_ok_write(&packet, 1, self->capabilities, &ok) == ERR_NONE);
    enum err err = passage_answer(self, buf_view(&packet), MYSQL_RECORD_OK, reterr);
    buf_release(&packet);
    return err;
}

static enum err passage_kill(struct mysql_passage *self, const struct mysqlwire_kill *kill,
                             struct error *reterr)
{
    char message[96];
    if (self->events->on_kill(self->owner, (uint32_t)kill->id, kill->ends_connection)) {
        return passage_agree(self, reterr);
    }
    (void)snprintf(message, sizeof(message), "Unknown thread id: %u (of your own sessions)",
                   (unsigned)kill->id);
    return passage_refuse(self, MYSQL_ERROR_NO_THREAD, message, reterr);
}

/* The target knows its one user alone, so it would let any session of the connection be killed. */
enum err passage_answer_kill(struct mysql_passage *self, struct slice command, struct error *reterr)
{
    struct mysqlwire_kill kill;
    bool is_whole = self->piece.size <= LIMIT_MYSQL_HELD_SIZE;
    self->way = PASSAGE_DROPS;
    return is_whole && mysql_kill_read(command, &kill)
               ? passage_kill(self, &kill, reterr)
               : passage_refuse(self, MYSQL_ERROR_REFUSED,
                                "the gateway takes KILL alone, not prepared, and with the number "
                                "of a connection",
                                reterr);
}
