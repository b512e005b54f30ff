/* SPDX-License-Identifier: MIT */
/* Guard rails on a session: what they keep of it, and what pg_filter.c does for the other files.
 * What those do for each other stands in a header each: pg_filter_client.h and so on. */
#ifndef GH_POSTGRES_PG_FILTER_INTERNAL_H
#define GH_POSTGRES_PG_FILTER_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "protocol/postgres/pg_facts.h"
#include "protocol/postgres/pg_filter.h"
#include "protocol/sql/read_budget.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"
#include "wire/pgwire_query.h"
#include "wire/pgwire_state.h"

/* Not to be understood by any server. Stands in its log where something was refused. */
#define PG_FILTER_SUBSTITUTE "refused by the guard rails of the gateway"
/* Before a text that is refused, in a Parse, which takes one command: the server reads the grammar
 * of all of it, and goes no further (protocol-flow, "Extended Query"). */
#define PG_FILTER_CHECK "SELECT '" PG_FILTER_SUBSTITUTE "'; SELECT 1; "
#define PG_FILTER_NAME  "gatehouse guard rails" /* of statements and portals of ours */

#define PG_FILTER_NO_LIMIT (-1)

/* What is to be known of a text beside its verdict. */
struct pg_filter_facts {
    int64_t max_rows;          /* or PG_FILTER_NO_LIMIT */
    const char *why_unlimited; /* it cannot be held; NULL: it can */
    struct guard_finding rule; /* of max_rows; its texts live as long as the rules */
    bool begins;               /* a transaction block */
    bool controls;             /* a transaction in any other way */
    bool prepares;             /* SQL's PREPARE */
    bool executes;             /* SQL's EXECUTE: what it does depends on a name */
    bool reads;                /* it is there to give rows */
    uint64_t operations;       /* bits */
    bool is_unknown;           /* it may do more */
    bool ends;                 /* what is executed behind it runs in another transaction */
    bool only_ends;            /* it is a COMMIT or a ROLLBACK, and does nothing else */
    bool goes_on_behind_end;   /* in the same text */
    bool runs_code;            /* that may end transactions and begin others */
    bool rehearses;            /* people see what it did before it is committed */
};

/* A text, and how the server reads it. */
struct pg_filter_text {
    struct slice bytes;
    bool is_backslash_quoted;
    bool is_ambiguous; /* or otherwise */
};

/* A prepared statement: shared by its name, portals, and what is under way. */
struct pg_filter_statement {
    unsigned references;
    uint64_t generation; /* facts are of these rules */
    struct pg_filter_facts facts;
    uint64_t known_id;        /* of what was known of names when it was judged */
    struct buf text;          /* SQL's PREPARE itself, or what Parse had */
    bool is_of_sql;           /* that is a PREPARE */
    bool is_bound;            /* and then: */
    uint64_t bound_at;        /* filter->ended_count at the first time */
    bool is_backslash_quoted; /* as the server read it */
    bool is_ambiguous;        /* or maybe otherwise */
    bool is_under_review;     /* it needs one each time it is bound, by the rules of 'generation' */
    bool is_approved;         /* of a portal: what it does was let through */
    bool is_rehearsed;        /* of a portal: it is let through as a rehearsal */
    bool has_types;           /* 'types' are those of its Parse: a rule asked for reviews then */
    struct buf types;         /* of parameters, as they were sent */
    size_t type_count;
};

/* What the unnamed statement and the unnamed portal are made of, which most clients use for each
 * query: what was sent last; after an error, nothing that is known. NULL: likewise. */
struct pg_filter_watched {
    struct pg_filter_statement *statement;
    struct pg_filter_statement *portal;
};

enum pg_filter_definition {
    PG_FILTER_DEFINES_NOTHING,
    PG_FILTER_DEFINES_STATEMENT,
    PG_FILTER_DEFINES_PORTAL,
    PG_FILTER_ENDS_STATEMENT,
    PG_FILTER_ENDS_PORTAL,
};

/* A definition that holds once the server says so. */
struct pg_filter_change {
    struct list link;
    enum pg_filter_definition kind;
    struct buf name;
    struct pg_filter_statement *statement; /* a reference; NULL when something ends */
};

/* A request to the server about which more is to be known than the state has. */
struct pg_filter_request {
    struct list link;
    uint64_t id;        /* of pgwire_state */
    uint64_t batch;     /* that it is part of */
    bool is_own;        /* nothing of its answer goes on, but for an error */
    bool is_refused;    /* 'words' take the place of the error */
    bool is_noticed;    /* 'words' come before the answer */
    struct buf words;   /* a whole message */
    bool is_checked;    /* the text stands in the substitute: a syntax error of it is the answer */
    uint64_t number;    /* the client's */
    int64_t max_rows;   /* or PG_FILTER_NO_LIMIT */
    struct arena arena; /* of the texts of 'rule' */
    struct guard_finding rule;
    struct list changes; /* in the order in which they come to hold */
};

/* What goes on: as long as it is one piece of what came, it is not copied. */
struct pg_filter_out {
    struct buf buf;
    struct slice run; /* behind 'buf' */
    bool is_full;     /* something had no room */
};

struct pg_filter_direction {
    struct pgwire_frame frame; /* of the message under way, or the last one */
    uint32_t left;             /* of its body, that was not looked at */
    bool is_collected;         /* it is looked at when it is whole */
    bool is_dropped;           /* it does not go on */
    bool is_masked;            /* it is a large one, its parts go to pg_mask */
    struct buf body;           /* what is collected */
    struct pg_filter_out out;
};

enum pg_filter_hold_phase {
    PG_FILTER_UNHELD,
    PG_FILTER_HELD,
    PG_FILTER_APPROVED, /* the message at hand goes on */
    PG_FILTER_DENIED,   /* it does not, 'words' say why */
};

struct pg_filter_hold {
    enum pg_filter_hold_phase phase;
    size_t message_size; /* of what is held */
    struct buf notice;   /* for the client, where its messages have room for it */
    struct buf words;
};

enum pg_filter_limit_phase {
    PG_FILTER_UNLIMITED,
    PG_FILTER_IN_BATCH,  /* something limited was sent, the Sync was not yet */
    PG_FILTER_BEGINNING, /* BEGIN was sent, the statement waits */
    PG_FILTER_RUNNING,
    PG_FILTER_ASKING,    /* it has run, and the server is asked what it did */
    PG_FILTER_SAMPLING,  /* likewise, for rows */
    PG_FILTER_REHEARSED, /* people are */
    PG_FILTER_FINISHING, /* what ends the transaction of ours, or fails the client's, was sent */
};

/* What people are to decide on; its texts lie in the arena of the limit. */
struct pg_filter_rehearsal {
    uint64_t number;     /* of the client's message that has the statement, or binds it */
    struct slice portal; /* that it was bound to */
    struct slice text;
    struct slice setting; /* pg_rehearse_setting_in() */
    struct held_value *values;
    size_t value_count;
    bool is_backslash_quoted;
    struct guard_verdict verdict;
    uint64_t rows;
    struct buf facts;          /* JSON */
    struct buf plan;           /* likewise: of the sample, see pg_rehearse_question.h */
    struct buf sample;         /* likewise: rows as they are */
    const char *why_unsampled; /* or empty */
};

struct pg_filter_limit {
    enum pg_filter_limit_phase phase;
    uint64_t id;                  /* of the request whose ReadyForQuery comes next */
    bool wraps;                   /* the transaction is ours */
    bool is_simple;               /* a Query: its CommandComplete is held back until all is done */
    bool is_over;                 /* too many rows: the client was told */
    bool is_at_sync;              /* 'id' is a Sync's */
    struct buf query;             /* the message that waits for BEGIN */
    struct buf notice;            /* for before its answer */
    struct pg_filter_facts facts; /* of it */
    struct arena arena;
    struct buf held;                       /* its CommandComplete */
    struct buf undo;                       /* Close messages */
    struct pg_filter_rehearsal *rehearsal; /* NULL: none is wanted */
    bool is_rehearsing;                    /* it was sent */
};

/* What the server said and that cannot go on yet. */
struct pg_filter_wait {
    bool is_for_cancel; /* the batch whose answer was blocked */
    bool is_large;      /* a header was taken, pg_mask_large() is due */
    struct buf message; /* one or more whole ones of a type, decided on */
    uint64_t count;     /* of them */
    struct buf rest;    /* not cut yet */
};

/* The answer at hand. */
struct pg_filter_answered {
    uint64_t request; /* as pg_mask has it */
    uint64_t number;  /* the client's */
    bool is_of_mask;  /* pg_mask knows of what it answers, or it is nobody's */
    bool is_simple;   /* its ReadyForQuery comes by itself */
};

struct pg_filter_reading {
    struct read_budgets budgets;
    struct read_budgets next; /* of requests from 'next_from' on */
    bool has_next;
    uint64_t next_from;
    struct read_meter meter;
    uint64_t count; /* of the messages at hand, whole ones of a type; 0: nobody has cut them, as
                       they were written here */
    size_t left;    /* of a row, which goes on, that pg_mask has not said yet */
};

struct pg_filter_read_only {
    bool is_wanted;
    bool is_default;  /* transactions that begin are READ ONLY, for all that is known */
    bool is_reported; /* the server says so by itself */
    bool covers;      /* the transaction at hand is READ ONLY */
    bool has_ended;   /* a transaction, in the open batch */
    bool is_ours;     /* the setting */
    bool is_asking;   /* for it; 'id' is the request's */
    bool has_failed;  /* it was asked for, and did not come to be */
    uint64_t id;
};

enum pg_filter_defines {
    PG_FILTER_DEFINES_NONE,
    PG_FILTER_DEFINES_RELATIONS,
    PG_FILTER_DEFINES_ANYTHING,
};

/* While the session rests, see pg_filter_rest.h. */
struct pg_filter_rest {
    bool is_on;
    bool is_answered; /* the answer to what was sent has begun, and passes; or all was answered */
    bool has_parsed;  /* the unnamed statement is another one than before */
    uint64_t first_id;
    struct buf sent; /* by the client, last */
};

/* What the catalog said of names. */
struct pg_filter_known {
    struct pg_facts *facts; /* NULL: nothing that would still be believed */
    uint64_t id;
    struct catalog_stamp stamp;        /* theirs */
    enum pg_filter_defines defines;    /* what the transaction at hand may have */
    bool is_changing[CATALOG_CHANGES]; /* on_change was told of that */
    bool is_asking;
    bool is_fresh;   /* it was asked for the message at hand */
    bool has_failed; /* and said nothing */
};

struct pg_filter {
    struct pg_filter_settings settings;
    bool is_late;         /* the first rules came after the first message */
    struct pg_mask *mask; /* NULL: there was nothing to mask or judge yet */
    uint64_t mask_from;   /* the first request that it was told of */
    struct pg_filter_answered answered;
    /* Rules that were found in its answer, each told once. */
    uint64_t found_request;
    size_t found_rules[GUARD_FINDINGS_MAX];
    size_t found_count;
    struct pg_filter_wait wait;
    struct buf whole;  /* a message of the server that came in pieces */
    struct buf masked; /* what takes its place */
    bool is_blocked;   /* the server's answer was blocked: nothing more of it up to ReadyForQuery */
    bool is_blocked_to_sync;  /* that of a Sync: for the client a batch is skipped, a Query in it,
                                 too */
    struct sql_script script; /* of the text at hand, in 'arena' */
    struct slice checkable;   /* the text at hand: should it be refused, and be no SQL at all, the
                                 server's words are the better ones */
    bool has_script;          /* it was looked at; else it is analyzed when it is sent */
    bool is_script_known;
    struct passage_policy policy;
    struct arena arena;        /* of the message at hand */
    struct pgwire_state state; /* as the server sees it */
    struct pg_filter_direction directions[2];
    struct list requests; /* by id */
    struct map statements;
    struct map portals;
    struct pg_filter_watched unnamed; /* without rules they stand here, not in the maps */
    bool has_lost_names;   /* statements may be prepared of which nothing is known any more */
    size_t text_size;      /* of all statements */
    size_t changing_count; /* changes of statements that do not hold yet */
    uint64_t ended_count;  /* of statements that the client, or SQL, has ended */
    uint64_t sent_batch;   /* that the last message was part of */
    uint64_t number;       /* of the client's message at hand, and then of the next */
    uint64_t batch;        /* how many messages were sent that ReadyForQuery answers */
    bool has_run;          /* something was executed in the open batch */
    bool has_begun;        /* in it, a transaction block */
    bool has_controlled;
    bool is_discarding; /* what the client says does not go on, up to a Sync */
    bool is_muted;      /* what the server says does not go on, up to ReadyForQuery */
    bool is_waiting;    /* for all that is owed; then 'pending' goes on */
    bool is_backslash_quoted;
    bool is_encoding_unsafe; /* bytes of ASCII may be part of other characters */
    bool is_client_utf8;
    bool is_server_utf8;
    struct pg_filter_hold hold;
    struct pg_filter_limit limit;
    struct pg_filter_reading reading;
    struct pg_filter_read_only read_only;
    struct pg_filter_known known;
    struct pg_filter_rest rest;
    struct buf pending; /* of the client: not looked at yet */
    struct buf words;   /* for the server */
};

/* A message of the client, whole. */
struct pg_filter_message {
    char type;
    struct slice body;
    struct slice bytes; /* all of it, if it lies in one piece; at == NULL otherwise */
};

void pg_filter_put(struct pg_filter_out *out, struct slice bytes); /* of what came */
/* Behind what was put; write there, then go on with pg_filter_put(). */
struct buf *pg_filter_buf(struct pg_filter_out *out);
/* A piece of the direction is looked at now. */
void pg_filter_note_piece(struct pg_filter_direction *direction, const struct pgwire_piece *piece);
/* Another part of a message that is collected. ERR_MORE: it is not whole yet; *ret_body is valid
 * until direction->body is cleared. */
enum err pg_filter_collect(struct pg_filter_direction *direction, struct slice part,
                           struct slice *ret_body, struct error *reterr_error) MUST_USE;
/* The server gets a message now: what follows is put out by the caller. */
enum err pg_filter_sent(struct pg_filter *filter, char type, size_t size, uint64_t *ret_id,
                        struct error *reterr_error) MUST_USE;
enum err pg_filter_send_message(struct pg_filter *filter, const struct pg_filter_message *message,
                                uint64_t *ret_id, struct error *reterr_error) MUST_USE;
/* Words of ours, written by the caller into 'message': whole messages. */
enum err pg_filter_send_own(struct pg_filter *filter, struct slice messages, uint64_t *ret_id,
                            struct error *reterr_error) MUST_USE;
enum err pg_filter_send_query(struct pg_filter *filter, const char *text, uint64_t *ret_id,
                              struct error *reterr_error) MUST_USE;
/* The client gets these bytes. */
enum err pg_filter_tell(struct pg_filter *filter, struct slice message,
                        struct error *reterr_error) MUST_USE;
/* The one of that identifier, which is the last that was sent. */
struct pg_filter_request *pg_filter_request_add(struct pg_filter *filter, uint64_t id);
void pg_filter_request_drop(struct pg_filter *filter, struct pg_filter_request *request);

#endif
