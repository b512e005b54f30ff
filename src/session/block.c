/* SPDX-License-Identifier: MIT */
/* SHA256_Update and its like: those of EVP allocate at each turn. */
#define OPENSSL_API_COMPAT 10100

#include "session/block.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "base/timestamp.h"
#include "base/writer.h"
#include "codec/uuid.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sodium.h>
#include <zstd.h>

#define BLOCK_MAGIC      "\x89GHREC\r\n"
#define BLOCK_VERSION    3
#define BLOCK_NONCE_SIZE 12
#define BLOCK_CHECK_SIZE 4
#define BLOCK_SEALED_KEY_SIZE                                                                      \
    (1 + 8 + 24 + sizeof(struct block_secret) + 16) /* see store/seal.h                            \
                                                     */
#define BLOCK_BOUND_SIZE (8 + RECORD_CHAIN_SIZE + BLOCK_HEAD_SIZE)

/* Below, compressing costs more time than it saves room. */
#define BLOCK_COMPRESS_MIN      512
#define BLOCK_COMPRESSION_LEVEL 1

struct block_codec {
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *apart; /* for keys that are used once */
    ZSTD_CCtx *compress;   /* these two when they are first needed */
    ZSTD_DCtx *expand;
    struct buf compressed;
    struct buf out;
};

struct block_codec *block_codec_new(void)
{
    struct block_codec *codec = memory_new(sizeof(*codec));
    must(sodium_init() >= 0);
    codec->cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    codec->apart = EVP_CIPHER_CTX_new();
    must(codec->cipher != NULL && codec->apart != NULL);
    buf_init(&codec->compressed, ZSTD_compressBound(LIMIT_RECORDING_BLOCK_SIZE));
    buf_init(&codec->out, BLOCK_SIZE_MAX);
    return codec;
}

void block_codec_free(struct block_codec *codec)
{
    if (codec == NULL) {
        return;
    }
    EVP_CIPHER_CTX_free(codec->apart);
    EVP_CIPHER_free(codec->cipher);
    (void)ZSTD_freeCCtx(codec->compress);
    (void)ZSTD_freeDCtx(codec->expand);
    buf_release(&codec->compressed);
    buf_release(&codec->out);
    memory_free(codec);
}

/* The head of the file ------------------------------------------------------------------------- */

static void block_file_head_write(const struct block_file_head *head, struct slice sealed_key,
                                  char bytes[BLOCK_FILE_HEAD_SIZE])
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, BLOCK_FILE_HEAD_SIZE);
    struct writer writer = writer_to(&buf);
    writer_bytes(&writer, SLICE(BLOCK_MAGIC));
    writer_u16(&writer, BLOCK_VERSION);
    writer_u16(&writer, BLOCK_FILE_HEAD_SIZE);
    writer_bytes(&writer, head->session_id);
    writer_u64(&writer, (uint64_t)head->started_at);
    writer_u16(&writer, (uint16_t)sealed_key.len);
    writer_bytes(&writer, sealed_key);
    must(writer_done(&writer) == ERR_NONE && buf.len == BLOCK_FILE_HEAD_SIZE);
    (void)memcpy(bytes, buf_view(&buf).at, BLOCK_FILE_HEAD_SIZE);
}

static struct slice block_secret_seal_in(struct arena *arena, struct seal_keys *keys,
                                         const struct block_file_head *head,
                                         const struct block_secret *secret)
{
    return seal_in(arena, keys, head->session_id, slice_of(secret, sizeof(*secret)));
}

static void block_key_ready(struct block_key *key, bool is_sealing)
{
    key->is_sealing = is_sealing;
    key->cipher = EVP_CIPHER_CTX_new();
    must(key->cipher != NULL && EVP_CipherInit_ex2(key->cipher, EVP_aes_256_gcm(), key->secret.data,
                                                   NULL, is_sealing ? 1 : 0, NULL) == 1);
}

void block_file_start(struct seal_keys *keys, const struct block_file_head *head,
                      struct block_key *ret_key, char bytes[BLOCK_FILE_HEAD_SIZE])
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    must(head->session_id.len == BLOCK_SESSION_ID_SIZE);
    randombytes_buf(&ret_key->secret, sizeof(ret_key->secret));
    block_key_ready(ret_key, true);
    block_file_head_write(head, block_secret_seal_in(&arena, keys, head, &ret_key->secret), bytes);
}

enum err block_file_head_read(struct slice bytes, struct block_file_head *ret_head,
                              struct error *reterr)
{
    struct reader reader = reader_of(bytes);
    struct slice magic = reader_view(&reader, sizeof(BLOCK_MAGIC) - 1);
    unsigned version = reader_u16(&reader);
    unsigned size = reader_u16(&reader);
    struct slice id = reader_view(&reader, BLOCK_SESSION_ID_SIZE);
    uint64_t started_at = reader_u64(&reader);
    unsigned sealed_size = reader_u16(&reader);
    struct slice sealed_key = reader_view(&reader, BLOCK_SEALED_KEY_SIZE);
    if (magic.len > 0 && !slice_equals(magic, SLICE(BLOCK_MAGIC))) {
        return fail(reterr, ERR_INPUT, "this is no recording");
    }
    if (reader.failed) {
        return ERR_MORE;
    }
    if (version != BLOCK_VERSION) {
        return fail(reterr, ERR_INPUT, "a recording of version %u: this gatehouse reads version %d",
                    version, BLOCK_VERSION);
    }
    unsigned char uuid[UUID_SIZE];
    if (size != BLOCK_FILE_HEAD_SIZE || sealed_size != BLOCK_SEALED_KEY_SIZE ||
        uuid_parse(id, uuid) != ERR_NONE || (int64_t)started_at < TIMESTAMP_MIN ||
        (int64_t)started_at > TIMESTAMP_MAX) {
        return fail(reterr, ERR_CONFLICT, "the head of the recording was changed");
    }
    ret_head->started_at = (int64_t)started_at;
    ret_head->sealed_key = sealed_key;
    (void)memcpy(ret_head->id, id.at, BLOCK_SESSION_ID_SIZE);
    ret_head->session_id = slice_of(ret_head->id, BLOCK_SESSION_ID_SIZE);
    return ERR_NONE;
}

enum err block_key_open(struct seal_keys *keys, const struct block_file_head *head,
                        struct block_key *ret_key, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    struct slice plain = SLICE_NONE;
    arena_init(&arena);
    enum err err = unseal_in(&arena, keys, slice_of(head->id, BLOCK_SESSION_ID_SIZE),
                             head->sealed_key, &plain, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "the recording's own key: ");
        return err;
    }
    must(plain.len == sizeof(ret_key->secret));
    (void)memcpy(&ret_key->secret, plain.at, sizeof(ret_key->secret));
    block_key_ready(ret_key, false);
    return ERR_NONE;
}

enum err block_file_reseal(struct seal_keys *keys, const struct block_file_head *head,
                           char bytes[BLOCK_FILE_HEAD_SIZE], struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    struct block_key key;
    arena_init(&arena);
    enum err err = block_key_open(keys, head, &key, reterr);
    if (err == ERR_NONE) {
        block_file_head_write(head, block_secret_seal_in(&arena, keys, head, &key.secret), bytes);
        block_key_wipe(&key);
    }
    return err;
}

void block_key_wipe(struct block_key *key)
{
    EVP_CIPHER_CTX_free(key->cipher);
    sodium_memzero(key, sizeof(*key));
}

/* The chain ------------------------------------------------------------------------------------ */

void block_chain(unsigned char chain[RECORD_CHAIN_SIZE], struct slice record)
{
    SHA256_CTX hash;
    must(SHA256_Init(&hash) == 1 && SHA256_Update(&hash, chain, RECORD_CHAIN_SIZE) == 1 &&
         SHA256_Update(&hash, record.at, record.len) == 1 && SHA256_Final(chain, &hash) == 1);
}

/* Begins with what the head says, but for the sealed key, which a change of the master key changes.
 */
struct block_place block_place_first(const struct block_file_head *head)
{
    struct block_place place = {0};
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, BLOCK_FILE_HEAD_SIZE);
    struct writer writer = writer_to(&buf);
    writer_bytes(&writer, SLICE(BLOCK_MAGIC));
    writer_u16(&writer, BLOCK_VERSION);
    writer_bytes(&writer, slice_of(head->session_id.at, head->session_id.len));
    writer_u64(&writer, (uint64_t)head->started_at);
    must(writer_done(&writer) == ERR_NONE);
    block_chain(place.chain, buf_view(&buf));
    return place;
}

/* Blocks --------------------------------------------------------------------------------------- */

static void block_put(unsigned char *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        at[i] = (unsigned char)(value >> (8 * (size - 1 - i)));
    }
}

/* Of the length and the flags, under the file's key. */
static void block_check(const struct block_key *key, uint64_t number, const unsigned char *head,
                        unsigned char check[BLOCK_CHECK_SIZE])
{
    unsigned char hash[crypto_shorthash_BYTES];
    unsigned char text[8 + BLOCK_HEAD_SIZE - BLOCK_CHECK_SIZE];
    block_put(text, number, 8);
    (void)memcpy(text + 8, head, BLOCK_HEAD_SIZE - BLOCK_CHECK_SIZE);
    (void)crypto_shorthash(hash, text, sizeof(text), key->secret.check);
    (void)memcpy(check, hash, BLOCK_CHECK_SIZE);
}

static void block_nonce(unsigned char nonce[BLOCK_NONCE_SIZE], uint64_t number)
{
    (void)memset(nonce, 0, BLOCK_NONCE_SIZE - 8);
    block_put(nonce + BLOCK_NONCE_SIZE - 8, number, 8);
}

/* The file's key, or what a salt makes of it. */
static EVP_CIPHER_CTX *block_cipher(struct block_codec *codec, const struct block_key *key,
                                    unsigned flags, const unsigned char *salt, bool is_sealing)
{
    unsigned char own[sizeof(key->secret.data)];
    if ((flags & BLOCK_HAS_SALT) == 0) {
        must(key->is_sealing == is_sealing);
        return key->cipher;
    }
    must(crypto_generichash(own, sizeof(own), salt, BLOCK_SALT_SIZE, key->secret.data,
                            sizeof(own)) == 0);
    must(EVP_CipherInit_ex2(codec->apart, codec->cipher, own, NULL, is_sealing ? 1 : 0, NULL) == 1);
    sodium_memzero(own, sizeof(own));
    return codec->apart;
}

static void block_bind(unsigned char *bound, const struct block_place *place,
                       const unsigned char *head)
{
    block_put(bound, place->number, 8);
    (void)memcpy(bound + 8, place->chain, RECORD_CHAIN_SIZE);
    (void)memcpy(bound + 8 + RECORD_CHAIN_SIZE, head, BLOCK_HEAD_SIZE);
}

/* Smaller, or the records as they are. */
static struct slice block_compress(struct block_codec *codec, struct slice records, unsigned *flags)
{
    char *at = NULL;
    size_t room = ZSTD_compressBound(records.len);
    if (records.len < BLOCK_COMPRESS_MIN) {
        return records;
    }
    if (codec->compress == NULL) {
        codec->compress = ZSTD_createCCtx();
        must(codec->compress != NULL);
    }
    buf_truncate(&codec->compressed, 0);
    must(buf_reserve(&codec->compressed, room, &at) == ERR_NONE);
    size_t size = ZSTD_compressCCtx(codec->compress, at, room, records.at, records.len,
                                    BLOCK_COMPRESSION_LEVEL);
    if (ZSTD_isError(size) != 0 || size >= records.len) {
        return records;
    }
    *flags |= BLOCK_IS_COMPRESSED;
    return slice_of(at, size);
}

/* Returns how many bytes it puts to 'out': as many as there are, and the tag. */
static size_t block_encrypt(EVP_CIPHER_CTX *cipher, const struct block_place *place,
                            const unsigned char *head, struct slice plain, unsigned char *out)
{
    unsigned char nonce[BLOCK_NONCE_SIZE];
    unsigned char bound[BLOCK_BOUND_SIZE];
    int size = 0;
    block_nonce(nonce, place->number);
    block_bind(bound, place, head);
    must(EVP_EncryptInit_ex2(cipher, NULL, NULL, nonce, NULL) == 1 &&
         EVP_EncryptUpdate(cipher, NULL, &size, bound, sizeof(bound)) == 1 &&
         EVP_EncryptUpdate(cipher, out, &size, (const unsigned char *)plain.at, (int)plain.len) ==
             1 &&
         (size_t)size == plain.len && EVP_EncryptFinal_ex(cipher, out + plain.len, &size) == 1 &&
         EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, BLOCK_TAG_SIZE, out + plain.len) == 1);
    return plain.len + BLOCK_TAG_SIZE;
}

/* False: it is not what was sealed, and what 'out' holds means nothing. */
static bool block_decrypt(EVP_CIPHER_CTX *cipher, const struct block_place *place,
                          const unsigned char *head, struct slice sealed, unsigned char *out)
{
    unsigned char nonce[BLOCK_NONCE_SIZE];
    unsigned char bound[BLOCK_BOUND_SIZE];
    unsigned char tag[BLOCK_TAG_SIZE];
    size_t len = sealed.len - BLOCK_TAG_SIZE;
    int size = 0;
    block_nonce(nonce, place->number);
    block_bind(bound, place, head);
    (void)memcpy(tag, sealed.at + len, BLOCK_TAG_SIZE);
    must(EVP_DecryptInit_ex2(cipher, NULL, NULL, nonce, NULL) == 1 &&
         EVP_DecryptUpdate(cipher, NULL, &size, bound, sizeof(bound)) == 1 &&
         EVP_DecryptUpdate(cipher, out, &size, (const unsigned char *)sealed.at, (int)len) == 1 &&
         EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, BLOCK_TAG_SIZE, tag) == 1);
    return EVP_DecryptFinal_ex(cipher, out + len, &size) == 1;
}

struct slice block_seal(struct block_codec *codec, const struct block_key *key,
                        const struct block_place *place, unsigned flags, struct slice records)
{
    unsigned char salt[BLOCK_SALT_SIZE] = {0};
    char *at = NULL;
    must(records.len > 0 && records.len <= LIMIT_RECORDING_BLOCK_SIZE);
    struct slice plain = block_compress(codec, records, &flags);
    size_t head_size = BLOCK_HEAD_SIZE;
    if ((flags & BLOCK_HAS_SALT) != 0) {
        randombytes_buf(salt, sizeof(salt));
        head_size += BLOCK_SALT_SIZE;
    }
    buf_truncate(&codec->out, 0);
    must(buf_reserve(&codec->out, head_size + plain.len + BLOCK_TAG_SIZE + BLOCK_FILE_END_SIZE,
                     &at) == ERR_NONE);
    unsigned char *block = (unsigned char *)at;
    block_put(block, plain.len + BLOCK_TAG_SIZE, 4);
    block[4] = (unsigned char)flags;
    block_check(key, place->number, block, block + BLOCK_HEAD_SIZE - BLOCK_CHECK_SIZE);
    (void)memcpy(block + BLOCK_HEAD_SIZE, salt, head_size - BLOCK_HEAD_SIZE);
    EVP_CIPHER_CTX *cipher = block_cipher(codec, key, flags, salt, true);
    size_t size = head_size + block_encrypt(cipher, place, block, plain, block + head_size);
    if ((flags & BLOCK_IS_LAST) != 0) {
        const struct slice end = SLICE(BLOCK_FILE_END);
        (void)memcpy(block + size, end.at, end.len);
        size += end.len;
    }
    return slice_of(block, size);
}

enum err block_head_read(const struct block_key *key, uint64_t number, struct slice bytes,
                         struct block_head *ret_head)
{
    unsigned char check[BLOCK_CHECK_SIZE];
    struct reader reader = reader_of(bytes);
    struct slice head = reader_view(&reader, BLOCK_HEAD_SIZE);
    if (reader.failed) {
        return ERR_MORE;
    }
    block_check(key, number, (const unsigned char *)head.at, check);
    if (sodium_memcmp(check, head.at + BLOCK_HEAD_SIZE - BLOCK_CHECK_SIZE, sizeof(check)) != 0) {
        return ERR_CONFLICT;
    }
    struct reader fields = reader_of(head);
    *ret_head = (struct block_head){.head_size = BLOCK_HEAD_SIZE};
    ret_head->size = reader_u32(&fields);
    ret_head->flags = reader_u8(&fields);
    if (ret_head->size <= BLOCK_TAG_SIZE ||
        ret_head->size > LIMIT_RECORDING_BLOCK_SIZE + BLOCK_TAG_SIZE ||
        ret_head->flags > (BLOCK_IS_COMPRESSED | BLOCK_HAS_SALT | BLOCK_IS_LAST)) {
        return ERR_CONFLICT;
    }
    if ((ret_head->flags & BLOCK_HAS_SALT) != 0) {
        struct slice salt = reader_view(&reader, BLOCK_SALT_SIZE);
        if (reader.failed) {
            return ERR_MORE;
        }
        (void)memcpy(ret_head->salt, salt.at, BLOCK_SALT_SIZE);
        ret_head->head_size += BLOCK_SALT_SIZE;
    }
    return ERR_NONE;
}

static enum err block_expand(struct block_codec *codec, struct slice compressed,
                             struct slice *ret_records)
{
    char *at = NULL;
    if (codec->expand == NULL) {
        codec->expand = ZSTD_createDCtx();
        must(codec->expand != NULL);
    }
    buf_truncate(&codec->compressed, 0);
    must(buf_reserve(&codec->compressed, LIMIT_RECORDING_BLOCK_SIZE, &at) == ERR_NONE);
    size_t size = ZSTD_decompressDCtx(codec->expand, at, LIMIT_RECORDING_BLOCK_SIZE, compressed.at,
                                      compressed.len);
    if (ZSTD_isError(size) != 0) {
        return ERR_CONFLICT;
    }
    *ret_records = slice_of(at, size);
    return ERR_NONE;
}

/* The bytes of the head, which the block is bound to, are made again from what was read. */
enum err block_open(struct block_codec *codec, const struct block_key *key,
                    const struct block_place *place, const struct block_head *head,
                    struct slice sealed, struct slice *ret_records)
{
    unsigned char bytes[BLOCK_HEAD_SIZE];
    char *at = NULL;
    must(sealed.len == head->size && sealed.len > BLOCK_TAG_SIZE);
    block_put(bytes, head->size, 4);
    bytes[4] = (unsigned char)head->flags;
    block_check(key, place->number, bytes, bytes + BLOCK_HEAD_SIZE - BLOCK_CHECK_SIZE);
    buf_truncate(&codec->out, 0);
    must(buf_reserve(&codec->out, sealed.len, &at) == ERR_NONE);
    if (!block_decrypt(block_cipher(codec, key, head->flags, head->salt, false), place, bytes,
                       sealed, (unsigned char *)at)) {
        return ERR_CONFLICT;
    }
    *ret_records = slice_of(at, sealed.len - BLOCK_TAG_SIZE);
    return (head->flags & BLOCK_IS_COMPRESSED) == 0
               ? ERR_NONE
               : block_expand(codec, *ret_records, ret_records);
}
