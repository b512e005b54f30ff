/* SPDX-License-Identifier: MIT */
/* The PostgreSQL messages of a client after the start. Bodies come from a framer; views point into
 * them, lists are read item by item and nothing is allocated. Writers append one message, or fail
 * and leave the buffer as it was: ERR_INPUT for a text with NUL inside and for what the protocol
 * cannot say, ERR_LIMIT. A CopyData's body is its data; CopyDone, Flush, Sync and Terminate have
 * none. */
#ifndef GH_WIRE_PGWIRE_QUERY_H
#define GH_WIRE_PGWIRE_QUERY_H

#include "base/buf.h"
#include "base/error.h"
#include "base/reader.h"
#include "wire/pgwire_value.h"

enum err pgwire_query_read(struct slice body, struct slice *ret_text,
                           struct error *reterr_error) MUST_USE;
enum err pgwire_query_write(struct buf *buf, struct slice text) MUST_USE;

/* Servers cut the names of statements and portals there, amid a character if need be; names within
 * SQL are cut before a character (StorePreparedStatement(), CreatePortal(); truncate_identifier()).
 * What is read here is cut likewise, so that names which are the same to a server are the same. */
#define PGWIRE_NAME_SIZE 63
struct slice pgwire_name_read(struct reader *reader);

/* An empty name is that of the unnamed statement or portal. */
struct pgwire_parse {
    struct slice statement;
    struct slice text;
    struct pgwire_oids types; /* of the first parameters; 0 leaves one open */
};

enum err pgwire_parse_read(struct slice body, struct pgwire_parse *ret_parse,
                           struct error *reterr_error) MUST_USE;
/* Without types. */
enum err pgwire_parse_write(struct buf *buf, struct slice statement, struct slice text) MUST_USE;
enum err pgwire_parse_typed_write(struct buf *buf, struct slice statement, struct slice text,
                                  const uint32_t *types, size_t count) MUST_USE;

struct pgwire_bind {
    struct slice portal;
    struct slice statement;
    struct pgwire_formats formats; /* none, one for all parameters, or one for each */
    struct pgwire_values values;
    struct pgwire_formats result_formats;
};

enum err pgwire_bind_read(struct slice body, struct pgwire_bind *ret_bind,
                          struct error *reterr_error) MUST_USE;
/* To the unnamed portal, all results as text, and all values but those that 'are_binary', which may
 * be NULL. A value with at == NULL is NULL. */
enum err pgwire_bind_write(struct buf *buf, struct slice statement, const struct slice *values,
                           const bool *are_binary, size_t count) MUST_USE;

/* To a portal of that name, without parameters. */
enum err pgwire_bind_portal_write(struct buf *buf, struct slice portal,
                                  struct slice statement) MUST_USE;

/* What Describe and Close name; the values are those on the wire. */
enum pgwire_object_kind {
    PGWIRE_STATEMENT = 'S',
    PGWIRE_PORTAL = 'P',
};

struct pgwire_object {
    enum pgwire_object_kind kind;
    struct slice name;
};

/* Of Describe and of Close. */
enum err pgwire_object_read(struct slice body, struct pgwire_object *ret_object,
                            struct error *reterr_error) MUST_USE;
enum err pgwire_describe_write(struct buf *buf, const struct pgwire_object *object) MUST_USE;
enum err pgwire_close_write(struct buf *buf, const struct pgwire_object *object) MUST_USE;

struct pgwire_execute {
    struct slice portal;
    int32_t row_count_max; /* 0 or less: all */
};

enum err pgwire_execute_read(struct slice body, struct pgwire_execute *ret_execute,
                             struct error *reterr_error) MUST_USE;
enum err pgwire_execute_write(struct buf *buf, const struct pgwire_execute *execute) MUST_USE;

struct pgwire_function_call {
    uint32_t function; /* its oid */
    struct pgwire_formats formats;
    struct pgwire_values values;
    uint16_t result_format;
};

enum err pgwire_function_call_read(struct slice body, struct pgwire_function_call *ret_call,
                                   struct error *reterr_error) MUST_USE;

enum err pgwire_copy_fail_read(struct slice body, struct slice *ret_reason,
                               struct error *reterr_error) MUST_USE;
enum err pgwire_copy_fail_write(struct buf *buf, struct slice reason) MUST_USE;

enum err pgwire_sync_write(struct buf *buf) MUST_USE;
enum err pgwire_flush_write(struct buf *buf) MUST_USE;
enum err pgwire_terminate_write(struct buf *buf) MUST_USE;

#endif
