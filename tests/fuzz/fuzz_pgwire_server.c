/* SPDX-License-Identifier: MIT */
/* A PostgreSQL server's stream: pieces make no difference, lists have as many items as they say,
 * views stay inside their body, and what was read is the same when it is written again. */
#include "fuzz_pgwire.h"

#include "wire/pgwire_answer.h"
#include "wire/pgwire_auth.h"
#include "wire/pgwire_start.h"

#define NAMES_MAX 64

static void read_auth(struct slice body)
{
    struct pgwire_auth auth;
    struct slice names[NAMES_MAX];
    struct buf buf;
    size_t count = 0;
    if (pgwire_auth_read(body, &auth, NULL) != ERR_NONE) {
        return;
    }
    buf_init(&buf, LIMIT_KIB(64));
    if (auth.kind != PGWIRE_AUTH_SASL) {
        must_write_again(&buf, pgwire_auth_write(&buf, &auth), body);
        return;
    }
    while (count < NAMES_MAX && pgwire_mechanism_next(&auth.data, &names[count])) {
        must_inside(names[count], body);
        count++;
    }
    if (count < NAMES_MAX) {
        must_write_again(&buf, pgwire_auth_sasl_write(&buf, names, count), body);
    }
}

static void read_negotiation(struct slice body)
{
    struct pgwire_negotiation negotiation;
    struct slice names[NAMES_MAX];
    struct buf buf;
    size_t count = 0;
    if (pgwire_negotiation_read(body, &negotiation, NULL) != ERR_NONE) {
        return;
    }
    must(PGWIRE_VERSION_MAJOR(negotiation.version) == 3);
    while (count < NAMES_MAX && pgwire_name_next(&negotiation.unknown, &names[count])) {
        count++;
    }
    must(count == NAMES_MAX || count == negotiation.name_count);
    buf_init(&buf, LIMIT_KIB(64));
    if (count < NAMES_MAX) {
        must(pgwire_negotiation_write(&buf, negotiation.version, names, count) == ERR_NONE);
        /* The major version may have been left out. */
        must_same(slice_from(buf_view(&buf), PGWIRE_HEADER_SIZE + 4), slice_from(body, 4));
    }
    buf_release(&buf);
}

static void read_key(struct slice body)
{
    struct pgwire_key key;
    struct buf buf;
    if (pgwire_key_read(body, &key, NULL) == ERR_NONE) {
        buf_init(&buf, LIMIT_KIB(1));
        must_write_again(&buf, pgwire_key_write(&buf, &key), body);
        must(pgwire_cancel_write(&buf, &key) == ERR_NONE);
        buf_release(&buf);
    }
}

static void read_status(struct slice body)
{
    struct pgwire_parameter parameter;
    struct buf buf;
    if (pgwire_parameter_status_read(body, &parameter, NULL) == ERR_NONE) {
        buf_init(&buf, LIMIT_KIB(64));
        must_write_again(&buf, pgwire_parameter_status_write(&buf, &parameter), body);
    }
}

static void read_fields(struct slice body)
{
    struct pgwire_fields fields;
    struct pgwire_field field;
    if (pgwire_row_description_read(body, &fields, NULL) == ERR_NONE) {
        size_t count = fields.count;
        for (; pgwire_field_next(&fields, &field); count--) {
            must_inside(field.name, body);
        }
        must(count == 0 && fields.bytes.len == 0);
    }
}

static void read_row(struct slice body)
{
    struct pgwire_values columns;
    struct slice value;
    if (pgwire_row_read(body, &columns, NULL) == ERR_NONE) {
        size_t count = columns.count;
        for (; pgwire_value_next(&columns, &value); count--) {
            must_inside(value, body);
        }
        must(count == 0 && columns.bytes.len == 0);
    }
}

static void read_notice(struct slice body)
{
    struct slice fields;
    struct pgwire_notice_field field;
    if (pgwire_notice_read(body, &fields, NULL) == ERR_NONE) {
        struct slice rest = fields;
        while (pgwire_notice_next(&rest, &field)) {
            must_inside(field.text, body);
            must(pgwire_notice_find(fields, field.type).at != NULL);
        }
        must(rest.len == 1);
    }
}

static void read_completion(struct slice body)
{
    struct pgwire_completion completion;
    if (pgwire_completion_read(body, &completion, NULL) == ERR_NONE) {
        must(slice_starts_with(completion.tag, completion.command));
        must(completion.has_row_count || completion.row_count == 0);
    }
}

static void read_small(const struct pgwire_frame *frame, struct slice body)
{
    struct pgwire_oids types;
    struct pgwire_copy copy;
    struct pgwire_notification notification;
    struct slice value;
    enum pgwire_transaction transaction;
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(1));
    if (pgwire_parameter_description_read(body, &types, NULL) == ERR_NONE) {
        must(types.bytes.len == types.count * 4);
    }
    if (pgwire_copy_read(body, &copy, NULL) == ERR_NONE) {
        must(copy.formats.bytes.len == copy.formats.count * 2);
    }
    if (pgwire_notification_read(body, &notification, NULL) == ERR_NONE) {
        must_inside(notification.payload, body);
    }
    if (pgwire_function_result_read(body, &value, NULL) == ERR_NONE) {
        must(value.len + 4 == body.len);
    }
    if (pgwire_ready_read(body, &transaction, NULL) == ERR_NONE) {
        must_write_again(&buf, pgwire_ready_write(&buf, transaction), body);
    }
    must(frame->type != PGWIRE_SERVER_READY || body.len == 1);
}

static void read_body(const struct pgwire_frame *frame, struct slice body)
{
    switch (frame->type) {
    case PGWIRE_SERVER_AUTHENTICATION:
        read_auth(body);
        break;
    case PGWIRE_SERVER_BACKEND_KEY:
        read_key(body);
        break;
    case PGWIRE_SERVER_NEGOTIATE_VERSION:
        read_negotiation(body);
        break;
    case PGWIRE_SERVER_PARAMETER_STATUS:
        read_status(body);
        break;
    case PGWIRE_SERVER_ROW_DESCRIPTION:
        read_fields(body);
        break;
    case PGWIRE_SERVER_DATA_ROW:
        read_row(body);
        break;
    case PGWIRE_SERVER_ERROR:
    case PGWIRE_SERVER_NOTICE:
        read_notice(body);
        break;
    case PGWIRE_SERVER_COMMAND_COMPLETE:
        read_completion(body);
        break;
    default:
        read_small(frame, body);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return check_stream(PGWIRE_FROM_SERVER, read_body, bytes, size);
}
