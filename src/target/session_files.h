/* SPDX-License-Identifier: MIT */
/* The files of secrets, for programs that want a path: <folder>/<session>/NAME, mode 0600 in
 * folders of mode 0700, there for as long as the session is. Removed means overwritten, then
 * unlinked; on a disk that writes elsewhere (flash, snapshots) only a folder in memory keeps that
 * promise.
 *
 * The folder belongs to one process, which a lock sees to; what one that crashed left behind goes
 * when the next one opens it. Blocks; any thread may call, for one session one at a time. */
#ifndef GH_TARGET_SESSION_FILES_H
#define GH_TARGET_SESSION_FILES_H

#include "codec/shape.h"

struct session_files;

/* Makes the folder when it is not there; its parent must be. ERR_CONFLICT: another process has it.
 */
enum err session_files_new(const char *folder, struct session_files **ret_files,
                           struct error *reterr) MUST_USE;
/* Removes what is left of all sessions; the folder stays, empty. Takes NULL. */
void session_files_free(struct session_files *files);

/* An id for what is no session of a gateway and needs files all the same: nobody else has it. */
struct slice session_files_id_in(struct arena *arena);

/* Whether any of them is a file. */
bool session_files_are_wanted(const struct shape_pairs *plain);
/* From what secret_sources_resolve gave, the variables of a program: NAME holds the value of
 * "envvar:NAME", and the path of the file for "filesystem:NAME". In order; values are views of
 * 'plain'. Nothing is left behind when it fails. ERR_CONFLICT when the session has files already.
 * 'files' may be NULL, where a process has no folder for them: ERR_IO when any is wanted. */
enum err session_files_write(struct session_files *files, struct arena *arena,
                             struct slice session_id, const struct shape_pairs *plain,
                             struct shape_pairs *ret_variables, struct error *reterr) MUST_USE;
/* Also of a session that has none; 'files' may be NULL then. */
enum err session_files_remove(struct session_files *files, struct slice session_id,
                              struct error *reterr) MUST_USE;

#endif
