/* SPDX-License-Identifier: MIT */
#include "tunnel/hello.h"

#include "base/memory.h"
#include "codec/json.h"
#include "codec/json_writer.h"

#define HELLO_TEXT_SIZE 255
#define HELLO_URL_SIZE  2048

/* A member of an agent's "machine", by the name it has there. */
struct hello_machine_member {
    const char *name;
    size_t offset;
};

static const struct hello_machine_member hello_machine[] = {
    {"hostname", offsetof(struct agent_metadata, hostname)},
    {"platform", offsetof(struct agent_metadata, platform)},
    {"machine_id", offsetof(struct agent_metadata, machine_id)},
    {"kernel_version", offsetof(struct agent_metadata, kernel_version)},
    {"compiler", offsetof(struct agent_metadata, compiler)},
};

/* What an agent did not say is empty text, in the store too. */
static const struct agent_metadata hello_nothing = {
    .hostname = SLICE_INIT(""),
    .platform = SLICE_INIT(""),
    .machine_id = SLICE_INIT(""),
    .kernel_version = SLICE_INIT(""),
    .version = SLICE_INIT(""),
    .go_version = SLICE_INIT(""),
    .compiler = SLICE_INIT(""),
};

static struct slice *hello_machine_at(struct agent_metadata *machine, size_t index)
{
    return (struct slice *)(void *)((char *)machine + hello_machine[index].offset);
}

/* Writing -------------------------------------------------------------------------------------- */

enum err hello_gateway_write(const struct hello_gateway *hello, struct buf *buf)
{
    struct json_writer json = json_writer_to(buf);
    json_begin_object(&json);
    json_member_int(&json, "protocol", hello->protocol);
    json_member_text(&json, "version", hello->version);
    json_member_text(&json, "node", hello->node_id);
    json_member_text(&json, "agent", hello->agent_name);
    json_member_int(&json, "links", hello->links);
    json_member_array(&json, "nodes");
    for (size_t i = 0; i < hello->node_count; i++) {
        json_begin_object(&json);
        json_member_text(&json, "id", hello->nodes[i].id);
        json_member_text(&json, "url", hello->nodes[i].url);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    return json_writer_done(&json);
}

enum err hello_agent_write(const struct hello_agent *hello, struct buf *buf)
{
    struct agent_metadata machine = hello->machine;
    struct json_writer json = json_writer_to(buf);
    json_begin_object(&json);
    json_member_int(&json, "protocol", hello->protocol);
    json_member_text(&json, "version", hello->version);
    json_member_array(&json, "kinds");
    for (size_t i = 0; i < hello->kind_count; i++) {
        json_text(&json, hello->kinds[i]);
    }
    json_end_array(&json);
    json_member_object(&json, "machine");
    for (size_t i = 0; i < COUNT_OF(hello_machine); i++) {
        json_member_text(&json, hello_machine[i].name, *hello_machine_at(&machine, i));
    }
    json_end_object(&json);
    json_end_object(&json);
    return json_writer_done(&json);
}

/* Reading -------------------------------------------------------------------------------------- */

static enum err hello_text(struct json json, size_t size_max, struct slice *ret_text,
                           struct error *reterr)
{
    *ret_text = SLICE("");
    if (!json_is_given(json)) {
        return ERR_NONE;
    }
    enum err err = json_as_text(json, ret_text, reterr);
    size_t len = ret_text->len < size_max ? ret_text->len : size_max;
    while (len < ret_text->len && len > 0 && ((unsigned char)ret_text->at[len] & 0xc0) == 0x80) {
        len--; /* not in the middle of a character */
    }
    *ret_text = slice_sub(*ret_text, 0, len);
    return err;
}

static enum err hello_begin(struct arena *arena, struct slice bytes, struct json *ret_document,
                            int64_t *ret_protocol, struct error *reterr)
{
    enum err err = json_parse_in(arena, bytes, ret_document, reterr);
    if (err == ERR_NONE) {
        err = json_as_object(*ret_document, reterr);
    }
    return err == ERR_NONE ? json_as_int(json_member(ret_document, "protocol"), 1, INT32_MAX,
                                         ret_protocol, reterr)
                           : err;
}

/* How many items to read; a list that is not there is empty. */
static enum err hello_count(struct json list, size_t count_max, size_t *ret_count,
                            struct error *reterr)
{
    *ret_count = 0;
    enum err err = json_is_given(list) ? json_as_array(list, ret_count, reterr) : ERR_NONE;
    *ret_count = *ret_count < count_max ? *ret_count : count_max;
    return err;
}

static enum err hello_read_nodes(struct arena *arena, const struct json *document,
                                 struct hello_gateway *hello, struct error *reterr)
{
    struct json list = json_member(document, "nodes");
    enum err err = hello_count(list, LIMIT_TUNNEL_NODES, &hello->node_count, reterr);
    struct hello_node *nodes = arena_alloc_array(arena, LIMIT_TUNNEL_NODES, sizeof(*nodes));
    hello->nodes = nodes;
    for (size_t i = 0; i < hello->node_count && err == ERR_NONE; i++) {
        struct json node = json_item(&list, i);
        err = hello_text(json_member(&node, "id"), HELLO_TEXT_SIZE, &nodes[i].id, reterr);
        if (err == ERR_NONE) {
            err = hello_text(json_member(&node, "url"), HELLO_URL_SIZE, &nodes[i].url, reterr);
        }
    }
    return err;
}

static enum err hello_read_links(const struct json *document, struct hello_gateway *hello,
                                 struct error *reterr)
{
    struct json links = json_member(document, "links");
    hello->links = 1;
    enum err err =
        json_is_given(links) ? json_as_int(links, 0, INT32_MAX, &hello->links, reterr) : ERR_NONE;
    hello->links = hello->links < 1 ? 1 : hello->links;
    hello->links = hello->links > LIMIT_TUNNEL_LINKS ? LIMIT_TUNNEL_LINKS : hello->links;
    return err;
}

enum err hello_gateway_read_in(struct arena *arena, struct slice bytes,
                               struct hello_gateway *ret_hello, struct error *reterr)
{
    struct json document;
    enum err err = hello_begin(arena, bytes, &document, &ret_hello->protocol, reterr);
    if (err == ERR_NONE) {
        err = hello_text(json_member(&document, "version"), HELLO_TEXT_SIZE, &ret_hello->version,
                         reterr);
    }
    if (err == ERR_NONE) {
        err = hello_text(json_member(&document, "node"), HELLO_TEXT_SIZE, &ret_hello->node_id,
                         reterr);
    }
    if (err == ERR_NONE) {
        err = hello_text(json_member(&document, "agent"), HELLO_TEXT_SIZE, &ret_hello->agent_name,
                         reterr);
    }
    if (err == ERR_NONE) {
        err = hello_read_links(&document, ret_hello, reterr);
    }
    return err == ERR_NONE ? hello_read_nodes(arena, &document, ret_hello, reterr) : err;
}

static enum err hello_read_kinds(struct arena *arena, const struct json *document,
                                 struct hello_agent *hello, struct error *reterr)
{
    struct json list = json_member(document, "kinds");
    enum err err = hello_count(list, LIMIT_TUNNEL_KINDS, &hello->kind_count, reterr);
    struct slice *kinds = arena_alloc_array(arena, LIMIT_TUNNEL_KINDS, sizeof(*kinds));
    hello->kinds = kinds;
    for (size_t i = 0; i < hello->kind_count && err == ERR_NONE; i++) {
        err = hello_text(json_item(&list, i), LIMIT_TUNNEL_KIND_SIZE, &kinds[i], reterr);
    }
    return err;
}

enum err hello_agent_read_in(struct arena *arena, struct slice bytes, struct hello_agent *ret_hello,
                             struct error *reterr)
{
    struct json document = {0};
    ret_hello->machine = hello_nothing;
    enum err err = hello_begin(arena, bytes, &document, &ret_hello->protocol, reterr);
    if (err == ERR_NONE) {
        err = hello_text(json_member(&document, "version"), HELLO_TEXT_SIZE, &ret_hello->version,
                         reterr);
    }
    struct json machine = json_member(&document, "machine");
    bool has_machine = err == ERR_NONE && json_is_given(machine);
    for (size_t i = 0; i < COUNT_OF(hello_machine) && has_machine && err == ERR_NONE; i++) {
        err = hello_text(json_member(&machine, hello_machine[i].name), HELLO_TEXT_SIZE,
                         hello_machine_at(&ret_hello->machine, i), reterr);
    }
    ret_hello->machine.version = ret_hello->version;
    return err == ERR_NONE ? hello_read_kinds(arena, &document, ret_hello, reterr) : err;
}
