/* SPDX-License-Identifier: MIT */
#include "session/recorder_file.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "session/block.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_SIZE BLOCK_HEAD_SIZE /* without which no block is there */

/* What is appended to a file that was cut stands in the wrong place, where it is noticed. */
int recorder_file_open(struct recorder_file *file, const char *path, bool is_synced)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | (is_synced ? 0 : O_APPEND);
    *file = (struct recorder_file){.fd = open(path, flags, 0600), .is_synced = is_synced};
    return file->fd < 0 ? errno : 0;
}

static int recorder_file_check(const struct recorder_file *file)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0) {
        return errno;
    }
    return status.st_nlink > 0 && (uint64_t)status.st_size >= file->taken ? 0 : ESTALE;
}

static int recorder_file_trim(const struct recorder_file *file)
{
    if (file->taken == file->size) {
        return 0;
    }
    return ftruncate(file->fd, (off_t)file->size) == 0 ? 0 : errno;
}

int recorder_file_finish(const struct recorder_file *file)
{
    int cause = recorder_file_check(file);
    return cause == 0 ? recorder_file_trim(file) : cause;
}

/* 0 or an errno; *at is behind what was written then, which may be part of it. */
static int recorder_file_write(const struct recorder_file *file, struct slice bytes, uint64_t *at)
{
    while (bytes.len > 0) {
        ssize_t written = file->is_synced ? pwrite(file->fd, bytes.at, bytes.len, (off_t)*at)
                                          : write(file->fd, bytes.at, bytes.len);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? errno : ENOSPC;
        }
        *at += (uint64_t)written;
        bytes = slice_from(bytes, (size_t)written);
    }
    return 0;
}

static int recorder_file_put(struct recorder_file *file, struct slice bytes)
{
    if (file->taken > file->size) {
        return EIO; /* part of what failed could not be taken back */
    }
    return recorder_file_write(file, bytes, &file->taken);
}

/* Makes room for 'size' more bytes, and for those that follow if the disk has it. */
static int recorder_file_grow(struct recorder_file *file, size_t size)
{
    size_t needed = (size_t)(file->size + size - file->taken);
    size_t room = file->taken == 0 ? LIMIT_RECORDING_WINDOW_SIZE : LIMIT_RECORDING_NEXT_WINDOW_SIZE;
    room = needed > room ? needed : room;
    char *zeros = memory_new(room);
    int cause = recorder_file_write(file, slice_of(zeros, room), &file->taken);
    memory_free(zeros);
    return file->taken >= file->size + size ? 0 : cause;
}

static int recorder_file_put_backwards(struct recorder_file *file, struct slice bytes)
{
    uint64_t first = file->size;
    uint64_t rest = file->size + FIRST_SIZE;
    bool has_room = file->taken >= file->size + bytes.len;
    int cause = has_room ? 0 : recorder_file_grow(file, bytes.len);
    if (cause == 0) {
        cause = recorder_file_write(file, slice_from(bytes, FIRST_SIZE), &rest);
    }
    return cause == 0 ? recorder_file_write(file, slice_sub(bytes, 0, FIRST_SIZE), &first) : cause;
}

int recorder_file_append(struct recorder_file *file, struct slice bytes)
{
    int cause = 0;
    must(bytes.len >= FIRST_SIZE);
    if (file->is_synced || file->size - file->checked_size >= LIMIT_RECORDING_CHECK_SIZE) {
        cause = recorder_file_check(file);
        if (cause != 0) {
            return cause;
        }
        file->checked_size = file->size;
    }
    cause =
        file->is_synced ? recorder_file_put_backwards(file, bytes) : recorder_file_put(file, bytes);
    if (cause == 0) {
        file->size += bytes.len;
    } else if (recorder_file_trim(file) == 0) {
        file->taken = file->size;
    }
    return cause;
}
