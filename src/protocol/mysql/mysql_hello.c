/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_hello.h"

#include "base/limits.h"
#include "base/text.h"
#include "protocol/hello.h"

#define PROGRAM_NAME "program_name"
#define HINT                                                                                       \
    "Give it as a connection attribute, gatehouse.metadata.NAME=VALUE, or behind the user's name " \
    "or the program's: NAME;KEY=VALUE."

static void hello_keep(struct hello *hello, struct slice name, struct slice value)
{
    hello->parameters.pairs[hello->parameters.count++] =
        (struct shape_pair){.key = name, .value = value};
}

static void hello_take_attribute(struct hello *hello, struct slice name, struct slice value)
{
    struct slice prefix = SLICE(MYSQL_HELLO_METADATA_PREFIX);
    if (!text_is_utf8(name) || !text_is_utf8(value) || slice_starts_with(name, SLICE("@"))) {
        return;
    }
    if (slice_starts_with(name, prefix) && name.len > prefix.len) {
        hello_metadata_put(&hello->metadata, slice_from(name, prefix.len), value);
        return;
    }
    if (slice_equals(name, SLICE(PROGRAM_NAME))) {
        value = hello_application_read(value, &hello->metadata);
        hello->application_name = value;
    }
    if (hello->parameters.count < LIMIT_MYSQL_ATTRIBUTES) {
        hello_keep(hello, name, value);
    }
}

bool mysql_hello_is_marked(const struct mysqlwire_response *response)
{
    struct slice attributes = response->attributes;
    struct slice name;
    struct slice value;
    bool is_marked = false;
    while (!is_marked && mysqlwire_attribute_next(&attributes, &name, &value)) {
        is_marked = slice_equals(name, SLICE(MYSQL_HELLO_MARK));
    }
    return is_marked;
}

struct slice mysql_hello_name(const struct mysqlwire_response *response)
{
    struct slice rest = SLICE_NONE;
    return slice_cut(response->user, ';', &rest);
}

struct hello mysql_hello_in(struct arena *arena, const struct mysqlwire_response *response,
                            uint32_t number)
{
    struct slice attributes = response->attributes;
    struct slice name;
    struct slice value;
    struct hello hello = {
        .name = mysql_hello_name(response),
        .database = text_is_utf8(response->database) ? response->database : SLICE(""),
        .application_name = SLICE(""),
        .metadata = hello_metadata_in(arena),
        .metadata_hint = HINT,
        .version = response->capabilities & MYSQL_SERVED_CAPABILITIES,
        .number = number,
    };
    hello.parameters.pairs =
        arena_alloc_array(arena, LIMIT_MYSQL_ATTRIBUTES + 1, sizeof(*hello.parameters.pairs));
    (void)hello_application_read(response->user, &hello.metadata); /* behind the name */
    hello_keep(&hello, SLICE(MYSQL_PARAMETER_CHARSET),
               arena_format(arena, "%u", response->charset));
    while (mysqlwire_attribute_next(&attributes, &name, &value)) {
        hello_take_attribute(&hello, name, value);
    }
    return hello;
}

enum err mysql_attributes_write(const struct shape_pairs *parameters, struct buf *buf)
{
    struct writer writer = writer_to(buf);
    mysqlwire_write_lenenc_text(&writer, SLICE(MYSQL_HELLO_MARK));
    mysqlwire_write_lenenc_text(&writer, SLICE("1"));
    for (size_t i = 0; i < parameters->count; i++) {
        const struct shape_pair *pair = &parameters->pairs[i];
        size_t size = buf->len + pair->key.len + pair->value.len + 18;
        if (!slice_starts_with(pair->key, SLICE("@")) && size <= LIMIT_MYSQL_ATTRIBUTES_SIZE) {
            mysqlwire_write_lenenc_text(&writer, pair->key);
            mysqlwire_write_lenenc_text(&writer, pair->value);
        }
    }
    return writer_done(&writer);
}

uint8_t mysql_charset_of(const struct shape_pairs *parameters)
{
    for (size_t i = 0; i < parameters->count; i++) {
        uint64_t number = 0;
        if (slice_equals(parameters->pairs[i].key, SLICE(MYSQL_PARAMETER_CHARSET)) &&
            text_parse_u64(parameters->pairs[i].value, &number) == ERR_NONE && number > 0 &&
            number <= UINT8_MAX) {
            return (uint8_t)number;
        }
    }
    return MYSQLWIRE_UTF8MB4;
}
