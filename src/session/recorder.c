/* SPDX-License-Identifier: MIT */
#include "session/recorder.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/uuid.h"
#include "io/clock.h"
#include "io/descriptors.h"
#include "session/recorder_internal.h"
#include "session/recording_folder.h"
#include "session/recording_lock.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORDER_PARTS_MAX 8 /* of one record */

/* The pool ------------------------------------------------------------------------------------- */

struct recorder_pool *recorder_pool_new(const struct recorder_settings *settings)
{
    struct recorder_pool *recorders = memory_new(sizeof(*recorders));
    recorders->settings = *settings;
    recorders->codec = block_codec_new();
    return recorders;
}

void recorder_pool_free(struct recorder_pool *recorders)
{
    if (recorders == NULL) {
        return;
    }
    must(recorders->stats.open_count == 0);
    for (size_t i = 0; i < recorders->spare_count; i++) {
        buf_release(recorders->spares[i]);
        memory_free(recorders->spares[i]);
    }
    block_codec_free(recorders->codec);
    memory_free(recorders);
}

struct recorder_stats recorder_pool_stats(const struct recorder_pool *recorders)
{
    return recorders->stats;
}

static struct buf *recorder_take_buffer(struct recorder_pool *recorders)
{
    if (recorders->spare_count > 0) {
        return recorders->spares[--recorders->spare_count];
    }
    struct buf *buf = memory_new(sizeof(*buf));
    buf_init(buf, LIMIT_RECORDING_BLOCK_SIZE);
    return buf;
}

static void recorder_put_buffer(struct recorder_pool *recorders, struct buf *take_buf)
{
    if (take_buf == NULL) {
        return;
    }
    if (recorders->spare_count == LIMIT_RECORDING_SPARE_BUFFERS) {
        buf_release(take_buf);
        memory_free(take_buf);
        return;
    }
    buf_truncate(take_buf, 0);
    recorders->spares[recorders->spare_count++] = take_buf;
}

/* Opening -------------------------------------------------------------------------------------- */

enum err recorder_fail(struct error *reterr, int cause)
{
    switch (cause) {
    case ENOSPC:
    case EDQUOT:
        return fail(reterr, ERR_LIMIT, "the session cannot be recorded: the disk is full");
    case EFBIG:
        return fail(reterr, ERR_LIMIT,
                    "the session cannot be recorded: its recording is too large "
                    "for the disk or for a limit of this process");
    case ESTALE:
        return fail(reterr, ERR_IO,
                    "the session cannot be recorded: its recording was cut or removed");
    case EMFILE:
    case ENFILE:
        return fail(reterr, ERR_LIMIT, "the session cannot be recorded: too many open files");
    default:
        return fail(reterr, ERR_IO, "the session cannot be recorded: %s", strerror(cause));
    }
}

/* The folders above the file; true when they are there. */
static bool recorder_make_folders(const char *path)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct slice rest = slice_of_text(path);
    const char *levels[4]; /* recordings, year, month, day: outermost last */
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        while (rest.len > 0 && rest.at[rest.len - 1] != '/') {
            rest.len--;
        }
        rest.len -= rest.len > 0 ? 1 : 0;
        levels[i] = arena_text(&arena, rest);
    }
    for (size_t i = COUNT_OF(levels); i > 0; i--) {
        if (mkdir(levels[i - 1], 0700) != 0 && errno != EEXIST) {
            return false;
        }
    }
    return true;
}

static int recorder_open_file(struct recorder_file *file, const char *path, bool is_strict)
{
    int cause = recorder_file_open(file, path, is_strict);
    return cause == ENOENT && recorder_make_folders(path)
               ? recorder_file_open(file, path, is_strict)
               : cause;
}

/* All of it or nothing; 0 or an errno. */
static int recorder_write(struct recorder *recorder, struct slice bytes)
{
    int cause = recorder_file_append(&recorder->file, bytes);
    recorder->recorders->stats.byte_count += cause == 0 ? bytes.len : 0;
    return cause;
}

static enum err recorder_start_file(struct recorder *recorder, struct slice session_id,
                                    struct error *reterr)
{
    struct recorder_pool *recorders = recorder->recorders;
    struct block_file_head head = {.session_id = session_id, .started_at = recorder->started_at};
    char bytes[BLOCK_FILE_HEAD_SIZE];
    if (!recording_lock(recorder->file.fd)) {
        return recorder_fail(reterr, errno);
    }
    block_file_start(recorders->settings.keys, &head, &recorder->key, bytes);
    recorder->place = block_place_first(&head);
    int cause = recorder_write(recorder, slice_of(bytes, sizeof(bytes)));
    return cause == 0 ? ERR_NONE : recorder_fail(reterr, cause);
}

enum err recorder_open(struct recorder_pool *recorders, struct slice session_id, int64_t started_at,
                       struct recorder **ret_recorder, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    unsigned char uuid[UUID_SIZE];
    arena_init(&arena);
    if (uuid_parse(session_id, uuid) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "the session cannot be recorded: its id is no UUID");
    }
    const char *path =
        recording_path_in(&arena, recorders->settings.folder, session_id, started_at);
    struct recorder_file file;
    int cause = recorder_open_file(&file, path, recorders->settings.is_strict);
    if (cause == 0 && descriptors_are_scarce(file.fd, DESCRIPTOR_OF_SESSION)) {
        cause = EMFILE;
        (void)unlink(path);
        (void)close(file.fd);
    }
    if (cause != 0) {
        recorders->stats.failure_count++;
        return cause == EEXIST ? fail(reterr, ERR_CONFLICT, "'%s' exists already", path)
                               : recorder_fail(reterr, cause);
    }
    struct recorder *recorder = memory_new(sizeof(*recorder));
    recorder->recorders = recorders;
    recorder->file = file;
    recorder->started_at = started_at;
    recorders->stats.open_count++;
    enum err err = recorder_start_file(recorder, session_id, reterr);
    if (err != ERR_NONE) {
        recorders->stats.failure_count++;
        (void)unlink(path);
        (void)close(file.fd);
        recorder_free(recorder);
        return err;
    }
    (void)memcpy(recorder->pending_chain, recorder->place.chain, RECORD_CHAIN_SIZE);
    atomic_store(&recorder->flushed_size, recorder->file.size);
    *ret_recorder = recorder;
    return ERR_NONE;
}

void recorder_free(struct recorder *recorder)
{
    recorder_put_buffer(recorder->recorders, recorder->pending);
    recorder->recorders->stats.open_count--;
    block_key_wipe(&recorder->key);
    memory_free(recorder->error);
    memory_free(recorder);
}

/* Writing -------------------------------------------------------------------------------------- */

void recorder_break(struct recorder *recorder, enum err err, const struct error *error)
{
    must(err == error->code);
    if (recorder->error == NULL) {
        recorder->error = memory_new(sizeof(*recorder->error));
        *recorder->error = *error;
        recorder->recorders->stats.failure_count += recorder->is_counted ? 0 : 1;
        recorder->is_counted = true;
    }
}

static void recorder_drop_pending(struct recorder *recorder)
{
    recorder_put_buffer(recorder->recorders, recorder->pending);
    recorder->pending = NULL;
    recorder->pending_count = 0;
    recorder->has_last = false;
    (void)memcpy(recorder->pending_chain, recorder->place.chain, RECORD_CHAIN_SIZE);
}

static void recorder_end_last(struct recorder *recorder)
{
    if (recorder->has_last) {
        struct slice pending = buf_view(recorder->pending);
        block_chain(recorder->pending_chain, slice_from(pending, recorder->last_start));
        recorder->pending_count++;
        recorder->has_last = false;
    }
}

/* Writes what is pending as one block. 0 or an errno; then it is dropped. */
static int recorder_write_block(struct recorder *recorder, unsigned flags)
{
    struct recorder_pool *recorders = recorder->recorders;
    recorder_end_last(recorder);
    flags |= recorder->is_salted ? BLOCK_HAS_SALT : 0;
    int cause =
        recorder_write(recorder, block_seal(recorders->codec, &recorder->key, &recorder->place,
                                            flags, buf_view(recorder->pending)));
    if (cause == 0) {
        recorder->place.number++;
        (void)memcpy(recorder->place.chain, recorder->pending_chain, RECORD_CHAIN_SIZE);
        recorder->record_count += recorder->pending_count;
        recorder->is_salted = false;
        recorders->stats.record_count += recorder->pending_count;
        recorders->stats.block_count++;
        atomic_store_explicit(&recorder->flushed_size, recorder->file.size, memory_order_release);
    } else {
        recorder->is_salted = true;
    }
    recorder_drop_pending(recorder);
    return cause;
}

static void recorder_flush_pending(struct recorder *recorder, unsigned flags)
{
    int cause = recorder_write_block(recorder, flags);
    if (cause != 0) {
        struct error error;
        recorder_break(recorder, recorder_fail(&error, cause), &error);
    }
}

/* Messages between two flushes came in one reading, and have its time. */
static int64_t recorder_time(struct recorder *recorder, enum record_kind kind)
{
    bool is_message = kind == RECORD_MESSAGE || kind == RECORD_MORE || kind == RECORD_COUNT;
    if (!is_message || !recorder->is_reading) {
        recorder->time = clock_now();
    }
    recorder->is_reading = is_message;
    return recorder->time;
}

/* At most RECORD_PAYLOAD_MAX bytes. */
static void recorder_add_record(struct recorder *recorder, enum record_kind kind,
                                enum record_side side, const struct slice *parts, size_t count)
{
    const struct record record = {
        .time = recorder_time(recorder, kind), .side = side, .kind = kind};
    recorder_end_last(recorder);
    if (recorder->pending == NULL) {
        recorder->pending = recorder_take_buffer(recorder->recorders);
    }
    recorder->last_start = recorder->pending->len;
    enum err err = record_write_parts(recorder->pending, &record, parts, count);
    if (err != ERR_NONE) {
        recorder_flush_pending(recorder, 0);
        if (recorder->error != NULL) {
            return;
        }
        recorder->pending = recorder_take_buffer(recorder->recorders);
        recorder->last_start = 0;
        must(record_write_parts(recorder->pending, &record, parts, count) == ERR_NONE);
    }
    recorder->has_last = true;
    recorder->takes_messages = false;
    recorder->last_kind = kind;
    recorder->last_side = side;
}

/* Takes up to 'size' bytes from the parts, from *index and *offset on. */
static size_t recorder_take_parts(const struct slice *parts, size_t count, size_t *index,
                                  size_t *offset, struct slice *piece)
{
    size_t taken = 0;
    size_t left = RECORD_PAYLOAD_MAX;
    while (*index < count && left > 0) {
        struct slice part = slice_sub(parts[*index], *offset, left);
        piece[taken++] = part;
        left -= part.len;
        *offset += part.len;
        if (*offset == parts[*index].len) {
            (*index)++;
            *offset = 0;
        }
    }
    return taken;
}

void recorder_add(struct recorder *recorder, enum record_kind kind, enum record_side side,
                  const struct slice *parts, size_t count)
{
    size_t size = 0;
    must(count <= RECORDER_PARTS_MAX);
    if (recorder->error != NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size += parts[i].len;
    }
    if (size <= RECORD_PAYLOAD_MAX) {
        recorder_add_record(recorder, kind, side, parts, count);
        return;
    }
    if (kind != RECORD_MESSAGE && kind != RECORD_MORE) {
        struct error error;
        enum err err =
            fail(&error, ERR_LIMIT, "the session cannot be recorded: a note of %zu bytes", size);
        recorder_break(recorder, err, &error);
        return;
    }
    size_t index = 0;
    size_t offset = 0;
    while (index < count && recorder->error == NULL) {
        struct slice piece[RECORDER_PARTS_MAX];
        size_t taken = recorder_take_parts(parts, count, &index, &offset, piece);
        recorder_add_record(recorder, kind, side, piece, taken);
        kind = RECORD_MORE;
    }
}

void recorder_add_messages(struct recorder *recorder, enum record_side side,
                           const struct slice *parts, size_t count)
{
    bool goes_on = recorder->has_last && recorder->takes_messages && recorder->last_side == side;
    if (goes_on &&
        record_extend(recorder->pending, recorder->last_start, parts, count) == ERR_NONE) {
        return;
    }
    recorder_add(recorder, RECORD_MESSAGE, side, parts, count);
    recorder->takes_messages = recorder->last_kind == RECORD_MESSAGE;
}

enum err recorder_flush(struct recorder *recorder, struct error *reterr)
{
    recorder->is_reading = false;
    if (recorder->error == NULL && recorder->pending != NULL) {
        recorder_flush_pending(recorder, 0);
    }
    if (recorder->error == NULL) {
        return ERR_NONE;
    }
    if (reterr != NULL) {
        *reterr = *recorder->error;
    }
    return recorder->error->code;
}

/* Closing -------------------------------------------------------------------------------------- */

/* A broken one is closed, too, if there is room for that. */
static void recorder_write_close(struct recorder *recorder, struct slice close)
{
    struct error *error = recorder->error;
    recorder->error = NULL;
    if (error != NULL) {
        recorder_drop_pending(recorder);
    }
    recorder_add(recorder, RECORD_CLOSE, RECORD_FROM_GATEWAY, &close, 1);
    if (recorder->error == NULL && recorder->pending != NULL) {
        recorder_flush_pending(recorder, BLOCK_IS_LAST);
        recorder->is_whole = recorder->error == NULL;
    }
    if (error != NULL) {
        memory_free(recorder->error);
        recorder->error = error;
    }
}

void recorder_close(struct recorder *take_recorder, struct slice close,
                    recorder_closed_fn on_closed, void *owner)
{
    must(!take_recorder->is_closing);
    take_recorder->is_closing = true;
    take_recorder->is_awaited = false;
    take_recorder->on_closed = on_closed;
    take_recorder->owner = owner;
    if (close.at != NULL) {
        recorder_write_close(take_recorder, close);
    }
    if (!take_recorder->is_syncing) {
        recorder_start_sync(take_recorder, true);
    }
}

void recorder_finish(struct recorder *recorder)
{
    struct recorder_summary summary = {
        .record_count = recorder->record_count,
        .size = recorder->file.size,
        .is_whole = recorder->is_whole && recorder->error == NULL,
        .error = recorder->error,
    };
    (void)memcpy(summary.head, recorder->place.chain, RECORD_CHAIN_SIZE);
    recorder->on_closed(recorder->owner, &summary);
    recorder_free(recorder);
}
