/* SPDX-License-Identifier: MIT */
/* Where a PostgreSQL server is and how to sign in there, out of a connection's variables: HOST,
 * PORT (5432), USER, PASS, DB and SSLMODE (prefer), and the files SSLROOTCERT, SSLCERT and SSLKEY
 * with PEM inside. SSLMODE require with SSLROOTCERT is verify-ca, as libpq has it. */
#ifndef GH_PROXY_PG_PLACE_H
#define GH_PROXY_PG_PLACE_H

#include "base/arena.h"
#include "codec/shape.h"
#include "io/tls_client.h"
#include "proxy/pg_encryption.h"

struct pg_place {
    struct slice host; /* a name or an address */
    uint16_t port;
    struct slice user;
    struct slice password; /* empty: there is none */
    struct slice database; /* empty: as the client says, or the one of the user's name */
    enum pg_sslmode mode;
    struct slice trusted; /* PEM; empty: the system's */
    struct slice certificate;
    struct slice key;
};

/* Values are open; keys are "envvar:NAME", "filesystem:NAME" or NAME. The views are into them.
 * ERR_INPUT names what is missing or wrong, never a value that could be secret. */
enum err pg_place_read(const struct shape_pairs *variables, struct pg_place *ret_place,
                       struct error *reterr) MUST_USE;

/* Those of the variables that pg_place_read() looks at; without the password, if it is not needed.
 * Views of 'variables'. */
struct shape_pairs pg_place_variables_in(struct arena *arena, const struct shape_pairs *variables,
                                         bool with_password);

/* How its mode trusts servers; *ret_client is NULL without TLS. Reads files: not on a loop. */
enum err pg_place_tls(const struct pg_place *place, struct tls_client **ret_client,
                      struct error *reterr) MUST_USE;

#endif
