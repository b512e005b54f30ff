/* SPDX-License-Identifier: MIT */
/* A connection, read whole and in part: what is taken holds its rules, what is kept of it in the
 * store reads back as the same, and its answer is JSON without what is for requests only. */
#include "fuzz.h"

#include "base/must.h"
#include "model/connection.h"
#include "model/name.h"
#include "model/secret_map.h"

static struct slice written_in(struct arena *arena, const struct connection *connection,
                               unsigned with, unsigned without)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(4));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    shape_write_members(&connection_shape, with, without, connection, &json);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice text = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

static void check_kept(struct arena *arena, const struct connection *connection)
{
    struct json document;
    struct connection again = {0};
    struct slice kept = written_in(arena, connection, SHAPE_KEPT, 0);
    must(json_parse_in(arena, kept, &document, NULL) == ERR_NONE);
    must(shape_read_kept(&connection_shape, &document, &again, NULL) == ERR_NONE);
    must(slice_equals(written_in(arena, &again, SHAPE_KEPT, 0), kept));
}

static void check_answer(struct arena *arena, const struct connection *connection)
{
    struct json document;
    struct slice answer = written_in(arena, connection, 0, SHAPE_WRITE_ONLY);
    must(json_parse_in(arena, answer, &document, NULL) == ERR_NONE);
    must(json_is_absent(json_member(&document, "mcp_oauth_flow_id")));
    must(!json_is_absent(json_member(&document, "effective_features")));
}

static void check_fields(struct arena *arena, struct connection *connection)
{
    must(connection->id.at == NULL && connection->managed_by.at == NULL);
    must(connection->secret.count <= SECRET_COUNT_MAX);
    for (size_t i = 0; i < connection->secret.count; i++) {
        must(secret_check_key(connection->secret.pairs[i].key, NULL) == ERR_NONE);
        must(secret_check_value(connection->secret.pairs[i].value, NULL) == ERR_NONE);
    }
    must(connection->name.at == NULL || name_check(connection->name, NULL) == ERR_NONE);
    size_t secret_count = connection->secret.count;
    connection_fill_defaults(arena, connection);
    must(connection->secret.count >= secret_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena;
    struct json document;
    arena_init(&arena);
    bool is_json = json_parse_in(&arena, slice_of(bytes, size), &document, NULL) == ERR_NONE;
    for (int i = 0; i < 2 && is_json; i++) {
        enum shape_mode mode = i == 0 ? SHAPE_WHOLE : SHAPE_PARTIAL;
        struct error error = {0};
        struct connection connection = {0};
        enum err err = shape_read(&connection_shape, mode, &document, &connection, &error);
        must(err == ERR_NONE || (err == ERR_INPUT && error.message[0] != '\0'));
        if (err != ERR_NONE) {
            continue;
        }
        if (mode == SHAPE_PARTIAL) {
            connection_fill_role_modes(&connection); /* a part may lack what a whole one needs */
        }
        check_kept(&arena, &connection);
        check_answer(&arena, &connection);
        check_fields(&arena, &connection);
        check_kept(&arena, &connection);
    }
    arena_release(&arena);
    return 0;
}
