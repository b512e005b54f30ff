/* SPDX-License-Identifier: MIT */
/* A worker's surroundings for recorders, and recordings of any content, in a folder that goes with
 * the test. */
#ifndef GH_TEST_RECORDING_HELP_H
#define GH_TEST_RECORDING_HELP_H

#include "base/arena.h"
#include "session/recorder.h"
#include "session/recording.h"

#define HELP_SESSION_ID "01890000-0000-7000-8000-00000000000a"
#define HELP_STARTED_AT INT64_C(1714566600000000) /* 2024-05-01T12:30:00Z */

struct help {
    char folder[64];  /* of the test: the key, and the recordings */
    char records[96]; /* <folder>/recordings */
    char path[192];   /* of the session above */
    struct arena arena;
    struct error error;
    struct seal_keys *keys;
    struct loop *loop;
    struct mailbox *mailbox;
    struct pool *sync;
    struct recorder_pool *recorders;
};

struct help_closed {
    bool is_called;
    struct recorder_summary summary; /* but its error */
    struct error error;
};

/* Of a gateway that was killed. */
#define HELP_STOPPED                                                                               \
    (&(struct recording_close){.time = HELP_STARTED_AT, .reason = SLICE("gateway stopped")})

void help_start(struct help *help, bool is_strict);
/* As help_start, in a folder that is there already. */
void help_start_in(struct help *help, const char *folder, bool is_strict);
void help_end(struct help *help);

struct recorder *help_open(struct help *help);
void help_add(struct recorder *recorder, enum record_kind kind, enum record_side side,
              struct slice payload);
/* A message of a type as a record. */
void help_message(struct recorder *recorder, enum record_side side, char type, struct slice body);
/* Closes it with a reason, and turns the loop until it is closed. */
struct help_closed help_close(struct help *help, struct recorder *take_recorder);
void help_turn_until(struct help *help, const bool *is_done);

/* Most memory that the process ever had. */
long help_resident_kib(void);
/* It says little: sanitizers keep what was freed. */
bool help_is_sanitized(void);

/* The bytes of the file, in the arena. */
struct slice help_read_file(struct help *help, const char *path);
void help_write_file(const char *path, struct slice bytes);

/* Reads to the end; what recording_next() or recording_open() said at last (ERR_CLOSED is well). */
enum err help_verify(struct help *help, const char *path, struct recording_state *ret_state);

#endif
