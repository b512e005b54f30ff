/* SPDX-License-Identifier: MIT */
#include "session/recorder_file.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_SIZE   LIMIT_KIB(4)
#define FIRST_BYTES sizeof(uint64_t)

void recorder_file_init(struct recorder_file *file, int fd, const char *path, bool is_synced)
{
    size_t size = strlen(path) + 1;
    *file = (struct recorder_file){.fd = fd, .path = memory_new(size), .is_synced = is_synced};
    (void)memcpy(file->path, path, size);
}

static void recorder_file_unmap(struct recorder_file *file)
{
    if (file->window != NULL) {
        (void)munmap(file->window, file->taken - file->window_at);
        file->window = NULL;
    }
}

void recorder_file_release(struct recorder_file *file)
{
    recorder_file_unmap(file);
    memory_free(file->path);
    file->path = NULL;
}

int recorder_file_trim(const struct recorder_file *file)
{
    return ftruncate(file->fd, (off_t)file->size) == 0 ? 0 : errno;
}

/* From 'at' on, up to the end of the file. 0 or an errno. */
static int recorder_file_take(struct recorder_file *file, uint64_t at, uint64_t size)
{
    int cause = posix_fallocate(file->fd, (off_t)at, (off_t)size);
    if (cause != 0) {
        /* part of it may be taken */
        return ftruncate(file->fd, (off_t)file->taken) == 0 ? cause : errno;
    }
    file->taken = at + size;
    int fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return errno;
    }
    char *window = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
    cause = window == MAP_FAILED ? errno : 0;
    (void)close(fd);
    if (cause != 0) {
        return cause;
    }
    file->window = window;
    file->window_at = at;
    return 0;
}

static uint64_t round_up(uint64_t size, uint64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* Makes room for 'size' more bytes, and for those that follow if the disk has it. One that has
 * filled a window is likely to fill the next: it gets a larger one, and its pages at once, which is
 * cheaper than one by one. Without them the first write to each page gets it; where each write is
 * synced, the file system would commit, for each page, that it is in use. */
static int recorder_file_grow(struct recorder_file *file, size_t size)
{
    uint64_t at = file->size / PAGE_SIZE * PAGE_SIZE;
    uint64_t needed = file->size - at + size;
    bool is_first = file->window == NULL;
    uint64_t unit = is_first ? LIMIT_RECORDING_WINDOW_SIZE : LIMIT_RECORDING_NEXT_WINDOW_SIZE;
    recorder_file_unmap(file);
    int cause = recorder_file_take(file, at, round_up(needed, unit));
    if (cause != 0) {
        return recorder_file_take(file, at, round_up(needed, PAGE_SIZE));
    }
    if (!is_first || file->is_synced) {
        (void)madvise(file->window, file->taken - file->window_at, MADV_POPULATE_WRITE);
    }
    return 0;
}

int recorder_file_append(struct recorder_file *file, struct slice bytes)
{
    uint64_t first = 0;
    must(bytes.len >= FIRST_BYTES);
    if (file->window == NULL || file->taken - file->size < bytes.len) {
        int cause = recorder_file_grow(file, bytes.len);
        if (cause != 0) {
            return cause;
        }
    }
    char *to = file->window + (file->size - file->window_at);
    (void)memcpy(to + FIRST_BYTES, bytes.at + FIRST_BYTES, bytes.len - FIRST_BYTES);
    (void)memcpy(&first, bytes.at, FIRST_BYTES);
    atomic_signal_fence(memory_order_seq_cst);
    (void)memcpy(to, &first, FIRST_BYTES); /* one instruction */
    file->size += bytes.len;
    return 0;
}
