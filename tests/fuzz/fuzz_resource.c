/* SPDX-License-Identifier: MIT */
/* A request for a resource: what is taken holds its rules, and is written as JSON that reads as the
 * same; what is refused says why. */
#include "fuzz.h"

#include "base/must.h"
#include "model/name.h"
#include "model/resource.h"

static enum err read_in(struct arena *arena, struct slice text, struct resource *ret_resource,
                        struct error *error)
{
    struct json document;
    enum err err = json_parse_in(arena, text, &document, error);
    if (err == ERR_NONE) {
        err = shape_read(&resource_request_shape, SHAPE_WHOLE, &document, ret_resource, error);
    }
    return err == ERR_NONE ? resource_check(ret_resource, error) : err;
}

static struct slice write_in(struct arena *arena, const struct resource *resource)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(4));
    struct json_writer json = json_writer_to(&buf);
    shape_write(&resource_request_shape, resource, &json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice text = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

static void check_resource(const struct resource *resource)
{
    const struct connection *roles = resource->roles.items;
    must(resource_check_name(resource->name, NULL) == ERR_NONE);
    must(resource->roles.count <= RESOURCE_ROLES_MAX);
    for (size_t i = 0; i < resource->roles.count; i++) {
        must(name_check(roles[i].name, NULL) == ERR_NONE);
        must(roles[i].name.len >= NAME_LENGTH_MIN && roles[i].name.len <= NAME_LENGTH_MAX);
    }
}

/* Text that was not given is written as empty, and taken as that. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena;
    struct error error = {0};
    struct resource resource = {0};
    struct resource again = {0};
    struct json document;
    arena_init(&arena);
    enum err err = read_in(&arena, slice_of(bytes, size), &resource, &error);
    must(err == ERR_NONE || (err == ERR_INPUT && error.message[0] != '\0'));
    if (err == ERR_NONE) {
        check_resource(&resource);
        struct slice text = write_in(&arena, &resource);
        must(read_in(&arena, text, &again, &error) == ERR_NONE);
        must(slice_equals(write_in(&arena, &again), text));
        must(json_parse_in(&arena, text, &document, &error) == ERR_NONE);
    }
    arena_release(&arena);
    return 0;
}
