/* SPDX-License-Identifier: MIT */
/* Native clients whose connection came in as an HTTP request (http/call.h, http_call_upgrade), of
 * somebody who is known by that request: it counts for his own credentials of one connection. */
#ifndef GH_GATE_GATE_GUEST_H
#define GH_GATE_GATE_GUEST_H

#include "gate/gate.h"
#include "http/call.h"

#define GATE_GUEST_PROTOCOL "gatehouse-client/1"

/* What clients of a tunnel prove in the place of a credential's secret: a password that counts
 * there and nowhere else. */
struct gate_guest_proof {
    struct slice credential_id; /* empty: they prove a secret */
    struct slice hash;
    struct slice verifier;
};

/* Copied. */
struct gate_guest {
    const struct protocol *protocol;
    struct slice member_id;
    struct slice connection_id;
    struct gate_guest_proof proof;
    struct address address;
};

/* From a handler on the pool: the call's connection becomes a client's, on its worker. ERR_INPUT:
 * the request does not ask for that. */
enum err gate_guest_admit(struct gate *gate, struct http_call *call, const struct gate_guest *guest,
                          struct error *reterr) MUST_USE;

#endif
