/* SPDX-License-Identifier: MIT */
#include "client/files.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum err files_folder_in(struct arena *arena, const char *variable, const char *below_home,
                                struct slice *ret_folder, struct error *reterr)
{
    const char *given = getenv(variable);
    const char *home = getenv("HOME");
    if (given != NULL && given[0] == '/') { /* a relative one is to be ignored, says XDG */
        *ret_folder = arena_format(arena, "%s/gatehouse", given);
    } else if (home != NULL && home[0] == '/') {
        *ret_folder = arena_format(arena, "%s/%s/gatehouse", home, below_home);
    } else {
        return fail(reterr, ERR_INPUT, "no folder for your files: set HOME or %s", variable);
    }
    return ERR_NONE;
}

enum err client_contexts_path_in(struct arena *arena, const char **ret_path, struct error *reterr)
{
    struct slice folder = SLICE_NONE;
    enum err err = files_folder_in(arena, "XDG_CONFIG_HOME", ".config", &folder, reterr);
    if (err == ERR_NONE) {
        *ret_path = arena_format(arena, "%.*s/contexts.json", SLICE_ARG(folder)).at;
    }
    return err;
}

static enum err files_state_path_in(struct arena *arena, struct slice name, const char *ending,
                                    const char **ret_path, struct error *reterr)
{
    struct slice folder = SLICE_NONE;
    enum err err = files_folder_in(arena, "XDG_STATE_HOME", ".local/state", &folder, reterr);
    if (err == ERR_NONE) {
        *ret_path =
            arena_format(arena, "%.*s/%.*s.%s", SLICE_ARG(folder), SLICE_ARG(name), ending).at;
    }
    return err;
}

enum err client_token_path_in(struct arena *arena, struct slice context, const char **ret_path,
                              struct error *reterr)
{
    return files_state_path_in(arena, context, "token", ret_path, reterr);
}

enum err client_pass_path_in(struct arena *arena, struct slice credential_id, const char *name,
                             const char **ret_path, struct error *reterr)
{
    struct slice folder = SLICE_NONE;
    enum err err = files_folder_in(arena, "XDG_STATE_HOME", ".local/state", &folder, reterr);
    if (err == ERR_NONE) {
        *ret_path =
            arena_format(arena, "%.*s/%.*s/%s", SLICE_ARG(folder), SLICE_ARG(credential_id), name)
                .at;
    }
    return err;
}

enum err client_ports_path_in(struct arena *arena, const char **ret_path, struct error *reterr)
{
    struct slice folder = SLICE_NONE;
    enum err err = files_folder_in(arena, "XDG_STATE_HOME", ".local/state", &folder, reterr);
    if (err == ERR_NONE) {
        *ret_path = arena_format(arena, "%.*s/ports.json", SLICE_ARG(folder)).at;
    }
    return err;
}

bool client_file_is_there(const char *path)
{
    return access(path, R_OK) == 0;
}

enum err client_file_take_in(struct arena *arena, int fd, size_t size_max, struct slice *ret_text,
                             struct error *reterr)
{
    struct buf buf CLEANUP(buf_wipe);
    buf_init(&buf, size_max);
    for (;;) {
        char *at = NULL;
        size_t room = size_max - buf.len < LIMIT_KIB(64) ? size_max - buf.len : LIMIT_KIB(64);
        char one = 0;
        ssize_t got = 0;
        if (room > 0 && buf_reserve(&buf, room, &at) != ERR_NONE) {
            return fail(reterr, ERR_LIMIT, "it has more than %zu bytes", size_max);
        }
        got = read(fd, room > 0 ? at : &one, room > 0 ? room : 1);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail(reterr, ERR_IO, "it cannot be read: %s", strerror(errno));
        }
        if (got == 0) {
            *ret_text = arena_copy(arena, buf_view(&buf));
            return ERR_NONE;
        }
        if (room == 0) {
            return fail(reterr, ERR_LIMIT, "it has more than %zu bytes", size_max);
        }
        buf_commit(&buf, (size_t)got);
    }
}

enum err client_file_read_in(struct arena *arena, const char *path, struct slice *ret_text,
                             struct error *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        *ret_text = SLICE("");
        return ERR_NONE;
    }
    if (fd < 0) {
        return fail(reterr, ERR_IO, "'%s': %s", path, strerror(errno));
    }
    enum err err = client_file_take_in(arena, fd, LIMIT_CLIENT_FILE_SIZE, ret_text, reterr);
    (void)close(fd);
    if (err != ERR_NONE) {
        error_prefix(reterr, arena_format(arena, "'%s': ", path).at);
    }
    return err;
}

static enum err files_make_folders(struct arena *arena, const char *path, struct error *reterr)
{
    char *folder = arena_text(arena, slice_of_text(path));
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
            return fail(reterr, ERR_IO, "cannot make '%s': %s", folder, strerror(errno));
        }
        *slash = '/';
    }
    return ERR_NONE;
}

static bool files_put(int fd, struct slice text)
{
    while (text.len > 0) {
        ssize_t put = write(fd, text.at, text.len);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        text = slice_from(text, put > 0 ? (size_t)put : 0);
    }
    return fsync(fd) == 0;
}

enum err client_file_write(struct arena *arena, const char *path, struct slice text,
                           struct error *reterr)
{
    char *beside = arena_text(arena, arena_format(arena, "%s.XXXXXX", path));
    enum err err = files_make_folders(arena, path, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    int fd = mkostemp(beside, O_CLOEXEC); /* 0600, whatever the umask is */
    bool is_written = fd >= 0 && files_put(fd, text);
    int problem = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (is_written && rename(beside, path) == 0) {
        return ERR_NONE;
    }
    problem = is_written ? errno : problem;
    if (fd >= 0) {
        (void)unlink(beside);
    }
    return fail(reterr, ERR_IO, "cannot write '%s': %s", path, strerror(problem));
}

enum err client_file_lock(struct arena *arena, const char *path, int *ret_fd, struct error *reterr)
{
    enum err err = files_make_folders(arena, path, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const char *beside = arena_format(arena, "%s.lock", path).at;
    int fd = open(beside, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) {
        int problem = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return fail(reterr, ERR_IO, "cannot lock '%s': %s", beside, strerror(problem));
    }
    *ret_fd = fd;
    return ERR_NONE;
}

void client_pass_remove(struct arena *arena, const char *path)
{
    (void)unlink(path);
    (void)rmdir(arena_format(arena, "%.*s", (int)(strrchr(path, '/') - path), path).at);
}

enum err client_file_remove(const char *path, struct error *reterr)
{
    return unlink(path) == 0 || errno == ENOENT
               ? ERR_NONE
               : fail(reterr, ERR_IO, "cannot remove '%s': %s", path, strerror(errno));
}
