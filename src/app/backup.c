/* SPDX-License-Identifier: MIT */
#include "app/backup.h"

#include "app/file_copy.h"
#include "app/recordings.h"
#include "base/memory.h"
#include "base/text.h"
#include "store/seal.h"
#include "store/sqlite_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKUP_STORE      "gatehouse.db"
#define BACKUP_KEY        "master.key"
#define BACKUP_RECORDINGS "recordings"
#define BACKUP_SUMS       "SHA256SUMS"
#define BACKUP_DEPTH_MAX  8 /* of folders below the recordings */
#define BACKUP_LINE_SIZE  4096

struct backup {
    struct arena *arena;
    struct settings settings;
    const char *folder;
    const char *store; /* files of the gateway */
    const char *recordings;
    struct file_owner owner; /* of what is restored */
    FILE *sums;
    uint64_t count;
};

static const char *backup_path(struct backup *self, const char *folder, const char *name)
{
    return arena_format(self->arena, "%s/%s", folder, name).at;
}

static enum err backup_read_settings(struct backup *self, const char *command, char **arguments,
                                     char **environment, struct error *reterr)
{
    if (arguments[0] == NULL || arguments[0][0] == '-') {
        return fail(reterr, ERR_INPUT, "%s: the FOLDER of the backup is expected", command);
    }
    self->folder = arguments[0];
    enum err err = settings_read(self->arena, arguments + 1, environment, &self->settings, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const char *url = self->settings.store_url;
    if (!slice_starts_with(slice_of_text(url), SLICE("sqlite:"))) {
        return fail(reterr, ERR_UNSUPPORTED,
                    "%s is for embedded stores: use pg_dump for a store in PostgreSQL, and copy "
                    "the master key and the recordings of each gateway",
                    command);
    }
    self->store = url + strlen("sqlite:");
    self->recordings = recordings_folder_in(self->arena, &self->settings);
    (void)umask(0077);
    return ERR_NONE;
}

/* Making one ----------------------------------------------------------------------------------- */

static enum err backup_note(struct backup *self, const char *name, const char *hash,
                            struct error *reterr)
{
    self->count++;
    return fprintf(self->sums, "%s  %s\n", hash, name) > 0
               ? ERR_NONE
               : fail(reterr, ERR_IO, "cannot write '%s': %s", BACKUP_SUMS, strerror(errno));
}

static enum err backup_add(struct backup *self, const char *from, const char *name,
                           struct error *reterr)
{
    char hash[FILE_HASH_SIZE];
    enum err err =
        file_copy(from, backup_path(self, self->folder, name), &self->owner, hash, reterr);
    return err == ERR_NONE ? backup_note(self, name, hash, reterr) : err;
}

/* Files and folders; anything else is passed over, and so is what goes meanwhile. */
static enum err backup_add_folder(struct backup *self, const char *from, const char *name,
                                  unsigned depth, struct error *reterr)
{
    DIR *folder = opendir(from);
    if (folder == NULL) {
        return errno == ENOENT
                   ? ERR_NONE
                   : fail(reterr, ERR_IO, "cannot read '%s': %s", from, strerror(errno));
    }
    enum err err = folder_make(backup_path(self, self->folder, name), &self->owner, reterr);
    for (struct dirent *entry = readdir(folder); entry != NULL && err == ERR_NONE;
         entry = readdir(folder)) {
        const char *path = backup_path(self, from, entry->d_name);
        const char *below = backup_path(self, name, entry->d_name);
        struct stat stat;
        if (entry->d_name[0] == '.' || strchr(entry->d_name, '\n') != NULL ||
            lstat(path, &stat) != 0) {
            continue;
        }
        if (S_ISDIR(stat.st_mode) && depth < BACKUP_DEPTH_MAX) {
            err = backup_add_folder(self, path, below, depth + 1, reterr);
        } else if (S_ISREG(stat.st_mode)) {
            err = backup_add(self, path, below, reterr);
        }
    }
    (void)closedir(folder);
    return err;
}

/* The key first, and then again: a store that was closed with a newer one would not open. */
static enum err backup_add_store(struct backup *self, struct error *reterr)
{
    char before[FILE_HASH_SIZE];
    char after[FILE_HASH_SIZE];
    const char *copy = backup_path(self, self->folder, BACKUP_STORE);
    const char *key = self->settings.key_file;
    enum err err =
        file_copy(key, backup_path(self, self->folder, BACKUP_KEY), &self->owner, before, reterr);
    if (err == ERR_NONE) {
        err = sqlite_copy_make(self->store, copy, reterr);
    }
    if (err == ERR_NONE) {
        err = file_copy(key, NULL, &self->owner, after, reterr);
    }
    if (err == ERR_NONE && strcmp(before, after) != 0) {
        return fail(reterr, ERR_CONFLICT, "the master key was changed meanwhile: run it again");
    }
    if (err == ERR_NONE) {
        err = sqlite_copy_check(copy, reterr);
    }
    if (err == ERR_NONE) {
        err = backup_note(self, BACKUP_KEY, before, reterr);
    }
    if (err == ERR_NONE) {
        err = file_copy(copy, NULL, &self->owner, after, reterr);
    }
    return err == ERR_NONE ? backup_note(self, BACKUP_STORE, after, reterr) : err;
}

static enum err backup_fill(struct backup *self, struct error *reterr)
{
    const char *path = backup_path(self, self->folder, BACKUP_SUMS);
    self->sums = fopen(path, "wxe");
    if (self->sums == NULL) {
        return fail(reterr, ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    }
    enum err err = backup_add_store(self, reterr);
    if (err == ERR_NONE) {
        err = backup_add_folder(self, self->recordings, BACKUP_RECORDINGS, 0, reterr);
    }
    bool is_written = fflush(self->sums) == 0 && fsync(fileno(self->sums)) == 0;
    is_written = fclose(self->sums) == 0 && is_written;
    if (err == ERR_NONE && !is_written) {
        return fail(reterr, ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    }
    return err == ERR_NONE ? folder_sync(self->folder, reterr) : err;
}

enum err backup_make(struct arena *arena, char **arguments, char **environment,
                     struct error *reterr)
{
    struct backup self = {.arena = arena};
    enum err err = backup_read_settings(&self, "backup", arguments, environment, reterr);
    if (err == ERR_NONE && access(self.store, F_OK) != 0) {
        return fail(reterr, ERR_INPUT, "--data-dir: there is no store '%s'", self.store);
    }
    const char *folder = self.folder;
    struct stat stat;
    if (err == ERR_NONE && lstat(folder, &stat) == 0) {
        return fail(reterr, ERR_CONFLICT, "'%s' is there already: a backup is a new folder",
                    folder);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self.folder = arena_format(arena, "%s.part", folder).at;
    if (mkdir(self.folder, 0700) != 0) {
        return fail(reterr, ERR_IO, "cannot make the folder '%s': %s", self.folder,
                    strerror(errno));
    }
    err = backup_fill(&self, reterr);
    if (err == ERR_NONE && rename(self.folder, folder) != 0) {
        err = fail(reterr, ERR_IO, "cannot name '%s': %s", folder, strerror(errno));
    }
    if (err != ERR_NONE) {
        return err;
    }
    (void)printf("'%s' holds %" PRIu64
                 " files: the store, the master key, the recordings and their "
                 "checksums\nwhoever has it can read every secret; certificates and settings are "
                 "not in it\n",
                 folder, self.count);
    return ERR_NONE;
}

/* Taking it back ------------------------------------------------------------------------------- */

typedef enum err (*backup_line_fn)(struct backup *self, const char *hash, const char *name,
                                   struct error *reterr);

/* Where a file of the backup belongs; NULL: nowhere. */
static const char *backup_place(struct backup *self, const char *name)
{
    struct slice text = slice_of_text(name);
    bool climbs = slice_find(text, SLICE("..")) < text.len;
    if (strcmp(name, BACKUP_STORE) == 0) {
        return self->store;
    }
    if (strcmp(name, BACKUP_KEY) == 0) {
        return self->settings.key_file;
    }
    return slice_starts_with(text, SLICE(BACKUP_RECORDINGS "/")) && !climbs
               ? backup_path(self, self->recordings, name + strlen(BACKUP_RECORDINGS "/"))
               : NULL;
}

static enum err backup_each(struct backup *self, backup_line_fn work, struct error *reterr)
{
    char line[BACKUP_LINE_SIZE];
    const char *path = backup_path(self, self->folder, BACKUP_SUMS);
    FILE *sums = fopen(path, "re");
    enum err err = ERR_NONE;
    self->count = 0;
    if (sums == NULL) {
        return fail(reterr, ERR_INPUT, "'%s' is no backup: '%s': %s", self->folder, path,
                    strerror(errno));
    }
    while (err == ERR_NONE && fgets(line, sizeof(line), sums) != NULL) {
        size_t size = strlen(line);
        bool is_line = size > FILE_HASH_SIZE + 2 && line[size - 1] == '\n' &&
                       line[FILE_HASH_SIZE - 1] == ' ' && line[FILE_HASH_SIZE] == ' ';
        if (!is_line) {
            err = fail(reterr, ERR_CONFLICT, "'%s' is damaged", path);
            continue;
        }
        line[size - 1] = '\0';
        line[FILE_HASH_SIZE - 1] = '\0';
        self->count++;
        err = work(self, line, line + FILE_HASH_SIZE + 1, reterr);
    }
    (void)fclose(sums);
    return err;
}

static enum err backup_check_line(struct backup *self, const char *hash, const char *name,
                                  struct error *reterr)
{
    char found[FILE_HASH_SIZE];
    const char *place = backup_place(self, name);
    if (place == NULL) {
        return fail(reterr, ERR_CONFLICT, "'%s' does not belong into a backup", name);
    }
    struct stat stat;
    if (lstat(place, &stat) == 0) {
        return fail(reterr, ERR_CONFLICT, "'%s' is there already: nothing is written over", place);
    }
    enum err err =
        file_copy(backup_path(self, self->folder, name), NULL, &self->owner, found, reterr);
    return err != ERR_NONE || strcmp(hash, found) == 0
               ? err
               : fail(reterr, ERR_CONFLICT, "'%s' of the backup was changed or is damaged", name);
}

/* The folders above a file, below the recordings. */
static enum err backup_make_folders(struct backup *self, const char *place, struct error *reterr)
{
    struct slice text = slice_of_text(place);
    enum err err = ERR_NONE;
    for (size_t i = strlen(self->recordings); i < text.len && err == ERR_NONE; i++) {
        if (text.at[i] == '/') {
            err = folder_make(arena_text(self->arena, slice_sub(text, 0, i)), &self->owner, reterr);
        }
    }
    return err;
}

static enum err backup_take_line(struct backup *self, const char *hash, const char *name,
                                 struct error *reterr)
{
    char found[FILE_HASH_SIZE];
    const char *place = backup_place(self, name);
    bool is_recording = slice_starts_with(slice_of_text(name), SLICE(BACKUP_RECORDINGS "/"));
    enum err err = is_recording ? backup_make_folders(self, place, reterr) : ERR_NONE;
    if (err == ERR_NONE) {
        err = file_copy(backup_path(self, self->folder, name), place, &self->owner, found, reterr);
    }
    return err != ERR_NONE || strcmp(hash, found) == 0
               ? err
               : fail(reterr, ERR_CONFLICT, "'%s' changed while it was read", name);
}

/* Whose the data folder is, whose are the files in it: root may restore for a service. */
static enum err backup_open_data(struct backup *self, int *ret_lock, struct error *reterr)
{
    const char *data = settings_text(&self->settings, SETTING_DATA_DIR);
    struct stat stat;
    enum err err = folder_make(data, &self->owner, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (lstat(data, &stat) == 0 && geteuid() == 0) {
        self->owner =
            (struct file_owner){.is_given = true, .user = stat.st_uid, .group = stat.st_gid};
    }
    const char *path = backup_path(self, data, "lock");
    *ret_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*ret_lock < 0 || flock(*ret_lock, LOCK_EX | LOCK_NB) != 0) {
        return fail(reterr, ERR_BUSY, "--data-dir: a gateway uses '%s'", data);
    }
    if (self->owner.is_given && fchown(*ret_lock, self->owner.user, self->owner.group) != 0) {
        return fail(reterr, ERR_IO, "cannot give '%s' away: %s", path, strerror(errno));
    }
    return ERR_NONE;
}

/* The key must be able to be one, and the store whole, before anything is written. */
static enum err backup_check(struct backup *self, struct error *reterr)
{
    enum err err = backup_each(self, backup_check_line, reterr);
    if (err == ERR_NONE) {
        err = sqlite_copy_check(backup_path(self, self->folder, BACKUP_STORE), reterr);
    }
    struct seal_keys *keys = NULL;
    bool is_new = false;
    const char *key = backup_path(self, self->folder, BACKUP_KEY);
    if (err == ERR_NONE && access(key, R_OK) != 0) {
        return fail(reterr, ERR_CONFLICT, "'%s' is missing", key);
    }
    if (err == ERR_NONE) {
        err = seal_keys_open(key, &keys, &is_new, reterr);
    }
    seal_keys_close(keys);
    return err;
}

enum err backup_restore(struct arena *arena, char **arguments, char **environment,
                        struct error *reterr)
{
    struct backup self = {.arena = arena};
    int lock = -1;
    enum err err = backup_read_settings(&self, "restore", arguments, environment, reterr);
    if (err == ERR_NONE) {
        err = backup_check(&self, reterr);
    }
    if (err == ERR_NONE) {
        err = backup_open_data(&self, &lock, reterr);
    }
    if (err == ERR_NONE) {
        err = folder_make(self.recordings, &self.owner, reterr);
    }
    if (err == ERR_NONE) {
        err = backup_each(&self, backup_take_line, reterr);
    }
    if (err == ERR_NONE) {
        err = folder_sync(settings_text(&self.settings, SETTING_DATA_DIR), reterr);
    }
    if (lock >= 0) {
        (void)close(lock);
    }
    if (err == ERR_NONE) {
        (void)printf("%" PRIu64 " files are back, each as it was\n", self.count);
    }
    return err;
}
