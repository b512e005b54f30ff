/* SPDX-License-Identifier: MIT */
/* For the files of the filter only. */
#ifndef GH_MYSQL_MYSQL_FILTER_INTERNAL_H
#define GH_MYSQL_MYSQL_FILTER_INTERNAL_H

#include "base/limits.h"
#include "protocol/mysql/mysql_filter.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_state.h"

/* A value that was sent before its EXECUTE. */
struct filter_long_value {
    uint16_t parameter;
    struct buf bytes;
};

struct filter_statement {
    uint32_t id;
    uint16_t parameter_count;
    bool is_broken;               /* more was sent for it than is kept */
    bool is_read;                 /* it was known how its text is read … */
    struct sql_settings settings; /* … when it was prepared: so */
    struct buf database;
    struct buf text;
    struct buf types; /* of its parameters, as they were last told */
    struct filter_long_value *values;
    size_t value_count;
};

/* How the session reads a text. */
struct filter_session {
    bool is_known;   /* nothing has changed since it was asked */
    bool is_settled; /* and it is one of the ways that are read */
    bool is_backslash_quoted;
    bool is_ansi_quoted;
    enum sql_charset charset;
    struct buf database;
};

struct filter_question {
    bool is_asked;
    bool is_about_views; /* else about the session */
    bool is_broken;      /* a row of it cannot be read */
    struct mysqlwire_framer framer;
    struct mysqlwire_state state;
    enum mysqlwire_kind kind;
    bool has_kind;
    bool has_row;
    struct buf body;
};

struct mysql_filter {
    uint32_t capabilities;
    struct passage_policy policy;
    const struct passage_events *events;
    void *owner;
    uint64_t number; /* of the command */
    struct filter_session session;
    struct filter_question question;
    struct filter_statement *statements;
    size_t count;
    size_t size;          /* of all that they hold */
    struct buf preparing; /* the text of the PREPARE that is not answered */
    bool is_preparing;
    bool is_prepared_read;
    struct sql_settings prepared_settings;
    struct buf prepared_database;
    bool may_change_session; /* what was sent last */
    uint32_t last_id;        /* that was prepared; 0: none, or it was refused */
    /* Under masking rules: */
    struct mysql_reach reach;
    struct mysql_views views;
    bool wants_views;   /* the next question is about them */
    bool has_new_views; /* since the command was first judged */
    bool is_tainted;    /* words of errors may have values in them */
    bool is_late;       /* what the session keeps may be of the time before the rules */
    uint32_t executed;
    bool reads;
};

/* mysql_filter_session.c */
/* How the next text is read; false: nobody knows, or can read it. */
bool filter_settings(const struct mysql_filter *filter, struct sql_settings *ret_settings);
/* Whether the session may read texts otherwise once this one has run. */
bool filter_changes_session(struct slice text, const struct guard_facts *facts);

/* Whether views were asked for so lately that it counts. */
bool filter_knows_views(const struct mysql_filter *filter);

/* mysql_filter_reach.c */
/* Whether rules for columns need to know of views what is not known. */
bool filter_wants_views(const struct mysql_filter *filter);
/* By the rules for columns. */
enum mysql_filter_outcome filter_reach(struct mysql_filter *filter,
                                       const struct sql_settings *settings, bool is_read,
                                       struct slice text, const char **ret_why);
/* SHOW WARNINGS and SHOW ERRORS, before which nothing is asked: why they are refused, or NULL. */
const char *filter_reach_errors(struct mysql_filter *filter);
/* A statement that passes. */
void filter_reach_note(struct mysql_filter *filter, const struct guard_facts *facts);
void filter_reach_set(struct mysql_filter *filter, const struct passage_policy *policy,
                      bool is_late);

/* mysql_filter_statements.c */
struct filter_statement *filter_find(struct mysql_filter *filter, uint32_t id);
void filter_add(struct mysql_filter *filter, const struct mysqlwire_prepared *prepared);
void filter_remove(struct mysql_filter *filter, uint32_t id);
void filter_remove_all(struct mysql_filter *filter);
void filter_clear_values(struct mysql_filter *filter, struct filter_statement *statement);
/* COM_STMT_SEND_LONG_DATA, without its first byte. */
void filter_keep_value(struct mysql_filter *filter, struct slice body);
bool filter_has_room(const struct mysql_filter *filter, size_t size);
/* Calls 'judge' with each value of an EXECUTE as text. False: they cannot be read. */
bool filter_each_value(struct mysql_filter *filter, struct filter_statement *statement,
                       struct slice body,
                       void (*judge)(struct mysql_filter *filter, struct slice value,
                                     struct guard_verdict *verdict),
                       struct guard_verdict *verdict);

#endif
