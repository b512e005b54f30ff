/* SPDX-License-Identifier: MIT */
#include "session/recording_folder.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "codec/uuid.h"
#include "session/block.h"
#include "session/recording_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_SUFFIX   ".ghr"
#define FOLDER_REMOVED  ".removed"
#define FOLDER_DAY_SIZE 10 /* "2024/05/01" */

struct folder_walk {
    const char *folder;
    recording_visit_fn visit;
    void *context;
    const char *suffix; /* of the files */
    bool is_newest_first;
    int64_t first_day;
    struct slice wanted; /* at != NULL: of this session only */
};

/* Names of one folder, in order. */
struct folder_names {
    struct arena arena;
    struct slice *items;
    size_t count;
    size_t capacity;
};

static void folder_names_release(struct folder_names *names)
{
    arena_release(&names->arena);
    memory_free(names->items);
}

static int folder_compare(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* ERR_NOT_FOUND when there is no such folder. */
static enum err folder_read(const char *path, struct folder_names *names, struct error *reterr)
{
    *names = (struct folder_names){0};
    arena_init(&names->arena);
    DIR *stream = opendir(path);
    if (stream == NULL) {
        return fail(reterr, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO,
                    "'%s': %s", path, strerror(errno));
    }
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (names->count == names->capacity) {
            names->capacity = names->capacity == 0 ? 64 : names->capacity * 2;
            names->items = memory_resize(names->items, names->capacity * sizeof(struct slice));
        }
        names->items[names->count++] =
            slice_of_text(arena_text(&names->arena, slice_of_text(entry->d_name)));
    }
    (void)closedir(stream);
    if (names->count > 0) {
        qsort(names->items, names->count, sizeof(struct slice), folder_compare);
    }
    return ERR_NONE;
}

/* Paths ---------------------------------------------------------------------------------------- */

const char *recording_path_in(struct arena *arena, const char *folder, struct slice session_id,
                              int64_t started_at)
{
    char day[TIMESTAMP_TEXT_SIZE];
    (void)timestamp_format(started_at, day);
    return arena_format(arena, "%s/%.4s/%.2s/%.2s/%.*s" FOLDER_SUFFIX, folder, day, day + 5,
                        day + 8, SLICE_ARG(session_id))
        .at;
}

static bool folder_is_id(struct slice id)
{
    unsigned char bytes[UUID_SIZE];
    return uuid_parse(id, bytes) == ERR_NONE;
}

/* The id that a file's name holds; at == NULL when it is another file. */
static struct slice folder_id_of(struct slice name, struct slice suffix)
{
    if (!slice_ends_with(name, suffix)) {
        return SLICE_NONE;
    }
    struct slice id = slice_sub(name, 0, name.len - suffix.len);
    return folder_is_id(id) ? id : SLICE_NONE;
}

/* Walks ---------------------------------------------------------------------------------------- */

static enum err folder_walk_wanted(const struct folder_walk *walk, const char *path, int64_t day,
                                   struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    const struct recording_place place = {
        .path = arena_format(&arena, "%s/%.*s%s", path, SLICE_ARG(walk->wanted), walk->suffix).at,
        .session_id = walk->wanted,
        .day = day,
    };
    return access(place.path, F_OK) == 0 ? walk->visit(walk->context, &place, reterr) : ERR_NONE;
}

static enum err folder_walk_day(const struct folder_walk *walk, const char *path, int64_t day,
                                struct error *reterr)
{
    struct folder_names names CLEANUP(folder_names_release);
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    enum err err = folder_read(path, &names, reterr);
    for (size_t i = 0; i < names.count && err == ERR_NONE; i++) {
        struct slice id = folder_id_of(names.items[i], slice_of_text(walk->suffix));
        if (id.at != NULL) {
            const struct recording_place place = {
                .path = arena_format(&arena, "%s/%.*s", path, SLICE_ARG(names.items[i])).at,
                .session_id = id,
                .day = day,
            };
            err = walk->visit(walk->context, &place, reterr);
            arena_reset(&arena);
        }
    }
    return err == ERR_NOT_FOUND && names.items == NULL ? ERR_NONE : err;
}

/* 'left' are the levels below: years, months, days. 'date' is what the levels above were. */
static enum err folder_walk_level(const struct folder_walk *walk, const char *path,
                                  struct slice date, int left, struct error *reterr)
{
    struct folder_names names CLEANUP(folder_names_release);
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    enum err err = folder_read(path, &names, reterr);
    if (err == ERR_NOT_FOUND) {
        return ERR_NONE;
    }
    for (size_t i = 0; i < names.count && err == ERR_NONE; i++) {
        struct slice name = names.items[walk->is_newest_first ? names.count - 1 - i : i];
        uint64_t number = 0;
        if (name.len != (left == 2 ? 4 : 2) || text_parse_u64(name, &number) != ERR_NONE) {
            continue;
        }
        const char *below = arena_format(&arena, "%s/%.*s", path, SLICE_ARG(name)).at;
        struct slice day = arena_format(&arena, "%.*s%s%.*s", SLICE_ARG(date),
                                        date.len > 0 ? "-" : "", SLICE_ARG(name));
        int64_t time = 0;
        if (left > 0) {
            err = folder_walk_level(walk, below, day, left - 1, reterr);
        } else if (timestamp_parse(day, &time) == ERR_NONE && time >= walk->first_day) {
            err = walk->wanted.at != NULL ? folder_walk_wanted(walk, below, time, reterr)
                                          : folder_walk_day(walk, below, time, reterr);
        }
    }
    return err;
}

enum err recording_walk(const char *folder, recording_visit_fn visit, void *context,
                        struct error *reterr)
{
    const struct folder_walk walk = {.folder = folder,
                                     .visit = visit,
                                     .context = context,
                                     .suffix = FOLDER_SUFFIX,
                                     .first_day = INT64_MIN};
    return folder_walk_level(&walk, folder, SLICE(""), 2, reterr);
}

struct open_walk {
    recording_visit_fn visit;
    void *context;
};

static bool folder_has_end(const char *path)
{
    char end[BLOCK_FILE_END_SIZE];
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool has_end =
        fd >= 0 && fstat(fd, &status) == 0 && status.st_size >= BLOCK_FILE_END_SIZE &&
        pread(fd, end, sizeof(end), status.st_size - BLOCK_FILE_END_SIZE) == sizeof(end) &&
        memcmp(end, BLOCK_FILE_END, sizeof(end)) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return has_end;
}

static enum err folder_visit_open(void *context, const struct recording_place *place,
                                  struct error *reterr)
{
    const struct open_walk *walk = context;
    return folder_has_end(place->path) ? ERR_NONE : walk->visit(walk->context, place, reterr);
}

enum err recording_walk_open(const char *folder, int64_t since, recording_visit_fn visit,
                             void *context, struct error *reterr)
{
    struct open_walk open = {.visit = visit, .context = context};
    const struct folder_walk walk = {
        .folder = folder,
        .visit = folder_visit_open,
        .context = &open,
        .suffix = FOLDER_SUFFIX,
        .is_newest_first = true,
        .first_day = since < TIMESTAMP_DAY ? INT64_MIN : since - since % TIMESTAMP_DAY,
    };
    return folder_walk_level(&walk, folder, SLICE(""), 2, reterr);
}

struct find {
    struct arena *arena;
    const char *path;
};

static enum err folder_visit_find(void *context, const struct recording_place *place,
                                  struct error *reterr)
{
    struct find *find = context;
    (void)reterr;
    find->path = arena_text(find->arena, slice_of_text(place->path));
    return ERR_CLOSED; /* ends the walk */
}

enum err recording_find_in(struct arena *arena, const char *folder, struct slice session_id,
                           const char **ret_path, struct error *reterr)
{
    struct find find = {.arena = arena};
    const struct folder_walk walk = {
        .folder = folder,
        .visit = folder_visit_find,
        .context = &find,
        .suffix = FOLDER_SUFFIX,
        .is_newest_first = true,
        .first_day = INT64_MIN,
        .wanted = text_lower_in(arena, slice_sub(session_id, 0, BLOCK_SESSION_ID_SIZE)),
    };
    enum err err = ERR_NONE;
    if (folder_is_id(session_id)) {
        err = folder_walk_level(&walk, folder, SLICE(""), 2, reterr);
    }
    if (find.path != NULL) {
        *ret_path = find.path;
        return ERR_NONE;
    }
    return err != ERR_NONE ? err
                           : fail(reterr, ERR_NOT_FOUND, "there is no recording of session '%.*s'",
                                  SLICE_ARG(walk.wanted));
}

/* Removal -------------------------------------------------------------------------------------- */

static const char *folder_removed_in(struct arena *arena, const char *path)
{
    struct slice name = slice_of_text(path);
    must(slice_ends_with(name, SLICE(FOLDER_SUFFIX)));
    name.len -= sizeof(FOLDER_SUFFIX) - 1;
    return arena_format(arena, "%.*s" FOLDER_REMOVED, SLICE_ARG(name)).at;
}

/* What it held goes now, also when there is no place for another file and the store is full. */
static enum err folder_set_aside(const char *path, const char *removed, struct error *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        enum err err = errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
        return fail(reterr, err, "'%s': %s", path, strerror(errno));
    }
    bool is_locked = recording_is_locked(fd);
    (void)close(fd);
    if (is_locked) {
        return fail(reterr, ERR_BUSY, "'%s' is being written", path);
    }
    if (rename(path, removed) != 0) {
        return fail(reterr, ERR_IO, "cannot remove '%s': %s", path, strerror(errno));
    }
    fd = open(removed, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        (void)close(fd);
    }
    return ERR_NONE;
}

/* A name that comes back after a crash would belong to a session whose recording is gone. */
static enum err folder_sync(struct arena *arena, const char *path, struct error *reterr)
{
    struct slice day = slice_of_text(path);
    while (day.len > 1 && day.at[day.len - 1] != '/') {
        day.len--;
    }
    int fd = open(arena_text(arena, day), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum err err = fd >= 0 && fsync(fd) == 0
                       ? ERR_NONE
                       : fail(reterr, ERR_IO, "the folder of '%s': %s", path, strerror(errno));
    if (fd >= 0) {
        (void)close(fd);
    }
    return err;
}

enum err recording_remove(const char *path, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    const char *removed = folder_removed_in(&arena, path);
    enum err err = folder_set_aside(path, removed, reterr);
    if (err == ERR_NOT_FOUND && access(removed, F_OK) == 0) {
        err = ERR_NONE;
    }
    return err == ERR_NONE ? folder_sync(&arena, path, reterr) : err;
}

enum err recording_forget(const char *path, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    const char *removed = folder_removed_in(&arena, path);
    return unlink(removed) == 0 || errno == ENOENT
               ? ERR_NONE
               : fail(reterr, ERR_IO, "cannot remove '%s': %s", removed, strerror(errno));
}

enum err recording_walk_removed(const char *folder, recording_visit_fn visit, void *context,
                                struct error *reterr)
{
    const struct folder_walk walk = {.folder = folder,
                                     .visit = visit,
                                     .context = context,
                                     .suffix = FOLDER_REMOVED,
                                     .first_day = INT64_MIN};
    return folder_walk_level(&walk, folder, SLICE(""), 2, reterr);
}
