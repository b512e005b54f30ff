/* SPDX-License-Identifier: MIT */
/* The ports of this machine that 'up' keeps: which connection of which gateway has which port and
 * which password, for good. Pure; written as JSON. */
#ifndef GH_CLIENT_PORTS_H
#define GH_CLIENT_PORTS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

/* Below those that the kernel gives to outgoing connections. */
#define CLIENT_PORTS_FIRST 25000
#define CLIENT_PORTS_LAST  29999

struct client_port {
    struct slice gateway;    /* its address */
    struct slice connection; /* its name */
    uint16_t port;
    struct slice password;
};

struct client_ports {
    struct client_port *items;
    size_t count;
};

/* ERR_INPUT: it is not what 'up' wrote. Nothing at all is an empty list. */
enum err client_ports_parse_in(struct arena *arena, struct slice text,
                               struct client_ports *ret_ports, struct error *reterr) MUST_USE;
struct slice client_ports_write_in(struct arena *arena, const struct client_ports *ports);
/* NULL: it has none. */
struct client_port *client_ports_find(const struct client_ports *ports, struct slice gateway,
                                      struct slice connection);
bool client_ports_has(const struct client_ports *ports, uint16_t port);
/* A copy with one more. ERR_LIMIT */
enum err client_ports_add(struct arena *arena, struct client_ports *ports,
                          const struct client_port *port, struct error *reterr) MUST_USE;

#endif
