/* SPDX-License-Identifier: MIT */
/* Certificates by which people sign in over SSH, and whose certificates count beside the gateway's
 * own. */
#ifndef GH_MODEL_SSH_CERTIFICATE_H
#define GH_MODEL_SSH_CERTIFICATE_H

#include "codec/shape.h"

#define SSH_CERTIFICATE_SECONDS 300 /* that one is good for, where nobody says */

/* One that the gateway signs. */
struct ssh_certificate_request {
    struct slice public_key;
    struct shape_texts connections;
    struct shape_int duration_seconds;
    struct slice source_address;
};

extern const struct shape ssh_certificate_request_shape;

struct ssh_certificate {
    struct slice certificate; /* a line, as a '-cert.pub' file has it */
    struct slice id;
    struct slice serial; /* in decimal: it has more digits than numbers of JSON keep */
    struct slice fingerprint;
    struct shape_texts connections;
    int64_t expires_at;
};

extern const struct shape ssh_certificate_shape;

/* A key of others that signs certificates of people, which an organization trusts. */
struct ssh_authority_row {
    struct slice id;
    struct slice organization_id;
    struct slice name;
    struct slice public_key;
    struct slice fingerprint;
    int64_t created_at;
};

extern const struct shape ssh_authority_shape;

struct ssh_authority_request {
    struct slice public_key;
    struct slice name;
};

extern const struct shape ssh_authority_request_shape;

/* A server's host key that somebody has compared with the server's own. */
struct ssh_pin_request {
    struct slice fingerprint;
};

extern const struct shape ssh_pin_request_shape;

/* What clients and servers have to know of the gateway. */
struct ssh_about {
    struct slice host_key;
    struct slice host_key_fingerprint;
    struct slice known_hosts; /* empty: no client of SSH comes in */
    struct slice people_key;
    struct slice people_fingerprint;
    struct slice targets_key;
    struct slice targets_fingerprint;
};

extern const struct shape ssh_about_shape;

#endif
