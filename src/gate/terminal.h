/* SPDX-License-Identifier: MIT */
/* Somebody at a terminal: a WebSocket on one side, on the other the client's end of a session that
 * runs a connection's command there. What is typed and shown goes as binary messages, all else as
 * JSON in text messages (docs/terminals.md). Ends when nobody has typed or been shown anything for
 * a time, when it was open for long, and when whoever opened it may not be here any more. */
#ifndef GH_GATE_TERMINAL_H
#define GH_GATE_TERMINAL_H

#include "gate/gate.h"
#include "http/call.h"
#include "wire/execwire.h"

/* All is copied. */
struct terminal_request {
    const struct protocol *protocol;
    struct slice id; /* of the session, and of the credential that opens it */
    struct slice connection_name;
    struct slice application_name;
    struct shape_pairs metadata;
    struct slice kind; /* as TERM has it */
    struct execwire_size size;
    int64_t idle_s;
    struct address client;
    struct identity_credential credential; /* that whoever opens it has proven himself with */
    struct slice member_id;                /* who that is */
};

/* From a handler on the pool, which has put the credential of the session into the store: the
 * call's connection becomes the terminal. ERR_BUSY: there are too many; ERR_INPUT: the client does
 * not ask for a WebSocket. */
enum err terminal_admit(struct gate *gate, struct http_call *call,
                        const struct terminal_request *request, struct error *reterr) MUST_USE;

#endif
