/* SPDX-License-Identifier: MIT */
/* What the server gets in the place of what it must not get, and the end of answers that the client
 * must not get. */
#include "protocol/postgres/pg_filter_refuse.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/text.h"
#include "base/writer.h"
#include "protocol/postgres/pg_filter_judge.h"

#include <string.h>

/* What errs where the message stands: as its own kind is answered. Simple ones end with a
 * ReadyForQuery, all others are skipped up to the Sync. */
static enum err pg_filter_send_substitute(struct pg_filter *filter, char type, uint64_t *ret_id,
                                          struct error *reterr_error)
{
    bool is_simple = type == PGWIRE_CLIENT_QUERY || type == PGWIRE_CLIENT_FUNCTION_CALL;
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_KIB(1));
    enum err err =
        is_simple ? pgwire_query_write(&buf, SLICE(PG_FILTER_SUBSTITUTE))
                  : pgwire_parse_write(&buf, SLICE(PG_FILTER_NAME), SLICE(PG_FILTER_SUBSTITUTE));
    must(err == ERR_NONE);
    return pg_filter_send_own(filter, buf_view(&buf), ret_id, reterr_error);
}

/* A simple one is checked where the Sync that ends the check is answered for sure. */
static bool pg_filter_can_check(const struct pg_filter *filter, char type)
{
    bool is_alone = filter->limit.phase == PG_FILTER_UNLIMITED &&
                    pgwire_state_phase(&filter->state) == PGWIRE_PHASE_READY;
    return filter->checkable.len > 0 &&
           (type == PGWIRE_CLIENT_PARSE || (type == PGWIRE_CLIENT_QUERY && is_alone));
}

/* Errs as the substitute does: for its grammar, or for being several commands. */
static enum err pg_filter_send_check(struct pg_filter *filter, uint64_t *ret_id,
                                     struct error *reterr_error)
{
    struct buf text CLEANUP(buf_release);
    struct buf buf CLEANUP(buf_release);
    buf_init(&text, LIMIT_PG_FILTER_TEXT_SIZE + LIMIT_KIB(1));
    buf_init(&buf, LIMIT_PG_FILTER_TEXT_SIZE + LIMIT_KIB(2));
    must(buf_append(&text, SLICE(PG_FILTER_CHECK)) == ERR_NONE);
    must(buf_append(&text, filter->checkable) == ERR_NONE);
    must(pgwire_parse_write(&buf, SLICE(PG_FILTER_NAME), buf_view(&text)) == ERR_NONE);
    return pg_filter_send_own(filter, buf_view(&buf), ret_id, reterr_error);
}

static enum err pg_filter_send_sync(struct pg_filter *filter, struct error *reterr_error)
{
    struct buf buf CLEANUP(buf_release);
    uint64_t id = 0;
    buf_init(&buf, LIMIT_KIB(1));
    must(pgwire_sync_write(&buf) == ERR_NONE);
    return pg_filter_send_own(filter, buf_view(&buf), &id, reterr_error);
}

void pg_filter_block(struct pg_filter *filter)
{
    struct pg_filter_limit *limit = &filter->limit;
    if (filter->is_blocked) {
        return;
    }
    filter->is_blocked = true;
    filter->is_blocked_to_sync = !filter->answered.is_simple;
    /* As a server skips after an error: up to the Sync that the client has not sent yet. */
    filter->is_discarding = filter->is_discarding || (!filter->answered.is_simple &&
                                                      !pgwire_state_owes_sync(&filter->state));
    limit->is_over = limit->is_over || limit->phase != PG_FILTER_UNLIMITED;
    if (filter->settings.on_block != NULL) {
        filter->wait.is_for_cancel = true;
        filter->settings.on_block(filter->settings.owner);
    }
}

enum err pg_filter_refuse(struct pg_filter *filter, char type, struct buf *words,
                          struct error *reterr_error)
{
    uint64_t id = 0;
    bool is_checked = pg_filter_can_check(filter, type);
    enum err err = is_checked ? pg_filter_send_check(filter, &id, reterr_error)
                              : pg_filter_send_substitute(filter, type, &id, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    struct pg_filter_request *request = pg_filter_request_add(filter, id);
    request->is_own = false;
    request->is_refused = true;
    request->is_checked = is_checked;
    must(buf_append(&request->words, buf_view(words)) == ERR_NONE);
    err = is_checked && type == PGWIRE_CLIENT_QUERY ? pg_filter_send_sync(filter, reterr_error)
                                                    : ERR_NONE;
    return err == ERR_NONE ? ERR_DENIED : err;
}

/* Whether it says where in the client's own text the fault is; that then counts from its start. */
static bool pg_filter_write_field(struct writer *writer, const struct pgwire_notice_field *field)
{
    uint64_t position = 0;
    size_t before = strlen(PG_FILTER_CHECK);
    writer_u8(writer, (uint8_t)field->type);
    if (field->type != PGWIRE_FIELD_POSITION) {
        writer_text(writer, field->text);
        return false;
    }
    if (text_parse_u64(field->text, &position) != ERR_NONE || position <= before) {
        return false;
    }
    writer_decimal(writer, position - before);
    writer_u8(writer, '\0');
    return true;
}

bool pg_filter_write_syntax_error(struct buf *buf, struct slice body)
{
    struct buf fields CLEANUP(buf_release);
    struct pgwire_notice_field field;
    struct slice rest;
    struct error why;
    bool is_of_client = false;
    buf_init(&fields, LIMIT_PG_FILTER_WORDS_SIZE);
    struct writer writer = writer_to(&fields);
    if (pgwire_notice_read(body, &rest, &why) != ERR_NONE ||
        !slice_equals(pgwire_notice_find(rest, PGWIRE_FIELD_SQLSTATE), SLICE("42601"))) {
        return false;
    }
    while (pgwire_notice_next(&rest, &field)) {
        is_of_client = pg_filter_write_field(&writer, &field) || is_of_client;
    }
    writer_u8(&writer, '\0');
    const struct pgwire_frame frame = {.type = PGWIRE_SERVER_ERROR, .size = (uint32_t)fields.len};
    return is_of_client && writer_done(&writer) == ERR_NONE &&
           pgwire_header_write(buf, &frame) == ERR_NONE &&
           buf_append(buf, buf_view(&fields)) == ERR_NONE;
}

static enum err pg_filter_refuse_why(struct pg_filter *filter, char type, const char *sqlstate,
                                     const char *why, struct slice hint, struct error *reterr_error)
{
    struct buf words CLEANUP(buf_release);
    const struct guard_event event = {
        .kind = GUARD_EVENT_REFUSED,
        .request = filter->number,
        .words = slice_of_text(why),
    };
    filter->settings.on_event(filter->settings.owner, &event);
    buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
    pg_filter_write_error(&words, sqlstate, slice_of_text(why), hint);
    return pg_filter_refuse(filter, type, &words, reterr_error);
}

enum err pg_filter_refuse_for(struct pg_filter *filter, char type, const char *sqlstate,
                              const char *why, struct error *reterr_error)
{
    return pg_filter_refuse_why(filter, type, sqlstate, why,
                                SLICE("Guard rails are set for this connection."), reterr_error);
}

enum err pg_filter_refuse_masked(struct pg_filter *filter, char type, const char *sqlstate,
                                 const char *why, struct error *reterr_error)
{
    return pg_filter_refuse_why(filter, type, sqlstate, why,
                                SLICE("Masking rules are set for this connection."), reterr_error);
}

enum err pg_filter_refuse_malformed(struct pg_filter *filter, char type, const struct error *why,
                                    struct error *reterr_error)
{
    return pg_filter_refuse_for(filter, type, "08P01", why->message, reterr_error);
}
