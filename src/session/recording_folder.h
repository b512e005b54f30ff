/* SPDX-License-Identifier: MIT */
/* Where recordings lie: <folder>/YYYY/MM/DD/<session id>.ghr, by the UTC day of the session's
 * start. What is not of this form is left alone. */
#ifndef GH_SESSION_RECORDING_FOLDER_H
#define GH_SESSION_RECORDING_FOLDER_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

/* Of a session that started then; the file need not be there. */
const char *recording_path_in(struct arena *arena, const char *folder, struct slice session_id,
                              int64_t started_at);
/* Looks through the days, newest first. ERR_NOT_FOUND. */
enum err recording_find_in(struct arena *arena, const char *folder, struct slice session_id,
                           const char **ret_path, struct error *reterr) MUST_USE;

struct recording_place {
    const char *path;        /* until the visit ends */
    struct slice session_id; /* likewise */
    int64_t day;             /* its midnight */
};

/* ERR_NONE goes on; anything else ends the walk, which returns it. */
typedef enum err (*recording_visit_fn)(void *context, const struct recording_place *place,
                                       struct error *reterr);

/* All of them, day by day, oldest first. No folder: none. */
enum err recording_walk(const char *folder, recording_visit_fn visit, void *context,
                        struct error *reterr) MUST_USE;
/* Those of sessions that began on the UTC day of 'since' or later which end without RECORD_CLOSE,
 * by a look at the end of each, newest first: for recording_recover(), which tells those that are
 * being written (ERR_BUSY). */
enum err recording_walk_open(const char *folder, int64_t since, recording_visit_fn visit,
                             void *context, struct error *reterr) MUST_USE;

/* Removes one. An empty <session id>.removed in its place says that it was here and is gone, until
 * whoever has to know does and it is forgotten: however often the two are tried, by whichever
 * process. ERR_NONE also when it was removed before; ERR_NOT_FOUND: it never was here, or is
 * forgotten; ERR_BUSY. */
enum err recording_remove(const char *path, struct error *reterr) MUST_USE;
enum err recording_forget(const char *path, struct error *reterr) MUST_USE;
/* Those that were removed and not forgotten; 'path' is that of what is in its place. */
enum err recording_walk_removed(const char *folder, recording_visit_fn visit, void *context,
                                struct error *reterr) MUST_USE;

#endif
