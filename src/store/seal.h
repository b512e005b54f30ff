/* SPDX-License-Identifier: MIT */
/* How secrets lie in the store: each in an envelope of its own (XChaCha20-Poly1305), which names
 * the key that closed it and is bound to the row it belongs to, so that it opens nowhere else. The
 * keys are in a file outside the store, one a line, the first for closing, all for opening. */
#ifndef GH_STORE_SEAL_H
#define GH_STORE_SEAL_H

#include "base/arena.h"
#include "base/error.h"

#define SEAL_KEY_ID_SIZE 17 /* as text, with the NUL */

struct seal_keys;

/* Reads the file, or makes it (mode 0600) with a new key; *ret_is_new says so. A file that others
 * may read is refused. */
enum err seal_keys_open(const char *path, struct seal_keys **ret_keys, bool *ret_is_new,
                        struct error *reterr) MUST_USE;
void seal_keys_close(struct seal_keys *keys);

/* The id of the key that closes. */
void seal_keys_current(struct seal_keys *keys, char id[SEAL_KEY_ID_SIZE]);
/* Puts a new key in front of those in the file, there and here. */
enum err seal_keys_add(struct seal_keys *keys, struct error *reterr) MUST_USE;
/* Leaves only the key in front. For when nothing is closed with the others any more. ERR_CONFLICT
 * when another process put one in front of it. */
enum err seal_keys_drop_old(struct seal_keys *keys, struct error *reterr) MUST_USE;

/* 'owner' is the id of the row. */
struct slice seal_in(struct arena *arena, struct seal_keys *keys, struct slice owner,
                     struct slice plain);
/* An envelope whose key is not known makes the file be read again, once: another process may have
 * added it. ERR_INTERNAL when it does not open. */
enum err unseal_in(struct arena *arena, struct seal_keys *keys, struct slice owner,
                   struct slice sealed, struct slice *ret_plain, struct error *reterr) MUST_USE;
/* Whether the key in front closed it. */
bool seal_is_current(struct seal_keys *keys, struct slice sealed);

#endif
