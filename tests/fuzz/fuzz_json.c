/* SPDX-License-Identifier: MIT */
/* A document that was read is written again, value by value, and reads as the same; each value,
 * read as every kind, is one of them or refused with a message. */
#include "fuzz.h"

#include "base/must.h"
#include "base/text.h"
#include "codec/json.h"
#include "codec/json_writer.h"

#include <jansson.h>

static bool check_kinds(struct json json, struct json_writer *writer)
{
    struct error error = {0};
    struct slice text;
    int64_t number;
    bool flag;
    if (json_as_text(json, &text, &error) == ERR_NONE) {
        must(text_is_utf8(text) && slice_find_byte(text, '\0') == text.len);
        json_text(writer, text);
        return true;
    }
    must(error.message[0] != '\0');
    if (json_as_bool(json, &flag, &error) == ERR_NONE) {
        json_bool(writer, flag);
        return true;
    }
    if (json_as_int(json, INT64_MIN, INT64_MAX, &number, &error) == ERR_NONE) {
        json_int(writer, number);
        return true;
    }
    return false;
}

static void write_again(struct json json, struct json_writer *writer)
{
    size_t count;
    if (check_kinds(json, writer)) {
        return;
    }
    if (json_as_array(json, &count, NULL) == ERR_NONE) {
        json_begin_array(writer);
        for (size_t i = 0; i < count; i++) {
            write_again(json_item(&json, i), writer);
        }
        json_end_array(writer);
    } else if (json_as_object(json, NULL) == ERR_NONE) {
        struct json_members members = json_members_of(&json);
        struct slice name;
        struct json value;
        json_begin_object(writer);
        while (json_next_member(&members, &name, &value)) {
            json_key_text(writer, name);
            write_again(value, writer);
        }
        json_end_object(writer);
    } else {
        /* Null, or a number with a fraction, which the writer does not know. */
        must(!json_is_given(json) || json_is_real(json.value));
        json_no_value(writer);
    }
}

static void check_document(struct arena *arena, struct slice input, struct buf *written)
{
    struct json document;
    struct error error = {0};
    if (json_parse_in(arena, input, &document, &error) != ERR_NONE) {
        must(error.code == ERR_INPUT && error.message[0] != '\0');
        return;
    }
    struct json none = json_member(&document, "no such member");
    struct json below = json_item(&none, 7);
    must(json_as_object(below, &error) != ERR_NONE);
    struct json_writer writer = json_writer_to(written);
    write_again(document, &writer);
    must(json_writer_done(&writer) == ERR_NONE);
    struct json again;
    must(json_parse_in(arena, buf_view(written), &again, &error) == ERR_NONE);
    struct buf twice;
    buf_init(&twice, LIMIT_MIB(4));
    writer = json_writer_to(&twice);
    write_again(again, &writer);
    must(slice_equals(buf_view(&twice), buf_view(written)));
    buf_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    json_set_seed(1);
    struct arena arena;
    struct buf written;
    arena_init(&arena);
    buf_init(&written, LIMIT_MIB(4));
    check_document(&arena, slice_of(bytes, size), &written);
    buf_release(&written);
    arena_release(&arena);
    return 0;
}
