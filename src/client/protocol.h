/* SPDX-License-Identifier: MIT */
/* What 'connect' knows of each protocol, in one table: how a connection of it is used, which port
 * is its own, how clients are told where to go, and by what they prove who they are. */
#ifndef GH_CLIENT_PROTOCOL_H
#define GH_CLIENT_PROTOCOL_H

#include "client/command.h"

struct client_credential;
struct client_protocol;

/* Words to connect with, in the form that one kind of client takes. */
enum client_form {
    CLIENT_FORM_URL,
    CLIENT_FORM_JDBC,
    CLIENT_FORM_DSN,     /* keywords and values of libpq */
    CLIENT_FORM_ENV,     /* lines for a shell */
    CLIENT_FORM_PSQL,    /* a command line */
    CLIENT_FORM_MARIADB, /* likewise */
    CLIENT_FORM_SSH,     /* likewise */
    CLIENT_FORM_SSH_CONFIG,
    CLIENT_FORM_COUNT
};

/* At most of client_protocol.variables_in. */
#define CLIENT_VARIABLES_MAX 16

/* A connection, as the person named it. */
struct client_target {
    struct slice connection; /* its name */
    const struct client_protocol *protocol;
};

struct client_protocol {
    const char *subtype;
    uint16_t port; /* its own; 0: it has none */
    /* Its clients have no way to prove a password: the tunnel does it for them. */
    bool is_signed_in_by_tunnel;
    /* 'connect NAME': what that means here. */
    enum err (*connect)(struct client_run *run, const struct client_target *target,
                        struct error *reterr);
    /* SLICE_NONE: its clients take no such form. */
    struct slice (*form_in)(struct arena *arena, const struct client_credential *credential,
                            enum client_form form);
    /* For a client that is run: a file that it reads, NULL: none, and its environment. Names
     * without a value are left out of that. Returns how many there are. */
    const char *file_name;
    bool file_is_program; /* that is run, in the place of being read */
    struct slice (*file_in)(struct arena *arena, const struct client_credential *credential);
    size_t (*variables_in)(struct arena *arena, const struct client_credential *credential,
                           const char *file, struct slice *ret_variables);
    /* NULL: its arguments are what was typed. */
    char **(*arguments_in)(struct arena *arena, const struct client_credential *credential,
                           char **arguments, const char *file);
};

/* Asks the gateway for the connection. ERR_INPUT: it is of a kind that is not in the table. */
enum err client_target_find(struct client_run *run, const char *name,
                            struct client_target *ret_target, struct error *reterr) MUST_USE;

#endif
