/* SPDX-License-Identifier: MIT */
/* The folder in which an agent keeps the files of secrets while sessions need them: the one it was
 * told, or what systemd gave it, or one in memory that it makes for itself. It is made before the
 * sandbox, which must let 'folder' be written and itself be removed from 'parent'. */
#ifndef GH_APP_AGENT_FILES_H
#define GH_APP_AGENT_FILES_H

#include "target/session_files.h"

struct agent_files {
    struct session_files *files; /* NULL: there was no place, which the log has */
    const char *folder;          /* NULL likewise */
    const char *parent;
};

/* 'given' is --files-dir, or empty; it fails only for what was given. Texts are of the arena. What
 * agents that were killed left behind goes, too. */
enum err agent_files_open(struct agent_files *self, struct arena *arena, const char *given,
                          struct error *reterr) MUST_USE;
/* Files and folder are gone afterwards. */
void agent_files_close(struct agent_files *self);

#endif
