/* SPDX-License-Identifier: MIT */
/* The first record of a recording: what the session is, as JSON, from which it can be put into a
 * store that was not told of it. */
#ifndef GH_GATE_SESSION_HEAD_H
#define GH_GATE_SESSION_HEAD_H

#include "model/session.h"
#include "session/recorder.h"

/* 'protocol': what reads it, where that is not the one of the connection's subtype; else "". */
void session_head_record(struct recorder *recorder, const struct session *session,
                         struct slice protocol);

struct session_head_file {
    const char *path;
    struct seal_keys *keys;
};

/* ERR_NOT_FOUND: the recording has no record. ERR_INPUT, ERR_CONFLICT: it has another one there, or
 * is none. */
enum err session_head_read_in(struct arena *arena, const struct session_head_file *file,
                              struct session *ret_session, struct error *reterr) MUST_USE;

#endif
