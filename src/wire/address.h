/* SPDX-License-Identifier: MIT */
/* IP addresses and networks of them as values, without a port or a zone. An IPv4 address is kept as
 * the IPv6 address that it is mapped to (::ffff:0:0/96), so that both of its forms are one;
 * networks of IPv6 that happen to hold that range do not hold it for this. */
#ifndef GH_WIRE_ADDRESS_H
#define GH_WIRE_ADDRESS_H

#include "base/error.h"
#include "base/limits.h"
#include "base/slice.h"

#define ADDRESS_SIZE      16
#define ADDRESS_V4_SIZE   4
#define ADDRESS_TEXT_SIZE 46

struct address {
    unsigned char bytes[ADDRESS_SIZE];
};

struct address address_of_v4(const unsigned char *bytes);

/* Four decimal numbers, or a form of RFC 4291 2.2. False for everything else: zones, brackets,
 * ports, leading zeros, other bases. */
bool address_parse(struct slice text, struct address *ret_address);
/* As RFC 5952 4 writes it, into 'text' of ADDRESS_TEXT_SIZE bytes, with a NUL behind it. */
struct slice address_format(const struct address *address, char *text);

bool address_equals(const struct address *a, const struct address *b);
bool address_is_v4(const struct address *address);
/* 127.0.0.0/8 or ::1 */
bool address_is_loopback(const struct address *address);
/* Whether it can be somebody's in the public Internet: not one of the ranges that IANA lists as not
 * globally reachable (RFC 6890), nor multicast; and not one that carries an IPv4 address inside
 * (6to4, Teredo, NAT64), which leads to where that does. */
bool address_is_public(const struct address *address);
/* Whether a host as a URL names it (IPv6 without brackets) can only be this machine: 'localhost' or
 * a loopback address. "127.evil.example" begins like one and is somebody's name. */
bool address_is_loopback_host(struct slice host);

struct network {
    struct address address;
    unsigned prefix_len; /* in bits, of the 128 */
};

struct network_list {
    struct network networks[LIMIT_NETWORKS];
    size_t count;
};

/* Addresses and networks ("10.0.0.0/8") with commas between; none in an empty text. A network's
 * address must be its first, and a network of all addresses is none. */
enum err network_list_parse(struct slice text, struct network_list *ret_list,
                            struct error *reterr) MUST_USE;
bool network_list_has(const struct network_list *list, const struct address *address);

#endif
