/* SPDX-License-Identifier: MIT */
/* What a server says in words. An error of a statement that reaches masked columns, or may, can
 * hold their values ("invalid input syntax for type integer: …"), so nothing of its words passes:
 * the code, the severity and the position say what can be said. But for what a server says of a
 * text before it has read anything. */
#include "protocol/postgres/pg_mask_notice.h"

#include "base/writer.h"
#include "protocol/postgres/pg_mask_reach.h"
#include "protocol/postgres/pg_mask_value.h"

#define HIDDEN_WORDS "the words are masked, as the statement reaches masked columns"

/* Fields that no data stands in: severity, code, positions, and where in the server. */
static bool is_field_safe(char type)
{
    static const char safe[] = {PGWIRE_FIELD_SEVERITY,
                                PGWIRE_FIELD_SEVERITY_PLAIN,
                                PGWIRE_FIELD_SQLSTATE,
                                'P',
                                'p',
                                'F',
                                'L',
                                'R',
                                '\0'};
    return strchr(safe, type) != NULL;
}

/* What passes of one text into mask->value; false: nothing does. */
static bool mask_words(struct pg_mask *mask, struct slice text)
{
    buf_truncate(&mask->value, 0);
    enum mask_outcome outcome = pg_mask_plain(mask, SLICE(""), text, &mask->value);
    if (outcome == MASK_SAME && buf_append(&mask->value, text) != ERR_NONE) {
        return false;
    }
    return (outcome == MASK_SAME || outcome == MASK_CHANGED) &&
           pg_mask_may_pass(mask, buf_view(&mask->value));
}

/* One message of which 'line' holds what its body becomes. */
static enum err put_body(struct pg_mask *mask, struct slice message, struct buf *out,
                         enum pg_mask_verdict *ret_verdict, struct error *reterr_error)
{
    struct slice body = slice_from(message, PGWIRE_HEADER_SIZE);
    const struct pgwire_frame frame = {.type = message.at[0], .size = (uint32_t)mask->line.len};
    size_t before = out->len;
    if (slice_equals(buf_view(&mask->line), body)) {
        *ret_verdict = PG_MASK_SAME;
        return ERR_NONE;
    }
    if (pgwire_header_write(out, &frame) != ERR_NONE ||
        buf_append(out, buf_view(&mask->line)) != ERR_NONE) {
        buf_truncate(out, before);
        return fail(reterr_error, ERR_LIMIT, "a masked message is too large");
    }
    *ret_verdict = PG_MASK_CHANGED;
    return ERR_NONE;
}

/* The parser's complaints point at a place in the text; those that functions make of what they were
 * given, and those of code inside of the server, do not, or say whence they come. Some files of the
 * server speak of names and states alone. */
static bool has_no_values(struct slice fields)
{
    static const struct slice files[] = {SLICE_INIT("postgres.c"),  SLICE_INIT("aclchk.c"),
                                         SLICE_INIT("xact.c"),      SLICE_INIT("portalcmds.c"),
                                         SLICE_INIT("portalmem.c"), SLICE_INIT("prepare.c")};
    struct pgwire_notice_field field;
    bool is_of_text = false;
    bool has_position = false;
    bool is_of_file = false;
    bool is_inside = false;
    while (pgwire_notice_next(&fields, &field)) {
        is_of_text = is_of_text || (field.type == PGWIRE_FIELD_SQLSTATE &&
                                    slice_starts_with(field.text, SLICE("42")));
        has_position = has_position || field.type == 'P';
        is_inside = is_inside || field.type == 'W' || field.type == 'q' || field.type == 'p';
        for (size_t i = 0; field.type == 'F' && i < COUNT_OF(files); i++) {
            is_of_file = is_of_file || slice_equals(field.text, files[i]);
        }
    }
    return !is_inside && ((is_of_text && has_position) || is_of_file);
}

static enum err write_notice(struct pg_mask *mask, struct slice fields, bool is_hidden)
{
    struct pgwire_notice_field field;
    struct writer writer = writer_to(&mask->line);
    while (pgwire_notice_next(&fields, &field)) {
        bool is_safe = is_field_safe(field.type);
        bool passes = is_safe || (!is_hidden && mask_words(mask, field.text));
        struct slice text = is_safe ? field.text : buf_view(&mask->value);
        if (!passes && field.type != PGWIRE_FIELD_MESSAGE) {
            continue;
        }
        if (!passes || slice_find_byte(text, '\0') < text.len) {
            text = SLICE(HIDDEN_WORDS);
        }
        writer_u8(&writer, (uint8_t)field.type);
        writer_text(&writer, text);
    }
    writer_u8(&writer, '\0');
    return writer_done(&writer);
}

static enum err mask_notice(struct pg_mask *mask, bool is_hidden, struct slice body,
                            struct error *reterr_error)
{
    struct slice fields;
    enum err err = pgwire_notice_read(body, &fields, reterr_error);
    if (err == ERR_NONE &&
        write_notice(mask, fields, is_hidden && !has_no_values(fields)) != ERR_NONE) {
        return fail(reterr_error, ERR_LIMIT, "a masked notice is too large");
    }
    return err;
}

/* What takes the place of a text that a rule about columns, or what is found in it, hides. */
static struct slice mask_text_of(struct pg_mask *mask, struct slice label, struct slice text,
                                 bool is_hidden)
{
    enum mask_outcome outcome;
    buf_truncate(&mask->value, 0);
    if (is_hidden) {
        outcome = mask_whole(mask->settings.rules, mask->strictest, MASK_FORM_TEXT, text,
                             &mask->value, &mask->counts);
    } else {
        outcome = pg_mask_plain(mask, label, text, &mask->value);
    }
    struct slice passes = outcome == MASK_SAME      ? text
                          : outcome == MASK_CHANGED ? buf_view(&mask->value)
                                                    : SLICE("");
    return pg_mask_may_pass(mask, passes) ? passes : SLICE("");
}

static enum err mask_notification(struct pg_mask *mask, struct slice body,
                                  struct error *reterr_error)
{
    struct pgwire_notification notification;
    struct writer writer = writer_to(&mask->line);
    enum err err = pgwire_notification_read(body, &notification, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    writer_u32(&writer, notification.process);
    writer_text(&writer, mask_text_of(mask, SLICE(""), notification.channel, false));
    /* Who sent it is not known, nor what that session read. */
    bool is_hidden =
        mask->strictest != NULL && (mask->facts == NULL || pg_facts_has_masked(mask->facts));
    writer_text(&writer, mask_text_of(mask, SLICE(""), notification.payload, is_hidden));
    return writer_done(&writer) == ERR_NONE
               ? ERR_NONE
               : fail(reterr_error, ERR_LIMIT, "a masked notification is too large");
}

/* Settings that hold any text a client likes, and so what it read: set_config('…', secret). */
static bool is_free_setting(struct slice name)
{
    return slice_equals_nocase(name, SLICE("application_name")) ||
           slice_equals_nocase(name, SLICE("search_path")) ||
           slice_equals_nocase(name, SLICE("TimeZone"));
}

/* Multibyte, "Supported Character Sets": those that are for clients only. */
bool pg_mask_is_encoding_unsafe(struct slice client_encoding)
{
    static const struct slice names[] = {
        SLICE_INIT("BIG5"), SLICE_INIT("GB18030"),        SLICE_INIT("GBK"), SLICE_INIT("JOHAB"),
        SLICE_INIT("SJIS"), SLICE_INIT("SHIFT_JIS_2004"), SLICE_INIT("UHC"),
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (slice_equals_nocase(client_encoding, names[i])) {
            return true;
        }
    }
    return false;
}

static enum err mask_setting(struct pg_mask *mask, struct slice body, struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    struct writer writer = writer_to(&mask->line);
    struct slice name = reader_view_text(&reader);
    struct slice value = reader_view_text(&reader);
    if (reader_done(&reader) != ERR_NONE) {
        return fail(reterr_error, ERR_INPUT, "malformed parameter status");
    }
    if (slice_equals(name, SLICE("client_encoding"))) {
        mask->is_encoding_unsafe = pg_mask_is_encoding_unsafe(value);
    }
    bool is_hidden = mask->strictest != NULL && mask->has_run_code && is_free_setting(name);
    writer_text(&writer, name);
    writer_text(&writer, mask_text_of(mask, name, value, is_hidden));
    return writer_done(&writer) == ERR_NONE
               ? ERR_NONE
               : fail(reterr_error, ERR_LIMIT, "a masked setting is too large");
}

/* The type of what a function returns is not said. */
static enum err mask_result(struct pg_mask *mask, bool is_reached, struct slice body,
                            struct error *reterr_error)
{
    const struct mask_field field = {
        .plan = {.whole = is_reached ? mask->strictest : NULL,
                 .is_examined = mask->looks_into_text},
        .kind = PGWIRE_TYPE_UNKNOWN,
        .format = PGWIRE_FORMAT_BINARY,
    };
    struct writer writer = writer_to(&mask->line);
    struct slice value;
    enum mask_outcome outcome = MASK_SAME;
    enum err err = pgwire_function_result_read(body, &value, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    buf_truncate(&mask->value, 0);
    if (value.at != NULL) {
        outcome = pg_mask_value(mask, &field, value, &mask->value);
    }
    struct slice passes = outcome == MASK_CHANGED ? buf_view(&mask->value) : value;
    bool is_null = passes.at == NULL || outcome == MASK_NULL || outcome == MASK_REFUSED ||
                   !pg_mask_may_pass(mask, passes);
    writer_u32(&writer, is_null ? UINT32_MAX : (uint32_t)passes.len);
    if (!is_null) {
        writer_bytes(&writer, passes);
    }
    return writer_done(&writer) == ERR_NONE
               ? ERR_NONE
               : fail(reterr_error, ERR_LIMIT, "a masked result is too large");
}

enum err pg_mask_words(struct pg_mask *mask, const struct pending_request *pending,
                       struct slice message, struct buf *out, enum pg_mask_verdict *ret_verdict,
                       struct error *reterr_error)
{
    struct slice body = slice_from(message, PGWIRE_HEADER_SIZE);
    enum err err = ERR_NONE;
    /* What a Sync commits may fail for what was done before. */
    bool is_hidden =
        pg_mask_is_reached(mask, pending) || (mask->strictest != NULL && mask->has_reached);
    buf_truncate(&mask->line, 0);
    switch (message.at[0]) {
    case PGWIRE_SERVER_ERROR:
    case PGWIRE_SERVER_NOTICE:
        err = mask_notice(mask, is_hidden, body, reterr_error);
        break;
    case PGWIRE_SERVER_NOTIFICATION:
        err = mask_notification(mask, body, reterr_error);
        break;
    case PGWIRE_SERVER_PARAMETER_STATUS:
        err = mask_setting(mask, body, reterr_error);
        break;
    default:
        err = mask_result(mask, is_hidden, body, reterr_error);
        break;
    }
    return err != ERR_NONE ? err : put_body(mask, message, out, ret_verdict, reterr_error);
}
