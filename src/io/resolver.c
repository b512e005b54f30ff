/* SPDX-License-Identifier: MIT */
#include "io/resolver.h"

#include "base/must.h"
#include "io/pool.h"

#include <errno.h>
#include <netdb.h>
#include <sched.h>
#include <stdatomic.h>

struct resolver {
    struct pool *pool;
    resolver_find_fn find;
    atomic_bool is_ending;
    atomic_size_t finding_count;
    atomic_size_t sending_count;
};

/* Who frees it is settled by the first to leave LOOKUP_OPEN: the thread that would send the answer,
 * or the loop that does not want it any more. */
enum lookup_state {
    LOOKUP_OPEN,
    LOOKUP_SENT,
    LOOKUP_CANCELLED,
};

struct lookup {
    struct pool_job job;
    struct mail mail;
    struct resolver *resolver;
    struct mailbox *mailbox;
    char host[LIMIT_HOST_SIZE];
    lookup_done_fn on_done; /* NULL: cancelled when the answer was on its way */
    void *owner;
    struct addresses addresses;
    struct error error;
    _Atomic(enum lookup_state) state;
};

/* libc has an address twice where a file and a name server know it. */
static bool addresses_have(const struct addresses *addresses, const struct addrinfo *found)
{
    for (size_t i = 0; i < addresses->count; i++) {
        if (memcmp(&addresses->list[i], found->ai_addr, found->ai_addrlen) == 0) {
            return true;
        }
    }
    return false;
}

static int resolver_ask_libc(const char *host, int flags, struct addresses *ret_addresses)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *found = NULL;
    int result = getaddrinfo(host, NULL, &hints, &found);
    if (result != 0) {
        return result;
    }
    *ret_addresses = (struct addresses){.count = 0};
    for (const struct addrinfo *each = found; each != NULL; each = each->ai_next) {
        bool is_ip = each->ai_family == AF_INET || each->ai_family == AF_INET6;
        if (is_ip && ret_addresses->count < LIMIT_DIAL_ADDRESSES &&
            !addresses_have(ret_addresses, each)) {
            memcpy(&ret_addresses->list[ret_addresses->count++], each->ai_addr, each->ai_addrlen);
        }
    }
    freeaddrinfo(found);
    return ret_addresses->count > 0 ? 0 : EAI_NONAME;
}

static enum err resolver_find(const char *host, struct addresses *ret_addresses,
                              struct error *reterr)
{
    int result = resolver_ask_libc(host, 0, ret_addresses);
    if (result == 0) {
        return ERR_NONE;
    }
    return fail(reterr, ERR_UNAVAILABLE, "cannot find '%s': %s", host,
                result == EAI_SYSTEM ? strerror(errno) : gai_strerror(result));
}

bool resolver_parse(const char *host, struct addresses *ret_addresses)
{
    return resolver_ask_libc(host, AI_NUMERICHOST, ret_addresses) == 0;
}

struct resolver *resolver_new(resolver_find_fn find)
{
    struct resolver *resolver = memory_new(sizeof(*resolver));
    resolver->pool = pool_new(LIMIT_RESOLVER_THREADS, LIMIT_RESOLVER_QUEUE_COUNT);
    resolver->find = find == NULL ? resolver_find : find;
    return resolver;
}

void resolver_free(struct resolver *resolver)
{
    if (resolver == NULL) {
        return;
    }
    atomic_store(&resolver->is_ending, true);
    while (atomic_load(&resolver->sending_count) > 0) {
        (void)sched_yield(); /* a few instructions of another thread */
    }
    if (atomic_load(&resolver->finding_count) > 0) {
        return;
    }
    pool_free(resolver->pool);
    memory_free(resolver);
}

static void lookup_deliver(struct mail *mail)
{
    struct lookup *lookup = CONTAINER_OF(mail, struct lookup, mail);
    if (lookup->on_done != NULL) {
        bool is_found = lookup->error.code == ERR_NONE;
        lookup->on_done(lookup->owner, is_found ? &lookup->addresses : NULL,
                        is_found ? NULL : &lookup->error);
    }
    memory_free(lookup);
}

static void lookup_find(struct lookup *lookup)
{
    struct resolver *resolver = lookup->resolver;
    (void)atomic_fetch_add(&resolver->finding_count, 1);
    if (!atomic_load(&resolver->is_ending) && atomic_load(&lookup->state) == LOOKUP_OPEN) {
        enum err err = resolver->find(lookup->host, &lookup->addresses, &lookup->error);
        must((err == ERR_NONE) == (lookup->error.code == ERR_NONE));
    }
    (void)atomic_fetch_sub(&resolver->finding_count, 1);
}

/* On a thread of the pool. */
static void lookup_run(struct pool_job *job)
{
    struct lookup *lookup = CONTAINER_OF(job, struct lookup, job);
    struct resolver *resolver = lookup->resolver;
    enum lookup_state state = LOOKUP_OPEN;
    lookup_find(lookup);
    (void)atomic_fetch_add(&resolver->sending_count, 1);
    if (atomic_compare_exchange_strong(&lookup->state, &state, LOOKUP_SENT)) {
        mailbox_send(lookup->mailbox, &lookup->mail);
    } else {
        memory_free(lookup);
    }
    (void)atomic_fetch_sub(&resolver->sending_count, 1);
}

struct lookup *lookup_start(struct resolver *resolver, struct mailbox *mailbox, struct slice host,
                            lookup_done_fn on_done, void *owner)
{
    struct lookup *lookup = memory_new(sizeof(*lookup));
    must(host.len < sizeof(lookup->host));
    memcpy(lookup->host, host.at, host.len);
    lookup->job.run = lookup_run;
    lookup->mail.deliver = lookup_deliver;
    lookup->resolver = resolver;
    lookup->mailbox = mailbox;
    lookup->on_done = on_done;
    lookup->owner = owner;
    atomic_init(&lookup->state, LOOKUP_OPEN);
    if (pool_submit(resolver->pool, &lookup->job) != ERR_NONE) {
        memory_free(lookup);
        return NULL;
    }
    return lookup;
}

void lookup_cancel(struct lookup *lookup)
{
    enum lookup_state state = LOOKUP_OPEN;
    if (!atomic_compare_exchange_strong(&lookup->state, &state, LOOKUP_CANCELLED)) {
        lookup->on_done = NULL;
    }
}
