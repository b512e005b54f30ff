/* SPDX-License-Identifier: MIT */
#include "wire/host_list.h"

#include "wire/address.h"

static struct slice host_without_brackets(struct slice host)
{
    return slice_starts_with(host, SLICE("[")) && slice_ends_with(host, SLICE("]"))
               ? slice_sub(host, 1, host.len - 2)
               : host;
}

static bool host_is_name(struct slice host)
{
    for (size_t i = 0; i < host.len; i++) {
        char byte = host.at[i];
        bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_';
        if (!is_plain) {
            return false;
        }
    }
    return host.len > 0;
}

enum err host_list_parse(struct slice text, struct host_list *ret_list, struct error *reterr)
{
    struct host_list list = {.is_checked = true};
    struct slice rest = slice_trim(text, " ").len > 0 ? text : SLICE_NONE;
    while (rest.at != NULL) {
        struct address address;
        struct slice host = host_without_brackets(slice_trim(slice_cut(rest, ',', &rest), " "));
        if (list.count == LIMIT_HOSTS) {
            return fail(reterr, ERR_LIMIT, "more than %d names", LIMIT_HOSTS);
        }
        if (!host_is_name(host) && !address_parse(host, &address)) {
            return fail(reterr, ERR_INPUT,
                        "names are expected, with commas between: without ports, without '*'");
        }
        list.names[list.count++] = host;
    }
    *ret_list = list;
    return ERR_NONE;
}

void host_list_set_listen(struct host_list *list, struct slice host)
{
    list->listen = host_without_brackets(host);
    list->has_all_addresses = list->listen.len == 0 ||
                              slice_equals(list->listen, SLICE("0.0.0.0")) ||
                              slice_equals(list->listen, SLICE("::"));
    list->is_here = list->has_all_addresses || address_is_loopback_host(list->listen);
}

/* The host of HOST:PORT; an address of IPv6 stands in brackets. */
static struct slice host_of_authority(struct slice authority)
{
    if (slice_starts_with(authority, SLICE("["))) {
        return slice_sub(authority, 1, slice_find_byte(authority, ']') - 1);
    }
    return slice_sub(authority, 0, slice_find_byte(authority, ':'));
}

static bool host_is(struct slice known, struct slice host)
{
    struct address one;
    struct address other;
    return known.len > 0 && (slice_equals_nocase(known, host) ||
                             (address_parse(known, &one) && address_parse(host, &other) &&
                              address_equals(&one, &other)));
}

bool host_list_has(const struct host_list *list, struct slice authority)
{
    struct slice host = host_of_authority(authority);
    struct address address;
    if (!list->is_checked || (list->is_here && address_is_loopback_host(host)) ||
        (list->has_all_addresses && address_parse(host, &address)) || host_is(list->listen, host) ||
        host_is(list->public_host, host) || host_is(list->node_host, host)) {
        return true;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (host_is(list->names[i], host)) {
            return true;
        }
    }
    return false;
}
