/* SPDX-License-Identifier: MIT */
/* Where a target is and how to sign in there, out of a connection's variables: HOST, PORT, USER,
 * PASS, DB and SSLMODE (prefer), and SSLROOTCERT, SSLCERT and SSLKEY, paths of files with PEM
 * inside. Only files that were made for the session count: a variable cannot name one that lies
 * there anyway. PRIVATE_KEY, PASSPHRASE, CERTIFICATE, HOST_KEY, KNOWN_HOSTS, FORWARD,
 * ACCEPT_ENV and LOGINS are SSH's, with the text itself in the variable. SSLMODE require with
 * SSLROOTCERT is verify-ca, as libpq has it. */
#ifndef GH_PROTOCOL_PLACE_H
#define GH_PROTOCOL_PLACE_H

#include "base/arena.h"
#include "codec/shape.h"
#include "io/tls_client.h"
#include "target/session_files.h"

/* libpq's sslmode. There is no 'allow': it begins without TLS. */
enum place_tls {
    PLACE_TLS_DISABLE,
    PLACE_TLS_PREFER, /* without, if the server has none: whoever stands in between can say so, too
                       */
    PLACE_TLS_REQUIRE,
    PLACE_TLS_VERIFY_CA,
    PLACE_TLS_VERIFY_FULL,
};

struct place;

/* What a protocol asks of its places. */
struct place_rules {
    uint16_t port; /* when none is given; 0: one must be */
    bool needs_user;
    bool is_command;   /* it is no server: all variables are for a program */
    bool has_host_key; /* servers show a key, and HOST_KEY says which one is right */
    /* What is left to be done with what was read, where that may take its time; NULL: nothing. */
    enum err (*prepare)(struct arena *arena, struct place *place, struct error *reterr);
};

struct place {
    struct slice host; /* a name or an address */
    uint16_t port;
    struct slice user;
    struct slice password; /* empty: there is none */
    struct slice database; /* empty: as the client says, or the one of the user's name */
    enum place_tls mode;
    const char *trusted; /* a path; NULL: the system's */
    const char *certificate;
    const char *key;
    struct slice private_key; /* of SSH, as text; empty: there is none; likewise: */
    struct slice passphrase;
    struct slice user_certificate; /* of the private key: a line */
    struct slice host_key;         /* lines that say which keys the server may have */
    struct slice known_hosts;
    struct slice forward_back;    /* where it may listen for a client, likewise */
    struct slice forward;         /* patterns of what ports may be forwarded to */
    struct slice accept_env;      /* patterns of variables that a client may set */
    struct slice logins;          /* users beside the first that a client may be there */
    bool has_files;               /* that somebody must remove at the end */
    struct shape_pairs variables; /* of a command: keys as they are stored, open values */
};

/* Whose files are made: of the session with this id, which is not of others at the same time. */
struct place_owner {
    const struct place_rules *rules;
    struct arena *arena;         /* holds what the place shows */
    struct session_files *files; /* may be NULL where there is no folder for them */
    struct slice session_id;
};

/* From open values to what a connection needs: the files are made, the place is read, and how its
 * mode trusts servers; *ret_tls is NULL without TLS. Nothing is left behind when it fails; else
 * session_files_remove() follows in the end if the place 'has_files'. Blocks. */
enum err place_open(const struct place_owner *owner, const struct shape_pairs *plain,
                    struct place *ret_place, struct tls_client **ret_tls,
                    struct error *reterr) MUST_USE;

/* Values are open, and those of "filesystem:NAME" are paths; other keys are "envvar:NAME" or NAME.
 * Paths are copied into the arena, the rest are views. ERR_INPUT names what is missing or wrong,
 * never a value that could be secret. */
enum err place_read(struct arena *arena, const struct place_rules *rules,
                    const struct shape_pairs *variables, struct place *ret_place,
                    struct error *reterr) MUST_USE;

/* The value of NAME or envvar:NAME; SLICE_NONE: there is none. */
struct slice place_variable(const struct shape_pairs *variables, const char *name);
/* Those of the variables that place_read() looks at; without the password, if it is not needed.
 * Views of 'variables'. */
struct shape_pairs place_variables_in(struct arena *arena, const struct shape_pairs *variables,
                                      bool with_password);

#endif
