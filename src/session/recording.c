/* SPDX-License-Identifier: MIT */
#include "session/recording.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "session/block.h"
#include "session/recording_internal.h"
#include "session/recording_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RECORDING_READ_SIZE LIMIT_KIB(64)
#define RECORDING_INPUT_SIZE                                                                       \
    (LIMIT_RECORDING_BLOCK_SIZE + RECORDING_READ_SIZE + LIMIT_KIB(1)) /* one block, and ahead */

struct recording {
    int fd;                         /* -1: it is read from the source */
    struct recording_source source; /* of another, from 'at' on */
    uint64_t at;
    struct block_codec *codec;
    struct block_key key;
    struct block_place place;
    struct block_file_head head;
    struct buf input;     /* read, and not yet taken apart */
    struct slice records; /* of the block that was opened, what is left */
    bool is_last;         /* that block says that it is */
    bool has_ended;

    struct recording_state state;
};

/* Bytes ---------------------------------------------------------------------------------------- */

static enum err recording_read(struct recording *self, char *at, size_t *ret_len,
                               struct error *reterr)
{
    if (self->fd < 0) {
        enum err err = self->source.read(self->source.context, self->at, at, RECORDING_READ_SIZE,
                                         ret_len, reterr);
        self->at += err == ERR_NONE ? *ret_len : 0;
        return err;
    }
    ssize_t got = -1;
    do {
        got = read(self->fd, at, RECORDING_READ_SIZE);
    } while (got < 0 && errno == EINTR);
    *ret_len = got < 0 ? 0 : (size_t)got;
    return got < 0 ? fail(reterr, ERR_IO, "the recording cannot be read: %s", strerror(errno))
                   : ERR_NONE;
}

static bool recording_is_written_to(struct recording *self)
{
    return self->fd < 0 ? self->source.look(self->source.context, self->state.size)
                        : recording_is_recorded(self->fd);
}

/* Until the input holds 'size' bytes or the file ends; ERR_MORE when it ends before. */
static enum err recording_fill(struct recording *self, size_t size, struct error *reterr)
{
    while (self->input.len < size) {
        char *at = NULL;
        must(buf_reserve(&self->input, RECORDING_READ_SIZE, &at) == ERR_NONE);
        size_t got = 0;
        enum err err = recording_read(self, at, &got, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        if (got == 0) {
            return ERR_MORE;
        }
        buf_commit(&self->input, got);
    }
    return ERR_NONE;
}

static enum err recording_read_head(struct recording *self, struct seal_keys *keys,
                                    struct error *reterr)
{
    enum err err = recording_fill(self, BLOCK_FILE_HEAD_SIZE, reterr);
    if (err == ERR_NONE || err == ERR_MORE) {
        struct slice bytes = slice_sub(buf_view(&self->input), 0, BLOCK_FILE_HEAD_SIZE);
        err = block_file_head_read(bytes, &self->head, reterr);
    }
    if (err == ERR_MORE) {
        return fail(reterr, ERR_INPUT, "this is no recording: it ends within its head");
    }
    if (err == ERR_NONE) {
        err = block_key_open(keys, &self->head, &self->key, reterr);
    }
    if (err == ERR_NONE) {
        self->place = block_place_first(&self->head);
        (void)memcpy(self->state.head, self->place.chain, RECORD_CHAIN_SIZE);
        self->head.sealed_key = SLICE_NONE; /* the input moves on */
        self->state.size = BLOCK_FILE_HEAD_SIZE;
        buf_consume(&self->input, BLOCK_FILE_HEAD_SIZE);
    }
    return err;
}

static enum err recording_begin(int take_fd, const struct recording_source *take_source,
                                struct seal_keys *keys, struct recording **ret_recording,
                                struct error *reterr)
{
    struct recording *self = memory_new(sizeof(*self));
    self->fd = take_fd;
    self->source = *take_source;
    self->codec = block_codec_new();
    buf_init(&self->input, RECORDING_INPUT_SIZE);
    enum err err = recording_read_head(self, keys, reterr);
    if (err != ERR_NONE) {
        recording_free(self);
        return err;
    }
    *ret_recording = self;
    return ERR_NONE;
}

enum err recording_open_fd(int take_fd, struct seal_keys *keys, struct recording **ret_recording,
                           struct error *reterr)
{
    return recording_begin(take_fd, &(struct recording_source){.free = NULL}, keys, ret_recording,
                           reterr);
}

enum err recording_open_source(const struct recording_source *take_source, struct seal_keys *keys,
                               struct recording **ret_recording, struct error *reterr)
{
    return recording_begin(-1, take_source, keys, ret_recording, reterr);
}

enum err recording_read_piece(const char *path, uint64_t from, struct buf *buf, size_t size,
                              struct recording_piece *ret_piece, struct error *reterr)
{
    char *at = NULL;
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(reterr, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "'%s': %s", path,
                    strerror(errno));
    }
    *ret_piece = (struct recording_piece){.is_written_to = recording_is_recorded(fd)};
    must(buf_reserve(buf, size, &at) == ERR_NONE);
    ssize_t got = from > INT64_MAX ? 0 : pread(fd, at, size, (off_t)from);
    bool is_read = got >= 0 && fstat(fd, &stat) == 0;
    int cause = errno;
    (void)close(fd);
    if (!is_read) {
        return fail(reterr, ERR_IO, "the recording cannot be read: %s", strerror(cause));
    }
    buf_commit(buf, (size_t)got);
    ret_piece->len = (size_t)got;
    ret_piece->size = (uint64_t)stat.st_size;
    return ERR_NONE;
}

enum err recording_open(const char *path, struct seal_keys *keys, struct recording **ret_recording,
                        struct error *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(reterr, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "'%s': %s", path,
                    strerror(errno));
    }
    return recording_open_fd(fd, keys, ret_recording, reterr);
}

void recording_free(struct recording *recording)
{
    if (recording == NULL) {
        return;
    }
    if (recording->fd >= 0) {
        (void)close(recording->fd);
    } else if (recording->source.free != NULL) {
        recording->source.free(recording->source.context);
    }
    block_codec_free(recording->codec);
    block_key_wipe(&recording->key);
    buf_release(&recording->input);
    memory_free(recording);
}

/* Blocks --------------------------------------------------------------------------------------- */

static enum err recording_broken(const struct recording *self, const char *what,
                                 struct error *reterr)
{
    return fail(reterr, ERR_CONFLICT,
                "the recording was changed: block %" PRIu64 ", at byte %" PRIu64 ": %s",
                self->place.number + 1, self->state.size, what);
}

static enum err recording_end(struct recording *self, bool is_cut)
{
    self->has_ended = true;
    self->state.is_cut = is_cut;
    return ERR_CLOSED;
}

/* What was read ahead may have been written since: it is read anew. Asked before, the lock says
 * whether more can still come behind what is read now. Not of what cannot be read twice. */
static void recording_rewind(struct recording *self)
{
    self->state.is_written_to = recording_is_written_to(self);
    if (self->fd < 0 || lseek(self->fd, (off_t)self->state.size, SEEK_SET) >= 0) {
        self->at = self->state.size;
        buf_truncate(&self->input, 0);
    }
}

static bool recording_is_zero(struct slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.at[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Takes the rest of the file. Whether there is anything but zeros up to 'size' bytes from here on,
 * and behind that. */
static enum err recording_look_for_bytes(struct recording *self, uint64_t size, bool *ret_is_near,
                                         bool *ret_is_far, struct error *reterr)
{
    uint64_t passed = 0;
    enum err err = ERR_NONE;
    *ret_is_near = false;
    *ret_is_far = false;
    while (err == ERR_NONE) {
        struct slice bytes = buf_view(&self->input);
        struct slice near = slice_sub(bytes, 0, passed < size ? size - passed : 0);
        *ret_is_near = *ret_is_near || !recording_is_zero(near);
        *ret_is_far = *ret_is_far || !recording_is_zero(slice_from(bytes, near.len));
        passed += bytes.len;
        buf_truncate(&self->input, 0);
        err = recording_fill(self, 1, reterr);
    }
    return err;
}

/* No block begins here. A strict recorder's file is longer than what was written: a head of zeros
 * is the end, and what stands in the place of one block behind it was never finished. */
static enum err recording_check_rest(struct recording *self, struct error *reterr)
{
    bool is_torn = false;
    bool is_more = !recording_is_zero(slice_sub(buf_view(&self->input), 0, BLOCK_HEAD_SIZE));
    if (is_more) {
        return recording_broken(self, "its length is not the one it was written with", reterr);
    }
    enum err err = recording_look_for_bytes(self, BLOCK_SIZE_MAX, &is_torn, &is_more, reterr);
    if (err == ERR_MORE && is_more) {
        return recording_broken(self, "there are zeros in its place, but more behind it", reterr);
    }
    return err == ERR_MORE ? recording_end(self, is_torn) : err;
}

/* The end of a closed one: what says so, and nothing more. */
static enum err recording_check_end(struct recording *self, struct error *reterr)
{
    if (!self->state.is_closed) {
        return recording_broken(self, "it says that it is the last, but closes nothing", reterr);
    }
    enum err err = recording_fill(self, BLOCK_FILE_END_SIZE + 1, reterr);
    struct slice bytes = buf_view(&self->input);
    struct slice end = SLICE(BLOCK_FILE_END);
    bool is_more = false;
    if (err != ERR_MORE && err != ERR_NONE) {
        return err;
    }
    bool is_cut = bytes.len != end.len;
    if (err == ERR_NONE && slice_starts_with(bytes, end)) {
        buf_consume(&self->input, end.len);
        bool is_near = false;
        err = recording_look_for_bytes(self, 0, &is_near, &is_more, reterr);
        if (err != ERR_MORE) {
            return err;
        }
    } else {
        is_more = !slice_starts_with(end, bytes);
    }
    if (is_more) {
        return recording_broken(self, "something else stands where the recording ends", reterr);
    }
    self->state.size += is_cut ? 0 : end.len;
    self->state.is_written_to = recording_is_written_to(self);
    return recording_end(self, is_cut);
}

static enum err recording_read_block_head(struct recording *self, struct block_head *ret_head,
                                          struct error *reterr)
{
    enum err err = recording_fill(self, BLOCK_HEAD_SIZE + BLOCK_SALT_SIZE, reterr);
    return err == ERR_NONE || err == ERR_MORE
               ? block_head_read(&self->key, self->place.number, buf_view(&self->input), ret_head)
               : err;
}

static enum err recording_next_head(struct recording *self, struct block_head *ret_head,
                                    struct error *reterr)
{
    enum err err = recording_read_block_head(self, ret_head, reterr);
    if (err == ERR_MORE || err == ERR_CONFLICT) {
        recording_rewind(self);
        err = recording_read_block_head(self, ret_head, reterr);
    }
    if (err == ERR_MORE) {
        return recording_end(self, !recording_is_zero(buf_view(&self->input)));
    }
    return err == ERR_CONFLICT ? recording_check_rest(self, reterr) : err;
}

/* ERR_CLOSED at the end. */
static enum err recording_try_block(struct recording *self, struct error *reterr)
{
    struct block_head head;
    if (self->is_last) {
        return recording_check_end(self, reterr);
    }
    enum err err = recording_next_head(self, &head, reterr);
    if (err == ERR_NONE) {
        err = recording_fill(self, head.head_size + head.size, reterr);
    }
    if (err == ERR_MORE) {
        recording_rewind(self);
        return recording_end(self, true);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct slice sealed = slice_sub(buf_view(&self->input), head.head_size, head.size);
    err = block_open(self->codec, &self->key, &self->place, &head, sealed, &self->records);
    if (err != ERR_NONE) {
        return recording_broken(self, "it is not what was written there", reterr);
    }
    buf_consume(&self->input, head.head_size + head.size);
    self->is_last = (head.flags & BLOCK_IS_LAST) != 0;
    self->place.number++;
    self->state.block_count++;
    self->state.size += head.head_size + head.size;
    return ERR_NONE;
}

/* What is read while it is being written may be half of a block. */
static enum err recording_next_block(struct recording *self, struct error *reterr)
{
    enum err err = recording_try_block(self, reterr);
    for (int i = 0; i < LIMIT_RECORDING_LOOKS && err == ERR_CONFLICT && !self->is_last; i++) {
        recording_rewind(self);
        if (!self->state.is_written_to) {
            break;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = LIMIT_RECORDING_LOOK_MS * 1000000L}, NULL);
        err = recording_try_block(self, reterr);
    }
    return err;
}

/* Records -------------------------------------------------------------------------------------- */

enum err recording_next(struct recording *recording, struct record *ret_record,
                        struct error *reterr)
{
    size_t taken = 0;
    if (recording->has_ended) {
        return ERR_CLOSED;
    }
    if (recording->records.len == 0) {
        enum err err = recording_next_block(recording, reterr);
        if (err != ERR_NONE) {
            return err;
        }
    }
    if (recording->state.is_closed) {
        return recording_broken(recording, "there are records behind the last", reterr);
    }
    struct slice bytes = recording->records;
    if (record_read(bytes, &taken, ret_record) != ERR_NONE) {
        return recording_broken(recording, "it holds something that is no record", reterr);
    }
    block_chain(recording->place.chain, slice_sub(bytes, 0, taken));
    (void)memcpy(recording->state.head, recording->place.chain, RECORD_CHAIN_SIZE);
    recording->records = slice_from(bytes, taken);
    recording->state.record_count++;
    recording->state.is_closed = ret_record->kind == RECORD_CLOSE;
    if (recording->state.is_closed && !recording->is_last) {
        return recording_broken(recording, "it closes the recording, but is not the last", reterr);
    }
    return ERR_NONE;
}

/* What was read of a block that is not whole is read anew: a recorder takes one back that did not
 * fit on the disk. */
void recording_look_again(struct recording *recording)
{
    if (recording->has_ended && !recording->state.is_closed) {
        recording_rewind(recording);
        recording->has_ended = false;
    }
}

struct recording_state recording_state(const struct recording *recording)
{
    return recording->state;
}

const char *recording_fault(const struct recording_state *state)
{
    if (state->is_written_to || (state->is_closed && !state->is_cut)) {
        return NULL;
    }
    return state->is_cut ? "cut off: its last block is not whole"
                         : "not closed: its gateway was killed, or its end was cut off";
}

struct slice recording_session_id(const struct recording *recording)
{
    return slice_of(recording->head.id, BLOCK_SESSION_ID_SIZE);
}

int64_t recording_started_at(const struct recording *recording)
{
    return recording->head.started_at;
}

struct slice recording_seal_end(struct recording *recording, struct slice record)
{
    return block_seal(recording->codec, &recording->key, &recording->place,
                      BLOCK_HAS_SALT | BLOCK_IS_LAST, record);
}
