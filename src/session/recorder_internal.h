/* SPDX-License-Identifier: MIT */
/* What the files of the recorder share: recorder.c writes, recorder_sync.c waits for the disk. */
#ifndef GH_SESSION_RECORDER_INTERNAL_H
#define GH_SESSION_RECORDER_INTERNAL_H

#include "base/limits.h"
#include "session/block.h"
#include "session/recorder.h"
#include "session/recorder_file.h"

#include <stdatomic.h>

struct recorder_pool {
    struct recorder_settings settings;
    struct block_codec *codec;
    /* Between flushes; most recorders hold none. */
    struct buf *spares[LIMIT_RECORDING_SPARE_BUFFERS];
    size_t spare_count;
    struct recorder_stats stats;
    _Atomic int64_t synced_day; /* whose folders are on the disk; by the threads that sync */
};

struct recorder {
    struct recorder_pool *recorders;
    struct recorder_file file;
    bool is_salted;  /* something was written under the next block's number before */
    bool is_syncing; /* the job or the mail is under way */
    bool is_awaited;
    bool is_closing;
    bool is_whole;
    bool is_counted; /* among the failures */
    bool is_folder_synced;
    struct error *error; /* why it is broken, or NULL */
    int64_t started_at;
    struct block_key key;
    struct block_place place; /* of the next block */
    uint64_t record_count;

    /* What was added and not flushed. */
    struct buf *pending;
    uint64_t pending_count; /* but for the last record, as long as it is open */
    bool has_last;
    bool takes_messages; /* the last record */
    enum record_kind last_kind;
    enum record_side last_side;
    size_t last_start;
    bool is_reading; /* a message was added since the last flush, at this time */
    int64_t time;
    unsigned char pending_chain[RECORD_CHAIN_SIZE];

    _Atomic uint64_t flushed_size; /* read by the thread that syncs */
    uint64_t durable_size;
    uint64_t awaited_size;
    recorder_durable_fn on_durable;
    recorder_closed_fn on_closed;
    void *owner;

    /* The job, and what came of it: the thread's until the mail. */
    struct pool_job job;
    struct mail mail;
    bool is_last_sync; /* closes the file */
    uint64_t synced_size;
    int sync_errno; /* 0: synced */
};

/* Says what the errno means for a session. */
enum err recorder_fail(struct error *reterr, int cause) MUST_USE;
/* The first failure stays. */
void recorder_break(struct recorder *recorder, enum err err, const struct error *error);
/* When its file is closed and nothing is under way. */
void recorder_free(struct recorder *recorder);

/* Nothing is under way. A last one closes the file. */
void recorder_start_sync(struct recorder *recorder, bool is_last);
/* From here on the recorder is gone, by mail. */
void recorder_finish(struct recorder *recorder);

#endif
