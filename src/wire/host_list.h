/* SPDX-License-Identifier: MIT */
/* The names by which a server is asked for, as they stand in Host and :authority. A page of a
 * stranger whose name was made to lead here (DNS rebinding) asks by that name, and by no address.
 */
#ifndef GH_WIRE_HOST_LIST_H
#define GH_WIRE_HOST_LIST_H

#include "base/error.h"
#include "base/limits.h"
#include "base/slice.h"

/* Views of the texts that it was made of. Zeroed: every name is known. */
struct host_list {
    bool is_checked;
    bool has_all_addresses;   /* it listens on all, whatever they are */
    bool is_here;             /* and can be asked for as this machine */
    struct slice listen;      /* a name or an address, without brackets */
    struct slice public_host; /* likewise; empty: there is none */
    struct slice node_host;   /* likewise: among the gateways of one store */
    struct slice names[LIMIT_HOSTS];
    size_t count;
};

/* Further names and addresses with commas between; none in an empty text. No ports, no patterns. */
enum err host_list_parse(struct slice text, struct host_list *ret_list,
                         struct error *reterr) MUST_USE;
/* What it listens on, "HOST" as a setting has it: "127.0.0.1", "[::]", "". */
void host_list_set_listen(struct host_list *list, struct slice host);

/* 'authority' is HOST or HOST:PORT; the port does not matter. */
bool host_list_has(const struct host_list *list, struct slice authority);

#endif
