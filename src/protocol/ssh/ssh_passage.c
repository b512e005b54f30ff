/* SPDX-License-Identifier: MIT */
/* Bytes are counted and pass. Those of each side are recorded up to the connection's limit. */
#include "base/memory.h"
#include "protocol/ssh/ssh.h"

struct sshd_passage {
    struct passage passage;
    struct recorder *recorder;
    struct passage_counts counts;
    uint64_t left[2]; /* that may still be recorded, by side */
};

static struct sshd_passage *sshd_passage_of(struct passage *passage)
{
    return CONTAINER_OF(passage, struct sshd_passage, passage);
}

static enum err sshd_pass(struct passage *passage, enum pump_side side, struct slice *bytes,
                          struct slice *ret_back, struct error *reterr)
{
    struct sshd_passage *self = sshd_passage_of(passage);
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
static unsigned sshd_state(const struct passage *passage)
{
    (void)passage;
    return PASSAGE_IDLE | PASSAGE_IN_TRANSACTION;
}

static const struct passage_counts *sshd_counts(const struct passage *passage)
{
    return &CONTAINER_OF_CONST(passage, struct sshd_passage, passage)->counts;
}

static const struct mask_counts *sshd_masked(const struct passage *passage)
{
    (void)passage;
    return NULL;
}

static enum err sshd_last_words(const struct passage *passage, const struct ending_words *words,
                                bool is_discarded, struct buf *buf)
{
    (void)passage;
    (void)words;
    (void)is_discarded;
    (void)buf;
    return ERR_AGAIN; /* they would be taken for the target's */
}

static struct passage *sshd_passage_start(const struct passage_settings *settings,
                                          const struct passage_events *events, void *owner)
{
    struct sshd_passage *self = memory_new(sizeof(*self));
    (void)events;
    (void)owner;
    self->passage.ops = &sshd_passage_ops;
    self->recorder = settings->recorder;
    self->left[PUMP_CLIENT] = settings->row_limit;
    self->left[PUMP_TARGET] = settings->row_limit;
    return &self->passage;
}

static void sshd_passage_end(struct passage *passage)
{
    sshd_passage_of(passage)->recorder = NULL;
}

static void sshd_passage_free(struct passage *passage)
{
    memory_free(sshd_passage_of(passage));
}

const struct passage_ops sshd_passage_ops = {
    .start = sshd_passage_start,
    .pass = sshd_pass,
    .state = sshd_state,
    .counts = sshd_counts,
    .masked = sshd_masked,
    .last_words = sshd_last_words,
    .end = sshd_passage_end,
    .free = sshd_passage_free,
};
