/* SPDX-License-Identifier: MIT */
/* What libpq does: a line of JSON for each check of README.md. */
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#define LARGE_SIZE   10485760
#define POOL_CLIENTS 10
#define POOL_ROUNDS  20

static char detail[512];
static char noticed[512];

static void keep_notice(void *owner, const PGresult *result)
{
    (void)owner;
    (void)snprintf(noticed, sizeof(noticed), "%s %s",
                   PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED),
                   PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
}

static PGconn *dial(const char *options)
{
    char text[256];
    (void)snprintf(text, sizeof(text), "connect_timeout=20 sslmode=verify-full %s", options);
    PGconn *conn = PQconnectdb(text);
    (void)PQsetNoticeReceiver(conn, keep_notice, NULL);
    return conn;
}

static bool same(const char *found, const char *wanted)
{
    (void)snprintf(detail, sizeof(detail), "%s", found);
    return strcmp(found, wanted) == 0;
}

/* The first value of a result, or its SQLSTATE, or what the connection says. */
static const char *first(PGconn *conn, PGresult *result)
{
    static char text[4][128];
    static unsigned turn;
    char *kept = text[turn++ % 4];
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *found = state != NULL                                 ? state
                        : PQntuples(result) > 0                       ? PQgetvalue(result, 0, 0)
                        : PQresultStatus(result) == PGRES_FATAL_ERROR ? PQerrorMessage(conn)
                                                                      : "";
    (void)snprintf(kept, sizeof(text[0]), "%s", found);
    PQclear(result);
    return kept;
}

static const char *value(PGconn *conn, const char *query)
{
    return first(conn, PQexec(conn, query));
}

static const char *channel(void)
{
    return getenv("CHANNEL");
}

static bool connects(PGconn *unused)
{
    (void)unused;
    PGconn *conn = dial("sslmode=disable");
    const char *found = PQstatus(conn) == CONNECTION_OK ? value(conn, "SHOW server_version_num")
                                                        : PQerrorMessage(conn);
    bool ok = same(found, getenv("SERVER_VERSION")) && PQserverVersion(conn) == atoi(found);
    PQfinish(conn);
    return ok;
}

static bool encrypts(PGconn *conn)
{
    return PQsslInUse(conn) != 0 && same(PQsslAttribute(conn, "protocol"), "TLSv1.3");
}

static bool binds_channel(PGconn *unused)
{
    (void)unused;
    PGconn *conn = dial("channel_binding=require");
    bool ok =
        same(PQstatus(conn) == CONNECTION_OK ? value(conn, "SELECT 'bound'") : PQerrorMessage(conn),
             "bound");
    PQfinish(conn);
    return ok;
}

static bool queries(PGconn *conn)
{
    (void)PQsendQuery(conn, "SELECT 1; SELECT 2");
    char found[64] = "";
    PGresult *result;
    while ((result = PQgetResult(conn)) != NULL) {
        (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s ",
                       first(conn, result));
    }
    return same(found, "1 2 ");
}

static bool takes_text(PGconn *conn)
{
    const char *values[] = {"7", "\xc3\xa9", NULL};
    PGresult *result = PQexecParams(conn, "SELECT $1::int8 + 1 || $2::text || ($3::text IS NULL)",
                                    3, NULL, values, NULL, NULL, 0);
    char found[64];
    (void)snprintf(found, sizeof(found), "%s ", first(conn, result));
    PQclear(PQprepare(conn, "named", "SELECT $1::int8 + 1", 0, NULL));
    for (int i = 0; i < 2; i++) {
        result = PQexecPrepared(conn, "named", 1, values, NULL, NULL, 0);
        (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s ",
                       first(conn, result));
    }
    return same(found, "8\xc3\xa9true 8 8 ");
}

static bool takes_binary(PGconn *conn)
{
    const char number[] = {0, 0, 1, 2}, raw[] = {0, (char)0xff};
    const char *values[] = {number, raw};
    const int sizes[] = {sizeof(number), sizeof(raw)}, formats[] = {1, 1};
    PGresult *result =
        PQexecParams(conn, "SELECT $1::int4, $2::bytea", 2, NULL, values, sizes, formats, 1);
    bool ok = PQntuples(result) == 1 && PQgetlength(result, 0, 0) == (int)sizeof(number) &&
              memcmp(PQgetvalue(result, 0, 0), number, sizeof(number)) == 0 &&
              PQgetlength(result, 0, 1) == (int)sizeof(raw) &&
              memcmp(PQgetvalue(result, 0, 1), raw, sizeof(raw)) == 0;
    (void)same(PQresultErrorMessage(result), "");
    PQclear(result);
    return ok;
}

static bool pipelines(PGconn *conn)
{
    (void)PQenterPipelineMode(conn);
    for (int i = 0; i < 50; i++) {
        (void)PQsendQueryParams(conn, i == 30 ? "SELECT 1/0" : "SELECT 1", 0, NULL, NULL, NULL,
                                NULL, 0);
        if (i % 10 == 9) {
            (void)PQpipelineSync(conn);
        }
    }
    int rows = 0, errors = 0, aborted = 0, syncs = 0;
    while (syncs < 5) {
        PGresult *result = PQgetResult(conn);
        if (result == NULL && PQstatus(conn) != CONNECTION_OK) {
            break;
        }
        ExecStatusType status = PQresultStatus(result);
        rows += result != NULL && status == PGRES_TUPLES_OK ? 1 : 0;
        errors += result != NULL && status == PGRES_FATAL_ERROR ? 1 : 0;
        aborted += result != NULL && status == PGRES_PIPELINE_ABORTED ? 1 : 0;
        syncs += result != NULL && status == PGRES_PIPELINE_SYNC ? 1 : 0;
        PQclear(result);
    }
    char found[64];
    (void)snprintf(found, sizeof(found), "%d rows, %d error, %d aborted, %d syncs", rows, errors,
                   aborted, syncs);
    return same(found, "40 rows, 1 error, 9 aborted, 5 syncs") && PQexitPipelineMode(conn) == 1;
}

static bool rolls_back(PGconn *conn)
{
    char found[64];
    (void)value(conn, "CREATE TEMP TABLE rolled (id int)");
    (void)value(conn, "BEGIN; INSERT INTO rolled VALUES (1)");
    (void)snprintf(found, sizeof(found), "%s ", value(conn, "SELECT 1/0"));
    (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s ",
                   value(conn, "SELECT 1"));
    (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%d ",
                   PQtransactionStatus(conn) == PQTRANS_INERROR);
    (void)value(conn, "ROLLBACK");
    (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s",
                   value(conn, "SELECT count(*) FROM rolled"));
    return same(found, "22012 25P02 1 0");
}

static const char *copy_in(PGconn *conn, const char *lines, const char *problem)
{
    PQclear(PQexec(conn, "COPY copied FROM STDIN"));
    (void)PQputCopyData(conn, lines, (int)strlen(lines));
    (void)PQputCopyEnd(conn, problem);
    const char *found = first(conn, PQgetResult(conn));
    PQclear(PQgetResult(conn));
    return found;
}

static bool copies(PGconn *conn)
{
    (void)value(conn, "CREATE TEMP TABLE copied (id int, name text)");
    const char *done = copy_in(conn, "1\tone\n2\t\\N\n", NULL);
    const char *wrong = copy_in(conn, "no number\tx\n", NULL);
    const char *given_up = copy_in(conn, "3\tx\n", "no more");
    PQclear(PQexec(conn, "COPY copied TO STDOUT"));
    char found[128], *line;
    (void)snprintf(found, sizeof(found), "%s%s %s ", done, wrong, given_up);
    while (PQgetCopyData(conn, &line, 0) > 0) {
        (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s", line);
        PQfreemem(line);
    }
    PQclear(PQgetResult(conn));
    PQclear(PQgetResult(conn));
    return same(found, "22P02 57014 1\tone\n2\t\\N\n");
}

static bool fetches(PGconn *conn)
{
    (void)PQsendQuery(conn, "SELECT generate_series(1, 1000)");
    (void)PQsetSingleRowMode(conn);
    int total = 0;
    PGresult *result;
    while ((result = PQgetResult(conn)) != NULL) {
        total += PQntuples(result) == 1 ? atoi(PQgetvalue(result, 0, 0)) : 0;
        PQclear(result);
    }
    (void)value(conn, "BEGIN; DECLARE many CURSOR FOR SELECT generate_series(1, 1000)");
    result = PQexec(conn, "MOVE 500 FROM many; FETCH 100 FROM many");
    char found[64];
    (void)snprintf(found, sizeof(found), "%d %d %s", total, PQntuples(result),
                   PQgetvalue(result, 99, 0));
    PQclear(result);
    (void)value(conn, "COMMIT");
    return same(found, "500500 100 600");
}

static bool carries_much(PGconn *conn)
{
    char *sent = malloc(LARGE_SIZE + 1);
    memset(sent, 'x', LARGE_SIZE);
    sent[LARGE_SIZE] = '\0';
    const char *values[] = {sent};
    PGresult *result = PQexecParams(conn, "SELECT $1::text || 'y'", 1, NULL, values, NULL, NULL, 0);
    bool ok = PQntuples(result) == 1 && PQgetlength(result, 0, 0) == LARGE_SIZE + 1 &&
              memcmp(PQgetvalue(result, 0, 0), sent, LARGE_SIZE) == 0;
    (void)same(ok ? "10485761 bytes" : PQresultErrorMessage(result), "");
    PQclear(result);
    free(sent);
    return ok;
}

static bool knows_values(PGconn *conn)
{
    PGresult *result = PQexec(
        conn, "SELECT NULL::text, ARRAY[1, NULL, 3], '{\"a\": [1, \"\xc3\xa9\"]}'::jsonb, "
              "'2024-02-29 12:34:56.789+02'::timestamptz AT TIME ZONE 'UTC', '\xf0\x9f\x90\x8e'");
    char found[256] = "";
    for (int i = 0; i < PQnfields(result) && PQntuples(result) == 1; i++) {
        (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s|%u|",
                       PQgetisnull(result, 0, i) ? "null" : PQgetvalue(result, 0, i),
                       PQftype(result, i));
    }
    PQclear(result);
    return same(found, "null|25|{1,NULL,3}|1007|{\"a\": [1, \"\xc3\xa9\"]}|3802|"
                       "2024-02-29 10:34:56.789|1114|\xf0\x9f\x90\x8e|25|");
}

static bool is_notified(PGconn *conn)
{
    char query[128];
    (void)snprintf(query, sizeof(query), "LISTEN %s", channel());
    (void)value(conn, query);
    PGconn *other = dial("");
    (void)snprintf(query, sizeof(query), "NOTIFY %s, 'payload'", channel());
    (void)value(other, query);
    PQfinish(other);
    PGnotify *heard = NULL;
    for (int i = 0; i < 20 && heard == NULL; i++) {
        fd_set reads;
        FD_ZERO(&reads);
        FD_SET(PQsocket(conn), &reads);
        struct timeval second = {.tv_sec = 1};
        (void)select(PQsocket(conn) + 1, &reads, NULL, NULL, &second);
        (void)PQconsumeInput(conn);
        heard = PQnotifies(conn);
    }
    bool ok = same(heard != NULL ? heard->extra : "nothing heard", "payload");
    PQfreemem(heard);
    (void)value(conn, "UNLISTEN *");
    return ok;
}

static bool cancels(PGconn *conn)
{
    char problem[256] = "";
    PGcancel *request = PQgetCancel(conn);
    (void)PQsendQuery(conn, "SELECT pg_sleep(30)");
    (void)usleep(300000);
    if (PQcancel(request, problem, sizeof(problem)) != 1) {
        return same(problem, "");
    }
    PQfreeCancel(request);
    char found[64];
    (void)snprintf(found, sizeof(found), "%s ", first(conn, PQgetResult(conn)));
    PQclear(PQgetResult(conn));
    (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s",
                   value(conn, "SELECT 1"));
    return same(found, "57014 1");
}

static bool is_told(PGconn *conn)
{
    (void)value(conn, "DO $$ BEGIN RAISE NOTICE 'listen'; END $$");
    return same(noticed, "NOTICE listen");
}

static bool pools(PGconn *unused)
{
    (void)unused;
    PGconn *conns[POOL_CLIENTS];
    int total = 0;
    for (int i = 0; i < POOL_CLIENTS; i++) {
        conns[i] = dial("");
    }
    for (int round = 0; round < POOL_ROUNDS; round++) {
        for (int i = 0; i < POOL_CLIENTS; i++) {
            (void)PQsendQuery(conns[i], "SELECT 7");
        }
        for (int i = 0; i < POOL_CLIENTS; i++) {
            total += atoi(first(conns[i], PQgetResult(conns[i])));
            PQclear(PQgetResult(conns[i]));
        }
    }
    for (int i = 0; i < POOL_CLIENTS; i++) {
        PQfinish(conns[i]);
    }
    char found[32];
    (void)snprintf(found, sizeof(found), "%d", total);
    return same(found, "1400");
}

static bool comes_back(PGconn *unused)
{
    (void)unused;
    PGconn *conn = dial("");
    char found[64];
    const char *told = value(conn, "SELECT pg_terminate_backend(pg_backend_pid())");
    bool knows_why = strstr(told, "terminating connection due to administrator command") != NULL;
    bool is_bad = PQstatus(conn) == CONNECTION_BAD;
    PQreset(conn);
    (void)snprintf(found, sizeof(found), "%d %d %s", knows_why, is_bad,
                   value(conn, "SELECT 'again'"));
    PQfinish(conn);
    return same(found, "1 1 again");
}

static void print_json(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            (void)printf("\\%c", *text);
        } else {
            (void)putchar(*text == '\n' || *text == '\t' ? ' ' : *text);
        }
    }
}

int main(void)
{
    static const struct {
        const char *name;
        bool (*run)(PGconn *conn);
    } checks[] = {
        {"connect", connects},   {"tls", encrypts},           {"channel-binding", binds_channel},
        {"simple", queries},     {"text", takes_text},        {"binary", takes_binary},
        {"pipeline", pipelines}, {"transaction", rolls_back}, {"copy", copies},
        {"cursor", fetches},     {"large", carries_much},     {"values", knows_values},
        {"notify", is_notified}, {"cancel", cancels},         {"notice", is_told},
        {"pool", pools},         {"reconnect", comes_back},
    };
    PGconn *conn = dial("");
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        (void)snprintf(detail, sizeof(detail), "%s", PQerrorMessage(conn));
        bool ok = checks[i].run(conn);
        (void)printf("{\"check\":\"%s\",\"ok\":%s,\"detail\":\"", checks[i].name,
                     ok ? "true" : "false");
        print_json(detail);
        (void)puts("\"}");
        (void)fflush(stdout);
    }
    PQfinish(conn);
    return 0;
}
