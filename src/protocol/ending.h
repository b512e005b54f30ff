/* SPDX-License-Identifier: MIT */
/* Why the gateway ends a session, or does not open it, and the words for the client. Each protocol
 * has its own code for each. */
#ifndef GH_PROTOCOL_ENDING_H
#define GH_PROTOCOL_ENDING_H

#include "base/slice.h"

enum ending {
    ENDING_IDENTITY,    /* who the client is, is not known, or not good any more */
    ENDING_ACCESS,      /* it may not, or not like this */
    ENDING_METADATA,    /* what it says about the session is not right */
    ENDING_CONNECTION,  /* the connection is not set up well */
    ENDING_TARGET,      /* there is no way to the target, or it was lost */
    ENDING_BUSY,        /* too many at once */
    ENDING_STOPPING,    /* the gateway is */
    ENDING_KILLED,      /* somebody with the right to it, or a rule, ended it */
    ENDING_RECORDING,   /* it cannot be recorded */
    ENDING_PROTOCOL,    /* a side breaks the protocol */
    ENDING_UNAVAILABLE, /* a fault of the gateway's own; its log says which */
};

struct ending_words {
    enum ending why;
    struct slice code;    /* the protocol's own, of the target; empty: by 'why' */
    struct slice message; /* lower case, no full stop */
    struct slice hint;    /* a sentence; may be empty */
};

#endif
