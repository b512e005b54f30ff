/* SPDX-License-Identifier: MIT */
/* A private PostgreSQL server for a test: Debian's package, its own folder and port. */
#ifndef GH_TESTS_PG_SERVER_H
#define GH_TESTS_PG_SERVER_H

#include <stddef.h>

struct pg_server;

/* Ends the program when there is no server to be had. */
struct pg_server *pg_server_new(void);
void pg_server_free(struct pg_server *server);

void pg_server_start(struct pg_server *server);
void pg_server_stop(struct pg_server *server);

/* "postgres://…" of a new, empty database. 'url' holds 256. */
void pg_server_make_database(struct pg_server *server, char *url, size_t size);

#endif
