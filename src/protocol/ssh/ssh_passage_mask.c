/* SPDX-License-Identifier: MIT */
/* Output of programs without a terminal, masked: line by line, so that it makes no difference in
 * what pieces it comes; what a PEM armour holds is one piece. What takes the place of a value may
 * be longer than it: the client's window is kept to here, and what has no room in it waits, with
 * all that comes behind it. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_passage.h"

#define QUEUE_SIZE_MAX LIMIT_MIB(8)  /* of what masking has made longer */
#define TEXT_SIZE_MAX  LIMIT_MIB(8)  /* of a piece, masked */
#define ROOM_LEAST     LIMIT_KIB(32) /* a target that has less is given more at once */
#define ROOM_STEP      LIMIT_KIB(16)

struct sshd_masked {
    struct buf queue; /* whole frames for the client */
    size_t said;      /* of the data of the first one */
    uint32_t room;    /* of the client's window */
    uint32_t left;    /* that the target may send still */
    uint32_t owed;    /* that the target has sent and was not given back */
};

void sshd_masked_free(struct sshd_masked *masked)
{
    if (masked != NULL) {
        buf_release(&masked->queue);
        memory_free(masked);
    }
}

static void masked_begin(struct sshd_followed *channel)
{
    struct sshd_masked *masked = memory_new(sizeof(*masked));
    buf_init(&masked->queue, QUEUE_SIZE_MAX);
    masked->room = masked->left = channel->room;
    channel->masked = masked;
}

/* The queue ----------------------------------------------------------------------------------- */

static enum err masked_send(struct sshd_passage *self, struct sshd_followed *channel,
                            const struct sshwire_message *message, size_t taken)
{
    struct sshd_masked *masked = channel->masked;
    struct sshwire_message part = *message;
    bool is_data = message->type == SSHWIRE_DATA || message->type == SSHWIRE_EXTENDED_DATA;
    if (is_data) {
        struct slice rest = slice_from(message->body, masked->said);
        part.body = slice_sub(rest, 0, masked->room);
        masked->room -= (uint32_t)part.body.len;
        masked->said += part.body.len;
    }
    if (!is_data || masked->said == message->body.len) {
        masked->said = 0;
        enum err err = sshd_say(self, PUMP_CLIENT, &part);
        buf_consume(&masked->queue, taken);
        return err;
    }
    return part.body.len > 0 ? sshd_say(self, PUMP_CLIENT, &part) : ERR_NONE;
}

/* The target may send as much as the client may be sent, once nothing waits. */
static enum err masked_give_back(struct sshd_passage *self, struct sshd_followed *channel)
{
    struct sshd_masked *masked = channel->masked;
    uint32_t more = masked->room > masked->left ? masked->room - masked->left : 0;
    more = more < masked->owed ? more : masked->owed;
    if (masked->queue.len > 0 || channel->has_closed[PUMP_TARGET] || channel->is_cut || more == 0 ||
        (more < ROOM_STEP && masked->left >= ROOM_LEAST)) {
        return ERR_NONE;
    }
    masked->owed -= more;
    masked->left += more;
    return sshd_say_window(self, channel, PUMP_TARGET, more);
}

static enum err masked_flush(struct sshd_passage *self, struct sshd_followed *channel)
{
    struct sshd_masked *masked = channel->masked;
    enum err err = ERR_NONE;
    bool is_stuck = false;
    while (err == ERR_NONE && masked->queue.len > 0 && !is_stuck) {
        struct sshwire_message message;
        size_t taken = 0;
        err = sshwire_read(buf_view(&masked->queue), &taken, &message);
        is_stuck = err == ERR_NONE && masked->room == 0 && message.body.len > 0 &&
                   (message.type == SSHWIRE_DATA || message.type == SSHWIRE_EXTENDED_DATA);
        if (err == ERR_NONE && !is_stuck) {
            err = masked_send(self, channel, &message, taken);
        }
    }
    if (masked->queue.len == 0) {
        buf_clear(&masked->queue);
    }
    return err == ERR_NONE ? masked_give_back(self, channel) : err;
}

enum err sshd_masked_adjust(struct sshd_passage *self, struct sshd_followed *channel, uint32_t more)
{
    struct sshd_masked *masked = channel->masked;
    masked->room = more > UINT32_MAX - masked->room ? UINT32_MAX : masked->room + more;
    return masked_flush(self, channel);
}

bool sshd_masked_waits(const struct sshd_followed *channel)
{
    return channel->masked != NULL && channel->masked->queue.len > 0;
}

enum err sshd_masked_behind(struct sshd_followed *channel, struct slice frame)
{
    return buf_append(&channel->masked->queue, frame);
}

static enum err masked_put(struct sshd_followed *channel, bool is_error, struct slice text)
{
    enum err err = ERR_NONE;
    uint32_t most = channel->packet_size[PUMP_CLIENT];
    most = most < LIMIT_KIB(32) ? most : (uint32_t)LIMIT_KIB(32);
    while (err == ERR_NONE && text.len > 0 && most > 0) {
        const struct sshwire_message message = {
            .type = is_error ? SSHWIRE_EXTENDED_DATA : SSHWIRE_DATA,
            .channel = channel->numbers[PUMP_CLIENT],
            .code = is_error ? SSHWIRE_STDERR : 0,
            .body = slice_sub(text, 0, most),
        };
        err = sshwire_write(&channel->masked->queue, &message);
        text = slice_from(text, message.body.len);
    }
    return err;
}

/* Pieces -------------------------------------------------------------------------------------- */

static size_t masked_line(struct slice text)
{
    size_t end = slice_find_byte(text, '\n');
    return end < text.len ? end + 1 : 0;
}

/* The length of what can be looked at by itself; 0: its end has not come yet. */
static size_t masked_piece(struct slice text)
{
    size_t size = masked_line(text);
    struct slice line = slice_sub(text, 0, size);
    if (size == 0 || !slice_has_nocase(line, SLICE("-----BEGIN ")) ||
        !slice_has_nocase(line, SLICE("PRIVATE KEY"))) {
        return size;
    }
    while (!slice_has_nocase(line, SLICE("-----END "))) {
        size_t more = masked_line(slice_from(text, size));
        if (more == 0) {
            return 0;
        }
        line = slice_sub(slice_from(text, size), 0, more);
        size += more;
    }
    return size;
}

static struct slice masked_ending(struct slice piece)
{
    size_t len = piece.len;
    if (len > 0 && piece.at[len - 1] == '\n') {
        len--;
    }
    if (len > 0 && len < piece.len && piece.at[len - 1] == '\r') {
        len--;
    }
    return slice_from(piece, len);
}

/* ERR_DENIED: it must not pass. */
static enum err masked_piece_release(struct sshd_passage *self, struct sshd_followed *channel,
                                     bool is_error, struct slice piece)
{
    const struct mask_origin none = {.schema = SLICE(""), .table = SLICE(""), .column = SLICE("")};
    struct mask_plan plan = mask_plan_of(self->policy.masking, &none, SLICE(""));
    struct slice ending = masked_ending(piece);
    struct slice text = slice_sub(piece, 0, piece.len - ending.len);
    struct buf made;
    enum err err = ERR_NONE;
    plan.form = MASK_FORM_TEXT;
    buf_init(&made, TEXT_SIZE_MAX);
    switch (
        mask_text(self->policy.masking, &plan, self->policy.scratch, text, &made, &self->masked)) {
    case MASK_SAME:
        err = buf_append(&made, text);
        break;
    case MASK_CHANGED:
        break;
    case MASK_NULL:
        buf_clear(&made);
        break;
    case MASK_REFUSED:
        err = ERR_DENIED;
        break;
    }
    err = err == ERR_NONE ? buf_append(&made, ending) : err;
    if (err == ERR_NONE) {
        sshd_record_output(self, channel, is_error, buf_view(&made));
        err = masked_put(channel, is_error, buf_view(&made));
    }
    buf_release(&made);
    return err;
}

static enum err masked_cut(struct sshd_passage *self, struct sshd_followed *channel,
                           const char *why)
{
    struct buf words;
    SSHD_WORDS_INIT(&words);
    sshd_refuse(self, &words, why);
    enum err err = sshd_cut(self, channel, buf_view(&words));
    buf_release(&words);
    return err;
}

/* Each whole piece is judged, where there are rules for output, and masked. */
static enum err masked_release(struct sshd_passage *self, struct sshd_followed *channel,
                               bool is_error, struct slice piece)
{
    struct buf words;
    SSHD_WORDS_INIT(&words);
    bool is_blocked = sshd_judge_output(self, piece, &words);
    enum err err = is_blocked ? sshd_cut(self, channel, buf_view(&words))
                              : sshd_say_words(self, channel, buf_view(&words));
    buf_release(&words);
    if (err == ERR_NONE && !is_blocked) {
        err = masked_piece_release(self, channel, is_error, piece);
    }
    if (err == ERR_DENIED) {
        return masked_cut(self, channel, "output could not be examined, and does not pass");
    }
    return err == ERR_LIMIT ? masked_cut(self, channel, "output that is masked has become too much")
                            : err;
}

enum err sshd_masked_pass(struct sshd_passage *self, struct sshd_followed *channel, bool is_error,
                          struct slice text)
{
    struct buf *lines = &channel->lines[is_error ? 1 : 0];
    enum err err = ERR_NONE;
    if (channel->masked == NULL) {
        masked_begin(channel);
    }
    struct sshd_masked *masked = channel->masked;
    uint32_t size = (uint32_t)text.len;
    masked->left -= size < masked->left ? size : masked->left;
    masked->owed += size;
    if (buf_append(lines, text) != ERR_NONE) {
        return masked_cut(self, channel, "a line of output is too long to be masked");
    }
    size_t at = 0;
    size_t piece = masked_piece(buf_view(lines));
    while (err == ERR_NONE && piece > 0 && !channel->is_cut) {
        err = masked_release(self, channel, is_error,
                             slice_sub(slice_from(buf_view(lines), at), 0, piece));
        at += piece;
        piece = masked_piece(slice_from(buf_view(lines), at));
    }
    buf_consume(lines, at);
    return err == ERR_NONE && !channel->is_cut ? masked_flush(self, channel) : err;
}

enum err sshd_masked_end(struct sshd_passage *self, struct sshd_followed *channel)
{
    enum err err = ERR_NONE;
    for (int i = 0; i < 2 && err == ERR_NONE && !channel->is_cut; i++) {
        if (channel->lines[i].len > 0) {
            err = masked_release(self, channel, i == 1, buf_view(&channel->lines[i]));
            buf_clear(&channel->lines[i]);
        }
    }
    return err == ERR_NONE && !channel->is_cut ? masked_flush(self, channel) : err;
}
