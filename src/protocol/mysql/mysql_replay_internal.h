/* SPDX-License-Identifier: MIT */
/* The reader of recordings, between its files: mysql_replay.c puts messages together,
 * mysql_replay_client.c and mysql_replay_server.c tell what they mean, mysql_replay_memory.c keeps
 * what is known of statements, mysql_replay_value.c reads values. */
#ifndef GH_MYSQL_MYSQL_REPLAY_INTERNAL_H
#define GH_MYSQL_MYSQL_REPLAY_INTERNAL_H

#include "base/arena.h"
#include "base/limits.h"
#include "base/map.h"
#include "protocol/mysql/mysql_replay.h"
#include "protocol/mysql/mysql_tap.h"
#include "wire/mysqlwire_value.h"

/* How the values of an event lie in its bytes. */
enum mysql_values_kind { MYSQL_VALUES_TEXT, MYSQL_VALUES_ROW, MYSQL_VALUES_PARAMETERS };

struct mysql_values_shape {
    enum mysql_values_kind kind;
    const struct mysqlwire_value_type *types; /* may be NULL */
    size_t type_count;
    struct slice nulls;
    size_t null_offset;
};

struct mysql_replay_message {
    bool is_open;
    char type;
    uint32_t size;
    int64_t time;
    enum record_side side;
    struct buf body;
    struct record_count rows; /* of the statement, as far as they were counted here */
};

/* A prepared statement. */
struct mysql_replay_statement {
    uint32_t id;
    struct slice text; /* owned */
    bool is_cut;
    size_t parameter_count;
    struct mysqlwire_value_type *parameters; /* as of the last time that they were told */
    struct mysqlwire_value_type *columns;    /* of its last result, for what is fetched later */
    size_t column_count;
    uint64_t number; /* of the last time that it ran */
};

/* A command without an answer yet. */
struct mysql_replay_request {
    uint8_t command;
    uint64_t number;
    uint32_t statement_id;
    struct slice text; /* owned: of one that is prepared */
    bool is_cut;
};

struct mysql_replay {
    replay_visit_fn visit;
    void *context;
    struct mysql_replay_message client;
    struct mysql_replay_message server;
    struct mysql_replay_request owed[LIMIT_MYSQLWIRE_OWED]; /* a ring */
    size_t first;
    size_t count;
    uint64_t last_number;
    struct map statements; /* by the bytes of their ids */
    size_t kept_size;      /* of their texts */
    struct arena arena;    /* of the columns' names */
    struct slice *names;
    struct mysqlwire_value_type *types;
    size_t column_count;
    bool has_told_columns;
    uint64_t file_number; /* whose file the client sends */
};

enum err mysql_replay_tell(struct mysql_replay *self, struct replay_event *event,
                           struct error *reterr) MUST_USE;
enum err mysql_replay_client_message(struct mysql_replay *self, bool is_cut,
                                     struct error *reterr) MUST_USE;
enum err mysql_replay_server_message(struct mysql_replay *self, bool is_cut,
                                     struct error *reterr) MUST_USE;

/* NULL: none is owed. */
struct mysql_replay_request *mysql_replay_current(struct mysql_replay *self);
struct mysql_replay_request *mysql_replay_push(struct mysql_replay *self, uint8_t command);
void mysql_replay_pop(struct mysql_replay *self);
/* NULL: it is not known, or there are too many. */
struct mysql_replay_statement *mysql_replay_find(const struct mysql_replay *self, uint32_t id);
/* Takes the request's text. */
void mysql_replay_keep(struct mysql_replay *self, struct mysql_replay_request *request,
                       const struct mysqlwire_prepared *prepared);
void mysql_replay_forget(struct mysql_replay *self, uint32_t id);
void mysql_replay_forget_all(struct mysql_replay *self);
/* Owned copies. */
struct slice mysql_replay_copy(struct slice text);
void mysql_replay_release(struct slice *text);

struct replay_values mysql_replay_values(size_t count, struct slice bytes,
                                         const struct mysql_values_shape *shape);
bool mysql_replay_next_value(struct replay_values *values, struct buf *scratch,
                             struct replay_value *ret_value);

#endif
