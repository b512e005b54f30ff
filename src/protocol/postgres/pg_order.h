/* SPDX-License-Identifier: MIT */
/* What a gateway asks of an agent that is another process, and what that answers, as JSON in the
 * messages of the channels "/postgres" and "/postgres-cancel" (docs/agent-protocol.md). Bytes that
 * need not be text are in base64. Unknown members are passed over. Pure: bytes in, struct out, and
 * back; arenas that hold them should be ones that are wiped. */
#ifndef GH_POSTGRES_PG_ORDER_H
#define GH_POSTGRES_PG_ORDER_H

#include "codec/shape.h"
#include "wire/pgwire_start.h"

#define PG_ORDER_KIND        "/postgres"
#define PG_ORDER_CANCEL_KIND "/postgres-cancel"

/* Asked for: a session, or that one is cancelled. */
struct pg_order {
    struct shape_pairs variables; /* of the connection, as they are stored */
    struct slice database;
    const struct pgwire_parameter *parameters;
    size_t parameter_count;
    uint32_t version;
    uint64_t timeout_ms;
    struct pgwire_key key; /* of what is to be cancelled */
};

enum err pg_order_write(const struct pg_order *order, struct buf *buf) MUST_USE;
enum err pg_order_read_in(struct arena *arena, struct slice bytes, struct pg_order *ret_order,
                          struct error *reterr) MUST_USE;

/* Answered: the channel is the session, after this. See struct pg_target_ready. */
struct pg_report {
    uint32_t version;
    enum pgwire_transaction transaction;
    struct pgwire_key key;
    struct slice greeting;
    struct slice rest;
};

enum err pg_report_write(const struct pg_report *report, struct buf *buf) MUST_USE;
enum err pg_report_read_in(struct arena *arena, struct slice bytes, struct pg_report *ret_report,
                           struct error *reterr) MUST_USE;

/* Or refused. See struct pg_target_failure. */
struct pg_refusal {
    struct slice message; /* for the log and for those who manage the target */
    struct slice sqlstate;
    struct slice answer; /* an ErrorResponse */
};

enum err pg_refusal_write(const struct pg_refusal *refusal, struct buf *buf) MUST_USE;
enum err pg_refusal_read_in(struct arena *arena, struct slice bytes, struct pg_refusal *ret_refusal,
                            struct error *reterr) MUST_USE;

#endif
