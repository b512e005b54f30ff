/* SPDX-License-Identifier: MIT */
/* What a text of SQL would do if it were run, found by one pass over its words: no grammar tree, no
 * recursion on the input, linear time. The contract: what is said to be written is what the
 * database's own grammar says is written, or the statement is said to be unknown, and why. Judges
 * what stands in the text only: what functions, triggers, rules and views do is not seen, which is
 * why the functions and relations are named. */
#ifndef GH_SQL_SQL_H
#define GH_SQL_SQL_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

enum sql_dialect {
    SQL_POSTGRES,
    SQL_MYSQL,   /* and MariaDB's: what either of them would do */
    SQL_UNKNOWN, /* of a protocol whose statements are not understood: nothing is to judge them */
};

/* What a statement does, at any depth of it. VALUES and TABLE are selects, START TRANSACTION is a
 * begin, END a commit, ABORT a rollback. 'server_file' is a COPY from or to a file or a program of
 * the server; 'code' makes or changes what runs later (functions, triggers, rules, operators,
 * casts, extensions …), and DO and LOAD; 'foreign' is about other servers (foreign tables, user
 * mappings, subscriptions, publications …); 'other' a statement that the table of the dialect names
 * and no bit here does. */
#define SQL_OPERATIONS(X)                                                                          \
    X(SELECT, "select")                                                                            \
    X(INSERT, "insert")                                                                            \
    X(UPDATE, "update")                                                                            \
    X(DELETE, "delete")                                                                            \
    X(MERGE, "merge")                                                                              \
    X(TRUNCATE, "truncate")                                                                        \
    X(CREATE, "create")                                                                            \
    X(ALTER, "alter")                                                                              \
    X(DROP, "drop")                                                                                \
    X(RENAME, "rename")                                                                            \
    X(COMMENT, "comment")                                                                          \
    X(GRANT, "grant")                                                                              \
    X(REVOKE, "revoke")                                                                            \
    X(COPY, "copy")                                                                                \
    X(CALL, "call")                                                                                \
    X(DO, "do")                                                                                    \
    X(SET, "set")                                                                                  \
    X(RESET, "reset")                                                                              \
    X(SHOW, "show")                                                                                \
    X(EXPLAIN, "explain")                                                                          \
    X(PREPARE, "prepare")                                                                          \
    X(EXECUTE, "execute")                                                                          \
    X(DEALLOCATE, "deallocate")                                                                    \
    X(DECLARE, "declare")                                                                          \
    X(FETCH, "fetch")                                                                              \
    X(CLOSE, "close")                                                                              \
    X(LISTEN, "listen")                                                                            \
    X(NOTIFY, "notify")                                                                            \
    X(LOCK, "lock")                                                                                \
    X(VACUUM, "vacuum")                                                                            \
    X(ANALYZE, "analyze")                                                                          \
    X(REINDEX, "reindex")                                                                          \
    X(CLUSTER, "cluster")                                                                          \
    X(REFRESH, "refresh")                                                                          \
    X(IMPORT, "import")                                                                            \
    X(REASSIGN, "reassign")                                                                        \
    X(LOAD, "load")                                                                                \
    X(DISCARD, "discard")                                                                          \
    X(CHECKPOINT, "checkpoint")                                                                    \
    X(BEGIN, "begin")                                                                              \
    X(COMMIT, "commit")                                                                            \
    X(ROLLBACK, "rollback")                                                                        \
    X(SAVEPOINT, "savepoint")                                                                      \
    X(SERVER_FILE, "server_file")                                                                  \
    X(CODE, "code")                                                                                \
    X(FOREIGN, "foreign")                                                                          \
    X(OTHER, "other")

enum sql_operation {
#define SQL_OPERATION(name, word) SQL_##name,
    SQL_OPERATIONS(SQL_OPERATION)
#undef SQL_OPERATION
};

#define SQL_BIT(operation) (UINT64_C(1) << (operation))

/* A name as the database would compare it: unquoted parts folded to lower case. 'schema' is ""
 * when none was written. A database's name in front is dropped (nothing else can stand there). */
struct sql_name {
    struct slice schema;
    struct slice name;
};

/* Each name once. */
struct sql_relation {
    struct sql_name name;
    bool is_read;
    bool is_written;
    bool is_all;         /* no relation, but all of the schema; without one, of the database */
    uint64_t operations; /* bits: those that write it */
};

/* What is called, or run by a CALL. Each name once as a field and once as none. */
struct sql_function {
    struct sql_name name;
    uint32_t argument_min; /* as they are written, of all calls of it */
    uint32_t argument_max; /* UINT32_MAX: any number */
    bool is_field;         /* "(value).name": a field of it, or a function called with it */
    bool is_any;           /* which one is not known: by no name at all */
};

/* A column as an expression names it. Not: the column lists of INSERT and COPY, and what UPDATE
 * sets. "*" stands for all of a relation; so does a relation's own name used as a value. */
struct sql_column {
    struct slice qualifier; /* what stands before the last dot, or "" */
    struct slice name;
    bool is_used; /* beyond being handed out as it is by the outermost select list */
};

struct sql_statement {
    size_t offset; /* of its first word in the text */
    size_t len;    /* up to its last word; the semicolon is not part of it */
    enum sql_operation verb;
    uint64_t operations; /* bits, the verb's among them */
    /* An UPDATE or DELETE in it, at any depth, has no WHERE, or a MERGE that updates or deletes no
     * ON, that names anything which could be a column. */
    bool without_where;
    bool rewrites_rows; /* it may write all rows of a table anew: ALTER … TYPE, … USING */
    bool is_unknown;    /* it may do more than is said here */
    const char *why;    /* is_unknown: in words, "" otherwise */
    bool needs_no_transaction; /* it cannot run inside a transaction block */
    bool ends_transaction;     /* what stands behind it runs in another one, by the defaults */
    /* It asks for a transaction, or a session, that may write, or may do so: READ WRITE, and what
     * sets or resets [default_]transaction_read_only. */
    bool lets_write;
    bool locks;            /* a LOCK that is in the way of writers, or may be */
    struct slice prepared; /* the name of PREPARE, EXECUTE and DEALLOCATE; "": none, or all */
    struct sql_relation *relations;
    size_t relation_count;
    struct sql_function *functions;
    size_t function_count;
    struct sql_column *columns;
    size_t column_count;
    struct sql_name *operators; /* those that words stand for (IN, LIKE …) with them */
    size_t operator_count;
    struct sql_name *types; /* that values are made or cast to */
    size_t type_count;
};

/* White space and comments that are more than one blank between two words: that which is where they
 * are, and all at both ends of the text and between the parts of a string. */
struct sql_gap {
    uint32_t offset;
    uint32_t len;
};

/* Empty statements (";;", comments alone) are not counted. A text whose quotes or comments do not
 * end is one statement, unknown. */
struct sql_script {
    struct sql_statement *statements;
    size_t count;
    bool is_cut; /* into words, to its end: the gaps are known */
    const struct sql_gap *gaps;
    size_t gap_count;
    enum sql_dialect dialect;
    /* The same text as servers of another version read it, or NULL: comments that are code for some
     * of them are code in the one, and nothing in the other. */
    const struct sql_script *other;
};

enum sql_charset {
    SQL_CHARSET_UTF8,
    SQL_CHARSET_SINGLE, /* each byte is a character, and those of ASCII are its */
    SQL_CHARSET_HIDING, /* behind another byte one of ASCII can be half of a character */
};

struct sql_settings {
    enum sql_dialect dialect;
    /* standard_conforming_strings is off; of MySQL, NO_BACKSLASH_ESCAPES is. */
    bool is_backslash_quoted;
    /* Of MySQL alone: */
    bool is_ansi_quoted; /* "…" is a name */
    enum sql_charset charset;
    struct slice database; /* names without one are in it; "": which is not known */
};

/* All that it returns lies in the arena, or in the text. Never fails: what it does not understand
 * is unknown. */
struct sql_script sql_analyze(struct arena *arena, const struct sql_settings *settings,
                              struct slice text);
/* The same, for those who do not ask for columns, operators and types: they may be missing. */
struct sql_script sql_analyze_effects(struct arena *arena, const struct sql_settings *settings,
                                      struct slice text);

/* Of an EXECUTE, what is known of the statement that was prepared takes the place of what is not
 * known; both lie in the arena, or in texts that live as long. */
void sql_statement_execute_in(struct arena *arena, struct sql_statement *statement,
                              const struct sql_statement *prepared);

const char *sql_operation_word(enum sql_operation operation);
/* The operation of a word of SQL_OPERATIONS; false: there is none. */
bool sql_operation_parse(struct slice word, enum sql_operation *ret_operation);

#endif
