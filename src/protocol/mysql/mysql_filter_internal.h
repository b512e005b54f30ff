/* SPDX-License-Identifier: MIT */
/* For the files of the filter only. */
#ifndef GH_MYSQL_MYSQL_FILTER_INTERNAL_H
#define GH_MYSQL_MYSQL_FILTER_INTERNAL_H

#include "base/limits.h"
#include "protocol/mysql/mysql_aside.h"
#include "protocol/mysql/mysql_filter.h"

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

/* What the gateway has the target say, or do, before a command. */
enum filter_ask {
    FILTER_ASK_SESSION,   /* how it reads texts */
    FILTER_ASK_VIEWS,     /* which relations are */
    FILTER_ASK_VIEW,      /* what one of them is */
    FILTER_ASK_READ_ONLY, /* to become one that only reads */
    FILTER_ASK_WRITABLE,  /* to be as it was */
};

struct filter_question {
    struct mysql_aside aside;
    enum filter_ask about;
    bool has_row;
};

/* A rule has the session run in READ ONLY transactions. */
struct filter_read_only {
    bool is_wanted;
    bool is_ours;    /* the session was made so */
    bool is_held;    /* and the target agreed, once */
    bool has_failed; /* it did not */
    bool covers;     /* the transaction that is open began since */
    bool sets_first; /* what was judged goes behind the setting */
};

enum filter_hold_phase {
    FILTER_UNHELD,
    FILTER_HELD,     /* people are asked about the command at hand */
    FILTER_APPROVED, /* it is to go on */
    FILTER_DENIED,   /* 'words' say why */
};

struct filter_hold {
    enum filter_hold_phase phase;
    bool is_cancelled;
    struct buf words;
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
    enum filter_ask wants; /* what the next question is about */
    bool has_new_views;    /* since the command was first judged */
    bool has_reach;        /* its text was judged by rules for columns already: so */
    enum mysql_reach_outcome reach_outcome;
    bool is_tainted; /* words of errors may have values in them */
    bool is_late;    /* what the session keeps may be of the time before the rules */
    uint32_t executed;
    bool reads;
    uint16_t status; /* as the target said last */
    bool has_table_locks;
    struct filter_read_only read_only;
    struct filter_hold hold;
    struct mysql_filter_limit limit; /* of the command that passes */
    struct buf limit_question;
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
/* Likewise what a view is that the command's text names: that is asked first. */
bool filter_wants_view(struct mysql_filter *filter, uint8_t command, struct slice body);
/* By the rules for columns. */
struct filter_subject;
enum mysql_filter_outcome filter_reach(struct mysql_filter *filter,
                                       const struct filter_subject *subject, const char **ret_why);
/* SHOW WARNINGS and SHOW ERRORS, before which nothing is asked: why they are refused, or NULL. */
const char *filter_reach_errors(struct mysql_filter *filter);
/* A statement that passes. */
void filter_reach_note(struct mysql_filter *filter, const struct guard_facts *facts,
                       struct slice text);
void filter_reach_set(struct mysql_filter *filter, const struct passage_policy *policy,
                      bool is_late);

/* mysql_filter.c */
enum mysql_filter_outcome filter_refuse(struct mysql_filter *filter, const char *why,
                                        struct buf *words);
void filter_write_words(struct buf *words, const struct guard_finding *reason);
void filter_tell_findings(struct mysql_filter *filter, const struct guard_verdict *verdict);

/* A command that runs something, and what is known of it. */
struct filter_subject {
    struct slice text;
    struct sql_settings settings;
    bool is_read; /* it is known that the target reads it so */
    const struct guard_facts *facts;
    struct filter_statement *statement; /* NULL: a query */
    struct slice values;                /* an EXECUTE's body */
};

/* As it was read when it was prepared; a server that reads it again does so by what holds now. */
void filter_subject_of(const struct mysql_filter *filter, const struct filter_statement *statement,
                       struct filter_subject *ret_subject);
/* What an EXECUTE, without its first byte, runs; NULL: it is not known. */
struct filter_statement *filter_executed_by(struct mysql_filter *filter, struct slice body);

/* mysql_filter_read_only.c */
void filter_read_only_set(struct mysql_filter *filter, const struct passage_policy *policy);
/* Before a command with a text is judged: whether the target is to be told something first. */
bool filter_read_only_asks(struct mysql_filter *filter);
/* What no rule has blocked: why it must not run all the same; NULL: it may. */
const char *filter_read_only_check(struct mysql_filter *filter,
                                   const struct filter_subject *subject);
void filter_read_only_answered(struct mysql_filter *filter, enum filter_ask about, bool has_failed);

/* mysql_filter_limit.c */
/* Of a statement whose rows are limited: why that cannot be held, or NULL. */
const char *filter_limit(struct mysql_filter *filter, const struct filter_subject *subject,
                         const struct guard_verdict *verdict);
/* Of one that is prepared: likewise, and nothing is kept. */
const char *filter_limit_check(const struct guard_facts *facts);
void filter_limit_note(struct mysql_filter *filter, const struct guard_facts *facts,
                       struct slice text);

/* mysql_filter_hold.c */
/* Whether people have to decide on it, and have not. */
bool filter_hold_asks(const struct mysql_filter *filter, const struct guard_verdict *verdict);
enum mysql_filter_outcome filter_hold(struct mysql_filter *filter,
                                      const struct filter_subject *subject,
                                      const struct guard_verdict *verdict, struct buf *words);

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
/* All of them, for people; false: likewise. */
bool filter_values_in(struct arena *arena, struct filter_statement *statement, struct slice body,
                      struct held_value **ret_values);

#endif
