/* SPDX-License-Identifier: MIT */
#include "client/ports.h"

#include "base/limits.h"
#include "base/must.h"
#include "codec/shape.h"

/* As it is written. */
struct ports_row {
    struct slice gateway;
    struct slice connection;
    struct shape_int port;
    struct slice password;
};

struct ports_document {
    struct shape_objects ports;
};

#define AT(member) .offset = offsetof(struct ports_row, member)

static const struct shape_field row_fields[] = {
    {.name = "gateway",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(gateway),
     .min = 1,
     .max = 1024},
    {.name = "connection",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(connection),
     .min = 1,
     .max = 255},
    {.name = "port", .kind = SHAPE_INT, .flags = SHAPE_REQUIRED, AT(port), .min = 1, .max = 65535},
    {.name = "password",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(password),
     .min = 32,
     .max = 128},
};

static const struct shape row_shape = {
    .name = "Port", .size = sizeof(struct ports_row), SHAPE_FIELDS(row_fields)};

#undef AT
#define AT(member) .offset = offsetof(struct ports_document, member)

static const struct shape_field ports_fields[] = {
    {.name = "ports",
     .kind = SHAPE_OBJECTS,
     .flags = SHAPE_REQUIRED,
     AT(ports),
     .max = LIMIT_CLIENT_PORTS,
     .object = &row_shape},
};

static const struct shape ports_shape = {
    .name = "Ports", .size = sizeof(struct ports_document), SHAPE_FIELDS(ports_fields)};

/* One port is one connection's, and the other way round. */
static enum err ports_take(struct arena *arena, const struct ports_document *document,
                           struct client_ports *ret_ports, struct error *reterr)
{
    const struct ports_row *rows = document->ports.items;
    struct client_ports ports = {.count = 0};
    ports.items = arena_alloc_array(arena, document->ports.count + 1, sizeof(*ports.items));
    for (size_t i = 0; i < document->ports.count; i++) {
        const struct client_port port = {.gateway = rows[i].gateway,
                                         .connection = rows[i].connection,
                                         .port = (uint16_t)rows[i].port.value,
                                         .password = rows[i].password};
        if (client_ports_has(&ports, port.port) ||
            client_ports_find(&ports, port.gateway, port.connection) != NULL) {
            return fail(reterr, ERR_INPUT, "port %u, or its connection, is there twice", port.port);
        }
        ports.items[ports.count++] = port;
    }
    *ret_ports = ports;
    return ERR_NONE;
}

enum err client_ports_parse_in(struct arena *arena, struct slice text,
                               struct client_ports *ret_ports, struct error *reterr)
{
    struct ports_document document = {0};
    struct shape_texts warnings = {0};
    const struct shape_idles idles = {0};
    struct json json;
    if (slice_trim(text, " \r\n\t").len == 0) {
        *ret_ports = (struct client_ports){.count = 0};
        return ERR_NONE;
    }
    enum err err = json_parse_in(arena, text, &json, reterr);
    if (err == ERR_NONE) {
        err = json_as_object(json, reterr);
    }
    if (err == ERR_NONE) {
        err = shape_check_members(&ports_shape, &json, &idles, &warnings, reterr);
    }
    if (err == ERR_NONE) {
        err = shape_read(&ports_shape, SHAPE_WHOLE, &json, &document, reterr);
    }
    return err == ERR_NONE ? ports_take(arena, &document, ret_ports, reterr) : err;
}

struct slice client_ports_write_in(struct arena *arena, const struct client_ports *ports)
{
    struct ports_row *rows = arena_alloc_array(arena, ports->count + 1, sizeof(*rows));
    const struct ports_document document = {
        .ports = {.items = rows, .count = ports->count, .is_given = true}};
    struct buf buf;
    for (size_t i = 0; i < ports->count; i++) {
        rows[i] = (struct ports_row){.gateway = ports->items[i].gateway,
                                     .connection = ports->items[i].connection,
                                     .port = {.value = ports->items[i].port, .is_given = true},
                                     .password = ports->items[i].password};
    }
    buf_init(&buf, LIMIT_MIB(4));
    struct json_writer json = json_writer_to(&buf);
    shape_write(&ports_shape, &document, &json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice text = arena_copy(arena, buf_view(&buf));
    buf_wipe(&buf);
    return text;
}

struct client_port *client_ports_find(const struct client_ports *ports, struct slice gateway,
                                      struct slice connection)
{
    for (size_t i = 0; i < ports->count; i++) {
        if (slice_equals(ports->items[i].gateway, gateway) &&
            slice_equals(ports->items[i].connection, connection)) {
            return &ports->items[i];
        }
    }
    return NULL;
}

bool client_ports_has(const struct client_ports *ports, uint16_t port)
{
    bool has_it = false;
    for (size_t i = 0; i < ports->count; i++) {
        has_it = has_it || ports->items[i].port == port;
    }
    return has_it;
}

enum err client_ports_add(struct arena *arena, struct client_ports *ports,
                          const struct client_port *port, struct error *reterr)
{
    struct client_port *items = arena_alloc_array(arena, ports->count + 1, sizeof(*items));
    if (ports->count == LIMIT_CLIENT_PORTS) {
        return fail(reterr, ERR_LIMIT, "there are %d ports, the most that there can be",
                    LIMIT_CLIENT_PORTS);
    }
    for (size_t i = 0; i < ports->count; i++) {
        items[i] = ports->items[i];
    }
    items[ports->count] = *port;
    ports->items = items;
    ports->count++;
    return ERR_NONE;
}
