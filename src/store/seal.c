/* SPDX-License-Identifier: MIT */
#include "store/seal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/hex.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEAL_VERSION    1
#define SEAL_KEY_SIZE   crypto_aead_xchacha20poly1305_ietf_KEYBYTES
#define SEAL_NONCE_SIZE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define SEAL_TAG_SIZE   crypto_aead_xchacha20poly1305_ietf_ABYTES
#define SEAL_ID_SIZE    8
#define SEAL_HEAD_SIZE  (1 + SEAL_ID_SIZE + SEAL_NONCE_SIZE)
#define SEAL_OWNER_SIZE 64
#define SEAL_LINE_SIZE  (SEAL_KEY_SIZE * 2 + 1)
#define SEAL_FILE_SIZE  (SEAL_LINE_SIZE * LIMIT_SEAL_KEYS)

struct seal_key {
    unsigned char id[SEAL_ID_SIZE];
    unsigned char bytes[SEAL_KEY_SIZE];
};

/* In guarded memory of its own (sodium_malloc), which is wiped when it is freed. */
struct seal_ring {
    size_t count;
    struct seal_key keys[LIMIT_SEAL_KEYS];
};

struct seal_keys {
    pthread_rwlock_t lock;
    struct seal_ring *ring;
    char *path;
};

/* The file ------------------------------------------------------------------------------------- */

static void seal_key_set(struct seal_key *key, const unsigned char *bytes)
{
    unsigned char hash[crypto_generichash_BYTES];
    (void)memcpy(key->bytes, bytes, SEAL_KEY_SIZE);
    (void)crypto_generichash(hash, sizeof(hash), bytes, SEAL_KEY_SIZE, NULL, 0);
    (void)memcpy(key->id, hash, SEAL_ID_SIZE);
}

static enum err seal_parse(struct seal_ring *ring, struct slice text, const char *path,
                           struct error *reterr)
{
    ring->count = 0;
    while (text.len > 0) {
        struct slice line = slice_cut(text, '\n', &text);
        unsigned char bytes[SEAL_KEY_SIZE];
        size_t size = 0;
        if (line.len == 0) {
            continue;
        }
        bool is_key =
            sodium_hex2bin(bytes, sizeof(bytes), line.at, line.len, NULL, &size, NULL) == 0 &&
            size == SEAL_KEY_SIZE && line.len == SEAL_KEY_SIZE * 2;
        if (!is_key || ring->count == LIMIT_SEAL_KEYS) {
            return fail(reterr, ERR_INPUT,
                        "'%s' must hold 1 to %d keys, a line of 64 hex digits each", path,
                        LIMIT_SEAL_KEYS);
        }
        seal_key_set(&ring->keys[ring->count++], bytes);
        sodium_memzero(bytes, sizeof(bytes));
    }
    return ring->count > 0 ? ERR_NONE : fail(reterr, ERR_INPUT, "'%s' holds no key", path);
}

static enum err seal_read_fd(int fd, const char *path, struct seal_ring *ring, struct error *reterr)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return fail(reterr, ERR_IO, "'%s': %s", path, strerror(errno));
    }
    if ((status.st_mode & 077) != 0) {
        return fail(reterr, ERR_INPUT, "'%s' can be read by others: chmod 600 it", path);
    }
    char text[SEAL_FILE_SIZE + 1];
    ssize_t size = read(fd, text, sizeof(text));
    enum err err = ERR_NONE;
    if (size < 0) {
        err = fail(reterr, ERR_IO, "'%s': %s", path, strerror(errno));
    } else if ((size_t)size == sizeof(text)) {
        err = fail(reterr, ERR_INPUT, "'%s' is longer than %d keys", path, LIMIT_SEAL_KEYS);
    } else {
        err = seal_parse(ring, slice_of(text, (size_t)size), path, reterr);
    }
    sodium_memzero(text, sizeof(text));
    return err;
}

/* ERR_NOT_FOUND when there is no file. */
static enum err seal_read(const char *path, struct seal_ring *ring, struct error *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(reterr, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "'%s': %s", path,
                    strerror(errno));
    }
    enum err err = seal_read_fd(fd, path, ring, reterr);
    (void)close(fd);
    return err;
}

static size_t seal_print(const struct seal_ring *ring, char *text)
{
    size_t size = 0;
    for (size_t i = 0; i < ring->count; i++) {
        (void)sodium_bin2hex(text + size, SEAL_LINE_SIZE, ring->keys[i].bytes, SEAL_KEY_SIZE);
        text[size + SEAL_LINE_SIZE - 1] = '\n';
        size += SEAL_LINE_SIZE;
    }
    return size;
}

/* -1 when it cannot be opened. */
static int seal_open_folder(const char *path)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    const char *slash = strrchr(path, '/');
    const char *folder =
        slash == NULL ? "." : arena_text(&arena, slice_of(path, (size_t)(slash - path) + 1));
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static enum err seal_sync_folder(const char *path, struct error *reterr)
{
    int fd = seal_open_folder(path);
    bool is_good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_good ? ERR_NONE : fail(reterr, ERR_IO, "cannot sync the folder of '%s'", path);
}

/* The name ends in XXXXXX, and then in what made it a new file, of mode 0600. Process ids would not
 * tell gateways in two containers apart. */
static bool seal_write_draft(char *draft, const struct seal_ring *ring, const struct stat *like)
{
    char text[SEAL_FILE_SIZE + 1];
    size_t size = seal_print(ring, text);
    int fd = mkostemp(draft, O_CLOEXEC);
    bool is_good = fd >= 0;
    if (is_good && like != NULL) {
        is_good =
            fchown(fd, like->st_uid, like->st_gid) == 0 && fchmod(fd, like->st_mode & 0777) == 0;
    }
    is_good = is_good && write(fd, text, size) == (ssize_t)size && fsync(fd) == 0;
    if (fd >= 0) {
        is_good = close(fd) == 0 && is_good;
    }
    sodium_memzero(text, sizeof(text));
    return is_good;
}

/* Whole and on the disk before it has its name: without it nothing opens. Owner and mode stay those
 * of the file before: the service must be able to read it, whoever runs the command. A new file
 * never takes the place of one that another gateway made at the same time (ERR_CONFLICT). */
static enum err seal_write(const char *path, const struct seal_ring *ring, bool is_new,
                           struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    char *draft = arena_text(&arena, arena_format(&arena, "%s.XXXXXX", path));
    struct stat before;
    bool is_good = is_new || stat(path, &before) == 0;
    is_good = is_good && seal_write_draft(draft, ring, is_new ? NULL : &before);
    if (is_good && !is_new) {
        is_good = rename(draft, path) == 0;
    } else if (is_good) {
        is_good = link(draft, path) == 0;
    }
    int cause = errno;
    (void)unlink(draft);
    if (!is_good) {
        return fail(reterr, is_new && cause == EEXIST ? ERR_CONFLICT : ERR_IO,
                    "cannot write '%s': %s", path, strerror(cause));
    }
    return seal_sync_folder(path, reterr);
}

static struct seal_ring *seal_ring_new(void)
{
    struct seal_ring *ring = sodium_malloc(sizeof(*ring));
    must(ring != NULL);
    ring->count = 0;
    return ring;
}

/* Room must be there. */
static void seal_ring_add(struct seal_ring *ring)
{
    unsigned char bytes[SEAL_KEY_SIZE];
    must(ring->count < LIMIT_SEAL_KEYS);
    (void)memmove(&ring->keys[1], &ring->keys[0], ring->count * sizeof(ring->keys[0]));
    randombytes_buf(bytes, sizeof(bytes));
    seal_key_set(&ring->keys[0], bytes);
    sodium_memzero(bytes, sizeof(bytes));
    ring->count++;
}

enum err seal_keys_open(const char *path, struct seal_keys **ret_keys, bool *ret_is_new,
                        struct error *reterr)
{
    must(sodium_init() >= 0);
    struct seal_ring *ring = seal_ring_new();
    enum err err = seal_read(path, ring, reterr);
    *ret_is_new = err == ERR_NOT_FOUND;
    if (*ret_is_new) {
        seal_ring_add(ring);
        err = seal_write(path, ring, true, reterr);
        *ret_is_new = err == ERR_NONE;
    }
    if (err == ERR_CONFLICT) {
        err = seal_read(path, ring, reterr);
    }
    if (err != ERR_NONE) {
        sodium_free(ring);
        return err;
    }
    struct seal_keys *keys = memory_new(sizeof(*keys));
    keys->ring = ring;
    keys->path = strdup(path);
    must(keys->path != NULL && pthread_rwlock_init(&keys->lock, NULL) == 0);
    *ret_keys = keys;
    return ERR_NONE;
}

void seal_keys_close(struct seal_keys *keys)
{
    if (keys == NULL) {
        return;
    }
    sodium_free(keys->ring);
    (void)pthread_rwlock_destroy(&keys->lock);
    free(keys->path);
    memory_free(keys);
}

static void seal_keys_swap(struct seal_keys *keys, struct seal_ring *take_ring)
{
    (void)pthread_rwlock_wrlock(&keys->lock);
    struct seal_ring *old = keys->ring;
    keys->ring = take_ring;
    (void)pthread_rwlock_unlock(&keys->lock);
    sodium_free(old);
}

typedef enum err (*seal_change_fn)(struct seal_keys *keys, struct seal_ring *ring,
                                   struct error *reterr);

/* Reads the file, changes what it holds and writes it, while no other process does: a key that one
 * of two put into it would be lost, and all that was closed with it. */
static enum err seal_keys_change(struct seal_keys *keys, seal_change_fn change,
                                 struct error *reterr)
{
    int folder = seal_open_folder(keys->path);
    if (folder < 0 || flock(folder, LOCK_EX) != 0) {
        enum err err = fail(reterr, ERR_IO, "the folder of '%s': %s", keys->path, strerror(errno));
        if (folder >= 0) {
            (void)close(folder);
        }
        return err;
    }
    struct seal_ring *ring = seal_ring_new();
    enum err err = seal_read(keys->path, ring, reterr);
    if (err == ERR_NONE) {
        err = change(keys, ring, reterr);
    }
    if (err == ERR_NONE) {
        err = seal_write(keys->path, ring, false, reterr);
    }
    (void)close(folder);
    if (err != ERR_NONE) {
        sodium_free(ring);
        return err;
    }
    seal_keys_swap(keys, ring);
    return ERR_NONE;
}

static enum err seal_change_add(struct seal_keys *keys, struct seal_ring *ring,
                                struct error *reterr)
{
    if (ring->count == LIMIT_SEAL_KEYS) {
        return fail(reterr, ERR_LIMIT, "'%s' is full of keys: drop the old ones first", keys->path);
    }
    seal_ring_add(ring);
    return ERR_NONE;
}

enum err seal_keys_add(struct seal_keys *keys, struct error *reterr)
{
    return seal_keys_change(keys, seal_change_add, reterr);
}

static enum err seal_change_drop(struct seal_keys *keys, struct seal_ring *ring,
                                 struct error *reterr)
{
    (void)pthread_rwlock_rdlock(&keys->lock);
    bool is_same = memcmp(keys->ring->keys[0].id, ring->keys[0].id, SEAL_ID_SIZE) == 0;
    (void)pthread_rwlock_unlock(&keys->lock);
    if (!is_same) {
        return fail(reterr, ERR_CONFLICT, "'%s' has another key in front by now", keys->path);
    }
    ring->count = 1;
    return ERR_NONE;
}

enum err seal_keys_drop_old(struct seal_keys *keys, struct error *reterr)
{
    return seal_keys_change(keys, seal_change_drop, reterr);
}

void seal_keys_current(struct seal_keys *keys, char id[SEAL_KEY_ID_SIZE])
{
    (void)pthread_rwlock_rdlock(&keys->lock);
    (void)sodium_bin2hex(id, SEAL_KEY_ID_SIZE, keys->ring->keys[0].id, SEAL_ID_SIZE);
    (void)pthread_rwlock_unlock(&keys->lock);
}

/* Envelopes ------------------------------------------------------------------------------------ */

struct slice seal_in(struct arena *arena, struct seal_keys *keys, struct slice owner,
                     struct slice plain)
{
    must(owner.len <= SEAL_OWNER_SIZE);
    unsigned char *sealed = arena_alloc(arena, SEAL_HEAD_SIZE + plain.len + SEAL_TAG_SIZE);
    unsigned char *nonce = sealed + 1 + SEAL_ID_SIZE;
    unsigned long long size = 0;
    (void)pthread_rwlock_rdlock(&keys->lock);
    const struct seal_key *key = &keys->ring->keys[0];
    sealed[0] = SEAL_VERSION;
    (void)memcpy(sealed + 1, key->id, SEAL_ID_SIZE);
    randombytes_buf(nonce, SEAL_NONCE_SIZE);
    int result = crypto_aead_xchacha20poly1305_ietf_encrypt(
        sealed + SEAL_HEAD_SIZE, &size, (const unsigned char *)plain.at, plain.len,
        (const unsigned char *)owner.at, owner.len, NULL, nonce, key->bytes);
    (void)pthread_rwlock_unlock(&keys->lock);
    must(result == 0);
    return slice_of(sealed, SEAL_HEAD_SIZE + (size_t)size);
}

static void seal_wipe(void *at)
{
    struct slice *plain = at;
    sodium_memzero((char *)(uintptr_t)plain->at, plain->len);
}

/* ERR_NOT_FOUND: no key with this id. */
static enum err unseal_try(struct arena *arena, struct seal_keys *keys, struct slice owner,
                           struct slice sealed, struct slice *ret_plain)
{
    const unsigned char *bytes = (const unsigned char *)sealed.at;
    unsigned char *plain = arena_alloc(arena, sealed.len);
    unsigned long long size = 0;
    enum err err = ERR_NOT_FOUND;
    (void)pthread_rwlock_rdlock(&keys->lock);
    for (size_t i = 0; i < keys->ring->count && err == ERR_NOT_FOUND; i++) {
        const struct seal_key *key = &keys->ring->keys[i];
        if (memcmp(key->id, bytes + 1, SEAL_ID_SIZE) != 0) {
            continue;
        }
        int result = crypto_aead_xchacha20poly1305_ietf_decrypt(
            plain, &size, NULL, bytes + SEAL_HEAD_SIZE, sealed.len - SEAL_HEAD_SIZE,
            (const unsigned char *)owner.at, owner.len, bytes + 1 + SEAL_ID_SIZE, key->bytes);
        err = result == 0 ? ERR_NONE : ERR_INPUT;
    }
    (void)pthread_rwlock_unlock(&keys->lock);
    if (err == ERR_NONE) {
        struct slice *wiped = arena_alloc(arena, sizeof(*wiped));
        *wiped = slice_of(plain, (size_t)size);
        arena_on_end(arena, seal_wipe, wiped);
        *ret_plain = *wiped;
    }
    return err;
}

enum err unseal_in(struct arena *arena, struct seal_keys *keys, struct slice owner,
                   struct slice sealed, struct slice *ret_plain, struct error *reterr)
{
    if (sealed.len < SEAL_HEAD_SIZE + SEAL_TAG_SIZE || sealed.at[0] != SEAL_VERSION) {
        return fail(reterr, ERR_INTERNAL, "a stored secret is no envelope");
    }
    enum err err = unseal_try(arena, keys, owner, sealed, ret_plain);
    if (err == ERR_NOT_FOUND) {
        struct seal_ring *ring = seal_ring_new();
        if (seal_read(keys->path, ring, reterr) != ERR_NONE) {
            sodium_free(ring);
            return ERR_INTERNAL;
        }
        seal_keys_swap(keys, ring);
        err = unseal_try(arena, keys, owner, sealed, ret_plain);
    }
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_INTERNAL,
                    "'%s' lacks the key of a stored secret: it is not the file of this store",
                    keys->path);
    }
    return err == ERR_NONE ? err
                           : fail(reterr, ERR_INTERNAL,
                                  "a stored secret does not open: it was "
                                  "changed, or belongs to another row");
}

bool seal_is_current(struct seal_keys *keys, struct slice sealed)
{
    (void)pthread_rwlock_rdlock(&keys->lock);
    bool is_current = sealed.len > SEAL_HEAD_SIZE &&
                      memcmp(keys->ring->keys[0].id, sealed.at + 1, SEAL_ID_SIZE) == 0;
    (void)pthread_rwlock_unlock(&keys->lock);
    return is_current;
}
