/* SPDX-License-Identifier: MIT */
/* What a PostgreSQL server says in an open session, masked and judged before anybody else sees it:
 * rows in both formats, copies, messages, notifications. Whoever owns it frames both directions:
 * it is told what is asked (pg_mask_request), in the order in which the server gets it, and given
 * whole messages of the server (pg_mask_answer). Untouched bytes are not copied. Fails closed: what
 * nobody described is masked as strictly as the rules can, what breaks the protocol ends the
 * session. Memory is bounded; see pg_mask_large() for messages that do not fit it. */
#ifndef GH_POSTGRES_PG_MASK_H
#define GH_POSTGRES_PG_MASK_H

#include "base/buf.h"
#include "base/error.h"
#include "protocol/passage.h"
#include "sql/sql.h"
#include "wire/pgwire_frame.h"

struct guard_finding;
struct guard_scope;
struct mask_counts;
struct mask_rules;
struct mask_scratch;

struct pg_mask;

struct pg_mask_settings {
    struct mask_rules *rules;        /* referenced; NULL: nothing is masked */
    struct mask_scratch *scratch;    /* of the worker; NULL without rules */
    const struct guard_scope *scope; /* outlives the mask; NULL: no output is judged */
    /* As the server's start said of client_encoding (pg_mask_is_encoding_unsafe); what it says of
     * it later is noticed. */
    bool is_encoding_unsafe;
    bool may_rest; /* nobody but the mask has to look at what passes */
    /* What the catalog says; see struct passage_events. An ask is answered by pg_mask_informed(),
     * never inside. NULL: nobody can tell, and all is masked as strictly as the rules can. */
    void (*on_ask)(void *owner);
    bool (*on_known)(void *owner, struct catalog_known *ret_known);
    struct catalog_stamp (*on_stamp)(void *owner);
    void (*on_change)(void *owner, enum catalog_change what, bool is_over);
    bool (*on_check)(void *owner, const struct catalog_stamp *known); /* NULL: nobody can tell */
    /* May be NULL. A rule on output that matched, whatever its action. */
    void (*on_finding)(void *owner, const struct guard_finding *finding);
    void *owner;
};

/* Whether bytes of ASCII may be parts of other characters. */
bool pg_mask_is_encoding_unsafe(struct slice client_encoding);

struct pg_mask *pg_mask_new(const struct pg_mask_settings *settings);
void pg_mask_free(struct pg_mask *mask);
/* Other rules, from the next request on; as in the settings. */
void pg_mask_set_rules(struct pg_mask *mask, const struct pg_mask_settings *settings);

/* What the client asks ------------------------------------------------------------------------ */

/* A message of the client that is about to reach the server. */
struct pg_mask_request {
    uint64_t id; /* rises; pgwire_state's, which tells later what is being answered */
    char type;
    bool is_own; /* a Describe that pg_mask_needs_describe() wanted: its answer is swallowed */
    bool is_cut; /* 'body' is only the beginning */
    struct slice body;
    const struct sql_script *script; /* of Query and Parse; NULL: nobody knows what they do */
    struct slice text;               /* that the script is of */
    bool is_backslash_quoted;        /* as it was read */
};

/* Query, Parse, Bind, Describe, Execute, Close, FunctionCall; others need not be told and change
 * nothing. ERR_INPUT, ERR_LIMIT: it must not reach the server; refuse it with these words. */
enum err pg_mask_request(struct pg_mask *mask, const struct pg_mask_request *request,
                         struct error *reterr_error) MUST_USE;
/* A prepared statement that the server has had since before there was a mask. */
void pg_mask_learn_statement(struct pg_mask *mask, struct slice name, struct slice text,
                             const struct sql_script *script);
/* Whether a Describe of the portal has to reach the server before this Execute, because nothing
 * says what its rows are. */
bool pg_mask_needs_describe(const struct pg_mask *mask, struct slice execute_body);

/* Whether what a text would do is refused: it takes what is masked to where it would not be, or,
 * where the rules say so, does more with it than hand it out. 'script' is NULL where nobody knows
 * what it does. */
enum pg_mask_refusal {
    PG_MASK_PASSES,
    PG_MASK_IS_REFUSED,
    PG_MASK_ASKS, /* again, once the catalog is known: it was asked */
};
enum pg_mask_refusal pg_mask_refuses(struct pg_mask *mask, const struct sql_script *script,
                                     struct slice text, const char **ret_words);
#define PG_MASK_REFUSED_SQLSTATE "42501"
#define PG_MASK_REFUSED_WORDS    "the statement uses a masked column beyond its output"

/* What the server answers --------------------------------------------------------------------- */

enum pg_mask_verdict {
    PG_MASK_SAME,    /* all of it passes as it is */
    PG_MASK_CHANGED, /* what was appended to 'out' takes its place; it may be nothing */
    PG_MASK_WAIT,    /* the same again, once on_ask was answered; nothing was appended */
    /* What was appended to 'out' takes its place, an ErrorResponse at its end: cancel the query,
     * and drop all up to the next ReadyForQuery. That passes, and comes here as ever. */
    PG_MASK_BLOCKED,
};

/* Whether messages of that type must come whole to pg_mask_answer(); others pass as they are and
 * need not come at all. */
bool pg_mask_wants(const struct pg_mask *mask, char type);

#define PG_MASK_NOBODY UINT64_MAX /* what nobody asked for */

/* One or more whole messages of one type, headers included, one behind the other, that answer the
 * same request, or PG_MASK_NOBODY. All that pg_mask_wants(), in order; 'out' needs room for several
 * times of them. ERR_INPUT, ERR_LIMIT: the
 * server breaks the protocol, nothing of it passes, the session ends. */
enum err pg_mask_answer(struct pg_mask *mask, uint64_t request, struct slice messages,
                        struct buf *out, enum pg_mask_verdict *ret_verdict,
                        struct error *reterr_error) MUST_USE;

/* Of a message that pg_mask_wants() whose body has more than LIMIT_MASK_MESSAGE_SIZE bytes:
 * PG_MASK_SAME, no rule concerns it, it passes in parts; PG_MASK_CHANGED, its parts go to
 * pg_mask_large_part(), which writes what takes its place (a row of which some values are too large
 * to be examined, and are masked whole); PG_MASK_BLOCKED as above: it cannot be masked. */
enum err pg_mask_large(struct pg_mask *mask, uint64_t request, const struct pgwire_frame *frame,
                       struct buf *out, enum pg_mask_verdict *ret_verdict,
                       struct error *reterr_error) MUST_USE;
/* Parts of its body, in order, to the last one. PG_MASK_CHANGED, or PG_MASK_BLOCKED once, after
 * which the rest of the message is dropped. */
enum err pg_mask_large_part(struct pg_mask *mask, struct slice part, struct buf *out,
                            enum pg_mask_verdict *ret_verdict, struct error *reterr_error) MUST_USE;

/* Rest ---------------------------------------------------------------------------------------- */

/* Whether the session stands where what is known to be open could pass unseen, in both directions;
 * nothing is told of it then, but pg_mask_wake(). */
bool pg_mask_may_rest(const struct pg_mask *mask);
enum pg_mask_rest {
    PG_MASK_AWAKE,
    PG_MASK_RESTS,         /* if pg_mask_rest_holds() when the answer begins */
    PG_MASK_RESTS_CHECKED, /* and before it reaches the server */
};
enum pg_mask_rest pg_mask_rest_of_text(const struct pg_mask *mask, struct slice text);
/* Of a prepared statement, which is the same as when the rest began. */
enum pg_mask_rest pg_mask_rest_of_name(const struct pg_mask *mask, struct slice name);
/* The catalog is what was known of it, and was ever since. */
bool pg_mask_rest_holds(const struct pg_mask *mask);
/* What comes is told again; the unnamed portal is none of those that are known. */
void pg_mask_wake(struct pg_mask *mask, bool is_in_block, bool is_encoding_unsafe);
/* What was told since was sent before: nobody knows when, but after the catalog was asked. */
void pg_mask_wake_sent(struct pg_mask *mask);

/* The catalog --------------------------------------------------------------------------------- */

void pg_mask_informed(struct pg_mask *mask);
bool pg_mask_is_asking(const struct pg_mask *mask);

const struct mask_counts *pg_mask_counts(const struct pg_mask *mask);

#endif
