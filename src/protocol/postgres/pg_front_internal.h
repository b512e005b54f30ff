/* SPDX-License-Identifier: MIT */
/* What the files of the PostgreSQL front share: pg_front.c moves bytes and ends connections,
 * pg_front_start.c takes the packets without a type, pg_front_auth.c those of authentication. */
#ifndef GH_POSTGRES_PG_FRONT_INTERNAL_H
#define GH_POSTGRES_PG_FRONT_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "io/timer.h"
#include "protocol/postgres/pg_front.h"
#include "wire/pgwire_auth.h"
#include "wire/pgwire_frame.h"

#define PG_FRONT_VERSION_MAX PGWIRE_VERSION(3, 2)

#define PG_FRONT_PROTOCOL_VIOLATION SLICE("08P01")
#define PG_FRONT_UNSUPPORTED        SLICE("0A000")
#define PG_FRONT_REFUSED            SLICE("28000")
#define PG_FRONT_WRONG_PASSWORD     SLICE("28P01")
#define PG_FRONT_CANCELED           SLICE("57014")
#define PG_FRONT_INTERNAL           SLICE("XX000")

enum pg_front_state {
    PG_FRONT_AT_START,  /* packets without a type come */
    PG_FRONT_AT_TLS,    /* the 'S' is on its way: not a byte is read before it is gone */
    PG_FRONT_AT_SASL,   /* the client chooses a mechanism */
    PG_FRONT_ASKING,    /* the owner looks for verifiers */
    PG_FRONT_AT_PROOF,  /* the client proves that it knows the password */
    PG_FRONT_AT_CANCEL, /* the owner cancels what another connection does */
    PG_FRONT_KNOWN,     /* the owner opens the session */
    PG_FRONT_OPENING,   /* what opens it is on its way */
    PG_FRONT_ENDING,    /* the last words are on their way, then the client's end is waited for */
    PG_FRONT_GONE,      /* closed or taken; the memory goes at the end of the turn */
};

struct pg_front {
    struct front front;
    struct stream *stream; /* NULL when it is closed or taken */
    struct loop *loop;
    struct front_config config;
    const struct front_events *events;
    void *owner;
    enum pg_front_state state;
    bool has_begun; /* with a byte */
    bool is_direct; /* TLS came without being asked for */
    bool is_shut;   /* our direction */
    bool is_peer_done;
    struct pgwire_framer framer;
    struct buf input;
    struct buf body;
    struct buf output;
    struct arena arena; /* from the startup packet on */
    struct pgwire_startup *startup;
    struct pgwire_sasl_initial initial;
    struct scram_server *scram;
    struct timer timer;
    struct loop_task task;
    struct error reason;
};

/* Collects the body of the message whose header just came. */
void pg_front_collect(struct pg_front *front, size_t size_max);

/* Why the connection ends: for on_closed, and for the client. */
void pg_front_note(struct pg_front *front, enum err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sends what was noted as the last words. */
void pg_front_refuse(struct pg_front *front, struct slice sqlstate, struct slice hint);
/* Without words. */
void pg_front_end(struct pg_front *front);
/* At once. */
void pg_front_drop(struct pg_front *front, enum err err, const char *why);

/* Its events come to the front from now on. */
void pg_front_own_stream(struct pg_front *front);
bool pg_front_binds_channel(const struct pg_front *front);

/* The first byte of TLS instead of a packet: the stream becomes one of TLS. */
bool pg_front_is_tls_hello(const struct pg_front *front);
void pg_front_start_tls(struct pg_front *front);
void pg_front_start_header(struct pg_front *front);
void pg_front_start_body(struct pg_front *front, struct slice body);
/* The framer could not read a packet. */
void pg_front_start_failed(struct pg_front *front, const struct error *error);

void pg_front_ask_sasl(struct pg_front *front);
/* Who the client is, is known already. */
void pg_front_auth_skip(struct pg_front *front);
void pg_front_auth_header(struct pg_front *front);
void pg_front_auth_body(struct pg_front *front, struct slice body);

#endif
