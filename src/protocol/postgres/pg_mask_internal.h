/* SPDX-License-Identifier: MIT */
/* What the files of pg_mask share. A statement's name means what the server takes it for when it
 * answers, not when the client speaks: a Parse that fails changes nothing. */
#ifndef GH_POSTGRES_PG_MASK_INTERNAL_H
#define GH_POSTGRES_PG_MASK_INTERNAL_H

#include "base/limits.h"
#include "base/list.h"
#include "base/map.h"
#include "policy/guard.h"
#include "policy/mask.h"
#include "protocol/postgres/pg_facts.h"
#include "protocol/postgres/pg_mask.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_copy.h"
#include "wire/pgwire_query.h"
#include "wire/pgwire_text.h"
#include "wire/pgwire_type.h"

/* What is done with a value of a row that is not NULL. */
enum mask_cell {
    MASK_CELL_PASSES,
    MASK_CELL_FIXED,   /* the field's 'fixed' takes the place, whatever it is */
    MASK_CELL_WRITTEN, /* by mask_write_whole() */
    MASK_CELL_SEEN,    /* pg_mask_value() and rules on output have a look at it */
};

/* How one column's values are dealt with. */
struct mask_field {
    struct mask_plan plan;
    uint32_t type; /* 0: not known */
    enum pgwire_type_kind kind;
    uint16_t format;
    bool is_needed; /* its values are looked at */
    bool is_sieved; /* but for those in which a sieve finds nothing suspect */
    enum mask_cell cell;
    struct slice fixed; /* at == NULL: NULL */
    size_t growth;      /* of a value that is FIXED or WRITTEN, at most */
};

/* A RowDescription, shared by those who were described by it. */
struct described {
    size_t references;
    size_t *total;     /* of the bodies of all */
    struct slice body; /* behind the struct */
    /* What was made of it, as long as 'generation' is the mask's and the request is such. */
    uint64_t generation;
    bool is_reached;
    bool is_trusted;
    uint64_t lineage; /* of the statement that it was made for; 0: it matters not */
    struct mask_field *fields;
    size_t count;
};

/* What a COPY says about what comes; see pg_mask_copy_read(). */
#define COPY_COLUMNS_MAX 1600
struct copy_statement {
    bool is_query; /* COPY (…) */
    struct pgwire_copy_format format;
    struct slice schema; /* all texts are unfolded and point into 'memory' */
    struct slice table;
    struct slice *columns; /* NULL: all of the table's, or of the query's */
    size_t column_count;
};

struct statement {
    size_t references;
    uint64_t id;           /* no other has it */
    bool is_script_known;  /* 'script' says what it does */
    bool changes_names;    /* statements and portals may mean others afterwards */
    bool changes_tables;   /* the catalog, or may */
    bool commits_prepared; /* what another transaction defined, as PREPARE TRANSACTION left it */
    bool runs_others;      /* what a name means: EXECUTE, FETCH */
    bool shows_plain;      /* a setting that holds no text of the client's choice */
    bool is_copy_known;    /* 'copy' is of the only COPY in it */
    bool is_alone;         /* it is one statement */
    struct sql_script script;
    struct slice text; /* where its lineage can be told; or empty */
    bool is_backslash_quoted;
    bool *is_open; /* by column of its result; NULL: not worked out yet */
    size_t open_count;
    uint64_t open_generation;
    struct described *described; /* NULL: nobody has yet */
    struct described *recent;    /* of a portal of it; the next one's is the same as a rule */
    struct arena arena;          /* of 'copy' and 'script' */
    struct copy_statement copy;
};

struct portal {
    struct statement *statement;
    struct described *described; /* by a Describe of its own */
    struct pgwire_formats formats;
    bool has_formats;
    char *format_bytes;
};

enum mask_reach {
    MASK_UNDECIDED,
    MASK_OPEN,
    MASK_REACHED, /* a relation with a masked column, or nobody knows */
};

/* What SQL has prepared, or declared as a cursor, under a name. */
struct kept_name {
    struct list link;
    struct statement *statement;
    bool is_cursor; /* its name is not known */
    uint8_t name_len;
    char name[PGWIRE_NAME_SIZE];
};

/* A message of the client that is not answered yet. */
struct pending_request {
    struct list link;
    uint64_t id;
    char type;
    char object; /* of Describe and Close: 'S' or 'P' */
    bool is_own;
    struct statement *statement;  /* of Parse and Query */
    struct portal *portal;        /* of Bind: what it makes, without its statement */
    char name[PGWIRE_NAME_SIZE];  /* of what Parse, Bind, Describe, Execute, Close name */
    char other[PGWIRE_NAME_SIZE]; /* of the statement that Bind names */
    uint8_t name_len;
    uint8_t other_len;
    enum mask_reach reach;
    bool is_trusted;      /* nobody else changed the catalog while it ran */
    bool is_unproven;     /* what the server says of its columns proves nothing */
    bool is_complete;     /* it was answered; never of a Query */
    bool changes;         /* the catalog, at once */
    bool may_mask;        /* and so that something comes to be masked, or is no more */
    bool is_own_function; /* of a FunctionCall: the server's */
    bool was_changing[CATALOG_CHANGES]; /* the session was about to, when it was sent */
    unsigned ask_count;
    struct catalog_stamp sent;
    int64_t decided_at_us; /* when it was to be decided first; 0: not yet */
    bool is_provisional;   /* decided while somebody's checked change was under way */
    bool is_anew;          /* it was open before */
};

/* A copy to the client that is under way. */
struct copying {
    bool is_on;
    bool is_rows_known; /* rows and fields can be told apart */
    bool has_begun;     /* binary: the header has passed */
    bool has_ended;
    bool is_header_due;
    bool is_needed;  /* one of the fields is */
    bool has_sieved; /* one of them is */
    bool is_sieved;  /* all that are needed are */
    bool is_alike;   /* all are, and what is found in them does not depend on which it is */
    struct pgwire_copy_format format;
    size_t column_count;
    struct mask_field *fields;
    struct buf carry; /* of a row that is not whole yet */
    size_t pieces;    /* that it came in */
};

/* A row that is larger than what is held: values that cannot be examined for that are masked, what
 * comes out is held until its length is known. */
struct large_row {
    bool is_on;
    bool is_blocked;
    bool has_count;
    bool is_passing; /* no rule concerns what is left */
    size_t index;    /* of the field that comes next, or of which the value does */
    size_t count;
    uint32_t left; /* of the body */
    bool is_in_value;
    bool is_skipped;   /* what takes the value's place stands in 'body' already */
    bool is_collected; /* the value comes into 'held' */
    uint32_t value_left;
    struct buf held;
    struct buf body;
};

struct pg_mask {
    struct pg_mask_settings settings;
    const struct mask_strategy *strictest; /* NULL: there is no column rule */
    bool looks_into_text;
    bool judges;
    bool is_encoding_unsafe;
    bool is_blocked;                   /* the rest of the batch goes unseen */
    bool has_reached;                  /* a statement of the transaction did */
    bool has_run_code;                 /* of the session ran what may do anything, and reached */
    bool has_ddl;                      /* not committed, or not seen to be */
    bool may_mask;                     /* with it something may come to be masked, or be no more */
    bool has_dirty_ddl;                /* likewise, of what is masked */
    bool is_in_block;                  /* as the server said last */
    bool may_leave_block;              /* something was sent since that may end it */
    bool is_changing[CATALOG_CHANGES]; /* others were told that something begins */
    bool is_asking;                    /* on_ask was called */
    unsigned early_count;   /* on_ask was called so often for what the client says, which waits */
    int64_t early_at_us;    /* the first time */
    struct pg_facts *facts; /* NULL: nothing is known */
    int64_t facts_at_us;
    struct list kept; /* struct kept_name */
    size_t kept_count;
    bool has_forgotten_kept; /* there were more than are kept */
    uint64_t next_statement;
    struct mask_counts counts;
    uint64_t told_nulls; /* of them, those that the client was told of */

    struct list pending; /* oldest first */
    size_t pending_count;
    struct list spare; /* to be used again */
    size_t spare_count;
    struct map statements;
    struct map portals;
    size_t described_size;

    /* What rows that come are of. */
    bool is_current;
    bool is_current_described;
    uint64_t current_id;
    struct mask_field *fields;
    size_t field_count;
    size_t field_capacity;
    struct mask_field unknown; /* each of the fields, when nobody described them */
    bool has_needed;
    bool has_sieved;
    bool has_whole;             /* values that are replaced without a look */
    size_t row_growth;          /* of all fields, when they were described */
    struct described *of_query; /* what the query under way was described by */
    struct described *recent;   /* and the one before */

    struct copying copying;
    struct large_row large;

    uint64_t generation; /* of what plans are made from */

    struct buf value;  /* what takes a value's place */
    struct buf piece;  /* the text that a value is read as */
    struct buf bytes;  /* that the text of a bytea stands for */
    struct buf masked; /* what takes their place */
    struct buf unescaped;
    struct buf line;
    /* Why an answer is blocked. */
    char refused_name[128];
    size_t refused_name_len;
    char refused_words[1024];
    size_t refused_words_len;
};

/* pg_mask_request.c */
struct pending_request *pg_mask_find_pending(struct pg_mask *mask, uint64_t id);
struct statement *pg_mask_statement_of(struct pg_mask *mask, const struct pending_request *pending);
struct portal *pg_mask_portal_of(struct pg_mask *mask, const struct pending_request *pending);
struct statement *statement_ref(struct statement *statement);
void statement_unref(struct statement *statement);
void portal_free(struct portal *portal);
void described_unref(struct described *described);
void pg_mask_release_pending(struct pg_mask *mask);
/* Portals, and statements. */
void pg_mask_forget_names(struct pg_mask *mask, bool keeps_unnamed);
void pg_mask_forget_portals(struct pg_mask *mask);
/* ParseComplete, BindComplete, CloseComplete of it. */
void pg_mask_apply(struct pg_mask *mask, struct pending_request *pending);
void pg_mask_apply_description(struct pg_mask *mask, const struct pending_request *pending,
                               struct slice body);
void pg_mask_release_kept(struct pg_mask *mask);

/* pg_mask_script.c: what the text says is kept with the statement. */
void pg_mask_describe_statement(struct pg_mask *mask, struct statement *statement,
                                const struct pg_mask_request *request);
/* Of that, whether the catalog becomes another. */
void pg_mask_describe_changes(struct statement *statement, const struct sql_script *script,
                              struct slice text);

/* pg_mask_reach.c */
/* Whether it is decided what the request reaches; if not, the catalog was asked. */
bool pg_mask_decide(struct pg_mask *mask, struct pending_request *pending);
/* Of one that was; NULL: of the transaction. */
bool pg_mask_is_reached(const struct pg_mask *mask, const struct pending_request *pending);
/* What the name of a column says of what is in it. */
uint64_t pg_mask_context_of(const struct pg_mask *mask, struct slice name);
/* 'is_open': it is computed, and known to be of nothing masked. */
struct mask_plan pg_mask_plan(const struct pg_mask *mask, const struct pending_request *pending,
                              const struct pgwire_field *field, bool is_open);
/* By what is known now, before anything runs. */
struct pg_mask_reaching {
    bool is_reached; /* masked columns, or what may reach any */
    bool runs_code;  /* that nobody knows */
    bool has_view;   /* it reads one, or what may be one */
};
struct pg_mask_reaching pg_mask_script_reaches(const struct pg_mask *mask,
                                               const struct pg_facts *facts,
                                               const struct sql_script *script);
bool pg_mask_has_dirty_ddl(struct pg_mask *mask);
/* Of the server's functions: what gives back what was put somewhere before. */
bool pg_mask_gives_back(struct slice function);
/* pg_mask_lineage.c: whether nothing masked flows into a column of the result, which has 'count'.
 */
bool pg_mask_is_open(struct pg_mask *mask, struct statement *statement, size_t index, size_t count);
enum pg_mask_facts {
    PG_MASK_FACTS_KNOWN, /* mask->facts; NULL: it could not be asked */
    PG_MASK_FACTS_OLD,
};
/* Of what was asked for at 'after_us' or later; 0: any time, but it was answered. */
enum pg_mask_facts pg_mask_take_facts(struct pg_mask *mask, int64_t after_us, bool is_for_checked);
void pg_mask_ask(struct pg_mask *mask);

/* pg_mask_change.c */
/* Whether what was known then still is; 'is_for_checked': but for checked changes, where nothing is
 * masked. */
bool pg_mask_is_current(const struct pg_mask *mask, const struct catalog_known *known,
                        const struct catalog_stamp *now, bool is_for_checked);
/* Whether others' checked changes were under way since the request was sent; and whether what is
 * known of the catalog is true of all that the server can have seen for it. */
bool pg_mask_has_checked(const struct pg_mask *mask, const struct pending_request *pending,
                         const struct catalog_stamp *now);
bool pg_mask_is_trusted(const struct pg_mask *mask, const struct pending_request *pending,
                        const struct catalog_stamp *now);
/* NULL: nobody knows what it does. */
bool pg_mask_changes_catalog(const struct statement *statement);
bool pg_mask_waits_to_change(const struct pg_mask *mask, const struct sql_script *script,
                             struct slice text);
void pg_mask_end_changes(struct pg_mask *mask);
/* A request goes to the server; the server is ready. */
void pg_mask_note_sent(struct pg_mask *mask, struct pending_request *pending);
void pg_mask_note_ready(struct pg_mask *mask, bool is_idle);

/* pg_mask_copy_statement.c: false: it says something that is not understood. */
bool pg_mask_copy_read(struct arena *arena, struct slice text, struct copy_statement *ret_copy);

/* pg_mask_field.c */
bool mask_field_is_masked(const struct pg_mask *mask, const struct mask_field *field);
/* Sets what its values look like. */
void pg_mask_set_type(struct mask_field *field, uint32_t type);
/* Sets whether and how its values are looked at, by its plan, type and format. */
void pg_mask_set_needed(const struct pg_mask *mask, struct mask_field *field);

/* pg_mask_value.c: 'buf' gets what takes its place. */
enum mask_outcome pg_mask_value(struct pg_mask *mask, const struct mask_field *field,
                                struct slice value, struct buf *buf);
/* A text that is no column's. */
enum mask_outcome pg_mask_plain(struct pg_mask *mask, struct slice label, struct slice text,
                                struct buf *buf);
/* False: a rule on output blocks it; pg_mask_block() says so. */
bool pg_mask_may_pass(struct pg_mask *mask, struct slice text);
void pg_mask_set_refused(struct pg_mask *mask, struct slice name, struct slice message);
#define MASK_REFUSED_NAME    SLICE("data masking")
#define MASK_REFUSED_WORDS   SLICE("A value cannot be examined, and a masking rule refuses such.")
#define MASK_STREAM_WORDS    SLICE("Replication streams cannot be masked.")
#define MASK_TOO_LARGE_WORDS SLICE("A row is too large to be examined.")
/* An ErrorResponse with those words. */
enum err pg_mask_block(struct pg_mask *mask, struct buf *out, enum pg_mask_verdict *ret_verdict,
                       struct error *reterr_error) MUST_USE;

/* pg_mask_sieve.c: a part of what came, in which the bytes are known that have to be looked at.
 * Asked from its start to its end. */
#define PG_MASK_SIEVE_SIZE LIMIT_KIB(16)
struct pg_mask_sieve {
    struct slice bytes; /* all that came */
    size_t start;       /* of the part; where it begins and ends, messages do */
    size_t end;
    size_t next; /* the first that is suspect from where was asked last */
    struct detect_sieve part;
    uint64_t begins[DETECT_SIEVE_WORDS(PG_MASK_SIEVE_SIZE)];
    uint64_t suspects[DETECT_SIEVE_WORDS(PG_MASK_SIEVE_SIZE)];
};
/* Nothing is sieved yet; all is suspect. */
void pg_mask_sieve_init(struct pg_mask_sieve *sieve, struct slice bytes);
/* The rows from 'start' on that fit; none when the first one does not. */
void pg_mask_sieve_rows(const struct pg_mask *mask, struct pg_mask_sieve *sieve, size_t start);
void pg_mask_sieve_copy(const struct pg_mask *mask, struct pg_mask_sieve *sieve, size_t start);
size_t pg_mask_sieve_next(struct pg_mask_sieve *sieve, size_t start);

/* What was asked for is asked for again, from before. */
static inline void pg_mask_sieve_rewind(struct pg_mask_sieve *sieve)
{
    sieve->next = 0;
}

/* Whether anything suspect is there; where nothing was sieved, all is. */
static inline bool pg_mask_sieve_has(struct pg_mask_sieve *sieve, size_t start, size_t end)
{
    if (start < sieve->start || end > sieve->end) {
        return true;
    }
    return (sieve->next >= start ? sieve->next : pg_mask_sieve_next(sieve, start)) < end;
}

/* Whether a value passes without more of a look: what stands there, as it stands. */
bool pg_mask_sieve_passes(const struct pg_mask *mask, struct pg_mask_sieve *sieve,
                          const struct mask_field *field, size_t start, size_t end);

/* Of numbers in network order, where the caller knows that they are there. From one address on, so
 * that it is one load. */
static inline uint32_t pg_mask_u32_at(struct slice bytes, size_t at)
{
    const uint8_t *from = (const uint8_t *)bytes.at + at;
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static inline size_t pg_mask_u16_at(struct slice bytes, size_t at)
{
    const uint8_t *from = (const uint8_t *)bytes.at + at;
    return (size_t)from[0] << 8 | from[1];
}

/* And back, where the caller has room for it. */
static inline void pg_mask_put_u32(char *at, uint32_t value)
{
    at[0] = (char)(value >> 24);
    at[1] = (char)(value >> 16);
    at[2] = (char)(value >> 8);
    at[3] = (char)value;
}

/* pg_mask_row.c */
#define ROW_HEAD_SIZE (PGWIRE_HEADER_SIZE + 2)
#define LENGTH_SIZE   4
#define NULL_LENGTH   UINT32_MAX
/* The request is decided. */
void pg_mask_make_current(struct pg_mask *mask, const struct pending_request *pending,
                          uint64_t request);
/* After other rules came: what is left of a row that comes in parts is masked as strictly as they
 * can. */
void pg_mask_row_replan(struct pg_mask *mask);
/* How a row's values are dealt with. */
const struct mask_field *pg_mask_field(const struct pg_mask *mask, size_t index);
/* Of the request that was made current. */
enum err pg_mask_rows(struct pg_mask *mask, struct slice messages, struct buf *out,
                      enum pg_mask_verdict *ret_verdict, struct error *reterr_error) MUST_USE;

/* pg_mask_copy.c */
enum err pg_mask_copy_begin(struct pg_mask *mask, const struct pending_request *pending,
                            struct slice body, struct error *reterr_error) MUST_USE;
enum err pg_mask_copy_rows(struct pg_mask *mask, struct slice messages, struct buf *out,
                           enum pg_mask_verdict *ret_verdict, struct error *reterr_error) MUST_USE;
enum err pg_mask_copy_done(struct pg_mask *mask, struct slice message, struct buf *out,
                           enum pg_mask_verdict *ret_verdict, struct error *reterr_error) MUST_USE;
void pg_mask_copy_end(struct pg_mask *mask);
/* After other rules came: all is masked as strictly as they can. */
void pg_mask_copy_replan(struct pg_mask *mask);

/* A field of a row; *ret_outcome is MASK_SAME unless it is ROW_CHANGED. */
enum row_outcome {
    ROW_SAME,
    ROW_CHANGED, /* mask->value takes the place, or NULL */
    ROW_BLOCKED,
    ROW_OVER,
};
enum row_outcome pg_mask_copy_field(struct pg_mask *mask, const struct mask_field *field,
                                    struct slice value, enum mask_outcome *ret_outcome);
const struct mask_field *pg_mask_copy_field_at(const struct copying *copying, size_t index);

/* pg_mask_copy_line.c: rows of text or CSV that are messages of their own */
struct copy_run {
    struct slice messages;
    size_t copied; /* of them, or replaced */
    struct buf *out;
    bool is_changed;
    bool is_over;
    struct pg_mask_sieve sieve;
};
void copy_run_begin(struct copy_run *run, struct slice messages, struct buf *out);
void copy_run_to(struct copy_run *run, size_t end);
struct slice pg_mask_copy_take_line_end(struct slice *row);
/* Whether the message from 'start' to 'end' was such a row, and has been dealt with. */
bool pg_mask_copy_line(struct pg_mask *mask, struct copy_run *run, size_t start, size_t end,
                       enum row_outcome *ret_row);

/* pg_mask_notice.c: errors, notices, notifications, parameters, function results; one message. */
enum err pg_mask_words(struct pg_mask *mask, const struct pending_request *pending,
                       struct slice message, struct buf *out, enum pg_mask_verdict *ret_verdict,
                       struct error *reterr_error) MUST_USE;

/* pg_mask_large.c */
void pg_mask_large_init(struct large_row *large);
void pg_mask_large_release(struct large_row *large);

#endif
