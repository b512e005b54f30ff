/* SPDX-License-Identifier: MIT */
#include "recording_help.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "session/recording_folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

void help_start_in(struct help *help, const char *folder, bool is_strict)
{
    bool is_new = false;
    *help = (struct help){0};
    arena_init(&help->arena);
    (void)snprintf(help->folder, sizeof(help->folder), "%s", folder);
    (void)snprintf(help->records, sizeof(help->records), "%s/recordings", folder);
    (void)snprintf(
        help->path, sizeof(help->path), "%s",
        recording_path_in(&help->arena, help->records, SLICE(HELP_SESSION_ID), HELP_STARTED_AT));
    const char *key = arena_format(&help->arena, "%s/key", folder).at;
    must(seal_keys_open(key, &help->keys, &is_new, NULL) == ERR_NONE);
    help->loop = loop_new(NULL);
    help->mailbox = mailbox_new(help->loop);
    help->sync = pool_new(4, SIZE_MAX);
    const struct recorder_settings settings = {
        .folder = help->records,
        .keys = help->keys,
        .sync = help->sync,
        .mailbox = help->mailbox,
        .is_strict = is_strict,
    };
    help->recorders = recorder_pool_new(&settings);
}

void help_start(struct help *help, bool is_strict)
{
    char folder[] = "/tmp/gatehouse-recording-XXXXXX";
    must(mkdtemp(folder) != NULL);
    help_start_in(help, folder, is_strict);
}

static int help_remove(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void help_end(struct help *help)
{
    pool_free(help->sync);
    mailbox_free(help->mailbox);
    recorder_pool_free(help->recorders);
    loop_free(help->loop);
    seal_keys_close(help->keys);
    must(nftw(help->folder, help_remove, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0);
    arena_release(&help->arena);
}

struct recorder *help_open(struct help *help)
{
    struct recorder *recorder = NULL;
    must(recorder_open(help->recorders, SLICE(HELP_SESSION_ID), HELP_STARTED_AT, &recorder,
                       &help->error) == ERR_NONE);
    return recorder;
}

void help_add(struct recorder *recorder, enum record_kind kind, enum record_side side,
              struct slice payload)
{
    recorder_add(recorder, kind, side, &payload, 1);
}

void help_message(struct recorder *recorder, enum record_side side, char type, struct slice body)
{
    char head[RECORD_MESSAGE_HEAD];
    const struct slice parts[] = {record_message_head(type, (uint32_t)body.len, head), body};
    recorder_add_messages(recorder, side, parts, 2);
}

void help_turn_until(struct help *help, const bool *is_done)
{
    for (int i = 0; i < 10000 && !*is_done; i++) {
        loop_turn(help->loop);
        (void)usleep(500);
    }
    must(*is_done);
}

static void help_on_closed(void *owner, const struct recorder_summary *summary)
{
    struct help_closed *closed = owner;
    closed->is_called = true;
    closed->summary = *summary;
    closed->summary.error = NULL;
    if (summary->error != NULL) {
        closed->error = *summary->error;
    }
}

struct help_closed help_close(struct help *help, struct recorder *take_recorder)
{
    struct help_closed closed = {0};
    recorder_close(take_recorder, SLICE("{\"reason\":\"client left\"}"), help_on_closed, &closed);
    must(!closed.is_called);
    help_turn_until(help, &closed.is_called);
    return closed;
}

long help_resident_kib(void)
{
    struct rusage usage;
    must(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss;
}

bool help_is_sanitized(void)
{
    return getenv("ASAN_OPTIONS") != NULL || getenv("TSAN_OPTIONS") != NULL;
}

struct slice help_read_file(struct help *help, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0 && fstat(fd, &status) == 0);
    char *bytes = arena_alloc(&help->arena, (size_t)status.st_size + 1);
    must(read(fd, bytes, (size_t)status.st_size) == status.st_size && close(fd) == 0);
    return slice_of(bytes, (size_t)status.st_size);
}

void help_write_file(const char *path, struct slice bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, bytes.at, bytes.len) == (ssize_t)bytes.len && close(fd) == 0);
}

enum err help_verify(struct help *help, const char *path, struct recording_state *ret_state)
{
    struct recording *recording = NULL;
    struct record record;
    help->error = (struct error){0};
    *ret_state = (struct recording_state){0};
    enum err err = recording_open(path, help->keys, &recording, &help->error);
    if (err == ERR_NONE) {
        do {
            err = recording_next(recording, &record, &help->error);
        } while (err == ERR_NONE);
        *ret_state = recording_state(recording);
        recording_free(recording);
    }
    return err;
}
