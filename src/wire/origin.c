/* SPDX-License-Identifier: MIT */
#include "wire/origin.h"

#include "base/text.h"
#include "wire/address.h"

static bool origin_is_name(struct slice host)
{
    for (size_t i = 0; i < host.len; i++) {
        char byte = host.at[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
        if (!is_letter && byte != '-' && byte != '.' && byte != '_') {
            return false;
        }
    }
    return host.len > 0;
}

/* "[2001:db8::1]", in the one form that browsers write. */
static bool origin_is_literal(struct slice host)
{
    struct address address;
    char text[ADDRESS_TEXT_SIZE];
    struct slice inside = slice_sub(host, 1, host.len - 2);
    return host.len > 2 && slice_starts_with(host, SLICE("[")) &&
           slice_ends_with(host, SLICE("]")) && slice_find_byte(inside, ':') < inside.len &&
           address_parse(inside, &address) && slice_equals(address_format(&address, text), inside);
}

static bool origin_is_port(struct slice port, uint64_t own_port)
{
    uint64_t number = 0;
    return port.len <= 5 && !slice_starts_with(port, SLICE("0")) &&
           text_parse_u64(port, &number) == ERR_NONE && number <= 65535 && number != own_port;
}

static bool origin_is_here(struct slice host)
{
    return slice_equals(host, SLICE("localhost")) || slice_equals(host, SLICE("127.0.0.1")) ||
           slice_equals(host, SLICE("[::1]"));
}

static enum err origin_check(struct slice origin, struct error *reterr)
{
    bool is_https = slice_starts_with(origin, SLICE("https://"));
    struct slice rest = slice_from(origin, is_https ? strlen("https://") : strlen("http://"));
    size_t host_len = slice_starts_with(rest, SLICE("[")) ? slice_find_byte(rest, ']') + 1
                                                          : slice_find_byte(rest, ':');
    struct slice host = slice_sub(rest, 0, host_len);
    struct slice port = slice_from(rest, host_len);
    if (slice_equals(origin, SLICE("*"))) {
        return fail(reterr, ERR_INPUT,
                    "'*' would let the pages of every site use the API: list those that may");
    }
    if (slice_equals(origin, SLICE("null"))) {
        return fail(reterr, ERR_INPUT,
                    "'null' is the origin of pages that hide theirs, so anybody's");
    }
    if ((!is_https && !slice_starts_with(origin, SLICE("http://"))) ||
        (!origin_is_name(host) && !origin_is_literal(host)) ||
        (port.len > 0 &&
         (port.at[0] != ':' || !origin_is_port(slice_from(port, 1), is_https ? 443 : 80)))) {
        return fail(reterr, ERR_INPUT,
                    "https://HOST[:PORT] is expected as browsers send it: in lower case, without "
                    "the port 443, without a path; with commas between");
    }
    if (!is_https && !origin_is_here(host)) {
        return fail(
            reterr, ERR_INPUT,
            "https:// is expected: only localhost, 127.0.0.1 and [::1] may do with http://");
    }
    return ERR_NONE;
}

enum err origin_list_parse(struct slice text, struct origin_list *ret_list, struct error *reterr)
{
    struct origin_list list = {.count = 0};
    struct slice rest = slice_trim(text, " ").len > 0 ? text : SLICE_NONE;
    while (rest.at != NULL) {
        struct slice origin = slice_trim(slice_cut(rest, ',', &rest), " ");
        if (list.count == LIMIT_ORIGINS) {
            return fail(reterr, ERR_LIMIT, "more than %d origins", LIMIT_ORIGINS);
        }
        enum err err = origin_check(origin, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        list.origins[list.count++] = origin;
    }
    *ret_list = list;
    return ERR_NONE;
}

bool origin_list_has(const struct origin_list *list, struct slice origin)
{
    for (size_t i = 0; i < list->count; i++) {
        if (slice_equals(list->origins[i], origin)) {
            return true;
        }
    }
    return false;
}
