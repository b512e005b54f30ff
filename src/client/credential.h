/* SPDX-License-Identifier: MIT */
/* A credential for native clients that is made for a command, and the forms in which a client of
 * its protocol takes it. */
#ifndef GH_CLIENT_CREDENTIAL_H
#define GH_CLIENT_CREDENTIAL_H

#include "client/command.h"

enum credential_form {
    CREDENTIAL_URL,
    CREDENTIAL_JDBC,
    CREDENTIAL_DSN,  /* keywords and values of libpq */
    CREDENTIAL_ENV,  /* lines for a shell */
    CREDENTIAL_PSQL, /* a command line */
};

struct client_protocol {
    const char *subtype;
    uint16_t port; /* its own */
};

struct client_credential {
    const struct client_protocol *protocol;
    struct slice id;
    struct slice connection; /* its name */
    struct slice host;
    unsigned port;
    struct slice user;
    struct slice password;
    struct slice database;
    const char *tls; /* libpq's sslmode */
};

/* For the connection that the command's first word names, by its --duration and --replace. Others
 * of the same person stay good without the latter. ERR_INPUT: of a protocol that has no clients
 * here. */
enum err client_credential_make(struct client_run *run, struct client_credential *ret_credential,
                                struct error *reterr) MUST_USE;
/* What it opens ends, too. As far as that can be done. */
void client_credential_end(struct client_run *run, const struct client_credential *credential);

struct slice client_credential_form_in(struct arena *arena,
                                       const struct client_credential *credential,
                                       enum credential_form form);

#endif
