/* SPDX-License-Identifier: MIT */
/* What is read as ports is written and read again as the same; each port is one connection's. */
#include "fuzz.h"

#include "base/must.h"
#include "client/ports.h"

static void check_same(const struct client_ports *one, const struct client_ports *other)
{
    must(one->count == other->count);
    for (size_t i = 0; i < one->count; i++) {
        must(slice_equals(one->items[i].gateway, other->items[i].gateway));
        must(slice_equals(one->items[i].connection, other->items[i].connection));
        must(slice_equals(one->items[i].password, other->items[i].password));
        must(one->items[i].port == other->items[i].port);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena;
    struct client_ports ports = {0};
    struct client_ports again = {0};
    struct error error;
    arena_init(&arena);
    if (client_ports_parse_in(&arena, slice_of(bytes, size), &ports, &error) == ERR_NONE) {
        struct slice text = client_ports_write_in(&arena, &ports);
        must(client_ports_parse_in(&arena, text, &again, &error) == ERR_NONE);
        check_same(&ports, &again);
        for (size_t i = 0; i < ports.count; i++) {
            const struct client_port *port = &ports.items[i];
            must(port->port > 0 && port->password.len >= 32);
            must(client_ports_find(&ports, port->gateway, port->connection) == port);
        }
        const struct client_port added = {
            .gateway = SLICE("x"), .connection = SLICE("y"), .port = 1, .password = SLICE("z")};
        size_t count = ports.count;
        if (client_ports_add(&arena, &ports, &added, &error) == ERR_NONE) {
            must(ports.count == count + 1 && client_ports_has(&ports, 1));
        }
    } else {
        must(memchr(error.message, '\0', sizeof(error.message)) != NULL);
    }
    arena_release(&arena);
    return 0;
}
