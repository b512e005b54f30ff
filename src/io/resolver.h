/* SPDX-License-Identifier: MIT */
/* Finds the addresses of names for loops: libc asks for them, and blocks, on threads of the
 * resolver's own, so that names whose servers do not answer hold up nothing but other names. One
 * for all workers. An address written as a number is found at once and needs no thread. */
#ifndef GH_IO_RESOLVER_H
#define GH_IO_RESOLVER_H

#include "base/error.h"
#include "base/limits.h"
#include "base/slice.h"
#include "io/mailbox.h"

#include <sys/socket.h>

struct lookup;
struct resolver;

/* In the order in which they are to be tried (RFC 6724), their ports 0. */
struct addresses {
    struct sockaddr_storage list[LIMIT_DIAL_ADDRESSES];
    size_t count;
};

/* Blocks; called on many threads at once. */
typedef enum err (*resolver_find_fn)(const char *host, struct addresses *ret_addresses,
                                     struct error *reterr);

/* 'find' takes the place of libc in tests; NULL: libc. */
struct resolver *resolver_new(resolver_find_fn find);
/* When every lookup was delivered or cancelled, before the mailboxes go. Waits for nobody: a thread
 * that libc still holds ends with the process, and so does what it uses. */
void resolver_free(struct resolver *resolver);

/* True when 'host' is an address itself. */
bool resolver_parse(const char *host, struct addresses *ret_addresses);

/* 'addresses' is NULL when there is an error. Both live as long as the call. */
typedef void (*lookup_done_fn)(void *owner, const struct addresses *addresses,
                               const struct error *error);

/* Called on the mailbox's loop, which owns the lookup: 'on_done' comes by mail, once, unless it is
 * cancelled before. NULL when too many wait already. 'host' has less than LIMIT_HOST_SIZE bytes. */
struct lookup *lookup_start(struct resolver *resolver, struct mailbox *mailbox, struct slice host,
                            lookup_done_fn on_done, void *owner) MUST_USE;
void lookup_cancel(struct lookup *lookup);

#endif
