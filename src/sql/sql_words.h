/* SPDX-License-Identifier: MIT */
/* The key words of PostgreSQL that the analysis looks at, with what each may be besides: all that
 * are reserved, in whatever degree, and of the free ones those that mean something here. */
#ifndef GH_SQL_SQL_WORDS_H
#define GH_SQL_SQL_WORDS_H

#include "sql/sql_lexer.h"

/* From the appendix on key words of PostgreSQL's manual: RESERVED is never a name; TYPE may name
 * functions and types; COLUMN may name columns and tables; FREE may name anything. 'is_end': what
 * follows it is no operand, so that a word there is a label. By first letter; tools/hash-sql-words
 * reads these lines. X(NAME, "name", class, is_end) */
#define SQL_WORDS_A(X)                                                                             \
    X(ABORT, "abort", FREE, false)                                                                 \
    X(ACCESS, "access", FREE, false)                                                               \
    X(ADD, "add", FREE, false)                                                                     \
    X(AFTER, "after", FREE, false)                                                                 \
    X(AGGREGATE, "aggregate", FREE, false)                                                         \
    X(ALL, "all", RESERVED, false)                                                                 \
    X(ALTER, "alter", FREE, false)                                                                 \
    X(ALWAYS, "always", FREE, false)                                                               \
    X(ANALYSE, "analyse", RESERVED, false)                                                         \
    X(ANALYZE, "analyze", RESERVED, false)                                                         \
    X(AND, "and", RESERVED, false)                                                                 \
    X(ANY, "any", RESERVED, false)                                                                 \
    X(ARRAY, "array", RESERVED, false)                                                             \
    X(AS, "as", RESERVED, false)                                                                   \
    X(ASC, "asc", RESERVED, true)                                                                  \
    X(ASYMMETRIC, "asymmetric", RESERVED, false)                                                   \
    X(AT, "at", FREE, false)                                                                       \
    X(ATOMIC, "atomic", FREE, false)                                                               \
    X(ATTACH, "attach", FREE, false)                                                               \
    X(AUTHORIZATION, "authorization", TYPE, false)
#define SQL_WORDS_B(X)                                                                             \
    X(BEFORE, "before", FREE, false)                                                               \
    X(BEGIN, "begin", FREE, false)                                                                 \
    X(BETWEEN, "between", COLUMN, false)                                                           \
    X(BIGINT, "bigint", COLUMN, true)                                                              \
    X(BINARY, "binary", TYPE, false)                                                               \
    X(BIT, "bit", COLUMN, true)                                                                    \
    X(BOOLEAN, "boolean", COLUMN, true)                                                            \
    X(BOTH, "both", RESERVED, false)                                                               \
    X(BY, "by", FREE, false)
#define SQL_WORDS_C(X)                                                                             \
    X(CALL, "call", FREE, false)                                                                   \
    X(CASCADE, "cascade", FREE, false)                                                             \
    X(CASE, "case", RESERVED, false)                                                               \
    X(CAST, "cast", RESERVED, false)                                                               \
    X(CHAR, "char", COLUMN, true)                                                                  \
    X(CHARACTER, "character", COLUMN, true)                                                        \
    X(CHARACTERISTICS, "characteristics", FREE, false)                                             \
    X(CHECK, "check", RESERVED, false)                                                             \
    X(CHECKPOINT, "checkpoint", FREE, false)                                                       \
    X(CLOSE, "close", FREE, false)                                                                 \
    X(CLUSTER, "cluster", FREE, false)                                                             \
    X(COALESCE, "coalesce", COLUMN, false)                                                         \
    X(COLLATE, "collate", RESERVED, false)                                                         \
    X(COLLATION, "collation", TYPE, false)                                                         \
    X(COLUMN, "column", RESERVED, false)                                                           \
    X(COLUMNS, "columns", FREE, true)                                                              \
    X(COMMENT, "comment", FREE, false)                                                             \
    X(COMMIT, "commit", FREE, false)                                                               \
    X(CONCURRENTLY, "concurrently", TYPE, false)                                                   \
    X(CONFLICT, "conflict", FREE, false)                                                           \
    X(CONSTRAINT, "constraint", RESERVED, false)                                                   \
    X(CONSTRAINTS, "constraints", FREE, false)                                                     \
    X(CONTENT, "content", FREE, false)                                                             \
    X(CONVERSION, "conversion", FREE, false)                                                       \
    X(COPY, "copy", FREE, false)                                                                   \
    X(CREATE, "create", RESERVED, false)                                                           \
    X(CROSS, "cross", TYPE, false)                                                                 \
    X(CUBE, "cube", FREE, false)                                                                   \
    X(CURRENT, "current", FREE, false)                                                             \
    X(CURRENT_CATALOG, "current_catalog", RESERVED, true)                                          \
    X(CURRENT_DATE, "current_date", RESERVED, true)                                                \
    X(CURRENT_ROLE, "current_role", RESERVED, true)                                                \
    X(CURRENT_SCHEMA, "current_schema", TYPE, true)                                                \
    X(CURRENT_TIME, "current_time", RESERVED, true)                                                \
    X(CURRENT_TIMESTAMP, "current_timestamp", RESERVED, true)                                      \
    X(CURRENT_USER, "current_user", RESERVED, true)                                                \
    X(CURSOR, "cursor", FREE, false)                                                               \
    X(CYCLE, "cycle", FREE, false)
#define SQL_WORDS_D(X)                                                                             \
    X(DATA, "data", FREE, false)                                                                   \
    X(DATABASE, "database", FREE, false)                                                           \
    X(DAY, "day", FREE, true)                                                                      \
    X(DEALLOCATE, "deallocate", FREE, false)                                                       \
    X(DEC, "dec", COLUMN, true)                                                                    \
    X(DECIMAL, "decimal", COLUMN, true)                                                            \
    X(DECLARE, "declare", FREE, false)                                                             \
    X(DEFAULT, "default", RESERVED, false)                                                         \
    X(DEFAULTS, "defaults", FREE, false)                                                           \
    X(DEFERRABLE, "deferrable", RESERVED, true)                                                    \
    X(DELETE, "delete", FREE, false)                                                               \
    X(DESC, "desc", RESERVED, true)                                                                \
    X(DETACH, "detach", FREE, false)                                                               \
    X(DISCARD, "discard", FREE, false)                                                             \
    X(DISTINCT, "distinct", RESERVED, false)                                                       \
    X(DO, "do", RESERVED, false)                                                                   \
    X(DOCUMENT, "document", FREE, false)                                                           \
    X(DOMAIN, "domain", FREE, false)                                                               \
    X(DROP, "drop", FREE, false)
#define SQL_WORDS_E(X)                                                                             \
    X(ELSE, "else", RESERVED, false)                                                               \
    X(END, "end", RESERVED, true)                                                                  \
    X(ESCAPE, "escape", FREE, false)                                                               \
    X(EVENT, "event", FREE, false)                                                                 \
    X(EXCEPT, "except", RESERVED, false)                                                           \
    X(EXCLUDE, "exclude", FREE, false)                                                             \
    X(EXECUTE, "execute", FREE, false)                                                             \
    X(EXISTS, "exists", COLUMN, false)                                                             \
    X(EXPLAIN, "explain", FREE, false)                                                             \
    X(EXTENSION, "extension", FREE, false)                                                         \
    X(EXTRACT, "extract", COLUMN, false)
#define SQL_WORDS_F(X)                                                                             \
    X(FALSE, "false", RESERVED, true)                                                              \
    X(FAMILY, "family", FREE, false)                                                               \
    X(FETCH, "fetch", RESERVED, false)                                                             \
    X(FILTER, "filter", FREE, false)                                                               \
    X(FIRST, "first", FREE, true)                                                                  \
    X(FLOAT, "float", COLUMN, true)                                                                \
    X(FOLLOWING, "following", FREE, true)                                                          \
    X(FOR, "for", RESERVED, false)                                                                 \
    X(FOREIGN, "foreign", RESERVED, false)                                                         \
    X(FREEZE, "freeze", TYPE, false)                                                               \
    X(FROM, "from", RESERVED, false)                                                               \
    X(FULL, "full", TYPE, false)                                                                   \
    X(FUNCTION, "function", FREE, false)
#define SQL_WORDS_G(X)                                                                             \
    X(GENERATED, "generated", FREE, false)                                                         \
    X(GLOBAL, "global", FREE, false)                                                               \
    X(GRANT, "grant", RESERVED, false)                                                             \
    X(GREATEST, "greatest", COLUMN, false)                                                         \
    X(GROUP, "group", RESERVED, false)                                                             \
    X(GROUPING, "grouping", COLUMN, false)                                                         \
    X(GROUPS, "groups", FREE, false)
#define SQL_WORDS_H(X)                                                                             \
    X(HAVING, "having", RESERVED, false)                                                           \
    X(HOUR, "hour", FREE, true)
#define SQL_WORDS_I(X)                                                                             \
    X(IDENTITY, "identity", FREE, false)                                                           \
    X(IF, "if", FREE, false)                                                                       \
    X(ILIKE, "ilike", TYPE, false)                                                                 \
    X(IMPORT, "import", FREE, false)                                                               \
    X(IN, "in", RESERVED, false)                                                                   \
    X(INCLUDE, "include", FREE, false)                                                             \
    X(INDEX, "index", FREE, false)                                                                 \
    X(INHERIT, "inherit", FREE, false)                                                             \
    X(INHERITS, "inherits", FREE, false)                                                           \
    X(INITIALLY, "initially", RESERVED, false)                                                     \
    X(INNER, "inner", TYPE, false)                                                                 \
    X(INOUT, "inout", COLUMN, false)                                                               \
    X(INPUT, "input", FREE, false)                                                                 \
    X(INSERT, "insert", FREE, false)                                                               \
    X(INSTEAD, "instead", FREE, false)                                                             \
    X(INT, "int", COLUMN, true)                                                                    \
    X(INTEGER, "integer", COLUMN, true)                                                            \
    X(INTERSECT, "intersect", RESERVED, false)                                                     \
    X(INTERVAL, "interval", COLUMN, true)                                                          \
    X(INTO, "into", RESERVED, false)                                                               \
    X(IS, "is", TYPE, true)                                                                        \
    X(ISNULL, "isnull", TYPE, true)
#define SQL_WORDS_J(X)                                                                             \
    X(JOIN, "join", TYPE, false)                                                                   \
    X(JSON, "json", COLUMN, false)                                                                 \
    X(JSON_ARRAY, "json_array", COLUMN, false)                                                     \
    X(JSON_ARRAYAGG, "json_arrayagg", COLUMN, false)                                               \
    X(JSON_EXISTS, "json_exists", COLUMN, false)                                                   \
    X(JSON_OBJECT, "json_object", COLUMN, false)                                                   \
    X(JSON_OBJECTAGG, "json_objectagg", COLUMN, false)                                             \
    X(JSON_QUERY, "json_query", COLUMN, false)                                                     \
    X(JSON_SCALAR, "json_scalar", COLUMN, false)                                                   \
    X(JSON_SERIALIZE, "json_serialize", COLUMN, false)                                             \
    X(JSON_TABLE, "json_table", COLUMN, false)                                                     \
    X(JSON_VALUE, "json_value", COLUMN, false)
#define SQL_WORDS_K(X) X(KEY, "key", FREE, false)
#define SQL_WORDS_L(X)                                                                             \
    X(LABEL, "label", FREE, false)                                                                 \
    X(LANGUAGE, "language", FREE, false)                                                           \
    X(LARGE, "large", FREE, false)                                                                 \
    X(LAST, "last", FREE, true)                                                                    \
    X(LATERAL, "lateral", RESERVED, false)                                                         \
    X(LEADING, "leading", RESERVED, false)                                                         \
    X(LEAST, "least", COLUMN, false)                                                               \
    X(LEFT, "left", TYPE, false)                                                                   \
    X(LIKE, "like", TYPE, false)                                                                   \
    X(LIMIT, "limit", RESERVED, false)                                                             \
    X(LISTEN, "listen", FREE, false)                                                               \
    X(LOAD, "load", FREE, false)                                                                   \
    X(LOCAL, "local", FREE, false)                                                                 \
    X(LOCALTIME, "localtime", RESERVED, true)                                                      \
    X(LOCALTIMESTAMP, "localtimestamp", RESERVED, true)                                            \
    X(LOCK, "lock", FREE, false)
#define SQL_WORDS_M(X)                                                                             \
    X(MAPPING, "mapping", FREE, false)                                                             \
    X(MATCHED, "matched", FREE, false)                                                             \
    X(MATERIALIZED, "materialized", FREE, false)                                                   \
    X(MERGE, "merge", FREE, false)                                                                 \
    X(MERGE_ACTION, "merge_action", COLUMN, false)                                                 \
    X(METHOD, "method", FREE, false)                                                               \
    X(MINUTE, "minute", FREE, true)                                                                \
    X(MONTH, "month", FREE, true)                                                                  \
    X(MOVE, "move", FREE, false)
#define SQL_WORDS_N(X)                                                                             \
    X(NAME, "name", FREE, false)                                                                   \
    X(NATIONAL, "national", COLUMN, false)                                                         \
    X(NATURAL, "natural", TYPE, false)                                                             \
    X(NCHAR, "nchar", COLUMN, true)                                                                \
    X(NEW, "new", FREE, false)                                                                     \
    X(NEXT, "next", FREE, false)                                                                   \
    X(NO, "no", FREE, false)                                                                       \
    X(NONE, "none", COLUMN, false)                                                                 \
    X(NORMALIZE, "normalize", COLUMN, false)                                                       \
    X(NOT, "not", RESERVED, false)                                                                 \
    X(NOTHING, "nothing", FREE, false)                                                             \
    X(NOTIFY, "notify", FREE, false)                                                               \
    X(NOTNULL, "notnull", TYPE, true)                                                              \
    X(NOWAIT, "nowait", FREE, false)                                                               \
    X(NULL, "null", RESERVED, true)                                                                \
    X(NULLIF, "nullif", COLUMN, false)                                                             \
    X(NULLS, "nulls", FREE, true)                                                                  \
    X(NUMERIC, "numeric", COLUMN, true)
#define SQL_WORDS_O(X)                                                                             \
    X(OBJECT, "object", FREE, false)                                                               \
    X(OF, "of", FREE, false)                                                                       \
    X(OFFSET, "offset", RESERVED, false)                                                           \
    X(OLD, "old", FREE, false)                                                                     \
    X(ON, "on", RESERVED, false)                                                                   \
    X(ONLY, "only", RESERVED, false)                                                               \
    X(OPERATOR, "operator", FREE, false)                                                           \
    X(OPTIONS, "options", FREE, false)                                                             \
    X(OR, "or", RESERVED, false)                                                                   \
    X(ORDER, "order", RESERVED, false)                                                             \
    X(ORDINALITY, "ordinality", FREE, true)                                                        \
    X(OUT, "out", COLUMN, false)                                                                   \
    X(OUTER, "outer", TYPE, false)                                                                 \
    X(OVER, "over", FREE, true)                                                                    \
    X(OVERLAPS, "overlaps", TYPE, false)                                                           \
    X(OVERLAY, "overlay", COLUMN, false)                                                           \
    X(OVERRIDING, "overriding", FREE, false)                                                       \
    X(OWNED, "owned", FREE, false)
#define SQL_WORDS_P(X)                                                                             \
    X(PARAMETER, "parameter", FREE, false)                                                         \
    X(PARTITION, "partition", FREE, false)                                                         \
    X(PASSING, "passing", FREE, false)                                                             \
    X(PATH, "path", FREE, false)                                                                   \
    X(PLACING, "placing", RESERVED, false)                                                         \
    X(PLANS, "plans", FREE, false)                                                                 \
    X(POLICY, "policy", FREE, false)                                                               \
    X(POSITION, "position", COLUMN, false)                                                         \
    X(PRECEDING, "preceding", FREE, true)                                                          \
    X(PRECISION, "precision", COLUMN, true)                                                        \
    X(PREPARE, "prepare", FREE, false)                                                             \
    X(PREPARED, "prepared", FREE, false)                                                           \
    X(PRIMARY, "primary", RESERVED, false)                                                         \
    X(PRIVILEGES, "privileges", FREE, false)                                                       \
    X(PROCEDURAL, "procedural", FREE, false)                                                       \
    X(PROCEDURE, "procedure", FREE, false)                                                         \
    X(PUBLICATION, "publication", FREE, false)
#define SQL_WORDS_Q(X)
#define SQL_WORDS_R(X)                                                                             \
    X(RANGE, "range", FREE, false)                                                                 \
    X(REAL, "real", COLUMN, true)                                                                  \
    X(REASSIGN, "reassign", FREE, false)                                                           \
    X(RECURSIVE, "recursive", FREE, false)                                                         \
    X(REF, "ref", FREE, false)                                                                     \
    X(REFERENCES, "references", RESERVED, false)                                                   \
    X(REFRESH, "refresh", FREE, false)                                                             \
    X(REINDEX, "reindex", FREE, false)                                                             \
    X(RELEASE, "release", FREE, false)                                                             \
    X(RENAME, "rename", FREE, false)                                                               \
    X(REPEATABLE, "repeatable", FREE, false)                                                       \
    X(REPLACE, "replace", FREE, false)                                                             \
    X(RESET, "reset", FREE, false)                                                                 \
    X(RESTRICT, "restrict", FREE, false)                                                           \
    X(RETURN, "return", FREE, false)                                                               \
    X(RETURNING, "returning", RESERVED, false)                                                     \
    X(RETURNS, "returns", FREE, false)                                                             \
    X(REVOKE, "revoke", FREE, false)                                                               \
    X(RIGHT, "right", TYPE, false)                                                                 \
    X(ROLE, "role", FREE, false)                                                                   \
    X(ROLLBACK, "rollback", FREE, false)                                                           \
    X(ROLLUP, "rollup", FREE, false)                                                               \
    X(ROUTINE, "routine", FREE, false)                                                             \
    X(ROW, "row", COLUMN, false)                                                                   \
    X(ROWS, "rows", FREE, false)                                                                   \
    X(RULE, "rule", FREE, false)
#define SQL_WORDS_S(X)                                                                             \
    X(SAVEPOINT, "savepoint", FREE, false)                                                         \
    X(SCHEMA, "schema", FREE, false)                                                               \
    X(SEARCH, "search", FREE, false)                                                               \
    X(SECOND, "second", FREE, true)                                                                \
    X(SECURITY, "security", FREE, false)                                                           \
    X(SELECT, "select", RESERVED, false)                                                           \
    X(SEQUENCE, "sequence", FREE, false)                                                           \
    X(SEQUENCES, "sequences", FREE, false)                                                         \
    X(SERVER, "server", FREE, false)                                                               \
    X(SESSION_USER, "session_user", RESERVED, true)                                                \
    X(SET, "set", FREE, false)                                                                     \
    X(SETOF, "setof", COLUMN, false)                                                               \
    X(SETS, "sets", FREE, false)                                                                   \
    X(SHOW, "show", FREE, false)                                                                   \
    X(SIMILAR, "similar", TYPE, false)                                                             \
    X(SMALLINT, "smallint", COLUMN, true)                                                          \
    X(SOME, "some", RESERVED, false)                                                               \
    X(SOURCE, "source", FREE, false)                                                               \
    X(START, "start", FREE, false)                                                                 \
    X(STATISTICS, "statistics", FREE, false)                                                       \
    X(STORAGE, "storage", FREE, false)                                                             \
    X(SUBSCRIPTION, "subscription", FREE, false)                                                   \
    X(SUBSTRING, "substring", COLUMN, false)                                                       \
    X(SYMMETRIC, "symmetric", RESERVED, false)                                                     \
    X(SYSTEM, "system", FREE, false)                                                               \
    X(SYSTEM_USER, "system_user", RESERVED, true)
#define SQL_WORDS_T(X)                                                                             \
    X(TABLE, "table", RESERVED, false)                                                             \
    X(TABLES, "tables", FREE, false)                                                               \
    X(TABLESAMPLE, "tablesample", TYPE, false)                                                     \
    X(TABLESPACE, "tablespace", FREE, false)                                                       \
    X(TARGET, "target", FREE, false)                                                               \
    X(TEMP, "temp", FREE, false)                                                                   \
    X(TEMPORARY, "temporary", FREE, false)                                                         \
    X(TEXT, "text", FREE, false)                                                                   \
    X(THEN, "then", RESERVED, false)                                                               \
    X(TIES, "ties", FREE, false)                                                                   \
    X(TIME, "time", COLUMN, true)                                                                  \
    X(TIMESTAMP, "timestamp", COLUMN, true)                                                        \
    X(TO, "to", RESERVED, false)                                                                   \
    X(TRAILING, "trailing", RESERVED, false)                                                       \
    X(TRANSACTION, "transaction", FREE, false)                                                     \
    X(TRANSFORM, "transform", FREE, false)                                                         \
    X(TREAT, "treat", COLUMN, false)                                                               \
    X(TRIGGER, "trigger", FREE, false)                                                             \
    X(TRIM, "trim", COLUMN, false)                                                                 \
    X(TRUE, "true", RESERVED, true)                                                                \
    X(TRUNCATE, "truncate", FREE, false)                                                           \
    X(TRUSTED, "trusted", FREE, false)                                                             \
    X(TYPE, "type", FREE, false)                                                                   \
    X(TYPES, "types", FREE, false)
#define SQL_WORDS_U(X)                                                                             \
    X(UESCAPE, "uescape", FREE, false)                                                             \
    X(UNBOUNDED, "unbounded", FREE, false)                                                         \
    X(UNION, "union", RESERVED, false)                                                             \
    X(UNIQUE, "unique", RESERVED, false)                                                           \
    X(UNLISTEN, "unlisten", FREE, false)                                                           \
    X(UNLOGGED, "unlogged", FREE, false)                                                           \
    X(UPDATE, "update", FREE, false)                                                               \
    X(USER, "user", RESERVED, true)                                                                \
    X(USING, "using", RESERVED, false)
#define SQL_WORDS_V(X)                                                                             \
    X(VACUUM, "vacuum", FREE, false)                                                               \
    X(VALUE, "value", FREE, false)                                                                 \
    X(VALUES, "values", COLUMN, false)                                                             \
    X(VARCHAR, "varchar", COLUMN, true)                                                            \
    X(VARIADIC, "variadic", RESERVED, false)                                                       \
    X(VARYING, "varying", FREE, true)                                                              \
    X(VERBOSE, "verbose", TYPE, false)                                                             \
    X(VERSION, "version", FREE, false)                                                             \
    X(VIEW, "view", FREE, false)                                                                   \
    X(VIEWS, "views", FREE, false)
#define SQL_WORDS_W(X)                                                                             \
    X(WHEN, "when", RESERVED, false)                                                               \
    X(WHERE, "where", RESERVED, false)                                                             \
    X(WINDOW, "window", RESERVED, false)                                                           \
    X(WITH, "with", RESERVED, false)                                                               \
    X(WITHIN, "within", FREE, false)                                                               \
    X(WITHOUT, "without", FREE, false)                                                             \
    X(WRAPPER, "wrapper", FREE, false)
#define SQL_WORDS_X(X)                                                                             \
    X(XMLATTRIBUTES, "xmlattributes", COLUMN, false)                                               \
    X(XMLCONCAT, "xmlconcat", COLUMN, false)                                                       \
    X(XMLELEMENT, "xmlelement", COLUMN, false)                                                     \
    X(XMLEXISTS, "xmlexists", COLUMN, false)                                                       \
    X(XMLFOREST, "xmlforest", COLUMN, false)                                                       \
    X(XMLNAMESPACES, "xmlnamespaces", COLUMN, false)                                               \
    X(XMLPARSE, "xmlparse", COLUMN, false)                                                         \
    X(XMLPI, "xmlpi", COLUMN, false)                                                               \
    X(XMLROOT, "xmlroot", COLUMN, false)                                                           \
    X(XMLSERIALIZE, "xmlserialize", COLUMN, false)                                                 \
    X(XMLTABLE, "xmltable", COLUMN, false)
#define SQL_WORDS_Y(X) X(YEAR, "year", FREE, true)
#define SQL_WORDS_Z(X) X(ZONE, "zone", FREE, false)

/* clang-format off */
#define SQL_WORDS(X)                                                                               \
    SQL_WORDS_A(X) SQL_WORDS_B(X) SQL_WORDS_C(X) SQL_WORDS_D(X) SQL_WORDS_E(X)                     \
    SQL_WORDS_F(X) SQL_WORDS_G(X) SQL_WORDS_H(X) SQL_WORDS_I(X) SQL_WORDS_J(X)                     \
    SQL_WORDS_K(X) SQL_WORDS_L(X) SQL_WORDS_M(X) SQL_WORDS_N(X) SQL_WORDS_O(X)                     \
    SQL_WORDS_P(X) SQL_WORDS_Q(X) SQL_WORDS_R(X) SQL_WORDS_S(X) SQL_WORDS_T(X)                     \
    SQL_WORDS_U(X) SQL_WORDS_V(X) SQL_WORDS_W(X) SQL_WORDS_X(X) SQL_WORDS_Y(X)                     \
    SQL_WORDS_Z(X)
/* clang-format on */

enum sql_word {
    SQL_NO_WORD,
#define SQL_WORD(name, text, class, is_end) SQL_WORD_##name,
    SQL_WORDS(SQL_WORD)
#undef SQL_WORD
        SQL_WORD_COUNT
};

enum sql_word_class {
    SQL_WORD_IS_FREE,
    SQL_WORD_IS_COLUMN,
    SQL_WORD_IS_TYPE,
    SQL_WORD_IS_RESERVED,
};

#define SQL_WORD_SIZE 17 /* of the longest */

struct sql_word_row {
    char text[24];          /* with zeros behind it */
    struct sql_token token; /* of it, but for the place; 'word' SQL_NO_WORD: it is none */
    uint8_t class;          /* enum sql_word_class */
};

/* Eight bytes, the first of them lowest. Written out, so that it becomes one load. */
static inline uint64_t sql_load(const void *at)
{
    const uint8_t *bytes = at;
    return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 |
           (uint64_t)bytes[3] << 24 | (uint64_t)bytes[4] << 32 | (uint64_t)bytes[5] << 40 |
           (uint64_t)bytes[6] << 48 | (uint64_t)bytes[7] << 56;
}

/* By enum sql_word; the first is for all names that are no key words. */
extern const struct sql_word_row sql_word_rows[SQL_WORD_COUNT];
/* Of a name in lower case, with seven bytes behind it that can be read. */
const struct sql_word_row *sql_word_find(const char *lower, size_t len);

static inline enum sql_word_class sql_word_class(enum sql_word word)
{
    return (enum sql_word_class)sql_word_rows[word].class;
}

#endif
