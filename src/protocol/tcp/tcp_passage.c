/* SPDX-License-Identifier: MIT */
/* Bytes are counted and pass. Those of each side are recorded up to the connection's limit. */
#include "base/memory.h"
#include "protocol/tcp/tcp.h"

struct tcp_passage {
    struct passage passage;
    struct recorder *recorder;
    struct passage_counts counts;
    uint64_t left[2]; /* that may still be recorded, by side */
};

static struct tcp_passage *tcp_passage_of(struct passage *passage)
{
    return CONTAINER_OF(passage, struct tcp_passage, passage);
}

static enum err tcp_pass(struct passage *passage, enum pump_side side, struct slice *bytes,
                         struct slice *ret_back, struct error *reterr)
{
    struct tcp_passage *self = tcp_passage_of(passage);
    struct slice recorded = slice_sub(*bytes, 0, (size_t)self->left[side]);
    (void)reterr;
    *ret_back = SLICE("");
    self->counts.bytes[side] += bytes->len;
    self->left[side] -= recorded.len;
    if (recorded.len > 0) {
        recorder_add(self->recorder, RECORD_MESSAGE,
                     side == PUMP_CLIENT ? RECORD_FROM_CLIENT : RECORD_FROM_TARGET, &recorded, 1);
    }
    return ERR_NONE;
}

/* Nobody knows whether something is owed: it is not ended before its time. */
static unsigned tcp_state(const struct passage *passage)
{
    (void)passage;
    return PASSAGE_IDLE | PASSAGE_IN_TRANSACTION;
}

static const struct passage_counts *tcp_counts(const struct passage *passage)
{
    return &CONTAINER_OF_CONST(passage, struct tcp_passage, passage)->counts;
}

static const struct mask_counts *tcp_masked(const struct passage *passage)
{
    (void)passage;
    return NULL;
}

static enum err tcp_last_words(const struct passage *passage, const struct ending_words *words,
                               bool is_discarded, struct buf *buf)
{
    (void)passage;
    (void)words;
    (void)is_discarded;
    (void)buf;
    return ERR_AGAIN; /* they would be taken for the target's */
}

static struct passage *tcp_passage_start(const struct passage_settings *settings,
                                         const struct passage_events *events, void *owner)
{
    struct tcp_passage *self = memory_new(sizeof(*self));
    (void)events;
    (void)owner;
    self->passage.ops = &tcp_passage_ops;
    self->recorder = settings->recorder;
    self->left[PUMP_CLIENT] = settings->row_limit;
    self->left[PUMP_TARGET] = settings->row_limit;
    return &self->passage;
}

static void tcp_passage_end(struct passage *passage)
{
    tcp_passage_of(passage)->recorder = NULL;
}

static void tcp_passage_free(struct passage *passage)
{
    memory_free(tcp_passage_of(passage));
}

const struct passage_ops tcp_passage_ops = {
    .start = tcp_passage_start,
    .pass = tcp_pass,
    .state = tcp_state,
    .counts = tcp_counts,
    .masked = tcp_masked,
    .last_words = tcp_last_words,
    .end = tcp_passage_end,
    .free = tcp_passage_free,
};
