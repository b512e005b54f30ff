/* SPDX-License-Identifier: MIT */
#include "app/check.h"

#include "app/file_copy.h"
#include "app/serve.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_OPEN_FOLDERS 8

/* What the other process found. */
struct check_result {
    enum err err;
    struct error error;
};

static const char *check_path(struct arena *arena, const char *folder, const char *name)
{
    return arena_format(arena, "%s/%s", folder, name).at;
}

/* Tried with what leaves no trace: a file without a name, or, where there are none, a folder that
 * goes at once. Rights alone do not say it: not all file systems take what root may write. */
static bool check_can_write(struct arena *arena, const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)close(fd);
        return true;
    }
    char *tried = arena_text(arena, arena_format(arena, "%s/.check-XXXXXX", folder));
    return errno == EOPNOTSUPP && mkdtemp(tried) != NULL && rmdir(tried) == 0;
}

/* The folder can be used, or made, and nobody has it. */
static enum err check_folder(struct arena *arena, const char *folder, struct error *reterr)
{
    bool is_there = access(folder, F_OK) == 0;
    const char *writable = is_there ? folder : dirname(arena_text(arena, slice_of_text(folder)));
    if (!check_can_write(arena, writable)) {
        return fail(reterr, ERR_IO, "--data-dir: cannot %s '%s': %s",
                    is_there ? "write into" : "make", folder, strerror(errno));
    }
    int lock = open(check_path(arena, folder, "lock"), O_RDONLY | O_CLOEXEC);
    bool is_free = lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (lock >= 0) {
        (void)close(lock);
    }
    return is_free ? ERR_NONE
                   : fail(reterr, ERR_BUSY, "--data-dir: another gateway uses '%s'", folder);
}

static enum err check_copy(const char *from, const char *to, struct error *reterr)
{
    const struct file_owner owner = {.is_given = false};
    char hash[FILE_HASH_SIZE];
    return access(from, F_OK) == 0 ? file_copy(from, to, &owner, hash, reterr) : ERR_NONE;
}

/* What is not there yet is made in the scratch folder, as the start would. */
static enum err check_prepare(struct arena *arena, const struct settings *settings,
                              const char *scratch, struct settings *ret_tried, struct error *reterr)
{
    struct settings tried = *settings;
    const char *store = check_path(arena, scratch, "gatehouse.db");
    enum err err = check_folder(arena, settings_text(settings, SETTING_DATA_DIR), reterr);
    tried.values[SETTING_DATA_DIR] = scratch;
    if (access(settings->key_file, F_OK) != 0) {
        tried.key_file = check_path(arena, scratch, "master.key");
    }
    if (err == ERR_NONE &&
        slice_starts_with(slice_of_text(settings->store_url), SLICE("sqlite:"))) {
        const char *file = settings->store_url + strlen("sqlite:");
        err = check_copy(file, store, reterr);
        if (err == ERR_NONE) {
            err = check_copy(arena_format(arena, "%s-wal", file).at,
                             arena_format(arena, "%s-wal", store).at, reterr);
        }
        tried.store_url = arena_format(arena, "sqlite:%s", store).at;
    }
    *ret_tried = tried;
    return err;
}

static int check_remove(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)stat;
    (void)kind;
    (void)place;
    return remove(path);
}

/* In a process of its own: the sandbox stays on for good, and would not let the scratch folder go.
 */
static enum err check_in_child(const struct settings *settings, const struct settings *tried,
                               struct error *reterr)
{
    struct check_result result = {.err = ERR_INTERNAL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return fail(reterr, ERR_IO, "cannot make a pipe: %s", strerror(errno));
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        result.err = serve_check(tried, settings_text(settings, SETTING_DATA_DIR), &result.error);
        (void)fflush(NULL);
        _exit(write(ends[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
    }
    (void)close(ends[1]);
    bool is_told = child > 0 && read(ends[0], &result, sizeof(result)) == sizeof(result);
    (void)close(ends[0]);
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
    }
    if (!is_told) {
        return fail(reterr, ERR_INTERNAL, "the check itself did not come to its end");
    }
    *reterr = result.error;
    return result.err;
}

enum err check_run(struct arena *arena, const struct settings *settings, struct error *reterr)
{
    const char *from_environment = getenv("TMPDIR");
    const char *parent = from_environment == NULL ? "/tmp" : from_environment;
    char *scratch = arena_text(arena, arena_format(arena, "%s/gatehouse-check-XXXXXX", parent));
    struct settings tried;
    (void)umask(0077);
    if (mkdtemp(scratch) == NULL) {
        return fail(reterr, ERR_IO, "cannot make a folder in '%s': %s", parent, strerror(errno));
    }
    enum err err = check_prepare(arena, settings, scratch, &tried, reterr);
    if (err == ERR_NONE) {
        err = check_in_child(settings, &tried, reterr);
    }
    (void)nftw(scratch, check_remove, CHECK_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    return err;
}
