/* SPDX-License-Identifier: MIT */
#include "wire/address.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"

#define V4_AT       (ADDRESS_SIZE - ADDRESS_V4_SIZE)
#define V4_BITS_AT  96
#define GROUP_COUNT 8
#define PREFIX_SIZE 3

static const unsigned char v4_prefix[V4_AT] = {[10] = 0xff, [11] = 0xff};

struct address address_of_v4(const unsigned char *bytes)
{
    struct address address;
    memcpy(address.bytes, v4_prefix, V4_AT);
    memcpy(address.bytes + V4_AT, bytes, ADDRESS_V4_SIZE);
    return address;
}

bool address_equals(const struct address *a, const struct address *b)
{
    return memcmp(a->bytes, b->bytes, ADDRESS_SIZE) == 0;
}

bool address_is_v4(const struct address *address)
{
    return memcmp(address->bytes, v4_prefix, V4_AT) == 0;
}

bool address_is_loopback(const struct address *address)
{
    static const struct address loopback = {.bytes = {[15] = 1}};
    return address_equals(address, &loopback) ||
           (address_is_v4(address) && address->bytes[V4_AT] == 127);
}

struct address_range {
    unsigned char bytes[ADDRESS_SIZE];
    unsigned bits;
};

static bool address_in(const struct address *address, size_t at, const struct address_range *range)
{
    unsigned whole = range->bits / 8;
    unsigned char mask = (unsigned char)(0xff00U >> (range->bits % 8));
    const unsigned char *bytes = address->bytes + at;
    return memcmp(bytes, range->bytes, whole) == 0 &&
           (mask == 0 || ((bytes[whole] ^ range->bytes[whole]) & mask) == 0);
}

static bool address_in_any(const struct address *address, size_t at,
                           const struct address_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (address_in(address, at, &ranges[i])) {
            return true;
        }
    }
    return false;
}

bool address_is_public(const struct address *address)
{
    static const struct address_range v4[] = {
        {{0}, 8},
        {{10}, 8},
        {{100, 64}, 10},
        {{127}, 8},
        {{169, 254}, 16},
        {{172, 16}, 12},
        {{192, 0, 0}, 24},
        {{192, 0, 2}, 24},
        {{192, 88, 99}, 24},
        {{192, 168}, 16},
        {{198, 18}, 15},
        {{198, 51, 100}, 24},
        {{203, 0, 113}, 24},
        {{224}, 3},
    };
    static const struct address_range v6[] = {
        {{0x20, 0x01, 0x00}, 23},
        {{0x20, 0x01, 0x0d, 0xb8}, 32},
        {{0x20, 0x02}, 16},
        {{0x3f, 0xff, 0x00}, 20},
    };
    static const struct address_range unicast = {{0x20}, 3};
    if (address_is_v4(address)) {
        return !address_in_any(address, V4_AT, v4, COUNT_OF(v4));
    }
    return address_in(address, 0, &unicast) && !address_in_any(address, 0, v6, COUNT_OF(v6));
}

/* Reading ------------------------------------------------------------------------------------- */

static bool address_parse_v4(struct slice text, unsigned char *bytes)
{
    struct slice rest = text;
    for (size_t i = 0; i < ADDRESS_V4_SIZE; i++) {
        struct slice part = slice_cut(rest, '.', &rest);
        uint64_t value = 0;
        bool has_zero = part.len > 1 && part.at[0] == '0'; /* some read that as octal */
        if (part.len > 3 || has_zero || text_parse_u64(part, &value) != ERR_NONE || value > 255) {
            return false;
        }
        bytes[i] = (unsigned char)value;
    }
    return rest.at == NULL;
}

static int address_digit(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    if (byte >= 'a' && byte <= 'f') {
        return byte - 'a' + 10;
    }
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

static bool address_parse_group(struct slice text, unsigned char *bytes)
{
    unsigned value = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = address_digit(text.at[i]);
        if (digit < 0) {
            return false;
        }
        value = (value << 4 | (unsigned)digit) & 0xffff;
    }
    bytes[0] = (unsigned char)(value >> 8);
    bytes[1] = (unsigned char)(value & 0xff);
    return text.len >= 1 && text.len <= 4;
}

/* One side of "::", or the whole; nothing at all is no group. The last one may be IPv4 where the
 * address ends. */
static bool address_parse_groups(struct slice text, bool is_end, unsigned char *bytes,
                                 size_t *ret_size)
{
    struct slice rest = text;
    size_t size = 0;
    while (rest.at != NULL && text.len > 0) {
        struct slice part = slice_cut(rest, ':', &rest);
        bool is_v4 = is_end && rest.at == NULL && slice_find_byte(part, '.') < part.len;
        size_t part_size = is_v4 ? ADDRESS_V4_SIZE : 2;
        if (size + part_size > ADDRESS_SIZE) {
            return false;
        }
        if (!(is_v4 ? address_parse_v4(part, bytes + size)
                    : address_parse_group(part, bytes + size))) {
            return false;
        }
        size += part_size;
    }
    *ret_size = size;
    return true;
}

static bool address_parse_v6(struct slice text, unsigned char *bytes)
{
    unsigned char first[ADDRESS_SIZE] = {0};
    unsigned char last[ADDRESS_SIZE] = {0};
    size_t gap = slice_find(text, SLICE("::"));
    bool has_gap = gap < text.len;
    size_t first_size = 0;
    size_t last_size = 0;
    if (!address_parse_groups(slice_sub(text, 0, gap), !has_gap, first, &first_size) ||
        !address_parse_groups(slice_from(text, gap + 2), true, last, &last_size)) {
        return false;
    }
    size_t size = first_size + last_size;
    if (has_gap ? size > ADDRESS_SIZE - 2 : size != ADDRESS_SIZE) {
        return false;
    }
    memset(bytes, 0, ADDRESS_SIZE);
    memcpy(bytes, first, first_size);
    memcpy(bytes + ADDRESS_SIZE - last_size, last, last_size);
    return true;
}

bool address_parse(struct slice text, struct address *ret_address)
{
    unsigned char bytes[ADDRESS_SIZE];
    if (address_parse_v4(text, bytes)) {
        *ret_address = address_of_v4(bytes);
        return true;
    }
    if (!address_parse_v6(text, bytes)) {
        return false;
    }
    memcpy(ret_address->bytes, bytes, ADDRESS_SIZE);
    return true;
}

bool address_is_loopback_host(struct slice host)
{
    struct address address;
    return slice_equals_nocase(host, SLICE("localhost")) ||
           (address_parse(host, &address) && address_is_loopback(&address));
}

/* Writing ------------------------------------------------------------------------------------- */

static unsigned address_group(const struct address *address, size_t index)
{
    return (unsigned)(address->bytes[index * 2] << 8 | address->bytes[index * 2 + 1]);
}

/* The longest run of zeros, the first of equal ones; one group alone is none (RFC 5952 4.2). */
static size_t address_find_gap(const struct address *address, size_t *ret_count)
{
    size_t at = GROUP_COUNT;
    *ret_count = 1;
    for (size_t start = 0; start < GROUP_COUNT; start++) {
        size_t end = start;
        while (end < GROUP_COUNT && address_group(address, end) == 0) {
            end++;
        }
        if (end - start > *ret_count) {
            at = start;
            *ret_count = end - start;
        }
    }
    return at;
}

struct slice address_format(const struct address *address, char *text)
{
    int len = 0;
    if (address_is_v4(address)) {
        const unsigned char *v4 = address->bytes + V4_AT;
        len = snprintf(text, ADDRESS_TEXT_SIZE, "%u.%u.%u.%u", v4[0], v4[1], v4[2], v4[3]);
        return slice_of(text, (size_t)len);
    }
    size_t gap_count = 0;
    size_t gap = address_find_gap(address, &gap_count);
    for (size_t i = 0; i < GROUP_COUNT; i++) {
        bool is_first = i == 0 || (gap < GROUP_COUNT && i == gap + gap_count);
        if (i == gap) {
            len += snprintf(text + len, ADDRESS_TEXT_SIZE - (size_t)len, "::");
            i += gap_count - 1;
        } else {
            len += snprintf(text + len, ADDRESS_TEXT_SIZE - (size_t)len, "%s%x",
                            is_first ? "" : ":", address_group(address, i));
        }
    }
    must(len > 0 && len < ADDRESS_TEXT_SIZE);
    return slice_of(text, (size_t)len);
}

/* Networks ------------------------------------------------------------------------------------ */

/* Whether the first 'bit_count' bits are the same. */
static bool address_agrees(const struct address *a, const struct address *b, unsigned bit_count)
{
    size_t whole = bit_count / 8;
    unsigned left = bit_count % 8;
    if (memcmp(a->bytes, b->bytes, whole) != 0) {
        return false;
    }
    return left == 0 || ((a->bytes[whole] ^ b->bytes[whole]) >> (8 - left)) == 0;
}

static bool network_is_aligned(const struct network *network)
{
    for (unsigned bit = network->prefix_len; bit < ADDRESS_SIZE * 8; bit++) {
        if ((network->address.bytes[bit / 8] & (0x80u >> bit % 8)) != 0) {
            return false;
        }
    }
    return true;
}

static enum err network_parse(struct slice text, struct network *ret_network, struct error *reterr)
{
    struct slice prefix = SLICE_NONE;
    struct slice address = slice_cut(text, '/', &prefix);
    bool is_v4 = slice_find_byte(address, ':') == address.len;
    uint64_t bits = is_v4 ? ADDRESS_V4_SIZE * 8 : ADDRESS_SIZE * 8;
    uint64_t prefix_len = bits;
    struct network network;
    if (!address_parse(address, &network.address)) {
        return fail(reterr, ERR_INPUT,
                    "an address or a network is expected, like 192.0.2.1 or 2001:db8::/32");
    }
    if (prefix.at != NULL &&
        (prefix.len > PREFIX_SIZE || text_parse_u64(prefix, &prefix_len) != ERR_NONE ||
         prefix_len > bits)) {
        return fail(reterr, ERR_INPUT, "behind '/' a number of bits is expected, 1 to %u",
                    (unsigned)bits);
    }
    network.prefix_len = (unsigned)prefix_len + (is_v4 ? V4_BITS_AT : 0);
    if (prefix_len == 0 || (network.prefix_len == V4_BITS_AT && address_is_v4(&network.address))) {
        return fail(reterr, ERR_INPUT, "a network of all addresses would trust everybody");
    }
    if (!network_is_aligned(&network)) {
        return fail(reterr, ERR_INPUT, "the address has bits beyond the network's %u",
                    (unsigned)prefix_len);
    }
    *ret_network = network;
    return ERR_NONE;
}

enum err network_list_parse(struct slice text, struct network_list *ret_list, struct error *reterr)
{
    struct network_list list = {.count = 0};
    struct slice rest = slice_trim(text, " ").len > 0 ? text : SLICE_NONE;
    while (rest.at != NULL) {
        struct slice part = slice_trim(slice_cut(rest, ',', &rest), " ");
        if (list.count == LIMIT_NETWORKS) {
            return fail(reterr, ERR_LIMIT, "more than %d networks", LIMIT_NETWORKS);
        }
        enum err err = network_parse(part, &list.networks[list.count], reterr);
        if (err != ERR_NONE) {
            return err;
        }
        list.count++;
    }
    *ret_list = list;
    return ERR_NONE;
}

bool network_list_has(const struct network_list *list, const struct address *address)
{
    bool is_v4 = address_is_v4(address);
    for (size_t i = 0; i < list->count; i++) {
        const struct network *network = &list->networks[i];
        bool is_same_kind = !is_v4 || network->prefix_len >= V4_BITS_AT;
        if (is_same_kind && address_agrees(address, &network->address, network->prefix_len)) {
            return true;
        }
    }
    return false;
}
