/* SPDX-License-Identifier: MIT */
/* A recording that lies on another gateway of the same store: read from there piece by piece, also
 * while it goes on, in constant memory. What comes is what lies in the file, and is checked here as
 * if it lay here. */
#ifndef GH_API_FAR_RECORDING_H
#define GH_API_FAR_RECORDING_H

#include "session/recording.h"
#include "store/session_store.h"
#include "tunnel/nodes.h"

/* As recording_open(); 'nodes' and 'keys' must outlive it. ERR_NOT_FOUND: none of the gateways that
 * run has it. ERR_UNAVAILABLE: not all of them could be asked. */
enum err far_recording_open(struct nodes *nodes, struct seal_keys *keys,
                            const struct session *session, struct recording **ret_recording,
                            struct error *reterr) MUST_USE;

#endif
