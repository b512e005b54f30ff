/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/must.h"
#include "codec/json_writer.h"
#include "session/block.h"
#include "session/recording_internal.h"
#include "session/recording_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

DEFINE_FREE_AT(recording_free, struct recording)

static enum err recover_fail(const char *path, struct error *reterr)
{
    bool is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    return fail(reterr, is_full ? ERR_LIMIT : ERR_IO, "'%s': %s", path, strerror(errno));
}

static enum err recover_open(const char *path, int *ret_fd, struct error *reterr)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return fail(reterr, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "'%s': %s", path,
                    strerror(errno));
    }
    *ret_fd = fd;
    return ERR_NONE;
}

static enum err recover_write(int fd, const char *path, struct slice bytes, uint64_t at,
                              struct error *reterr)
{
    errno = ENOSPC; /* of a write that is short */
    if (pwrite(fd, bytes.at, bytes.len, (off_t)at) != (ssize_t)bytes.len) {
        return recover_fail(path, reterr);
    }
    return fsync(fd) == 0 ? ERR_NONE : recover_fail(path, reterr);
}

/* The record that ends it, at most RECORD_SIZE_MAX bytes. */
static void recover_write_record(const struct recording_close *how, struct buf *ret_record)
{
    struct buf payload CLEANUP(buf_release);
    buf_init(&payload, LIMIT_KIB(8));
    struct json_writer json = json_writer_to(&payload);
    json_begin_object(&json);
    json_member_text(&json, "reason", how->reason);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    const struct record record = {
        .time = how->time,
        .side = RECORD_FROM_GATEWAY,
        .kind = RECORD_CLOSE,
        .payload = buf_view(&payload),
    };
    buf_init(ret_record, RECORD_SIZE_MAX);
    must(record_write(ret_record, &record) == ERR_NONE);
}

/* Behind what was read whole, in place of what was not. */
static enum err recover_end(struct recording *recording, int fd, const char *path,
                            const struct recording_close *how, struct error *reterr)
{
    struct recording_state state = recording_state(recording);
    if (ftruncate(fd, (off_t)state.size) != 0) {
        return recover_fail(path, reterr);
    }
    if (state.is_closed) {
        return recover_write(fd, path, SLICE(BLOCK_FILE_END), state.size, reterr);
    }
    struct buf record CLEANUP(buf_release);
    recover_write_record(how, &record);
    enum err err = recover_write(fd, path, recording_seal_end(recording, buf_view(&record)),
                                 state.size, reterr);
    if (err != ERR_NONE && ftruncate(fd, (off_t)state.size) != 0) {
        error_prefix(reterr, "and part of a block was left behind: ");
    }
    return err;
}

static enum err recover_read(struct recording *recording, struct error *reterr)
{
    struct record record;
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        err = recording_next(recording, &record, reterr);
    }
    return err == ERR_CLOSED ? ERR_NONE : err;
}

/* The descriptor that is locked is not the one that reads: that one is closed with it. */
static enum err recover_file(int fd, const char *path, struct seal_keys *keys,
                             const struct recording_close *how, struct recording_state *ret_state,
                             struct error *reterr)
{
    struct recording *recording CLEANUP(recording_free_at)
    = NULL;
    enum err err = recording_open(path, keys, &recording, reterr);
    if (err == ERR_NONE) {
        err = recover_read(recording, reterr);
        *ret_state = recording_state(recording);
    }
    if (err == ERR_NONE && (!ret_state->is_closed || ret_state->is_cut)) {
        err = recover_end(recording, fd, path, how, reterr);
    } else {
        return err;
    }
    struct recording *again CLEANUP(recording_free_at)
    = NULL;
    if (err == ERR_NONE) {
        err = recording_open(path, keys, &again, reterr);
    }
    if (err == ERR_NONE) {
        err = recover_read(again, reterr);
        *ret_state = recording_state(again);
    }
    return err;
}

enum err recording_look_ahead(const char *path, struct seal_keys *keys,
                              const struct recording_close *how,
                              struct recording_outlook *ret_outlook, struct error *reterr)
{
    struct recording *recording CLEANUP(recording_free_at)
    = NULL;
    *ret_outlook = (struct recording_outlook){.closed_size = 0};
    enum err err = recording_open(path, keys, &recording, reterr);
    if (err == ERR_NONE) {
        err = recover_read(recording, reterr);
        ret_outlook->state = recording_state(recording);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct recording_state state = ret_outlook->state;
    (void)memcpy(ret_outlook->closed_head, state.head, RECORD_CHAIN_SIZE);
    ret_outlook->closed_size = state.size + (state.is_cut ? BLOCK_FILE_END_SIZE : 0);
    if (!state.is_closed) {
        struct buf record CLEANUP(buf_release);
        recover_write_record(how, &record);
        block_chain(ret_outlook->closed_head, buf_view(&record));
        ret_outlook->closed_size =
            state.size + recording_seal_end(recording, buf_view(&record)).len;
    }
    return ERR_NONE;
}

enum err recording_recover(const char *path, struct seal_keys *keys,
                           const struct recording_close *how, struct recording_state *ret_state,
                           struct error *reterr)
{
    int fd = -1;
    *ret_state = (struct recording_state){0};
    enum err err = recover_open(path, &fd, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = recording_lock_to_close(fd) ? recover_file(fd, path, keys, how, ret_state, reterr)
                                      : fail(reterr, ERR_BUSY, "'%s' is being written", path);
    (void)close(fd);
    ret_state->is_written_to = err == ERR_BUSY;
    return err;
}

enum err recording_reseal(const char *path, struct seal_keys *keys, bool *ret_is_resealed,
                          struct error *reterr)
{
    char bytes[BLOCK_FILE_HEAD_SIZE];
    struct block_file_head head;
    int fd = -1;
    *ret_is_resealed = false;
    enum err err = recover_open(path, &fd, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
    err = size < 0 ? recover_fail(path, reterr)
                   : block_file_head_read(slice_of(bytes, (size_t)size), &head, reterr);
    if (err == ERR_MORE) {
        err = fail(reterr, ERR_INPUT, "'%s' ends within its head", path);
    }
    if (err == ERR_NONE && !seal_is_current(keys, head.sealed_key)) {
        err = block_file_reseal(keys, &head, bytes, reterr);
        if (err == ERR_NONE) {
            err = recover_write(fd, path, slice_of(bytes, sizeof(bytes)), 0, reterr);
        }
        *ret_is_resealed = err == ERR_NONE;
    }
    (void)close(fd);
    return err;
}
