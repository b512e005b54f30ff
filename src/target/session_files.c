/* SPDX-License-Identifier: MIT */
#include "target/session_files.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/hex.h"
#include "model/secret_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SESSION_ID_MAX    64
#define SESSION_ID_SIZE   16 /* of one that is made here, in bytes */
#define SESSION_WIPE_STEP 4096

struct session_files {
    int fd;       /* of the folder, with the lock on it */
    char *folder; /* absolute */
};

/* Removing ------------------------------------------------------------------------------------ */

static bool session_write_all(int fd, struct slice bytes)
{
    while (bytes.len > 0) {
        ssize_t len = write(fd, bytes.at, bytes.len);
        if (len < 0 && errno != EINTR) {
            return false;
        }
        bytes = slice_from(bytes, len > 0 ? (size_t)len : 0);
    }
    return true;
}

/* As well as it goes: what cannot be overwritten is unlinked all the same. */
static void session_wipe_file(int folder, const char *name)
{
    static const char zeros[SESSION_WIPE_STEP];
    struct stat status;
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1) {
        bool goes_on = true;
        for (off_t at = 0; at < status.st_size && goes_on; at += SESSION_WIPE_STEP) {
            off_t left = status.st_size - at;
            size_t len = left < SESSION_WIPE_STEP ? (size_t)left : SESSION_WIPE_STEP;
            goes_on = session_write_all(fd, slice_of(zeros, len));
        }
        (void)fdatasync(fd);
    }
    (void)close(fd);
}

static enum err session_empty(int folder, unsigned depth, struct error *reterr);

static enum err session_remove_entry(int folder, const char *name, unsigned depth,
                                     struct error *reterr)
{
    int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    enum err err = ERR_NONE;
    if (inner >= 0) {
        err = depth == 0 ? fail(reterr, ERR_LIMIT, "'%s' has too many folders in folders", name)
                         : session_empty(inner, depth - 1, reterr);
        (void)close(inner);
    } else {
        session_wipe_file(folder, name);
    }
    if (err == ERR_NONE && unlinkat(folder, name, inner >= 0 ? AT_REMOVEDIR : 0) != 0 &&
        errno != ENOENT) {
        err = fail(reterr, ERR_IO, "cannot remove '%s': %s", name, strerror(errno));
    }
    return err;
}

/* Goes on where one entry cannot be removed; the first failure is told. */
static enum err session_empty(int folder, unsigned depth, struct error *reterr)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    enum err first = ERR_NONE;
    if (entries == NULL) {
        enum err err = fail(reterr, ERR_IO, "cannot read a folder of secrets: %s", strerror(errno));
        if (copy >= 0) {
            (void)close(copy);
        }
        return err;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            enum err err = session_remove_entry(folder, entry->d_name, depth,
                                                first == ERR_NONE ? reterr : NULL);
            first = first == ERR_NONE ? err : first;
        }
    }
    (void)closedir(entries);
    return first;
}

/* The folder ---------------------------------------------------------------------------------- */

static enum err session_open_folder(const char *folder, int *ret_fd, struct error *reterr)
{
    struct stat status;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return fail(reterr, ERR_IO, "cannot make '%s': %s", folder, strerror(errno));
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        enum err err = fail(reterr, ERR_IO, "cannot open '%s': %s", folder, strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        return err;
    }
    enum err err = ERR_NONE;
    if (status.st_uid != geteuid()) {
        err = fail(reterr, ERR_DENIED, "'%s' belongs to another user", folder);
    } else if (fchmod(fd, 0700) != 0) {
        err = fail(reterr, ERR_IO, "cannot make '%s' private: %s", folder, strerror(errno));
    } else if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        err = errno == EWOULDBLOCK
                  ? fail(reterr, ERR_CONFLICT, "'%s' is used by another process", folder)
                  : fail(reterr, ERR_IO, "cannot lock '%s': %s", folder, strerror(errno));
    }
    if (err != ERR_NONE) {
        (void)close(fd);
        return err;
    }
    *ret_fd = fd;
    return ERR_NONE;
}

enum err session_files_new(const char *folder, struct session_files **ret_files,
                           struct error *reterr)
{
    int fd = -1;
    enum err err = session_open_folder(folder, &fd, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    char *absolute = realpath(folder, NULL);
    err = absolute == NULL ? fail(reterr, ERR_IO, "cannot find '%s': %s", folder, strerror(errno))
                           : session_empty(fd, LIMIT_SESSION_FILES_DEPTH + 1, reterr);
    if (err != ERR_NONE) {
        free(absolute);
        (void)close(fd);
        return err;
    }
    struct session_files *files = memory_new(sizeof(*files));
    *files = (struct session_files){.fd = fd, .folder = absolute};
    *ret_files = files;
    return ERR_NONE;
}

void session_files_free(struct session_files *files)
{
    if (files == NULL) {
        return;
    }
    enum err err = session_empty(files->fd, LIMIT_SESSION_FILES_DEPTH + 1, NULL);
    (void)err; /* what stays goes when the folder is opened the next time */
    (void)close(files->fd);
    free(files->folder);
    memory_free(files);
}

/* One session --------------------------------------------------------------------------------- */

struct slice session_files_id_in(struct arena *arena)
{
    char bytes[SESSION_ID_SIZE];
    must(getentropy(bytes, sizeof(bytes)) == 0);
    return hex_encode(arena, slice_of(bytes, sizeof(bytes)));
}

/* Letters, digits and '-': nothing that leads out of the folder. */
static bool session_id_is_valid(struct slice id)
{
    for (size_t i = 0; i < id.len; i++) {
        char byte = id.at[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        if (!is_letter && !(byte >= '0' && byte <= '9') && byte != '-') {
            return false;
        }
    }
    return id.len > 0 && id.len <= SESSION_ID_MAX;
}

static enum err session_write_file(int folder, const char *name, struct slice bytes,
                                   struct error *reterr)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return fail(reterr, ERR_IO, "cannot make the file '%s': %s", name, strerror(errno));
    }
    enum err err = ERR_NONE;
    if (fchmod(fd, 0600) != 0 || !session_write_all(fd, bytes)) {
        err = fail(reterr, ERR_IO, "cannot write the file '%s': %s", name, strerror(errno));
    }
    if (close(fd) != 0 && err == ERR_NONE) {
        err = fail(reterr, ERR_IO, "cannot write the file '%s': %s", name, strerror(errno));
    }
    return err;
}

/* Names are those of variables, each of them once. */
static enum err session_check(const struct shape_pairs *plain, struct error *reterr)
{
    for (size_t i = 0; i < plain->count; i++) {
        struct slice name = SLICE_NONE;
        (void)secret_key_place(plain->pairs[i].key, &name);
        if (secret_check_variable_key(plain->pairs[i].key, NULL) != ERR_NONE) {
            return fail(reterr, ERR_INPUT, "a secret has a key that names no variable");
        }
        for (size_t before = 0; before < i; before++) {
            struct slice other = SLICE_NONE;
            (void)secret_key_place(plain->pairs[before].key, &other);
            if (slice_equals(name, other)) {
                return fail(reterr, ERR_INPUT, "two secrets want to be '%.*s'", SLICE_ARG(name));
            }
        }
    }
    return ERR_NONE;
}

bool session_files_are_wanted(const struct shape_pairs *plain)
{
    struct slice name = SLICE_NONE;
    for (size_t i = 0; i < plain->count; i++) {
        if (secret_key_place(plain->pairs[i].key, &name) == SECRET_PLACE_FILE) {
            return true;
        }
    }
    return false;
}

struct session_folder {
    int fd; /* -1: there is none, because no secret is a file */
    struct slice path;
};

static enum err session_fill(struct arena *arena, const struct session_folder *folder,
                             const struct shape_pairs *plain, struct shape_pairs *variables,
                             struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < plain->count && err == ERR_NONE; i++) {
        struct slice name = SLICE_NONE;
        struct slice value = plain->pairs[i].value;
        if (secret_key_place(plain->pairs[i].key, &name) == SECRET_PLACE_FILE) {
            err = session_write_file(folder->fd, arena_text(arena, name), value, reterr);
            value = arena_format(arena, "%.*s/%.*s", SLICE_ARG(folder->path), SLICE_ARG(name));
        }
        variables->pairs[i] = (struct shape_pair){.key = name, .value = value};
    }
    return err;
}

static enum err session_make_folder(const struct session_files *files, const char *id, int *ret_fd,
                                    struct error *reterr)
{
    if (mkdirat(files->fd, id, 0700) != 0) {
        return errno == EEXIST ? fail(reterr, ERR_CONFLICT, "the session has files already")
                               : fail(reterr, ERR_IO, "cannot make a folder in '%s': %s",
                                      files->folder, strerror(errno));
    }
    int fd = openat(files->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchmod(fd, 0700) != 0) {
        enum err err = fail(reterr, ERR_IO, "cannot open a folder in '%s': %s", files->folder,
                            strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        (void)unlinkat(files->fd, id, AT_REMOVEDIR);
        return err;
    }
    *ret_fd = fd;
    return ERR_NONE;
}

enum err session_files_write(struct session_files *files, struct arena *arena,
                             struct slice session_id, const struct shape_pairs *plain,
                             struct shape_pairs *ret_variables, struct error *reterr)
{
    struct shape_pairs variables = {
        .pairs = arena_alloc_array(arena, plain->count, sizeof(*variables.pairs)),
        .count = plain->count,
        .is_given = true,
    };
    const char *id = arena_text(arena, session_id);
    bool wants_files = session_files_are_wanted(plain);
    if (wants_files && files == NULL) {
        return fail(reterr, ERR_IO, "there is no folder for the files of secrets");
    }
    struct session_folder folder = {.fd = -1};
    enum err err = session_check(plain, reterr);
    if (err == ERR_NONE && !session_id_is_valid(session_id)) {
        err = fail(reterr, ERR_INPUT, "no session has such an id");
    }
    if (err == ERR_NONE && wants_files) {
        folder.path = arena_format(arena, "%s/%s", files->folder, id);
        err = session_make_folder(files, id, &folder.fd, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = session_fill(arena, &folder, plain, &variables, reterr);
    if (folder.fd >= 0) {
        (void)close(folder.fd);
    }
    if (err != ERR_NONE) {
        enum err removed = session_files_remove(files, session_id, NULL);
        (void)removed;
        return err;
    }
    *ret_variables = variables;
    return ERR_NONE;
}

enum err session_files_remove(struct session_files *files, struct slice session_id,
                              struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    struct stat status;
    arena_init(&arena);
    if (!session_id_is_valid(session_id)) {
        return fail(reterr, ERR_INPUT, "no session has such an id");
    }
    const char *id = arena_text(&arena, session_id);
    if (files == NULL) {
        return ERR_NONE;
    }
    if (fstatat(files->fd, id, &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
        return ERR_NONE;
    }
    return session_remove_entry(files->fd, id, LIMIT_SESSION_FILES_DEPTH, reterr);
}
