/* SPDX-License-Identifier: MIT */
/* What the files of pg_mask keep of a session. What one does for the others is in a header of its
 * name. A statement's name means what the server takes it for when it answers, not when the client
 * speaks: a Parse that fails changes nothing. */
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
    uint64_t rest_id; /* it is open by the facts of that number, whatever the session does */
    bool *is_open;    /* by column of its result; NULL: not worked out yet */
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
    uint64_t decided_by;   /* the facts */
    bool was_unseen;       /* it was sent while the session rested */
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
    struct catalog_stamp facts_stamp;
    uint64_t facts_id;          /* others have another */
    struct mask_shapes *shapes; /* NULL: none yet */
    bool may_listen;            /* the session may get notifications */
    bool is_restful;            /* what ran last was remembered as open */
    struct list kept;           /* struct kept_name */
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

#endif
