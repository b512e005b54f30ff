/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_aside.h"

#include "base/limits.h"
#include "base/must.h"

void mysql_aside_init(struct mysql_aside *aside, uint32_t capabilities)
{
    *aside = (struct mysql_aside){.capabilities = capabilities};
    buf_init(&aside->body, LIMIT_KIB(64));
    buf_init(&aside->error, LIMIT_KIB(64));
}

void mysql_aside_release(struct mysql_aside *aside)
{
    buf_release(&aside->body);
    buf_release(&aside->error);
}

void mysql_aside_ask(struct mysql_aside *aside, uint8_t command,
                     void (*on_row)(void *owner, struct slice row), void *owner)
{
    uint64_t number = 0;
    struct error error;
    aside->is_asked = true;
    aside->has_failed = false;
    aside->warnings = 0;
    aside->has_kind = false;
    aside->on_row = on_row;
    aside->owner = owner;
    buf_truncate(&aside->body, 0);
    buf_clear(&aside->error);
    mysqlwire_framer_init(&aside->framer);
    mysqlwire_state_init(&aside->state, aside->capabilities, 0);
    enum err err = mysqlwire_state_command(&aside->state, command, &number, &error);
    must(err == ERR_NONE);
}

static enum err aside_end_packet(struct mysql_aside *aside, struct error *reterr)
{
    struct mysqlwire_ok ok;
    bool is_last = false;
    struct slice body = buf_view(&aside->body);
    enum err err = ERR_NONE;
    aside->has_kind = false;
    if (aside->kind == MYSQLWIRE_KIND_TEXT_ROW && aside->on_row != NULL) {
        aside->on_row(aside->owner, body);
    }
    if (aside->kind == MYSQLWIRE_KIND_ERROR) {
        aside->has_failed = true;
        must(buf_append(&aside->error, body) == ERR_NONE);
    } else if (aside->kind == MYSQLWIRE_KIND_OK) {
        err = mysqlwire_ok_read(body, aside->capabilities, &ok, reterr);
        aside->warnings = err == ERR_NONE ? ok.warnings : 0;
    }
    if (err == ERR_NONE) {
        err = mysqlwire_state_end(&aside->state, aside->kind, body, &is_last, reterr);
    }
    buf_truncate(&aside->body, 0);
    aside->is_asked = !is_last;
    return err;
}

static enum err aside_take_event(struct mysql_aside *aside, const struct mysqlwire_event *event,
                                 struct error *reterr)
{
    uint64_t number = 0;
    if (event->kind == MYSQLWIRE_EVENT_HEADER && !event->is_packet_last) {
        return ERR_NONE;
    }
    if (!aside->has_kind) {
        uint8_t first = event->kind == MYSQLWIRE_EVENT_PART ? (uint8_t)event->bytes.at[0] : 0;
        enum err err = mysqlwire_state_begin(&aside->state, aside->framer.size, first, &aside->kind,
                                             &number, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        aside->has_kind = true;
    }
    if (event->kind == MYSQLWIRE_EVENT_PART && buf_append(&aside->body, event->bytes) != ERR_NONE) {
        return fail(reterr, ERR_LIMIT, "an answer of the target is too long");
    }
    return event->is_packet_last ? aside_end_packet(aside, reterr) : ERR_NONE;
}

enum err mysql_aside_take(struct mysql_aside *aside, struct slice *bytes, struct error *reterr)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && bytes->len > 0 && aside->is_asked) {
        struct mysqlwire_event event;
        size_t taken = 0;
        err = mysqlwire_framer_next(&aside->framer, *bytes, &taken, &event);
        *bytes = slice_from(*bytes, taken);
        if (err == ERR_NONE) {
            err = aside_take_event(aside, &event, reterr);
        }
    }
    if (!aside->is_asked) {
        buf_clear(&aside->body); /* who is idle holds no buffer */
    }
    return err == ERR_MORE ? ERR_NONE : err;
}
