/* SPDX-License-Identifier: MIT */
/* A PostgreSQL client's stream: pieces make no difference, views stay inside their body, and what
 * was read is the same when it is written again. */
#include "fuzz_pgwire.h"

#include "wire/pgwire_auth.h"
#include "wire/pgwire_query.h"
#include "wire/pgwire_start.h"

static void read_startup(uint32_t version, struct slice body)
{
    static struct pgwire_startup startup;
    struct buf buf;
    if (pgwire_startup_read(version, body, &startup, NULL) != ERR_NONE) {
        return;
    }
    must(startup.user.len > 0 && startup.database.len > 0);
    must_inside(startup.database, body);
    for (size_t i = 0; i < startup.parameter_count; i++) {
        const struct pgwire_parameter *parameter = &startup.parameters[i];
        must_inside(parameter->name, body);
        must(slice_equals(pgwire_startup_find(&startup, parameter->name), parameter->value));
    }
    buf_init(&buf, LIMIT_KIB(64));
    must(pgwire_startup_write(&buf, version, startup.parameters, startup.parameter_count) ==
         ERR_NONE);
    must_same(slice_from(buf_view(&buf), PGWIRE_STARTUP_HEADER_SIZE), body);
    buf_release(&buf);
}

static void read_password(struct slice body)
{
    struct slice password;
    struct pgwire_sasl_initial initial;
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(128));
    if (pgwire_password_read(body, &password, NULL) == ERR_NONE) {
        must_write_again(&buf, pgwire_password_write(&buf, password), body);
    }
    if (pgwire_sasl_initial_read(body, &initial, NULL) == ERR_NONE) {
        must_write_again(&buf, pgwire_sasl_initial_write(&buf, &initial), body);
    }
    must_write_again(&buf, pgwire_sasl_response_write(&buf, body), body);
}

static void walk_values(struct pgwire_values values, struct slice body)
{
    struct slice value;
    size_t count = values.count;
    for (; pgwire_value_next(&values, &value); count--) {
        must_inside(value, body);
    }
    must(count == 0 && values.bytes.len == 0);
}

static void read_bind(struct slice body)
{
    struct pgwire_bind bind;
    if (pgwire_bind_read(body, &bind, NULL) == ERR_NONE) {
        must_inside(bind.portal, body);
        must_inside(bind.statement, body);
        walk_values(bind.values, body);
        for (size_t i = 0; i < bind.result_formats.count; i++) {
            (void)pgwire_format_of(&bind.result_formats, i);
        }
    }
}

/* One that was as long may have been longer, and is cut. */
static bool is_whole(struct slice name)
{
    return name.len < PGWIRE_NAME_SIZE;
}

static void read_parse(struct slice body)
{
    struct pgwire_parse parse;
    struct buf buf;
    if (pgwire_parse_read(body, &parse, NULL) != ERR_NONE) {
        return;
    }
    buf_init(&buf, LIMIT_KIB(64));
    for (size_t i = 0; i < parse.types.count; i++) {
        (void)pgwire_oid_at(&parse.types, i);
    }
    enum err err = pgwire_parse_write(&buf, parse.statement, parse.text);
    if (parse.types.count == 0 && is_whole(parse.statement)) {
        must_write_again(&buf, err, body);
    }
    buf_release(&buf);
}

static void read_object(char type, struct slice body)
{
    struct pgwire_object object;
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(64));
    if (pgwire_object_read(body, &object, NULL) == ERR_NONE && is_whole(object.name)) {
        must_write_again(&buf,
                         type == PGWIRE_CLIENT_CLOSE ? pgwire_close_write(&buf, &object)
                                                     : pgwire_describe_write(&buf, &object),
                         body);
    }
}

static void read_text(char type, struct slice body)
{
    struct slice text;
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(64));
    if (type == PGWIRE_CLIENT_QUERY && pgwire_query_read(body, &text, NULL) == ERR_NONE) {
        must_write_again(&buf, pgwire_query_write(&buf, text), body);
    }
    if (type == PGWIRE_CLIENT_COPY_FAIL && pgwire_copy_fail_read(body, &text, NULL) == ERR_NONE) {
        must_write_again(&buf, pgwire_copy_fail_write(&buf, text), body);
    }
}

static void read_call(struct slice body)
{
    struct pgwire_function_call call;
    if (pgwire_function_call_read(body, &call, NULL) == ERR_NONE) {
        walk_values(call.values, body);
    }
}

static void read_execute(struct slice body)
{
    struct pgwire_execute execute;
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(64));
    if (pgwire_execute_read(body, &execute, NULL) == ERR_NONE && is_whole(execute.portal)) {
        must_write_again(&buf, pgwire_execute_write(&buf, &execute), body);
    }
}

static void read_body(const struct pgwire_frame *frame, struct slice body)
{
    switch (pgwire_client_kind_of(frame)) {
    case PGWIRE_CLIENT_BIND:
        read_bind(body);
        break;
    case PGWIRE_CLIENT_CLOSE:
    case PGWIRE_CLIENT_DESCRIBE:
        read_object(frame->type, body);
        break;
    case PGWIRE_CLIENT_QUERY:
    case PGWIRE_CLIENT_COPY_FAIL:
        read_text(frame->type, body);
        break;
    case PGWIRE_CLIENT_EXECUTE:
        read_execute(body);
        break;
    case PGWIRE_CLIENT_FUNCTION_CALL:
        read_call(body);
        break;
    case PGWIRE_CLIENT_PARSE:
        read_parse(body);
        break;
    case PGWIRE_CLIENT_PASSWORD:
        read_password(body);
        break;
    case PGWIRE_CLIENT_UNKNOWN:
        if (frame->packet == PGWIRE_STARTUP) {
            read_startup(frame->version, body);
        }
        break;
    case PGWIRE_CLIENT_COPY_DATA:
    case PGWIRE_CLIENT_COPY_DONE:
    case PGWIRE_CLIENT_FLUSH:
    case PGWIRE_CLIENT_SYNC:
    case PGWIRE_CLIENT_TERMINATE:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return check_stream(PGWIRE_FROM_CLIENT, read_body, bytes, size);
}
