/* SPDX-License-Identifier: MIT */
#include "app/agent_files.h"

#include "base/memory.h"
#include "io/log.h"
#include "target/environment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENT_FOLDER        "session-files"    /* where the parent is the agent's alone */
#define AGENT_FOLDER_PREFIX "gatehouse-agent-" /* and the process's number, where it is not */

static enum err agent_files_make(struct agent_files *self, struct arena *arena, const char *parent,
                                 const char *name, struct error *reterr)
{
    const char *folder = arena_format(arena, "%s/%s", parent, name).at;
    enum err err = session_files_new(folder, &self->files, reterr);
    if (err == ERR_NONE) {
        self->folder = folder;
        self->parent = parent;
    }
    return err;
}

static enum err agent_files_make_given(struct agent_files *self, struct arena *arena,
                                       const char *given, struct error *reterr)
{
    enum err err = ERR_NONE;
    if (mkdir(given, 0700) != 0 && errno != EEXIST) {
        err = fail(reterr, ERR_IO, "cannot make '%s': %s", given, strerror(errno));
    }
    if (err == ERR_NONE) {
        err = agent_files_make(self, arena, arena_text(arena, slice_of_text(given)), AGENT_FOLDER,
                               reterr);
    }
    if (err != ERR_NONE) {
        error_prefix(reterr, "--files-dir (GATEHOUSE_FILES_DIR): ");
    }
    return err;
}

/* Where anybody's folders are ----------------------------------------------------------------- */

static bool agent_files_is_ours(struct slice name)
{
    struct slice number = slice_from(name, strlen(AGENT_FOLDER_PREFIX));
    bool is_number = number.len > 0;
    for (size_t i = 0; i < number.len; i++) {
        is_number = is_number && number.at[i] >= '0' && number.at[i] <= '9';
    }
    return is_number;
}

/* The folder of an agent that runs is locked, that of another user is refused. */
static void agent_files_sweep(const char *parent)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    DIR *entries = opendir(parent);
    for (struct dirent *entry = entries == NULL ? NULL : readdir(entries); entry != NULL;
         entry = readdir(entries)) {
        struct slice name = slice_of_text(entry->d_name);
        if (slice_starts_with(name, SLICE(AGENT_FOLDER_PREFIX)) && agent_files_is_ours(name)) {
            struct agent_files left = {.files = NULL};
            if (agent_files_make(&left, &arena, parent, entry->d_name, NULL) == ERR_NONE) {
                agent_files_close(&left);
            }
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
}

static enum err agent_files_make_own(struct agent_files *self, struct arena *arena,
                                     const char *parent, struct error *reterr)
{
    const char *name = arena_format(arena, AGENT_FOLDER_PREFIX "%ld", (long)getpid()).at;
    agent_files_sweep(parent);
    return agent_files_make(self, arena, arena_text(arena, slice_of_text(parent)), name, reterr);
}

/* In order: memory before disks, and what is given to this process before what all share. */
static enum err agent_files_find(struct agent_files *self, struct arena *arena,
                                 struct error *reterr)
{
    struct slice rest = SLICE_NONE;
    const char *const parents[] = {environment_text("XDG_RUNTIME_DIR"), "/dev/shm",
                                   environment_text("TMPDIR"), "/tmp"};
    const char *given = environment_text("RUNTIME_DIRECTORY"); /* systemd.exec(5): with colons */
    enum err err = ERR_NOT_FOUND;
    if (given != NULL) {
        struct slice first = slice_cut(slice_of_text(given), ':', &rest);
        err = agent_files_make(self, arena, arena_text(arena, first), AGENT_FOLDER, reterr);
    }
    for (size_t i = 0; i < COUNT_OF(parents) && err != ERR_NONE; i++) {
        if (parents[i] != NULL) {
            err = agent_files_make_own(self, arena, parents[i], reterr);
        }
    }
    return err;
}

enum err agent_files_open(struct agent_files *self, struct arena *arena, const char *given,
                          struct error *reterr)
{
    struct error error;
    if (given[0] != '\0') {
        return agent_files_make_given(self, arena, given, reterr);
    }
    if (agent_files_find(self, arena, &error) != ERR_NONE) {
        log_line(LOG_APP, LOG_WARN, "connections with secrets as files will not open",
                 log_text("setting", SLICE("--files-dir")), log_error_field(&error));
    }
    return ERR_NONE;
}

void agent_files_close(struct agent_files *self)
{
    session_files_free(self->files);
    if (self->folder != NULL) {
        (void)unlinkat(AT_FDCWD, self->folder, AT_REMOVEDIR);
    }
    *self = (struct agent_files){.files = NULL};
}
