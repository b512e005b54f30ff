/* SPDX-License-Identifier: MIT */
/* What the files of the replay share: replay.c takes records apart, replay_client.c and
 * replay_server.c know what each side's messages mean, replay_memory.c remembers. */
#ifndef GH_SESSION_REPLAY_INTERNAL_H
#define GH_SESSION_REPLAY_INTERNAL_H

#include "base/map.h"
#include "base/writer.h"
#include "session/replay.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_query.h"

#define REPLAY_COLUMNS_MAX 2048 /* a server has 1,664 */
#define REPLAY_NAME_MAX    256

/* Shared: x_unref when done. */
struct replay_shape {
    struct replay *replay;
    size_t size; /* as it is counted */
    size_t ref_count;
    size_t count;
    uint32_t *types;
    bool *is_binary;
    struct buf names; /* each with a NUL behind it, or empty */
};

struct replay_statement {
    size_t ref_count;
    struct replay *replay;
    struct slice text; /* owned */
    bool is_cut;
    struct replay_shape *parameters; /* types; may be NULL */
    struct replay_shape *columns;    /* may be NULL */
};

/* A portal: a statement with values. */
struct replay_portal {
    struct replay *replay;
    struct replay_statement *statement;
    struct slice body;            /* owned: of the Bind */
    struct replay_shape *columns; /* with the formats that were asked for; may be NULL */
};

/* A client's message whose answer has not come. */
struct replay_request {
    char type;
    uint64_t number;                    /* of a statement, else 0 */
    bool has_columns;                   /* they were told */
    bool has_parameters;                /* of a Describe: they were told */
    struct replay_statement *statement; /* of Parse, Bind and Execute; may be NULL */
    struct replay_shape *columns;       /* of its rows; may be NULL */
    char object;                        /* of Describe: 'S' or 'P' */
    struct slice name;                  /* likewise; owned */
};

/* A message that comes in several records. */
struct replay_message {
    bool is_open;
    char type;
    uint32_t size;
    int64_t time;
    enum record_side side;
    uint64_t number; /* of the request that it is */
    struct buf body;
    struct record_count rows; /* of the statement so far */
};

struct replay {
    replay_visit_fn visit;
    void *context;
    struct replay_message client;
    struct replay_message server; /* of the target, or the gateway in its place */
    struct map statements;
    struct map portals;
    size_t kept_size;                /* of their texts and values */
    size_t shape_size;               /* of all shapes */
    size_t kept_count;               /* of statements */
    struct replay_request *requests; /* a ring */
    size_t first;
    size_t count;
    uint64_t last_number; /* of a statement that was begun */
    uint64_t told_number; /* of that which the server spoke of last */
};

enum err replay_tell(struct replay *self, struct replay_event *event,
                     struct error *reterr) MUST_USE;

/* Messages; 'is_cut': the body is not whole. */
enum err replay_client_message(struct replay *self, const struct replay_message *message,
                               bool is_cut, struct error *reterr) MUST_USE;
enum err replay_server_message(struct replay *self, const struct replay_message *message,
                               bool is_cut, struct error *reterr) MUST_USE;

/* Memory. Names beyond their limits are those of nothing; shapes beyond theirs are NULL. */
struct replay_shape *replay_shape_new(struct replay *self, size_t count, size_t names_size);
void replay_shape_unref(struct replay_shape *shape);
struct replay_shape *replay_shape_ref(struct replay_shape *shape);
struct replay_shape *replay_shape_of(struct replay *self, struct slice row_description);
/* The same columns with the formats of a Bind. */
struct replay_shape *replay_shape_with(const struct replay_shape *shape,
                                       const struct pgwire_formats *formats);

struct replay_statement *replay_statement_put(struct replay *self, struct slice name,
                                              struct slice text);
void replay_statement_unref(struct replay_statement *statement);
struct replay_statement *replay_statement_get(struct replay *self, struct slice name);
void replay_statement_drop(struct replay *self, struct slice name);

struct replay_portal *replay_portal_put(struct replay *self, struct slice name,
                                        struct replay_statement *statement, struct slice body);
struct replay_portal *replay_portal_get(struct replay *self, struct slice name);
void replay_portal_drop(struct replay *self, struct slice name);
void replay_memory_release(struct replay *self);

/* The queue. */
struct replay_request *replay_request_push(struct replay *self, char type);
/* NULL when there are not so many. */
struct replay_request *replay_request_at(struct replay *self, size_t index);
struct replay_request *replay_request_find(struct replay *self, uint64_t number);
void replay_request_pop(struct replay *self);

#endif
