/* SPDX-License-Identifier: MIT */
#include "gate/read_account.h"

#include "base/limits.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/must.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>

#define MINUTE_US INT64_C(60000000)

struct read_account {
    atomic_size_t references; /* the table's is one of them */
    struct arena arena;       /* of the texts */
    struct slice connection_id;
    struct slice caller_id;
    pthread_mutex_t mutex; /* of all below */
    int64_t minute;        /* the newest */
    struct read_amount minutes[READ_ACCOUNT_MINUTES];
    struct read_amount hour; /* their sum */
    struct read_amount unwritten;
    struct read_amount others; /* of the same hour, at other gateways; as it was known last */
    int64_t others_oldest;     /* the minute of the first of it */
};

struct read_accounts {
    char node_id[64];
    pthread_mutex_t mutex;
    struct map map;
};

/* One account --------------------------------------------------------------------------------- */

static void lock(pthread_mutex_t *mutex)
{
    must(pthread_mutex_lock(mutex) == 0);
}

static void unlock(pthread_mutex_t *mutex)
{
    must(pthread_mutex_unlock(mutex) == 0);
}

static struct read_amount *minute_of(struct read_account *account, int64_t minute)
{
    int64_t index = minute % READ_ACCOUNT_MINUTES;
    return &account->minutes[index < 0 ? index + READ_ACCOUNT_MINUTES : index];
}

static void add(struct read_amount *read, uint64_t rows, uint64_t bytes)
{
    read->rows += rows;
    read->bytes += bytes;
}

/* Minutes that are over an hour old leave. */
static void advance(struct read_account *account, int64_t now)
{
    int64_t minute = now / MINUTE_US;
    if (minute - account->minute > READ_ACCOUNT_MINUTES) {
        account->minute = minute - READ_ACCOUNT_MINUTES;
    }
    while (account->minute < minute) {
        struct read_amount *oldest = minute_of(account, ++account->minute);
        account->hour.rows -= oldest->rows;
        account->hour.bytes -= oldest->bytes;
        *oldest = (struct read_amount){0};
    }
}

/* Until the oldest minute with anything in it leaves. */
static uint64_t falls_in_ms(struct read_account *account, int64_t now)
{
    bool has_others = account->others.rows > 0 || account->others.bytes > 0;
    for (int64_t minute = account->minute - READ_ACCOUNT_MINUTES + 1; minute <= account->minute;
         minute++) {
        const struct read_amount *read = minute_of(account, minute);
        if (read->rows > 0 || read->bytes > 0 || (has_others && minute >= account->others_oldest)) {
            int64_t left = (minute + READ_ACCOUNT_MINUTES) * MINUTE_US - now;
            return left <= 0 ? 1 : (uint64_t)left / 1000 + 1;
        }
    }
    return 0;
}

bool read_account_take(struct read_account *account, int64_t now, const struct read_amount *more,
                       const struct read_amount *most, struct read_hour *ret_hour)
{
    lock(&account->mutex);
    advance(account, now);
    struct read_amount read = account->hour;
    add(&read, account->others.rows, account->others.bytes);
    bool is_taken = read.rows + more->rows <= most->rows && read.bytes + more->bytes <= most->bytes;
    if (is_taken) {
        add(minute_of(account, account->minute), more->rows, more->bytes);
        add(&read, more->rows, more->bytes);
        add(&account->hour, more->rows, more->bytes);
        add(&account->unwritten, more->rows, more->bytes);
    }
    bool is_asked = !is_taken || more->rows == 0; /* somebody will be told */
    *ret_hour = (struct read_hour){
        .read = read,
        .falls_in_ms = is_asked ? falls_in_ms(account, now) : 0,
    };
    unlock(&account->mutex);
    return is_taken;
}

struct read_account *read_account_ref(struct read_account *account)
{
    atomic_fetch_add(&account->references, 1);
    return account;
}

void read_account_unref(struct read_account *account)
{
    if (account != NULL && atomic_fetch_sub(&account->references, 1) == 1) {
        must(pthread_mutex_destroy(&account->mutex) == 0);
        arena_release(&account->arena);
        memory_free(account);
    }
}

/* What was written, into minutes of our own. */
static void add_written(struct read_account *account, const struct read_use_list *written,
                        int64_t minute)
{
    for (size_t i = 0; i < written->count; i++) {
        const struct read_use *use = &written->uses[i];
        int64_t age = use->minute < minute ? minute - use->minute : 0;
        if (age < READ_ACCOUNT_MINUTES) {
            add(minute_of(account, account->minute - age), use->rows, use->bytes);
            add(&account->hour, use->rows, use->bytes);
        }
    }
}

static struct read_account *read_account_new(const struct read_use *who,
                                             const struct read_use_list *written, int64_t minute,
                                             int64_t now)
{
    struct read_account *account = memory_new(sizeof(*account));
    atomic_init(&account->references, 1);
    must(pthread_mutex_init(&account->mutex, NULL) == 0);
    arena_init(&account->arena);
    account->connection_id = arena_copy(&account->arena, who->connection_id);
    account->caller_id = arena_copy(&account->arena, who->caller_id);
    account->minute = now / MINUTE_US;
    add_written(account, written, minute);
    return account;
}

/* All of them --------------------------------------------------------------------------------- */

struct read_accounts *read_accounts_new(struct slice node_id)
{
    struct read_accounts *accounts = memory_new(sizeof(*accounts));
    must(node_id.len < sizeof(accounts->node_id));
    (void)snprintf(accounts->node_id, sizeof(accounts->node_id), "%.*s", SLICE_ARG(node_id));
    uint8_t seed[MAP_SEED_SIZE];
    randombytes_buf(seed, sizeof(seed));
    must(pthread_mutex_init(&accounts->mutex, NULL) == 0);
    map_init(&accounts->map, seed);
    return accounts;
}

struct slice read_accounts_node(const struct read_accounts *accounts)
{
    return slice_of_text(accounts->node_id);
}

void read_accounts_free(struct read_accounts *accounts)
{
    struct slice key;
    void *account = NULL;
    if (accounts == NULL) {
        return;
    }
    for (size_t at = 0; map_next(&accounts->map, &at, &key, &account);) {
        read_account_unref(account);
    }
    map_release(&accounts->map);
    must(pthread_mutex_destroy(&accounts->mutex) == 0);
    memory_free(accounts);
}

static struct slice key_in(struct arena *arena, struct slice connection_id, struct slice caller_id)
{
    return arena_format(arena, "%.*s/%.*s", SLICE_ARG(connection_id), SLICE_ARG(caller_id));
}

/* Whether nobody would miss it: not even who opens it again, when 'is_known' of the store. */
static bool read_account_is_idle(struct read_account *account, int64_t now, bool is_known)
{
    bool is_free = atomic_load(&account->references) == 1;
    lock(&account->mutex);
    advance(account, now);
    bool is_written = account->unwritten.rows == 0 && account->unwritten.bytes == 0;
    bool is_empty = account->hour.rows == 0 && account->hour.bytes == 0;
    unlock(&account->mutex);
    return is_free && is_written && (is_empty || is_known);
}

/* With the table locked: nobody gets a reference meanwhile. */
static void read_accounts_sweep(struct read_accounts *accounts, int64_t now, bool is_known)
{
    struct arena arena CLEANUP(arena_release);
    struct slice key;
    void *account = NULL;
    size_t count = 0;
    arena_init(&arena);
    struct slice *idle = arena_alloc_array(&arena, map_count(&accounts->map), sizeof(*idle));
    for (size_t at = 0; map_next(&accounts->map, &at, &key, &account);) {
        if (read_account_is_idle(account, now, is_known)) {
            idle[count++] = arena_copy(&arena, key);
        }
    }
    for (size_t i = 0; i < count; i++) {
        read_account_unref(map_remove(&accounts->map, idle[i]));
    }
}

struct read_account *read_accounts_find(struct read_accounts *accounts, struct slice connection_id,
                                        struct slice caller_id)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    lock(&accounts->mutex);
    struct read_account *account =
        map_get(&accounts->map, key_in(&arena, connection_id, caller_id));
    account = account == NULL ? NULL : read_account_ref(account);
    unlock(&accounts->mutex);
    return account;
}

struct read_account *read_accounts_open(struct read_accounts *accounts, const struct read_use *who,
                                        const struct read_use_list *written, int64_t minute,
                                        int64_t now)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct slice key = key_in(&arena, who->connection_id, who->caller_id);
    lock(&accounts->mutex);
    struct read_account *account = map_get(&accounts->map, key);
    if (account == NULL) {
        if (map_count(&accounts->map) >= LIMIT_GATE_READ_ACCOUNTS) {
            read_accounts_sweep(accounts, now, true);
        }
        account = read_account_new(who, written, minute, now);
        (void)map_put(&accounts->map, key, account);
    }
    account = read_account_ref(account);
    unlock(&accounts->mutex);
    return account;
}

struct read_use_list read_accounts_collect_in(struct arena *arena, struct read_accounts *accounts,
                                              int64_t minute, int64_t now)
{
    struct read_use_list list = {0};
    struct slice key;
    void *value = NULL;
    lock(&accounts->mutex);
    read_accounts_sweep(accounts, now, false);
    list.uses = arena_alloc_array(arena, map_count(&accounts->map), sizeof(*list.uses));
    for (size_t at = 0; map_next(&accounts->map, &at, &key, &value);) {
        struct read_account *account = value;
        lock(&account->mutex);
        struct read_amount unwritten = account->unwritten;
        account->unwritten = (struct read_amount){0};
        unlock(&account->mutex);
        if (unwritten.rows > 0 || unwritten.bytes > 0) {
            list.uses[list.count++] = (struct read_use){
                .connection_id = arena_copy(arena, account->connection_id),
                .caller_id = arena_copy(arena, account->caller_id),
                .node_id = read_accounts_node(accounts),
                .minute = minute,
                .rows = unwritten.rows,
                .bytes = unwritten.bytes,
            };
        }
    }
    unlock(&accounts->mutex);
    return list;
}

void read_accounts_put_back(struct read_accounts *accounts, const struct read_use_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct read_use *use = &list->uses[i];
        struct read_account *account =
            read_accounts_find(accounts, use->connection_id, use->caller_id);
        if (account != NULL) {
            lock(&account->mutex);
            add(&account->unwritten, use->rows, use->bytes);
            unlock(&account->mutex);
            read_account_unref(account);
        }
    }
}

struct read_use_list read_accounts_used_in(struct arena *arena, struct read_accounts *accounts)
{
    struct read_use_list list = {0};
    struct slice key;
    void *value = NULL;
    lock(&accounts->mutex);
    list.uses = arena_alloc_array(arena, map_count(&accounts->map) + 1, sizeof(*list.uses));
    for (size_t at = 0; map_next(&accounts->map, &at, &key, &value);) {
        struct read_account *account = value;
        if (atomic_load(&account->references) > 1) {
            list.uses[list.count++] = (struct read_use){
                .connection_id = arena_copy(arena, account->connection_id),
                .caller_id = arena_copy(arena, account->caller_id),
                .node_id = read_accounts_node(accounts),
            };
        }
    }
    unlock(&accounts->mutex);
    return list;
}

void read_account_set_others(struct read_account *account, const struct read_use_list *written,
                             int64_t minute, int64_t now)
{
    struct read_amount sum = {0};
    int64_t oldest = 0; /* by its age */
    for (size_t i = 0; i < written->count; i++) {
        const struct read_use *use = &written->uses[i];
        int64_t age = use->minute < minute ? minute - use->minute : 0;
        if (age < READ_ACCOUNT_MINUTES) {
            add(&sum, use->rows, use->bytes);
            oldest = age > oldest ? age : oldest;
        }
    }
    lock(&account->mutex);
    advance(account, now);
    account->others = sum;
    account->others_oldest = account->minute - oldest;
    unlock(&account->mutex);
}

size_t read_accounts_count(struct read_accounts *accounts)
{
    lock(&accounts->mutex);
    size_t count = map_count(&accounts->map);
    unlock(&accounts->mutex);
    return count;
}
