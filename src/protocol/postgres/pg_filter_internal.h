/* SPDX-License-Identifier: MIT */
/* Guard rails on a session, between their files: pg_filter.c what comes and goes, _client.c,
 * _extended.c and _target.c the messages of either side, _judge.c what a text is found to be,
 * _limit.c limits of rows, _read_only.c sessions that write nothing, _known.c whose the names in
 * statements are, _names.c what prepared statements and portals stand for, _watch.c how they are
 * followed before there are rules, _mask.c what pg_mask is told, _budget.c how much is read,
 * _hold.c what people decide on, _refuse.c what stands in the place of what is refused. */
#ifndef GH_POSTGRES_PG_FILTER_INTERNAL_H
#define GH_POSTGRES_PG_FILTER_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "protocol/postgres/pg_facts.h"
#include "protocol/postgres/pg_filter.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"
#include "wire/pgwire_query.h"
#include "wire/pgwire_state.h"

/* Not to be understood by any server. Stands in its log where something was refused. */
#define PG_FILTER_SUBSTITUTE "refused by the guard rails of the gateway"
#define PG_FILTER_NAME       "gatehouse guard rails" /* of statements and portals of ours */

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
    PG_FILTER_FINISHING, /* what ends the transaction of ours, or fails the client's, was sent */
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
    struct buf held; /* its CommandComplete */
    struct buf undo; /* Close messages */
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
    bool is_in_open;  /* of a batch whose Sync was not sent */
    bool is_simple;   /* its ReadyForQuery comes by itself */
};

/* A read budget, and where the session stands with it. */
struct pg_filter_budget {
    struct guard_budget rule;
    bool is_over;               /* it was found, until less is read than 'over_at' */
    struct read_amount over_at; /* what was read when it was */
};

struct pg_filter_budgets {
    struct arena arena; /* of the texts of the rules */
    struct pg_filter_budget *items;
    size_t count;
};

struct pg_filter_reading {
    struct pg_filter_budgets budgets;
    struct pg_filter_budgets next; /* of requests from 'next_from' on */
    bool has_next;
    uint64_t next_from;
    struct read_amount session; /* since it has had budgets */
    uint64_t count;             /* of the messages at hand, whole ones of a type; 0: nobody has cut
                                   them, as they were written here */
    size_t left;                /* of a row, which goes on, that pg_mask has not said yet */
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
    size_t text_size;                 /* of all statements */
    size_t changing_count;            /* changes of statements that do not hold yet */
    uint64_t ended_count;             /* of statements that the client, or SQL, has ended */
    uint64_t sent_batch;              /* that the last message was part of */
    uint64_t number;                  /* of the client's message at hand, and then of the next */
    uint64_t batch;                   /* how many messages were sent that ReadyForQuery answers */
    bool has_run;                     /* something was executed in the open batch */
    bool has_begun;                   /* in it, a transaction block */
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
    struct buf pending; /* of the client: not looked at yet */
    struct buf words;   /* for the server */
};

/* A message of the client, whole. */
struct pg_filter_message {
    char type;
    struct slice body;
    struct slice bytes; /* all of it, if it lies in one piece; at == NULL otherwise */
};

struct pg_filter_judgement;

/* pg_filter.c */
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
/* pg_filter_client.c: takes one piece; ERR_AGAIN: the message at hand is to be looked at again
 * later, and was kept for that. */
enum err pg_filter_take_client(struct pg_filter *filter, const struct pgwire_piece *piece,
                               struct error *reterr_error) MUST_USE;
/* For pg_filter_extended.c: whether the verdict lets the message pass; if not, it was refused. */
enum err pg_filter_enforce(struct pg_filter *filter, char type, const struct guard_verdict *verdict,
                           bool *ret_passes, struct error *reterr_error) MUST_USE;
/* Whether the message may be sent next: by its verdict, by what is masked, and as pg_mask has room
 * for it; if not, it was refused. */
enum err pg_filter_admit(struct pg_filter *filter, const struct pg_filter_message *message,
                         struct slice text, const struct pg_filter_judgement *judgement,
                         bool *ret_passes, struct error *reterr_error) MUST_USE;
/* With what a verdict warns of before its answer. */
enum err pg_filter_send_judged(struct pg_filter *filter, const struct pg_filter_message *message,
                               const struct guard_verdict *verdict, uint64_t *ret_id,
                               struct error *reterr_error) MUST_USE;
/* What SQL prepares holds when the server has done it, one statement after the other. */
void pg_filter_define_prepared(struct pg_filter *filter, uint64_t id,
                               const struct pg_filter_text *text, const struct sql_script *script);

/* pg_filter_extended.c: Parse, Bind, Execute, Describe and Close. ERR_AGAIN as above. */
enum err pg_filter_take_extended(struct pg_filter *filter, const struct pg_filter_message *message,
                                 struct error *reterr_error) MUST_USE;

/* pg_filter_watch.c */
/* Nothing that a name stands for is known any more, nor what was to be defined. */
void pg_filter_lose_names(struct pg_filter *filter);

/* pg_filter_refuse.c */
/* In the place of a message of that type; what the client is told was written to 'words'. */
enum err pg_filter_refuse(struct pg_filter *filter, char type, struct buf *words,
                          struct error *reterr_error) MUST_USE;
/* The same for a reason of ours, which is told to the owner. */
enum err pg_filter_refuse_for(struct pg_filter *filter, char type, const char *sqlstate,
                              const char *why, struct error *reterr_error) MUST_USE;
/* The same, of masking. */
enum err pg_filter_refuse_masked(struct pg_filter *filter, char type, const char *sqlstate,
                                 const char *why, struct error *reterr_error) MUST_USE;

/* What cannot be read fails for that, as at a server, and the session goes on. */
enum err pg_filter_refuse_malformed(struct pg_filter *filter, char type, const struct error *why,
                                    struct error *reterr_error) MUST_USE;

/* The client was told why the answer at hand ends; what the server does on is not for it. */
void pg_filter_block(struct pg_filter *filter);

/* pg_filter_target.c: takes one piece; ERR_AGAIN: nothing more, until what waits goes on. */
enum err pg_filter_take_target(struct pg_filter *filter, const struct pgwire_piece *piece,
                               struct error *reterr_error) MUST_USE;
/* A CommandComplete says what became of names; 'request' is what it answers, if that is known. */
void pg_filter_learn_tag(struct pg_filter *filter, struct pg_filter_request *request,
                         struct slice body);
void pg_filter_learn_parameter(struct pg_filter *filter, struct slice body);

/* Goes on as it is, 'is_lasting' if it lies in what came: filter->reading.count whole messages, or
 * bytes that were written here. */
enum err pg_filter_put_message(struct pg_filter *filter, struct slice message, bool is_lasting,
                               struct error *reterr_error) MUST_USE;
/* Whole messages of one type that were decided on go on, masked. ERR_AGAIN: they wait in
 * filter->wait. */
enum err pg_filter_pass_messages(struct pg_filter *filter, struct slice messages, bool is_lasting,
                                 struct error *reterr_error) MUST_USE;
/* The header of the message under way, which passes in parts; at == NULL: it is not at hand. */
enum err pg_filter_put_header(struct pg_filter *filter, struct slice header,
                              struct error *reterr_error) MUST_USE;

/* pg_filter_mask.c */
void pg_filter_mask_init(struct pg_filter *filter);
void pg_filter_mask_release(struct pg_filter *filter);
/* Of the policy that the filter has. */
void pg_filter_mask_set(struct pg_filter *filter);
/* The message goes to the server next; if not, it was refused. With a Describe of ours before it
 * where one is needed. */
enum err pg_filter_mask_request(struct pg_filter *filter, const struct pg_filter_message *message,
                                bool *ret_passes, struct error *reterr_error) MUST_USE;
bool pg_filter_mask_wants(const struct pg_filter *filter, char type);
/* As pg_filter_pass_messages(), of types that it wants. */
enum err pg_filter_mask_pass(struct pg_filter *filter, struct slice messages, bool is_lasting,
                             struct error *reterr_error) MUST_USE;
/* What does not go on, but changes what is known. */
enum err pg_filter_mask_note(struct pg_filter *filter, struct slice message,
                             struct error *reterr_error) MUST_USE;
/* The message under way, of which only the header has come, as above. ERR_AGAIN as above. */
enum err pg_filter_mask_large(struct pg_filter *filter, struct slice header,
                              struct error *reterr_error) MUST_USE;
enum err pg_filter_mask_part(struct pg_filter *filter, struct slice part,
                             struct error *reterr_error) MUST_USE;
/* Whether the catalog was asked, and has not answered. */
bool pg_filter_asks(const struct pg_filter *filter);
/* What waited. */
enum err pg_filter_mask_again(struct pg_filter *filter, struct error *reterr_error) MUST_USE;

/* pg_filter_judge.c */
struct pg_filter_judgement {
    struct guard_verdict verdict;
    struct pg_filter_facts facts;
    struct sql_script script; /* in filter->arena; only of what prepares */
    bool is_ambiguous;        /* the server may read the text otherwise */
    bool is_early;            /* it depends on what is owed; the rest says nothing */
    bool is_uncertain;        /* as is_ambiguous, and it is about names */
};
/* pg_filter_mask.c: whether the text may be asked; if not, it was refused. at == NULL: none that is
 * known. ERR_AGAIN: it depends on the catalog, which was asked. */
enum err pg_filter_mask_check(struct pg_filter *filter, char type, struct slice text,
                              const struct pg_filter_judgement *judgement, bool *ret_passes,
                              struct error *reterr_error) MUST_USE;
void pg_filter_judge(struct pg_filter *filter, struct slice text,
                     struct pg_filter_judgement *ret_judgement);
/* What runs when a message names it: also of one that SQL prepared. */
void pg_filter_judge_statement(struct pg_filter *filter,
                               const struct pg_filter_statement *statement,
                               struct pg_filter_judgement *ret_judgement);
/* With a setting that is on its way to change, backslashes may or may not hide what follows; and in
 * some encodings a byte of ASCII can be part of another character. What ran in the open batch may
 * have changed it: servers say so at its end. */
bool pg_filter_is_ambiguous(const struct pg_filter *filter, struct slice text);
/* What has no text that is known. */
void pg_filter_judge_unknown(struct pg_filter *filter, struct pg_filter_judgement *ret_judgement);
/* The value of a parameter. */
void pg_filter_judge_value(struct pg_filter *filter, struct slice value,
                           struct pg_filter_judgement *ret_judgement);
/* The findings, to the owner. */
void pg_filter_tell_findings(struct pg_filter *filter, const struct guard_verdict *verdict);
/* What the client is told of a verdict that blocks or warns: a message, appended to 'buf'. */
void pg_filter_write_verdict(struct buf *buf, const struct guard_verdict *verdict);
/* Likewise of one that asks for a review that cannot be. */
void pg_filter_write_unheld(struct buf *buf, const struct guard_verdict *verdict, const char *why);
/* Both verdicts hold. */
void pg_filter_join(struct guard_verdict *verdict, const struct guard_verdict *more);
/* Of one finding; at == NULL: it has no hint. */
void pg_filter_write_finding(struct buf *buf, const struct guard_finding *finding,
                             const char *sqlstate, struct slice hint);
/* Likewise an ErrorResponse of our own words. */
void pg_filter_write_error(struct buf *buf, const char *sqlstate, struct slice message,
                           struct slice hint);

/* With texts of its own. */
void pg_filter_copy_rule(struct arena *arena, const struct guard_finding *rule,
                         struct guard_finding *ret_copy);

/* pg_filter_budget.c */
void pg_filter_budget_init(struct pg_filter *filter);
void pg_filter_budget_release(struct pg_filter *filter);
/* Of requests from the next one on. */
void pg_filter_budget_set(struct pg_filter *filter, const struct passage_policy *policy);
bool pg_filter_has_budgets(const struct pg_filter *filter);
/* A statement is about to be sent; if nothing may be read and it reads, it was refused. */
enum err pg_filter_budget_check(struct pg_filter *filter, char type,
                                const struct pg_filter_facts *facts, bool *ret_passes,
                                struct error *reterr_error) MUST_USE;
/* Whether messages of that type count. */
bool pg_filter_budget_counts(const struct pg_filter *filter, char type);
/* Whole messages, as they are about to go on, those that count with others; of what pg_mask has
 * written the last may be longer. Whatever fits goes on; what does not, and what comes behind it,
 * is blocked. */
enum err pg_filter_budget_put(struct pg_filter *filter, struct slice messages, bool is_lasting,
                              struct error *reterr_error) MUST_USE;
/* One of which only the header is there: whether it fits, else it was blocked. */
enum err pg_filter_budget_put_header(struct pg_filter *filter, uint32_t size, bool *ret_passes,
                                     struct error *reterr_error) MUST_USE;

/* pg_filter_limit.c */
/* What becomes of a statement that facts limit, before it is sent. */
enum pg_filter_outcome {
    PG_FILTER_SEND,    /* it is to be sent now, and pg_filter_limit_request() to be called */
    PG_FILTER_DEFER,   /* nothing was done: again, when what is owed was answered */
    PG_FILTER_HANDLED, /* it was taken over, or refused */
};
enum err pg_filter_limit_query(struct pg_filter *filter, const struct pg_filter_message *message,
                               const struct pg_filter_facts *facts,
                               enum pg_filter_outcome *ret_outcome,
                               struct error *reterr_error) MUST_USE;
enum err pg_filter_limit_execute(struct pg_filter *filter, const struct pg_filter_facts *facts,
                                 const struct pgwire_execute *execute,
                                 enum pg_filter_outcome *ret_outcome,
                                 struct error *reterr_error) MUST_USE;
void pg_filter_limit_request(struct pg_filter *filter, uint64_t id,
                             const struct pg_filter_facts *facts);
/* Something that ReadyForQuery answers was sent. */
void pg_filter_limit_end_batch(struct pg_filter *filter, uint64_t id, char type);
/* The server skips what was sent behind something. */
void pg_filter_limit_error(struct pg_filter *filter);
/* The client does not know of an answer that is muted: what it defined has to go. */
void pg_filter_limit_undo(struct pg_filter *filter, const struct pg_filter_request *request,
                          enum pgwire_server_kind kind, struct slice body);
/* The server's messages: whether they go on. A CommandComplete of something limited; an answer to
 * the request whose ReadyForQuery is waited for, but for that; and that. */
enum err pg_filter_limit_complete(struct pg_filter *filter, const struct pg_filter_request *request,
                                  struct slice body, bool *ret_passes,
                                  struct error *reterr_error) MUST_USE;
bool pg_filter_limit_passes(struct pg_filter *filter, enum pgwire_server_kind kind);
enum err pg_filter_limit_ready(struct pg_filter *filter, bool *ret_passes,
                               struct error *reterr_error) MUST_USE;

/* pg_filter_known.c */
/* policy.judge and .judge_script, by what is known of names. False: when the catalog has answered,
 * or what is owed was; then again. */
bool pg_filter_judge_text(struct pg_filter *filter, const struct sql_settings *settings,
                          struct slice text, struct guard_verdict *ret_verdict,
                          struct guard_facts *ret_facts) MUST_USE;
bool pg_filter_judge_script(struct pg_filter *filter, const struct sql_settings *settings,
                            struct slice text, const struct sql_script *script,
                            struct guard_verdict *ret_verdict) MUST_USE;
/* A verdict from when this was another is none any more. */
uint64_t pg_filter_known_id(const struct pg_filter *filter);
/* Whether the catalog is asked, and the client waits. */
bool pg_filter_known_holds(const struct pg_filter *filter);
/* The message at hand was dealt with. */
void pg_filter_known_end_message(struct pg_filter *filter);
/* The first rules come: nobody has looked at what the transaction at hand has done. */
void pg_filter_known_begin(struct pg_filter *filter);
/* A statement was sent to be run. */
void pg_filter_known_sent(struct pg_filter *filter, const struct pg_filter_facts *facts);
void pg_filter_known_ready(struct pg_filter *filter);
/* What was asked of the catalog is known, or cannot be. */
void pg_filter_known_informed(struct pg_filter *filter);
void pg_filter_known_release(struct pg_filter *filter);

/* pg_filter_read_only.c */
void pg_filter_read_only_set(struct pg_filter *filter, const struct passage_policy *policy);
/* The server says what default_transaction_read_only is. */
void pg_filter_read_only_learn(struct pg_filter *filter, struct slice value);
/* Before a message of that type is looked at: ERR_AGAIN: when what is owed was answered; if it does
 * not pass, it was refused. */
enum err pg_filter_read_only_begin(struct pg_filter *filter, char type, bool *ret_passes,
                                   struct error *reterr_error) MUST_USE;
/* When it is known what the message is about; if it does not pass, it was refused. */
enum err pg_filter_read_only_check(struct pg_filter *filter, char type,
                                   const struct pg_filter_facts *facts, bool *ret_passes,
                                   struct error *reterr_error) MUST_USE;
/* An Execute was sent. */
void pg_filter_read_only_run(struct pg_filter *filter, const struct pg_filter_facts *facts);
/* Whether the answer, or the ReadyForQuery, is to what was asked of the server here. */
bool pg_filter_read_only_answer(struct pg_filter *filter, uint64_t id,
                                enum pgwire_server_kind kind);
bool pg_filter_read_only_ready(struct pg_filter *filter, uint64_t id);

/* pg_filter_names.c */
struct pg_filter_statement *pg_filter_statement_new(struct pg_filter *filter,
                                                    const struct pg_filter_text *text);
struct pg_filter_statement *pg_filter_statement_ref(struct pg_filter_statement *statement);
void pg_filter_statement_unref(struct pg_filter *filter, struct pg_filter_statement *statement);
/* So many texts are kept that there is no room for this one. */
bool pg_filter_is_full(const struct pg_filter *filter, size_t text_size);
void pg_filter_change_add(struct pg_filter *filter, struct pg_filter_request *request,
                          enum pg_filter_definition kind, struct slice name,
                          struct pg_filter_statement *take_statement);
/* All names of the kind. */
void pg_filter_forget(struct pg_filter *filter, enum pg_filter_definition kind);
/* The first change of the request holds. */
void pg_filter_change_apply(struct pg_filter *filter, struct pg_filter_request *request);
void pg_filter_changes_drop(struct pg_filter *filter, struct pg_filter_request *request);
/* What a name stands for when the server comes to what is sent next; NULL: nothing that is known.
 * False: it depends on what is owed for earlier batches. */
bool pg_filter_find(struct pg_filter *filter, enum pg_filter_definition kind, struct slice name,
                    struct pg_filter_statement **ret_statement);
/* Whether what a name will mean to the server can be told; if not, it was refused. ERR_AGAIN: when
 * what is owed was answered. */
enum err pg_filter_check_name(struct pg_filter *filter, char type, struct slice name,
                              bool *ret_passes, struct error *reterr_error) MUST_USE;
/* Of all that its PREPARE, EXECUTE and DEALLOCATE name. */
enum err pg_filter_check_script_names(struct pg_filter *filter, char type,
                                      const struct pg_filter_judgement *judgement, bool *ret_passes,
                                      struct error *reterr_error) MUST_USE;
void pg_filter_names_init(struct pg_filter *filter);
void pg_filter_names_release(struct pg_filter *filter);

#endif
