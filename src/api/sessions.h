/* SPDX-License-Identifier: MIT */
/* What the handlers of sessions share. */
#ifndef GH_API_SESSIONS_H
#define GH_API_SESSIONS_H

#include "api/handlers.h"
#include "session/recording.h"
#include "store/session_store.h"

struct session_scope session_scope_of(const struct caller *caller);
/* The session of the path, which the caller may see. */
enum err session_load(struct api_call *call, struct session *ret_session,
                      struct error *reterr) MUST_USE;
bool session_is_own(const struct api_call *call, const struct session *session);

/* {"id": …, "connection": …, "user": …}, for the audit log. */
struct slice session_payload_in(struct arena *arena, const struct session *session);

/* The recording of the path's session, for somebody who shows it ('action' in the audit log) as
 * long as the call lasts. ERR_NOT_FOUND: no gateway that runs has it. ERR_UNAVAILABLE: one that may
 * have it does not answer. ERR_BUSY. */
enum err session_open_recording(struct api_call *call, const char *action,
                                struct session *ret_session, struct recording **ret_recording,
                                struct error *reterr) MUST_USE;

/* "event_stream" and what belongs to it, into the object that is open. */
enum err session_write_events(struct api_call *call, bool is_base64, struct json_writer *json,
                              struct error *reterr) MUST_USE;

#endif
