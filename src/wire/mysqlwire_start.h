/* SPDX-License-Identifier: MIT */
/* How a connection of MySQL's protocol begins: the server's greeting, the client's answer with its
 * capabilities, and the packets of authentication. Bodies of packets, without their headers; what
 * is read are views of them. */
#ifndef GH_WIRE_MYSQLWIRE_START_H
#define GH_WIRE_MYSQLWIRE_START_H

#include "wire/mysqlwire.h"

#define MYSQLWIRE_SSL_REQUEST_SIZE 32
#define MYSQLWIRE_PLUGIN_NATIVE    "mysql_native_password"
#define MYSQLWIRE_PLUGIN_SHA2      "caching_sha2_password"
#define MYSQLWIRE_PLUGIN_SHA256    "sha256_password"
#define MYSQLWIRE_PLUGIN_CLEAR     "mysql_clear_password"
#define MYSQLWIRE_PLUGIN_ED25519   "client_ed25519"
#define MYSQLWIRE_PLUGIN_PARSEC    "parsec"

/* Handshake, version 10. */
struct mysqlwire_greeting {
    struct slice version;
    uint32_t connection_id;
    uint32_t capabilities;
    uint8_t charset;
    uint16_t status;
    struct slice scramble; /* without its end; MYSQLWIRE_SCRAMBLE_SIZE bytes when it is written */
    char scramble_bytes[32];
    struct slice plugin; /* empty: the server knows of none */
};

/* ERR_UNSUPPORTED: of another version, or older than 4.1. ERR_DENIED: an ERR packet, which is read
 * by mysqlwire_error_read(). The scramble lies in the struct. */
enum err mysqlwire_greeting_read(struct slice body, struct mysqlwire_greeting *ret_greeting,
                                 struct error *reterr) MUST_USE;
enum err mysqlwire_greeting_write(struct buf *buf,
                                  const struct mysqlwire_greeting *greeting) MUST_USE;

/* What a client answers; with only the first three members also the request for TLS. */
struct mysqlwire_response {
    uint32_t capabilities;
    uint32_t packet_max;
    uint8_t charset;
    bool is_ssl_request;
    struct slice user;
    struct slice proof;      /* may hold a password */
    struct slice database;   /* empty: none is named */
    struct slice plugin;     /* empty: not said */
    struct slice attributes; /* pairs of lenenc texts: mysqlwire_attribute_next() */
};

/* ERR_UNSUPPORTED: of a protocol before 4.1. */
enum err mysqlwire_response_read(struct slice body, struct mysqlwire_response *ret_response,
                                 struct error *reterr) MUST_USE;
enum err mysqlwire_ssl_request_write(struct buf *buf, uint8_t sequence,
                                     const struct mysqlwire_response *response) MUST_USE;
enum err mysqlwire_response_write(struct buf *buf, uint8_t sequence,
                                  const struct mysqlwire_response *response) MUST_USE;

/* Takes the first pair; false when there is none, or what is left is none. */
bool mysqlwire_attribute_next(struct slice *attributes, struct slice *ret_name,
                              struct slice *ret_value);

/* AuthSwitchRequest. */
struct mysqlwire_switch {
    struct slice plugin;
    struct slice data; /* the scramble, with its end */
};

enum err mysqlwire_switch_read(struct slice body, struct mysqlwire_switch *ret_switch,
                               struct error *reterr) MUST_USE;
enum err mysqlwire_switch_write(struct buf *buf, uint8_t sequence,
                                const struct mysqlwire_switch *asked) MUST_USE;
/* Of the scramble its own bytes: servers put a NUL behind it. */
struct slice mysqlwire_scramble_of(struct slice data);

/* What caching_sha2_password says in AuthMoreData. */
#define MYSQLWIRE_SHA2_REQUEST_KEY '\x02' /* the client's; that of sha256_password is 1 */
#define MYSQLWIRE_SHA2_FAST_OK     '\x03'
#define MYSQLWIRE_SHA2_FULL        '\x04'

/* A packet of these bytes, whatever they are. */
enum err mysqlwire_data_write(struct buf *buf, uint8_t sequence, struct slice first,
                              struct slice data) MUST_USE;

#endif
