/* SPDX-License-Identifier: MIT */
/* Writes the recording of a session: records are added, then flushed as one block by one write, and
 * only then may what they tell of reach the other side. A flush that fails leaves a whole file
 * behind and the recorder broken: nothing more can be added, and the session must end.
 * All recorders of a worker share one pool, which holds what only a flush needs; a recorder itself
 * is a few hundred bytes and a descriptor. Everything here is called on the worker's thread. */
#ifndef GH_SESSION_RECORDER_H
#define GH_SESSION_RECORDER_H

#include "io/mailbox.h"
#include "io/pool.h"
#include "session/record.h"
#include "store/seal.h"

struct recorder;
struct recorder_pool;

struct recorder_settings {
    const char *folder; /* <data-dir>/recordings; made when the first recording is */
    struct seal_keys *keys;
    /* Threads that sync files, shared by all of these: pool_new(LIMIT_RECORDING_SYNC_THREADS,
     * SIZE_MAX). A recorder has at most one job there. Ends before the mailbox does. */
    struct pool *sync;
    struct mailbox *mailbox; /* of the worker: where the callbacks below are called from */
    bool is_strict;          /* nothing is released before it is on the disk: recorder_await() */
};

/* Texts and objects of the settings must outlive the pool. */
struct recorder_pool *recorder_pool_new(const struct recorder_settings *settings);
/* After the last on_closed. */
void recorder_pool_free(struct recorder_pool *recorders);

/* Makes <folder>/YYYY/MM/DD/<session_id>.ghr, by the UTC day of 'started_at', and locks it. The id
 * is a UUID. ERR_LIMIT: the disk is full; ERR_CONFLICT: it is there already. */
enum err recorder_open(struct recorder_pool *recorders, struct slice session_id, int64_t started_at,
                       struct recorder **ret_recorder, struct error *reterr) MUST_USE;

/* The payload is in parts, one behind the other. A message (or more of one) that is longer than
 * RECORD_PAYLOAD_MAX becomes several records. Failures are told by the next flush. */
void recorder_add(struct recorder *recorder, enum record_kind kind, enum record_side side,
                  const struct slice *parts, size_t count);
/* RECORD_MESSAGE: whole messages with their heads; several at once have at most RECORD_PAYLOAD_MAX
 * bytes. Those of one side that are added one behind the other share a record, as far as there is
 * room. */
void recorder_add_messages(struct recorder *recorder, enum record_side side,
                           const struct slice *parts, size_t count);

/* Writes what was added; nothing added: does nothing. ERR_LIMIT: the disk is full, ERR_IO. Once
 * failed, it fails again with the same words. */
enum err recorder_flush(struct recorder *recorder, struct error *reterr) MUST_USE;

/* Whether all that was flushed may be released: always, unless the pool is strict. */
bool recorder_is_durable(const struct recorder *recorder);

/* 'error' is NULL when all is well; else the recorder is broken. */
typedef void (*recorder_durable_fn)(void *owner, const struct error *error);

/* Calls back, by mail, when all that was flushed before this call is on the disk. What waits
 * already is replaced: only the last callback counts, and it is called once. Not called any more
 * after recorder_close(). */
void recorder_await(struct recorder *recorder, recorder_durable_fn on_durable, void *owner);

/* What is stored of a recording that ended. */
struct recorder_summary {
    unsigned char head[RECORD_CHAIN_SIZE];
    uint64_t record_count;
    uint64_t size;             /* of the file */
    bool is_whole;             /* ends with its RECORD_CLOSE, and is on the disk */
    const struct error *error; /* why not, else NULL */
};

typedef void (*recorder_closed_fn)(void *owner, const struct recorder_summary *summary);

/* Adds RECORD_CLOSE with 'close' (JSON), flushes, and calls back by mail when the file was synced
 * and closed, on another thread. SLICE_NONE: adds none, so that it is taken for one that was left
 * open, and its session is looked for in the store. Works on a broken one, too: then it has the
 * head of what lies on the disk. The recorder must not be used any more. */
void recorder_close(struct recorder *take_recorder, struct slice close,
                    recorder_closed_fn on_closed, void *owner);

/* Numbers since the pool was made, for metrics. */
struct recorder_stats {
    uint64_t open_count; /* now */
    uint64_t record_count;
    uint64_t block_count;
    uint64_t byte_count; /* written */
    uint64_t failure_count;
};

struct recorder_stats recorder_pool_stats(const struct recorder_pool *recorders);

#endif
