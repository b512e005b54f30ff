/* SPDX-License-Identifier: MIT */
/* Runs the statement in the arguments with a value, with all settings as libpq has them. */
#include <libpq-fe.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    char text[200];
    PGconn *made = PQconnectdb("");
    const char *values[] = {count > 2 ? arguments[2] : ""};
    (void)snprintf(text, sizeof(text), "%s$1", count > 1 ? arguments[1] : "");
    PGresult *result = PQexecParams(made, text, 1, NULL, values, NULL, NULL, 0);
    int is_good = PQresultStatus(result) == PGRES_COMMAND_OK;
    printf("%s\n", is_good ? PQcmdTuples(result) : PQerrorMessage(made));
    PQclear(result);
    PQfinish(made);
    return !is_good;
}
