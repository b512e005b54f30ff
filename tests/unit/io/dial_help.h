/* SPDX-License-Identifier: MIT */
/* For the tests of outgoing connections: a worker that is turned by hand, a resolver, a listener.
 */
#ifndef GH_TESTS_DIAL_HELP_H
#define GH_TESTS_DIAL_HELP_H

#include "io/dial.h"

#define DIAL_WAIT_TURNS 20000 /* of a millisecond */

struct dial_place {
    struct worker *worker;
    struct resolver *resolver;
    int listener; /* on 127.0.0.1 alone */
    uint16_t port;
};

/* What an owner has seen of its dial. */
struct dial_seen {
    struct stream *stream;
    struct error error;
    unsigned count;
};

void dial_seen_on_done(void *owner, struct stream *take_stream, const struct error *error);

void dial_place_open(struct dial_place *place, resolver_find_fn find);
void dial_place_close(struct dial_place *place);

struct dial *dial_to(struct dial_place *place, struct slice host, uint64_t timeout_ms,
                     struct dial_seen *seen);
void dial_turn(struct dial_place *place);
/* Until its end has come. */
void dial_await(struct dial_place *place, const struct dial_seen *seen);

/* Dials, and sends a byte to the listener and one back. */
void dial_must_connect(struct dial_place *place, struct slice host);
/* Dials for 300 ms; the error has these words. */
void dial_must_fail(struct dial_place *place, struct slice host, enum err code, const char *words);
/* Turns a while longer: nobody is called, and no connection is left. */
void dial_must_stay_silent(struct dial_place *place, const struct dial_seen *seen);

/* Our end of a connection to this port, or -1. */
int dial_socket_to(uint16_t port);

/* "127.0.0.2,::1" has these addresses. */
enum err dial_find_listed(const char *host, struct addresses *ret_addresses, struct error *reterr);

#endif
