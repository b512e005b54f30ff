/* SPDX-License-Identifier: MIT */
#include "gate/spare_targets.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/log.h"
#include "io/timer.h"

#include <sodium.h>

struct spare_key {
    unsigned char bytes[crypto_generichash_BYTES];
};

struct spare_targets {
    struct loop *loop;
    unsigned char seed[crypto_generichash_KEYBYTES]; /* of the keys, which passwords are part of */
    struct list items;                               /* that nobody has taken */
    size_t count;
};

struct spare_target {
    struct opening opening; /* of who took it */
    struct list link;
    struct spare_targets *spares;
    struct spare_key key;
    struct opening *under_way; /* NULL: the target is there */
    struct arena arena;        /* of the arrival's texts; wiped */
    struct arrival arrival;
    opened_fn on_done; /* NULL: nobody has taken it */
    void *owner;
    struct timer end;
    struct loop_task hand_over;
};

/* By what ----------------------------------------------------------------------------------------
 */

static void spare_key_add(crypto_generichash_state *state, struct slice text)
{
    uint64_t size = text.len;
    (void)crypto_generichash_update(state, (const unsigned char *)&size, sizeof(size));
    (void)crypto_generichash_update(state, (const unsigned char *)text.at, text.len);
}

static void spare_key_add_pairs(crypto_generichash_state *state, const struct shape_pairs *pairs)
{
    uint64_t count = pairs->count;
    (void)crypto_generichash_update(state, (const unsigned char *)&count, sizeof(count));
    for (size_t i = 0; i < pairs->count; i++) {
        spare_key_add(state, pairs->pairs[i].key);
        spare_key_add(state, pairs->pairs[i].value);
    }
}

static struct spare_key spare_key_of(const struct spare_targets *spares,
                                     const struct spare_name *name,
                                     const struct open_request *request)
{
    crypto_generichash_state state;
    struct spare_key key;
    uint64_t version = request->version;
    (void)crypto_generichash_init(&state, spares->seed, sizeof(spares->seed), sizeof(key.bytes));
    spare_key_add(&state, name->connection_id);
    spare_key_add_pairs(&state, name->variables);
    spare_key_add(&state, request->database);
    spare_key_add_pairs(&state, &request->parameters);
    (void)crypto_generichash_update(&state, (const unsigned char *)&version, sizeof(version));
    (void)crypto_generichash_final(&state, key.bytes, sizeof(key.bytes));
    explicit_bzero(&state, sizeof(state));
    return key;
}

static struct spare_target *spare_targets_find(const struct spare_targets *spares,
                                               const struct spare_key *key)
{
    LIST_EACH(link, &spares->items) {
        struct spare_target *spare = LIST_ITEM(link, struct spare_target, link);
        if (sodium_memcmp(spare->key.bytes, key->bytes, sizeof(key->bytes)) == 0) {
            return spare;
        }
    }
    return NULL;
}

/* One of them ------------------------------------------------------------------------------------
 */

static void spare_target_free(struct spare_target *self)
{
    timer_stop(&self->end);
    loop_task_cancel(&self->hand_over);
    if (self->on_done == NULL) {
        list_remove(&self->link);
        self->spares->count--;
    }
    arena_release(&self->arena);
    memory_free(self);
}

static void spare_target_drop(void *owner)
{
    struct spare_target *self = owner;
    if (self->under_way != NULL) {
        opening_cancel(self->under_way);
    } else {
        stream_close(self->arrival.take_stream);
    }
    spare_target_free(self);
}

static void spare_target_cancel(struct opening *opening)
{
    spare_target_drop(CONTAINER_OF(opening, struct spare_target, opening));
}

/* A target that says something before it is asked, or hangs up, is not as it was when it was signed
 * in to. */
static bool spare_target_is_silent(struct spare_target *self)
{
    char byte;
    size_t len = 0;
    return stream_read(self->arrival.take_stream, &byte, sizeof(byte), &len) == ERR_AGAIN;
}

static void spare_target_on_event(void *owner, unsigned events)
{
    struct spare_target *self = owner;
    (void)events;
    if (!spare_target_is_silent(self)) {
        spare_target_drop(self);
    }
}

static void spare_target_keep(struct spare_target *self, const struct arrival *arrival)
{
    self->arrival = *arrival;
    self->arrival.greeting = arena_copy(&self->arena, arrival->greeting);
    self->arrival.rest = SLICE("");
    if (arrival->key.secret.at != NULL) {
        self->arrival.key.secret = arena_copy(&self->arena, arrival->key.secret);
    }
    if (arrival->rest.len > 0) {
        spare_target_drop(self);
        return;
    }
    stream_own(arrival->take_stream, spare_target_on_event, self);
    stream_watch(arrival->take_stream, STREAM_READABLE);
    timer_start(self->spares->loop, &self->end, LIMIT_SPARE_MS);
}

static void spare_target_on_open(void *owner, const struct arrival *arrival,
                                 const struct target_failure *failure)
{
    struct spare_target *self = owner;
    self->under_way = NULL;
    if (self->on_done != NULL) {
        self->on_done(self->owner, arrival, failure);
        spare_target_free(self);
    } else if (arrival != NULL) {
        spare_target_keep(self, arrival);
    } else {
        log_line(LOG_GATE, LOG_DEBUG, "a target was not reached ahead of need",
                 log_error_field(&failure->error));
        spare_target_free(self);
    }
}

static void spare_target_hand_over(void *owner)
{
    struct spare_target *self = owner;
    self->on_done(self->owner, &self->arrival, NULL);
    spare_target_free(self);
}

/* All of them ------------------------------------------------------------------------------------
 */

struct spare_targets *spare_targets_new(struct loop *loop)
{
    struct spare_targets *spares = memory_new(sizeof(*spares));
    spares->loop = loop;
    list_init(&spares->items);
    crypto_generichash_keygen(spares->seed);
    return spares;
}

void spare_targets_clear(struct spare_targets *spares)
{
    LIST_EACH(link, &spares->items) {
        spare_target_drop(LIST_ITEM(link, struct spare_target, link));
    }
}

void spare_targets_free(struct spare_targets *spares)
{
    if (spares == NULL) {
        return;
    }
    spare_targets_clear(spares);
    explicit_bzero(spares, sizeof(*spares));
    memory_free(spares);
}

struct opening *spare_targets_take(struct spare_targets *spares, const struct spare_name *name,
                                   const struct open_request *request, opened_fn on_done,
                                   void *owner)
{
    struct spare_key key = spare_key_of(spares, name, request);
    struct spare_target *self = spare_targets_find(spares, &key);
    if (self == NULL) {
        return NULL;
    }
    if (self->under_way == NULL && !spare_target_is_silent(self)) {
        spare_target_drop(self);
        return NULL;
    }
    timer_stop(&self->end);
    list_remove(&self->link);
    spares->count--;
    self->on_done = on_done;
    self->owner = owner;
    if (self->under_way == NULL) {
        stream_watch(self->arrival.take_stream, 0);
        loop_defer(spares->loop, &self->hand_over);
    }
    return &self->opening;
}

void spare_targets_prepare(struct spare_targets *spares, const struct spare_name *name,
                           const struct protocol *protocol, const struct dial_context *context,
                           const struct open_request *request)
{
    struct spare_key key = spare_key_of(spares, name, request);
    if (spares->count >= LIMIT_SPARES || spare_targets_find(spares, &key) != NULL) {
        return;
    }
    struct spare_target *self = memory_new(sizeof(*self));
    self->opening.cancel = spare_target_cancel;
    self->spares = spares;
    self->key = key;
    arena_init_small(&self->arena);
    arena_hold_secrets(&self->arena);
    timer_init(&self->end, spare_target_drop, self);
    loop_task_init(&self->hand_over, spare_target_hand_over, self);
    list_append(&spares->items, &self->link);
    spares->count++;
    self->under_way = protocol->target.open(context, request, spare_target_on_open, self);
}
