/* SPDX-License-Identifier: MIT */
/* How a recording lies in its file: a head, then blocks of records. The head names the session and
 * holds the file's own key, sealed. A block is encrypted under that key and bound to its number and
 * to the chain of all records before it, so that it opens in its place only; its length has a
 * check of its own, so that a length that was changed is not taken for the end of the file.
 *
 * Blocks are sealed by AES-256-GCM, their number is the nonce. No nonce is used twice under one
 * key, though a block may be written twice under one number (the first did not fit on the disk, or
 * its writer was killed): the second has a random salt with it, and a key that is derived from
 * that. */
#ifndef GH_SESSION_BLOCK_H
#define GH_SESSION_BLOCK_H

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "session/record.h"
#include "store/seal.h"

#define BLOCK_SESSION_ID_SIZE 36
#define BLOCK_FILE_HEAD_SIZE  155
#define BLOCK_HEAD_SIZE       9
#define BLOCK_SALT_SIZE       16
/* Behind the last block: says to who looks at the end alone that the recording was closed. */
#define BLOCK_FILE_END      "ghrecend"
#define BLOCK_FILE_END_SIZE 8
#define BLOCK_TAG_SIZE      16
#define BLOCK_SIZE_MAX                                                                             \
    (BLOCK_HEAD_SIZE + BLOCK_SALT_SIZE + LIMIT_RECORDING_BLOCK_SIZE + BLOCK_TAG_SIZE +             \
     BLOCK_FILE_END_SIZE)

struct block_secret {
    unsigned char data[32];
    unsigned char check[16];
};

struct block_key {
    struct block_secret secret;
    /* Ready with it: to seal, from block_file_start(); to open, from block_key_open(). */
    struct evp_cipher_ctx_st *cipher;
    bool is_sealing;
};

/* What stands before the first block. */
struct block_file_head {
    struct slice session_id; /* points to 'id' */
    char id[BLOCK_SESSION_ID_SIZE];
    int64_t started_at;
    struct slice sealed_key; /* points into what was read */
};

/* Where a file stands: what the next block is bound to. */
struct block_place {
    uint64_t number;
    unsigned char chain[RECORD_CHAIN_SIZE];
};

/* What sealing and opening need besides; one for many files, of one thread. */
struct block_codec;

struct block_codec *block_codec_new(void);
void block_codec_free(struct block_codec *codec);

/* Makes a key, and writes the head that holds it. */
void block_file_start(struct seal_keys *keys, const struct block_file_head *head,
                      struct block_key *ret_key, char bytes[BLOCK_FILE_HEAD_SIZE]);
/* ERR_MORE; ERR_INPUT: none, or of another version. */
enum err block_file_head_read(struct slice bytes, struct block_file_head *ret_head,
                              struct error *reterr) MUST_USE;
/* ERR_INTERNAL: the keys do not open it. */
enum err block_key_open(struct seal_keys *keys, const struct block_file_head *head,
                        struct block_key *ret_key, struct error *reterr) MUST_USE;
/* The head with its key closed by the current one of the keys. */
enum err block_file_reseal(struct seal_keys *keys, const struct block_file_head *head,
                           char bytes[BLOCK_FILE_HEAD_SIZE], struct error *reterr) MUST_USE;
void block_key_wipe(struct block_key *key);

/* The place of the first block. */
struct block_place block_place_first(const struct block_file_head *head);
/* chain = SHA-256(chain || record) */
void block_chain(unsigned char chain[RECORD_CHAIN_SIZE], struct slice record);

/* Seals the records, at most LIMIT_RECORDING_BLOCK_SIZE bytes, as the block that comes at 'place'.
 * A last one has the file's end behind it. Valid until the codec is used again. */
struct slice block_seal(struct block_codec *codec, const struct block_key *key,
                        const struct block_place *place, unsigned flags, struct slice records);

enum block_flag {
    BLOCK_IS_COMPRESSED = 1,
    BLOCK_HAS_SALT = 2,
    BLOCK_IS_LAST = 4,
};

struct block_head {
    uint32_t size; /* of what is sealed */
    unsigned flags;
    size_t head_size; /* BLOCK_HEAD_SIZE, or with a salt behind it */
    unsigned char salt[BLOCK_SALT_SIZE];
};

/* ERR_MORE; ERR_CONFLICT: it was changed. */
enum err block_head_read(const struct block_key *key, uint64_t number, struct slice bytes,
                         struct block_head *ret_head) MUST_USE;
/* 'sealed' are head->size bytes. ERR_CONFLICT when they were changed or belong elsewhere. The
 * records are valid until the codec is used again. */
enum err block_open(struct block_codec *codec, const struct block_key *key,
                    const struct block_place *place, const struct block_head *head,
                    struct slice sealed, struct slice *ret_records) MUST_USE;

#endif
