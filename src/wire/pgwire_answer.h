/* SPDX-License-Identifier: MIT */
/* What a PostgreSQL server answers to queries: descriptions, rows, completions, errors. Bodies come
 * from a framer; views point into them, lists are read item by item and nothing is allocated. A
 * CopyData's body is its data; BindComplete, CloseComplete, CopyDone, EmptyQueryResponse, NoData,
 * ParseComplete and PortalSuspended have none. */
#ifndef GH_WIRE_PGWIRE_ANSWER_H
#define GH_WIRE_PGWIRE_ANSWER_H

#include "base/buf.h"
#include "base/error.h"
#include "wire/pgwire.h"
#include "wire/pgwire_value.h"

/* Rows ---------------------------------------------------------------------------------------- */

/* A column that a RowDescription announces. */
struct pgwire_field {
    struct slice name;
    uint32_t table;  /* its oid; 0: the field is no column of a table */
    uint16_t column; /* its number in the table, or 0 */
    uint32_t type;
    int16_t type_size; /* below 0: of variable width */
    int32_t type_modifier;
    uint16_t format; /* 0 in the answer to a Describe of a statement: not known yet */
};

struct pgwire_fields {
    size_t count;
    struct slice bytes;
};

enum err pgwire_row_description_read(struct slice body, struct pgwire_fields *ret_fields,
                                     struct error *reterr_error) MUST_USE;
/* Takes the first; false at the end. */
bool pgwire_field_next(struct pgwire_fields *fields, struct pgwire_field *ret_field);

/* A DataRow's columns, for pgwire_value_next(). */
enum err pgwire_row_read(struct slice body, struct pgwire_values *ret_columns,
                         struct error *reterr_error) MUST_USE;

/* Fails also where a server has counted past 65,535: its count says less than it sends. */
enum err pgwire_parameter_description_read(struct slice body, struct pgwire_oids *ret_types,
                                           struct error *reterr_error) MUST_USE;

/* at == NULL: the function returned NULL. */
enum err pgwire_function_result_read(struct slice body, struct slice *ret_value,
                                     struct error *reterr_error) MUST_USE;

/* Completions --------------------------------------------------------------------------------- */

struct pgwire_completion {
    struct slice tag;     /* "INSERT 0 5" */
    struct slice command; /* "INSERT" */
    bool has_row_count;
    uint64_t row_count; /* of rows returned or changed */
};

enum err pgwire_completion_read(struct slice body, struct pgwire_completion *ret_completion,
                                struct error *reterr_error) MUST_USE;

enum err pgwire_ready_read(struct slice body, enum pgwire_transaction *ret_transaction,
                           struct error *reterr_error) MUST_USE;
enum err pgwire_ready_write(struct buf *buf, enum pgwire_transaction transaction) MUST_USE;

/* CopyInResponse, CopyOutResponse and CopyBothResponse. */
struct pgwire_copy {
    bool is_binary;
    struct pgwire_formats formats; /* of the columns; all text when the whole is */
};

enum err pgwire_copy_read(struct slice body, struct pgwire_copy *ret_copy,
                          struct error *reterr_error) MUST_USE;

struct pgwire_notification {
    uint32_t process;
    struct slice channel;
    struct slice payload;
};

enum err pgwire_notification_read(struct slice body, struct pgwire_notification *ret_notification,
                                  struct error *reterr_error) MUST_USE;

/* Errors and notices -------------------------------------------------------------------------- */

/* The fields that the gateway itself knows (protocol-error-fields). */
#define PGWIRE_FIELD_SEVERITY       'S' /* may be translated */
#define PGWIRE_FIELD_SEVERITY_PLAIN 'V' /* never is */
#define PGWIRE_FIELD_SQLSTATE       'C'
#define PGWIRE_FIELD_MESSAGE        'M'
#define PGWIRE_FIELD_DETAIL         'D'
#define PGWIRE_FIELD_HINT           'H'
#define PGWIRE_FIELD_POSITION       'P' /* in the text that was asked, in characters from 1 on */

struct pgwire_notice_field {
    char type;
    struct slice text;
};

/* Checks the body of an ErrorResponse or NoticeResponse and views its fields. Fields of types that
 * nobody knows are legal. */
enum err pgwire_notice_read(struct slice body, struct slice *ret_fields,
                            struct error *reterr_error) MUST_USE;
/* Takes the first; false at the end. */
bool pgwire_notice_next(struct slice *fields, struct pgwire_notice_field *ret_field);
/* at == NULL when there is none. */
struct slice pgwire_notice_find(struct slice fields, char type);

struct pgwire_notice {
    struct slice severity; /* "ERROR", "FATAL", "WARNING" …, not translated */
    struct slice sqlstate; /* five digits and capital letters */
    struct slice message;
    struct slice detail; /* this and the next: left out when empty */
    struct slice hint;
};

/* ERR_INPUT also for a state that is none. */
enum err pgwire_error_write(struct buf *buf, const struct pgwire_notice *error) MUST_USE;
enum err pgwire_notice_write(struct buf *buf, const struct pgwire_notice *notice) MUST_USE;

#endif
