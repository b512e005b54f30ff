/* SPDX-License-Identifier: MIT */
/* What both sides of SCRAM need: keys, and attributes of messages in the order in which they must
 * stand. */
#ifndef GH_IDENTITY_SCRAM_INTERNAL_H
#define GH_IDENTITY_SCRAM_INTERNAL_H

#include "identity/scram.h"

#define SCRAM_NONCE_TEXT_SIZE 25 /* 18 random bytes in base64, as PostgreSQL has them; NUL */
#define SCRAM_HASH_TEXT_SIZE  45 /* of SCRAM_HASH_SIZE bytes in base64; NUL */
#define SCRAM_END_POINT_FLAG  "p=tls-server-end-point"

enum scram_state {
    SCRAM_AT_FIRST, /* waits for the first message of the other side */
    SCRAM_AT_FINAL,
    SCRAM_DONE,
    SCRAM_FAILED,
};

void scram_keys_derive(const struct secret *password, struct slice salt, uint32_t iterations,
                       struct scram_keys *ret_keys);

/* ERR_LIMIT, or ERR_INPUT when it is not UTF-8 or has a NUL. */
enum err scram_check_message(struct slice message, struct error *reterr) MUST_USE;

/* All of these take from the start of 'rest', which is SLICE_NONE behind the last attribute. */
enum err scram_take(struct slice *rest, char name, struct slice *ret_value,
                    struct error *reterr) MUST_USE;
enum err scram_take_nonce(struct slice *rest, struct slice *ret_nonce,
                          struct error *reterr) MUST_USE;
/* Up to the attribute 'until', or to the end where it is NUL. */
enum err scram_take_extensions(struct slice *rest, char until, struct error *reterr) MUST_USE;

/* The number of iterations: no zeros before it, and within the bounds. */
enum err scram_parse_iterations(struct slice text, uint32_t *ret_iterations,
                                struct error *reterr) MUST_USE;

/* Base64, into memory that the caller wipes. ERR_INPUT when it is none or has no byte or more than
 * 'size_max'. */
enum err scram_decode(struct slice text, unsigned char *bytes, size_t size_max,
                      size_t *ret_size) MUST_USE;
/* ERR_INPUT when it has not exactly SCRAM_HASH_SIZE bytes. */
enum err scram_decode_hash(struct slice text, unsigned char *hash) MUST_USE;

/* 'given', or a random one when that is SLICE_NONE. */
struct slice scram_nonce_in(struct arena *arena, struct slice given);

/* The value of 'c' in the client's last message. */
struct slice scram_binding_in(struct arena *arena, struct slice header,
                              const struct scram_end_point *end_point);

#endif
