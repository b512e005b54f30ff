/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "session/recorder_internal.h"
#include "session/recording_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* On the thread ------------------------------------------------------------------------------- */

#define FOLDER_LEVELS 5 /* day, month, year, recordings, and where those lie */

/* A file whose name is lost is lost: so is the folder of its day, and once a day those above it. 0
 * or an errno. */
static int recorder_sync_folders(const struct recorder *recorder)
{
    struct arena arena CLEANUP(arena_release);
    struct recorder_pool *recorders = recorder->recorders;
    int64_t day = recorder->started_at / TIMESTAMP_DAY;
    int levels = atomic_load(&recorders->synced_day) == day ? 1 : FOLDER_LEVELS;
    int cause = 0;
    arena_init(&arena);
    struct slice rest = slice_of_text(
        recording_path_in(&arena, recorders->settings.folder, SLICE("x"), recorder->started_at));
    for (int i = 0; i < levels && cause == 0; i++) {
        while (rest.len > 0 && rest.at[rest.len - 1] != '/') {
            rest.len--;
        }
        rest.len -= rest.len > 0 ? 1 : 0;
        int fd = open(rest.len == 0 ? "." : arena_text(&arena, rest),
                      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cause = fd < 0 || fsync(fd) != 0 ? errno : 0;
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    if (cause == 0) {
        atomic_store(&recorders->synced_day, day);
    }
    return cause;
}

static void recorder_on_delivered(struct mail *mail);

/* What was flushed before fdatasync() is covered by it, also what was flushed since this job was
 * queued: a sync serves all flushes that came while it waited, and the file system puts those of
 * sessions that run at the same time into one commit. */
static void recorder_run_sync(struct pool_job *job)
{
    struct recorder *recorder = CONTAINER_OF(job, struct recorder, job);
    uint64_t size = atomic_load_explicit(&recorder->flushed_size, memory_order_acquire);
    int cause = recorder->is_last_sync ? recorder_file_finish(&recorder->file) : 0;
    if (cause == 0 && fdatasync(recorder->file.fd) != 0) {
        cause = errno;
    }
    if (cause == 0 && !recorder->is_folder_synced) {
        cause = recorder_sync_folders(recorder);
        recorder->is_folder_synced = cause == 0;
    }
    recorder->sync_errno = cause;
    recorder->synced_size = size;
    if (recorder->is_last_sync) {
        (void)close(recorder->file.fd);
    }
    recorder->mail.deliver = recorder_on_delivered;
    mailbox_send(recorder->recorders->settings.mailbox, &recorder->mail);
}

/* On the worker ------------------------------------------------------------------------------- */

void recorder_start_sync(struct recorder *recorder, bool is_last)
{
    must(!recorder->is_syncing);
    recorder->is_syncing = true;
    recorder->is_last_sync = is_last;
    recorder->job.run = recorder_run_sync;
    if (pool_submit(recorder->recorders->settings.sync, &recorder->job) != ERR_NONE) {
        recorder_run_sync(&recorder->job); /* the pool ends, or has no thread: slow, but right */
    }
}

static void recorder_take_result(struct recorder *recorder)
{
    if (recorder->sync_errno == 0) {
        recorder->durable_size = recorder->synced_size;
        return;
    }
    struct error error;
    recorder_break(recorder, recorder_fail(&error, recorder->sync_errno), &error);
}

static void recorder_on_delivered(struct mail *mail)
{
    struct recorder *recorder = CONTAINER_OF(mail, struct recorder, mail);
    recorder->is_syncing = false;
    recorder_take_result(recorder);
    if (recorder->is_last_sync) {
        recorder_finish(recorder);
    } else if (recorder->is_closing) {
        recorder_start_sync(recorder, true);
    } else if (recorder->is_awaited &&
               (recorder->error != NULL || recorder->durable_size >= recorder->awaited_size)) {
        recorder->is_awaited = false;
        recorder->on_durable(recorder->owner, recorder->error);
    } else if (recorder->is_awaited) {
        recorder_start_sync(recorder, false);
    }
}

bool recorder_is_durable(const struct recorder *recorder)
{
    return !recorder->recorders->settings.is_strict ||
           recorder->durable_size == recorder->file.size;
}

void recorder_await(struct recorder *recorder, recorder_durable_fn on_durable, void *owner)
{
    must(!recorder->is_closing);
    recorder->is_awaited = true;
    recorder->awaited_size = recorder->file.size;
    recorder->on_durable = on_durable;
    recorder->owner = owner;
    if (recorder->is_syncing) {
        return;
    }
    if (recorder->error == NULL && recorder->durable_size < recorder->file.size) {
        recorder_start_sync(recorder, false);
        return;
    }
    recorder->is_syncing = true; /* nothing to do: only the mail */
    recorder->is_last_sync = false;
    recorder->synced_size = recorder->durable_size;
    recorder->sync_errno = 0;
    recorder->mail.deliver = recorder_on_delivered;
    mailbox_send(recorder->recorders->settings.mailbox, &recorder->mail);
}
