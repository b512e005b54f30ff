/* SPDX-License-Identifier: MIT */
/* The shared store: PostgreSQL, or what speaks its protocol, through libpq. Serializable writes,
 * one snapshot for reads; values travel in binary form. */
#include "base/limits.h"
#include "base/must.h"
#include "base/reader.h"
#include "store/store_internal.h"

#include <libpq-fe.h>

#define POSTGRES_MIGRATE_LOCK "5203871160287348"

struct postgres_tx {
    struct store_tx tx;
    PGconn *connection;
    /* The round trips of BEGIN and of a reader's COMMIT are saved: the one goes out with the first
     * query, the other's answer is read before the next use. */
    bool has_to_begin;
    bool is_write;
    bool has_to_end;                              /* COMMIT was sent */
    const char *prepared[LIMIT_STORE_STATEMENTS]; /* by the literal's address, open table */
    size_t prepared_count;
};

static struct postgres_tx *postgres_of(struct store_tx *tx)
{
    return CONTAINER_OF(tx, struct postgres_tx, tx);
}

static bool postgres_state_is(const char *state, const char *wanted)
{
    return state != NULL && strncmp(state, wanted, strlen(wanted)) == 0;
}

/* SQLSTATE classes: 40 serialization and deadlock, 23505/23503 unique and foreign keys, 53 out of
 * resources, 57P the server ends, 25006 a standby, 22021 text that is not UTF-8. */
static enum err postgres_fail(struct postgres_tx *self, const PGresult *result,
                              struct error *reterr)
{
    const char *state = result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (PQstatus(self->connection) != CONNECTION_OK || state == NULL ||
        postgres_state_is(state, "57P")) {
        self->tx.is_broken = true;
        return fail(reterr, ERR_AGAIN, "the database does not answer");
    }
    if (postgres_state_is(state, "40001") || postgres_state_is(state, "40P01")) {
        self->tx.wants_repeat = true;
        return fail(reterr, ERR_AGAIN, "the transaction could not be serialized");
    }
    if (postgres_state_is(state, "23505") || postgres_state_is(state, "23503")) {
        return fail(reterr, ERR_CONFLICT, "already exists or is still in use");
    }
    if (postgres_state_is(state, "53100")) {
        return fail(reterr, ERR_UNAVAILABLE, "the database's disk is full");
    }
    if (postgres_state_is(state, "53") || postgres_state_is(state, "57") ||
        postgres_state_is(state, "25006")) {
        return fail(reterr, ERR_UNAVAILABLE, "the database cannot do that right now");
    }
    if (postgres_state_is(state, "22021")) {
        return fail(reterr, ERR_INPUT, "text holds a byte that cannot be stored");
    }
    return fail(reterr, ERR_INTERNAL, "postgres: %s: %s", state,
                PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
}

static enum err postgres_check(struct postgres_tx *self, PGresult *take_result,
                               struct error *reterr)
{
    ExecStatusType status = PQresultStatus(take_result);
    enum err err = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
                       ? ERR_NONE
                       : postgres_fail(self, take_result, reterr);
    PQclear(take_result);
    return err;
}

/* Writers of all gateways stand in one line, so that they never undo each other; those of one
 * gateway come as a group. LOCK before any query, whose snapshot would be too old. */
static const char *const postgres_begin_write[] = {
    "BEGIN ISOLATION LEVEL SERIALIZABLE", "LOCK TABLE schema_migration IN EXCLUSIVE MODE", NULL};
static const char *const postgres_begin_read[] = {"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                                                  NULL};

static const char *const *postgres_begin_words(const struct postgres_tx *self)
{
    return self->is_write ? postgres_begin_write : postgres_begin_read;
}

/* The answer to a COMMIT that nobody waited for. */
static void postgres_end_last(struct postgres_tx *self)
{
    while (self->has_to_end) {
        PGresult *result = PQgetResult(self->connection);
        self->has_to_end = result != NULL;
        self->tx.is_broken =
            self->tx.is_broken || (result != NULL && PQresultStatus(result) != PGRES_COMMAND_OK);
        PQclear(result);
    }
}

static enum err postgres_run_script(struct store_tx *tx, const char *sql, struct error *reterr)
{
    struct postgres_tx *self = postgres_of(tx);
    enum err err = ERR_NONE;
    postgres_end_last(self);
    if (self->has_to_begin) {
        self->has_to_begin = false;
        for (const char *const *word = postgres_begin_words(self); *word != NULL && err == ERR_NONE;
             word++) {
            err = postgres_check(self, PQexec(self->connection, *word), reterr);
        }
    }
    return err == ERR_NONE ? postgres_check(self, PQexec(self->connection, sql), reterr) : err;
}

static void postgres_disconnect(struct store_tx *tx)
{
    struct postgres_tx *self = postgres_of(tx);
    PQfinish(self->connection);
    memory_free(self);
}

static void postgres_ignore_notice(void *owner, const char *message)
{
    (void)owner;
    (void)message;
}

static enum err postgres_connect(struct store *store, struct store_tx **ret_tx,
                                 struct error *reterr)
{
    /* What stands before "dbname" can be overridden in the URL, what stands behind it cannot. */
    const char *const names[] = {
        "gssencmode", "connect_timeout", "tcp_user_timeout",          "keepalives_idle",
        "dbname",     "client_encoding", "fallback_application_name", NULL};
    const char *const values[] = {"disable",  "5",    "5000",      "10",
                                  store->url, "UTF8", "gatehouse", NULL};
    struct postgres_tx *self = memory_new(sizeof(*self));
    self->tx.store = store;
    self->tx.engine = store->engine;
    list_init(&self->tx.link);
    self->connection = PQconnectdbParams(names, values, 1);
    if (PQstatus(self->connection) != CONNECTION_OK) {
        const char *text = PQerrorMessage(self->connection); /* names host and user, no password */
        enum err err = fail(reterr, ERR_UNAVAILABLE, "the database does not answer: %.*s",
                            (int)strcspn(text, "\n"), text);
        postgres_disconnect(&self->tx);
        return err;
    }
    (void)PQsetNoticeProcessor(self->connection, postgres_ignore_notice, NULL);
    enum err err = postgres_run_script(&self->tx, "SET statement_timeout = '30s'", reterr);
    if (err != ERR_NONE) {
        postgres_disconnect(&self->tx);
        return fail(reterr, ERR_UNAVAILABLE, "the database does not answer");
    }
    *ret_tx = &self->tx;
    return ERR_NONE;
}

static enum err postgres_begin(struct store_tx *tx, bool is_write, struct error *reterr)
{
    struct postgres_tx *self = postgres_of(tx);
    postgres_end_last(self);
    if (tx->is_broken) {
        return fail(reterr, ERR_AGAIN, "the database does not answer");
    }
    self->has_to_begin = true;
    self->is_write = is_write;
    return ERR_NONE;
}

static enum err postgres_migrate_begin(struct store_tx *tx, struct error *reterr)
{
    postgres_of(tx)->is_write = true; /* its COMMIT is waited for */
    return postgres_run_script(tx, "BEGIN; SELECT pg_advisory_xact_lock(" POSTGRES_MIGRATE_LOCK ")",
                               reterr);
}

static void postgres_rollback(struct store_tx *tx)
{
    struct postgres_tx *self = postgres_of(tx);
    bool wants_repeat = tx->wants_repeat;
    self->has_to_begin = false;
    if (!tx->is_broken && PQtransactionStatus(self->connection) != PQTRANS_IDLE) {
        struct error ignored = {0};
        if (postgres_run_script(tx, "ROLLBACK", &ignored) != ERR_NONE) {
            tx->is_broken = true;
        }
    }
    tx->wants_repeat = wants_repeat;
}

/* COMMIT of a transaction that failed before is answered "ROLLBACK", without an error. */
static enum err postgres_commit(struct store_tx *tx, struct error *reterr)
{
    struct postgres_tx *self = postgres_of(tx);
    if (self->has_to_begin) {
        self->has_to_begin = false; /* nothing was asked */
        return ERR_NONE;
    }
    if (!self->is_write && PQtransactionStatus(self->connection) == PQTRANS_INTRANS) {
        self->has_to_end = PQsendQuery(self->connection, "COMMIT") == 1;
        return ERR_NONE;
    }
    PGresult *result = PQexec(self->connection, "COMMIT");
    bool is_committed =
        PQresultStatus(result) == PGRES_COMMAND_OK && strcmp(PQcmdStatus(result), "COMMIT") == 0;
    bool is_refused = PQresultStatus(result) == PGRES_COMMAND_OK && !is_committed;
    if (is_committed || is_refused) {
        PQclear(result);
        return is_committed ? ERR_NONE
                            : fail(reterr, ERR_INTERNAL, "a failed transaction was committed");
    }
    enum err err = postgres_fail(self, result, reterr);
    PQclear(result);
    if (tx->is_broken) {
        return fail(reterr, ERR_UNAVAILABLE,
                    "the database was lost during a commit: what was written may be there or not");
    }
    postgres_rollback(tx);
    return err;
}

static void postgres_statement_name(const char *sql, char *name, size_t size)
{
    (void)snprintf(name, size, "s%zx", (size_t)(uintptr_t)sql);
}

static enum err postgres_prepare(struct postgres_tx *self, const char *sql, const char *name,
                                 struct error *reterr)
{
    size_t index = ((uintptr_t)sql >> 3) % LIMIT_STORE_STATEMENTS;
    while (self->prepared[index] != NULL && self->prepared[index] != sql) {
        index = (index + 1) % LIMIT_STORE_STATEMENTS;
    }
    if (self->prepared[index] == sql) {
        return ERR_NONE;
    }
    must(self->prepared_count < LIMIT_STORE_STATEMENTS - 1); /* literals are countable */
    enum err err = postgres_check(self, PQprepare(self->connection, name, sql, 0, NULL), reterr);
    if (err == ERR_NONE) {
        self->prepared[index] = sql;
        self->prepared_count++;
    }
    return err;
}

struct postgres_params {
    const char *values[STORE_PARAMS_MAX];
    int lengths[STORE_PARAMS_MAX];
    int formats[STORE_PARAMS_MAX]; /* 0 text, 1 binary */
    char numbers[STORE_PARAMS_MAX][24];
};

static void postgres_bind(struct postgres_params *bound, struct store_params params)
{
    for (size_t i = 0; i < params.count; i++) {
        const struct store_value *value = &params.values[i];
        bound->formats[i] = value->kind == STORE_TEXT || value->kind == STORE_BLOB ? 1 : 0;
        bound->values[i] = NULL;
        bound->lengths[i] = 0;
        if (value->kind == STORE_INT) {
            (void)snprintf(bound->numbers[i], sizeof(bound->numbers[i]), "%lld",
                           (long long)value->number);
            bound->values[i] = bound->numbers[i];
        } else if (value->kind != STORE_NULL) {
            bound->values[i] = value->bytes.at == NULL ? "" : value->bytes.at;
            must(value->bytes.len <= INT32_MAX);
            bound->lengths[i] = (int)value->bytes.len;
        }
    }
}

/* BEGIN and the first query on one way. What a failure before the query leaves to it, and to the
 * synchronization, is read too; the first failure counts. */
static PGresult *postgres_begin_with(struct postgres_tx *self, const char *name,
                                     const struct postgres_params *bound, size_t count)
{
    PGconn *connection = self->connection;
    PGresult *kept = NULL;
    bool is_sent = PQenterPipelineMode(connection) == 1;
    for (const char *const *word = postgres_begin_words(self); *word != NULL && is_sent; word++) {
        is_sent = PQsendQueryParams(connection, *word, 0, NULL, NULL, NULL, NULL, 1) == 1;
    }
    is_sent = is_sent &&
              PQsendQueryPrepared(connection, name, (int)count, bound->values, bound->lengths,
                                  bound->formats, 1) == 1 &&
              PQpipelineSync(connection) == 1;
    bool is_synced = !is_sent;
    while (!is_synced) {
        PGresult *result = PQgetResult(connection);
        ExecStatusType status = PQresultStatus(result);
        is_synced = status == PGRES_PIPELINE_SYNC || PQstatus(connection) != CONNECTION_OK;
        bool is_failed = kept != NULL && PQresultStatus(kept) != PGRES_COMMAND_OK &&
                         PQresultStatus(kept) != PGRES_TUPLES_OK;
        if (result != NULL && status != PGRES_PIPELINE_SYNC && !is_failed) {
            PQclear(kept);
            kept = result;
        } else {
            PQclear(result);
        }
    }
    self->tx.is_broken = self->tx.is_broken || PQexitPipelineMode(connection) != 1;
    return kept;
}

static enum err postgres_query(struct store_tx *tx, const char *sql, struct store_params params,
                               struct store_rows *ret_rows, struct error *reterr)
{
    struct postgres_tx *self = postgres_of(tx);
    struct postgres_params bound;
    char name[32];
    postgres_statement_name(sql, name, sizeof(name));
    enum err err = postgres_prepare(self, sql, name, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    postgres_bind(&bound, params);
    PGresult *result = NULL;
    if (self->has_to_begin) {
        self->has_to_begin = false;
        result = postgres_begin_with(self, name, &bound, params.count);
    } else {
        result = PQexecPrepared(self->connection, name, (int)params.count, bound.values,
                                bound.lengths, bound.formats, 1);
    }
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        err = postgres_fail(self, result, reterr);
        PQclear(result);
        return err;
    }
    ret_rows->handle = result;
    return ERR_NONE;
}

static enum err postgres_next(struct store_rows *rows, struct error *reterr)
{
    (void)reterr;
    rows->row++;
    return rows->row < PQntuples(rows->handle) ? ERR_NONE : ERR_NOT_FOUND;
}

static void postgres_end(struct store_rows *rows)
{
    PQclear(rows->handle);
}

static uint64_t postgres_changed(const struct store_rows *rows)
{
    return strtoull(PQcmdTuples(rows->handle), NULL, 10);
}

static bool postgres_is_null(const struct store_rows *rows, int column)
{
    return PQgetisnull(rows->handle, rows->row, column) == 1;
}

static struct slice postgres_view(const struct store_rows *rows, int column)
{
    return slice_of(PQgetvalue(rows->handle, rows->row, column),
                    (size_t)PQgetlength(rows->handle, rows->row, column));
}

/* bool, int2, int4 or int8 in binary form; the size tells which. */
static int64_t postgres_number(const struct store_rows *rows, int column)
{
    struct slice bytes = postgres_view(rows, column);
    struct reader reader = reader_of(bytes);
    switch (bytes.len) {
    case 1:
        return reader_u8(&reader);
    case 2:
        return (int16_t)reader_u16(&reader);
    case 4:
        return (int32_t)reader_u32(&reader);
    default:
        return (int64_t)reader_u64(&reader);
    }
}

const struct store_engine store_postgres = {
    .name = "postgres",
    .is_shared = true,
    .connect = postgres_connect,
    .disconnect = postgres_disconnect,
    .begin = postgres_begin,
    .commit = postgres_commit,
    .rollback = postgres_rollback,
    .migrate_begin = postgres_migrate_begin,
    .run_script = postgres_run_script,
    .query = postgres_query,
    .next = postgres_next,
    .end = postgres_end,
    .changed = postgres_changed,
    .is_null = postgres_is_null,
    .number = postgres_number,
    .view = postgres_view,
    .types = {"BIGINT", "TEXT COLLATE \"C\"", "BYTEA", ""},
};
