/* SPDX-License-Identifier: MIT */
#include "wire/forwarded.h"

#include "base/text.h"

#define SPACE       " \t"
#define PORT_DIGITS 5

/* The elements of all headers of a name, from the last to the first. */
struct forwarded_walk {
    const struct http_header *headers;
    size_t left; /* headers not looked at yet */
    struct slice name;
    struct slice rest; /* of the header being looked at; at == NULL: none is */
};

struct forwarded_hop {
    struct address address;
    bool is_https;
};

typedef bool (*forwarded_hop_fn)(struct slice element, struct forwarded_hop *ret_hop);

/* Splits at the last comma outside of quotes. Read from the right, what a proxy added cannot be
 * changed by quotes that a client left open further left. */
static struct slice forwarded_cut_last(struct slice text, struct slice *rest)
{
    bool is_quoted = false;
    size_t at = text.len;
    while (at > 0 && (is_quoted || text.at[at - 1] != ',')) {
        is_quoted = is_quoted != (text.at[at - 1] == '"');
        at--;
    }
    *rest = at == 0 ? SLICE_NONE : slice_sub(text, 0, at - 1);
    return slice_trim(slice_from(text, at), SPACE);
}

static bool forwarded_next(struct forwarded_walk *walk, struct slice *ret_element)
{
    while (walk->rest.at == NULL) {
        if (walk->left == 0) {
            return false;
        }
        const struct http_header *header = &walk->headers[--walk->left];
        if (slice_equals_nocase(header->name, walk->name)) {
            walk->rest = header->value.at == NULL ? SLICE("") : header->value;
        }
    }
    *ret_element = forwarded_cut_last(walk->rest, &walk->rest);
    return true;
}

/* Hops ---------------------------------------------------------------------------------------- */

/* RFC 7239 6: up to five digits, or '_' and letters that mean something to the proxy alone. */
static bool forwarded_is_port(struct slice text)
{
    uint64_t port = 0;
    if (slice_starts_with(text, SLICE("_"))) {
        return text.len > 1 && http_is_token(text);
    }
    return text.len <= PORT_DIGITS && text_parse_u64(text, &port) == ERR_NONE && port <= 65535;
}

/* "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80" */
static bool forwarded_parse_node(struct slice text, struct address *ret_address)
{
    struct slice port = SLICE_NONE;
    if (!slice_starts_with(text, SLICE("["))) {
        struct slice host = slice_cut(text, ':', &port);
        bool has_port = port.at != NULL && slice_find_byte(port, ':') == port.len;
        return has_port ? forwarded_is_port(port) && address_parse(host, ret_address)
                        : address_parse(text, ret_address);
    }
    size_t end = slice_find_byte(text, ']');
    struct slice host = slice_sub(text, 1, end - 1);
    struct slice behind = slice_from(text, end + 1);
    bool is_over =
        behind.len == 0 || (behind.at[0] == ':' && forwarded_is_port(slice_from(behind, 1)));
    return end < text.len && is_over && slice_find_byte(host, ':') < host.len &&
           address_parse(host, ret_address);
}

/* False when quotes are not a pair around it, or hide bytes behind backslashes, which no node and
 * no scheme needs. */
static bool forwarded_unquote(struct slice *text)
{
    if (slice_starts_with(*text, SLICE("\"")) && slice_ends_with(*text, SLICE("\"")) &&
        text->len >= 2) {
        *text = slice_sub(*text, 1, text->len - 2);
    }
    return slice_find_byte(*text, '"') == text->len && slice_find_byte(*text, '\\') == text->len;
}

static bool forwarded_parse_plain(struct slice element, struct forwarded_hop *ret_hop)
{
    ret_hop->is_https = false;
    return forwarded_unquote(&element) && forwarded_parse_node(element, &ret_hop->address);
}

/* Splits at the first semicolon outside of quotes. */
static struct slice forwarded_cut_pair(struct slice text, struct slice *rest)
{
    bool is_quoted = false;
    size_t at = 0;
    while (at < text.len && (is_quoted || text.at[at] != ';')) {
        is_quoted = is_quoted != (text.at[at] == '"');
        at++;
    }
    *rest = at == text.len ? SLICE_NONE : slice_from(text, at + 1);
    return slice_trim(slice_sub(text, 0, at), SPACE);
}

/* RFC 7239 4: "for=…;proto=…;by=…;host=…" in any order, each at most once. */
static bool forwarded_parse_pairs(struct slice element, struct forwarded_hop *ret_hop)
{
    struct slice rest = element;
    struct slice node = SLICE_NONE;
    struct slice proto = SLICE_NONE;
    while (rest.at != NULL) {
        struct slice value = SLICE_NONE;
        struct slice name = slice_cut(forwarded_cut_pair(rest, &rest), '=', &value);
        struct slice *known = slice_equals_nocase(name, SLICE("for"))     ? &node
                              : slice_equals_nocase(name, SLICE("proto")) ? &proto
                                                                          : NULL;
        if (value.at == NULL || !http_is_token(name)) {
            return false;
        }
        if (known != NULL && (known->at != NULL || !forwarded_unquote(&value))) {
            return false;
        }
        if (known != NULL) {
            *known = value;
        }
    }
    ret_hop->is_https = slice_equals_nocase(proto, SLICE("https"));
    return forwarded_parse_node(node, &ret_hop->address);
}

/* The walk ------------------------------------------------------------------------------------ */

static void forwarded_follow(struct forwarded_walk *walk, forwarded_hop_fn parse,
                             const struct network_list *trusted, struct forwarded *forwarded)
{
    struct slice element = SLICE_NONE;
    bool is_trusted = true;
    for (size_t hops = 0; is_trusted && forwarded_next(walk, &element); hops++) {
        struct forwarded_hop hop;
        if (hops == LIMIT_FORWARDED_HOPS || !parse(element, &hop)) {
            forwarded->is_cut = true;
            return;
        }
        forwarded->client = hop.address;
        forwarded->is_https = hop.is_https;
        is_trusted = network_list_has(trusted, &hop.address);
    }
}

/* Of several the nearest proxy's word, which alone is surely a trusted one's. */
static bool forwarded_is_https(const struct http_header *headers, size_t count)
{
    struct forwarded_walk walk = {
        .headers = headers, .left = count, .name = SLICE("x-forwarded-proto")};
    struct slice proto = SLICE_NONE;
    return forwarded_next(&walk, &proto) && slice_equals_nocase(proto, SLICE("https"));
}

struct forwarded forwarded_read(const struct http_header *headers, size_t count,
                                const struct network_list *trusted, const struct address *peer)
{
    struct forwarded forwarded = {.client = *peer};
    struct forwarded_walk walk = {
        .headers = headers, .left = count, .name = SLICE("x-forwarded-for")};
    if (http_header_find(headers, count, walk.name).at != NULL) {
        forwarded_follow(&walk, forwarded_parse_plain, trusted, &forwarded);
    } else {
        walk.name = SLICE("forwarded");
        forwarded_follow(&walk, forwarded_parse_pairs, trusted, &forwarded);
    }
    forwarded.is_https = forwarded.is_https || forwarded_is_https(headers, count);
    return forwarded;
}

bool forwarded_is_there(const struct http_header *headers, size_t count)
{
    return http_header_find(headers, count, SLICE("x-forwarded-for")).at != NULL ||
           http_header_find(headers, count, SLICE("x-forwarded-proto")).at != NULL ||
           http_header_find(headers, count, SLICE("forwarded")).at != NULL;
}
