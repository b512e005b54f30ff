/* SPDX-License-Identifier: MIT */
/* What the files of the replay share: replay.c takes records apart, pg_replay_client.c and
 * pg_replay_server.c know what each side's messages mean, pg_replay_memory.c remembers. */
#ifndef GH_POSTGRES_PG_REPLAY_INTERNAL_H
#define GH_POSTGRES_PG_REPLAY_INTERNAL_H

#include "base/map.h"
#include "base/writer.h"
#include "protocol/postgres/pg_replay.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_query.h"

#define PG_REPLAY_COLUMNS_MAX 2048 /* a server has 1,664 */

/* The columns of a result, or the parameters of a statement. Shared: x_unref when done. */
struct pg_replay_shape {
    struct pg_replay *replay;
    size_t size; /* as it is counted */
    size_t ref_count;
    size_t count;
    uint32_t *types;
    bool *is_binary;
    struct slice *names; /* of columns, in 'name_bytes'; NULL: of parameters */
    struct buf name_bytes;
};

struct pg_replay_statement {
    size_t ref_count;
    struct pg_replay *replay;
    struct slice text; /* owned */
    bool is_cut;
    struct pg_replay_shape *parameters; /* types; may be NULL */
    struct pg_replay_shape *columns;    /* may be NULL */
};

/* A portal: a statement with values. */
struct pg_replay_portal {
    struct pg_replay *replay;
    struct pg_replay_statement *statement;
    struct slice body;               /* owned: of the Bind */
    struct pg_replay_shape *columns; /* with the formats that were asked for; may be NULL */
};

/* A client's message whose answer has not come. */
struct pg_replay_request {
    char type;
    uint64_t number;                       /* of a statement, else 0 */
    bool has_columns;                      /* they were told */
    bool has_parameters;                   /* of a Describe: they were told */
    struct pg_replay_statement *statement; /* of Parse, Bind and Execute; may be NULL */
    struct pg_replay_shape *columns;       /* of its rows; may be NULL */
    char object;                           /* of Describe: 'S' or 'P' */
    struct slice name;                     /* likewise; owned */
};

/* A message that comes in several records. */
struct pg_replay_message {
    bool is_open;
    char type;
    uint32_t size;
    int64_t time;
    enum record_side side;
    uint64_t number; /* of the request that it is */
    struct buf body;
    struct record_count rows; /* of the statement so far */
};

struct pg_replay {
    replay_visit_fn visit;
    void *context;
    struct pg_replay_message client;
    struct pg_replay_message server; /* of the target, or the gateway in its place */
    struct map statements;
    struct map portals;
    size_t kept_size;                   /* of their texts and values */
    size_t shape_size;                  /* of all shapes */
    size_t kept_count;                  /* of statements */
    struct pg_replay_request *requests; /* a ring */
    size_t first;
    size_t count;
    uint64_t last_number; /* of a statement that was begun */
    uint64_t told_number; /* of that which the server spoke of last */
};

enum err pg_replay_tell(struct pg_replay *self, struct replay_event *event,
                        struct error *reterr) MUST_USE;

/* Messages; 'is_cut': the body is not whole. */
enum err pg_replay_client_message(struct pg_replay *self, const struct pg_replay_message *message,
                                  bool is_cut, struct error *reterr) MUST_USE;
enum err pg_replay_server_message(struct pg_replay *self, const struct pg_replay_message *message,
                                  bool is_cut, struct error *reterr) MUST_USE;

/* Memory. Names beyond their limits are those of nothing; shapes beyond theirs are NULL. */
struct pg_replay_shape *pg_replay_shape_new(struct pg_replay *self, size_t count,
                                            size_t names_size);
void pg_replay_shape_unref(struct pg_replay_shape *shape);
struct pg_replay_shape *pg_replay_shape_ref(struct pg_replay_shape *shape);
size_t pg_replay_shape_count(const struct pg_replay_shape *shape);
struct pg_replay_shape *pg_replay_shape_of(struct pg_replay *self, struct slice row_description);
/* The same columns with the formats of a Bind. */
struct pg_replay_shape *pg_replay_shape_with(const struct pg_replay_shape *shape,
                                             const struct pgwire_formats *formats);

struct pg_replay_statement *pg_replay_statement_put(struct pg_replay *self, struct slice name,
                                                    struct slice text);
void pg_replay_statement_unref(struct pg_replay_statement *statement);
struct pg_replay_statement *pg_replay_statement_get(struct pg_replay *self, struct slice name);
void pg_replay_statement_drop(struct pg_replay *self, struct slice name);

struct pg_replay_portal *pg_replay_portal_put(struct pg_replay *self, struct slice name,
                                              struct pg_replay_statement *statement,
                                              struct slice body);
struct pg_replay_portal *pg_replay_portal_get(struct pg_replay *self, struct slice name);
void pg_replay_portal_drop(struct pg_replay *self, struct slice name);
void pg_replay_memory_release(struct pg_replay *self);

/* Values, as they lie in a DataRow or a Bind. 'types' may be NULL. */
struct replay_values pg_replay_values_of(size_t count, struct reader reader,
                                         const struct pg_replay_shape *types);
bool pg_replay_next_value(struct replay_values *values, struct buf *scratch,
                          struct replay_value *ret_value);

/* The queue. */
struct pg_replay_request *pg_replay_request_push(struct pg_replay *self, char type);
/* NULL when there are not so many. */
struct pg_replay_request *pg_replay_request_at(struct pg_replay *self, size_t index);
struct pg_replay_request *pg_replay_request_find(struct pg_replay *self, uint64_t number);
void pg_replay_request_pop(struct pg_replay *self);

#endif
