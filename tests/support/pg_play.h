/* SPDX-License-Identifier: MIT */
/* A PostgreSQL server and guard rails in miniature, for tests of what stands between: a language of
 * a few words that says of each statement what it does and what the rules think of it.
 *
 *   select N · update N (changes N rows) · fail · begin · commit · rollback · copy (from the
 * client) show TEXT (one row of it) prepare NAME as … · execute NAME · deallocate NAME · blocked …
 * · warned … · reviewed … · worded … (all select 1; what is found of 'worded' is found in the text
 * only, not in an execute of it) · send N (N rows of a copy to the client) · returning N (inserts N
 * rows, and gives them)
 *
 * A reference server knows the rules itself and answers as a client should see it through a filter:
 * what is refused is an error like any other. Anything else is a syntax error. */
#ifndef GH_TESTS_PG_PLAY_H
#define GH_TESTS_PG_PLAY_H

#include "base/buf.h"
#include "base/map.h"
#include "protocol/postgres/pg_filter.h"
#include "wire/pgwire_frame.h"

/* The rules. */
struct play_rules {
    int64_t max_rows; /* of each update; -1: any */
    bool blocks_unknown;
    bool is_lenient; /* nothing is blocked */
    unsigned judged_count;
    struct mask_rules *masking;
    const struct guard_scope *output;
    const struct guard_budget *budgets;
    size_t budget_count;
};

void play_policy(struct play_rules *rules, uint64_t generation, struct passage_policy *policy);

struct play_server {
    bool is_reference;
    const struct play_rules *rules;
    struct buf in;  /* not dealt with */
    struct buf out; /* said */
    struct buf log; /* statements that it got, one a line */
    struct pgwire_framer framer;
    struct buf body;
    char transaction;
    bool is_skipping;
    bool is_in_batch;
    bool is_copying;
    bool copies_extended;
    uint64_t copied;
    bool is_limited;     /* reference: something limited ran in the batch */
    bool has_controlled; /* likewise */
    uint64_t changed;    /* rows, not committed */
    uint64_t committed;
    struct map statements; /* of struct buf */
    struct map portals;
};

void play_server_start(struct play_server *server, bool is_reference,
                       const struct play_rules *rules);
void play_server_end(struct play_server *server);
/* Deals with all of server->in. False: it broke the protocol. */
bool play_server_run(struct play_server *server);

/* What a client got, in short: a type each, with the SQLSTATE of errors, tags and the state of the
 * transaction: "T D C(SELECT 1) Z(I)". Only whole messages. */
void play_tell(struct slice bytes, struct buf *text);

/* The next word of a statement. */
struct slice play_word(struct slice *rest);

/* Writing a client's messages. */
void play_query(struct buf *buf, const char *text);
/* Parse, Bind, Execute of the unnamed ones. */
void play_extended(struct buf *buf, const char *text);
void play_parse(struct buf *buf, const char *name, const char *text);
void play_bind(struct buf *buf, const char *portal, const char *name);
void play_execute(struct buf *buf, const char *portal, int32_t rows);
void play_sync(struct buf *buf);

enum play_answer { PLAY_UNDECIDED, PLAY_APPROVE, PLAY_DENY, PLAY_CANCEL };

/* A session through a filter. */
struct play {
    struct play_rules rules;
    struct play_server server;
    struct pg_tap *tap;
    struct pg_filter *filter;
    struct buf client; /* what it has still to say */
    struct buf got;    /* by the client */
    struct buf events;
    size_t pieces[2];        /* bytes at a time, by side; 0: all there are */
    bool is_eager;           /* the server answers before the client says more */
    bool is_ignorant;        /* nobody can say where columns come from */
    bool is_asked;           /* what the catalog says */
    bool is_known;           /* that it was answered */
    struct pg_facts *facts;  /* of it */
    struct read_amount hour; /* what its user has read in the last hour */
    unsigned lookup_count;
    unsigned block_count;
    struct buf held;       /* what was: "text(values)" each, then " locked" if it was */
    bool is_held;          /* and waits for */
    enum play_answer next; /* to all that is held; PLAY_UNDECIDED: nothing yet */
    bool is_patient;       /* only when there is nothing else to do */
    struct error error;
};

void play_start(struct play *play);
void play_end(struct play *play);
/* What the filter asked for is known: of things, value is the first column. */
void play_inform(struct play *play);
/* Until nobody has anything more to say. */
enum err play_run(struct play *play);

#endif
