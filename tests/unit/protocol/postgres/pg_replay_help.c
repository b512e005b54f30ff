/* SPDX-License-Identifier: MIT */
#include "pg_replay_help.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/writer.h"
#include "protocol/postgres/pg_replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct help export_help;
struct recorder *export_recorder;
struct buf export_out;
const char *const two_names[2] = {"id", "the name"};
const uint32_t two_types[2] = {23, 25};
static struct buf message;

const struct replay_ops *find_pg_replay(struct slice subtype)
{
    (void)subtype;
    return &pg_replay_ops;
}

int export_set_up(void **state)
{
    (void)state;
    help_start(&export_help, false);
    export_recorder = help_open(&export_help);
    buf_init(&export_out, EXPORT_OUT_SIZE);
    buf_init(&message, LIMIT_MIB(4));
    return 0;
}

int export_tear_down(void **state)
{
    (void)state;
    buf_release(&export_out);
    buf_release(&message);
    help_end(&export_help);
    return 0;
}

/* Messages ------------------------------------------------------------------------------------ */

void said_by_client(char type, struct slice body)
{
    help_message(export_recorder, RECORD_FROM_CLIENT, type, body);
}

void said_by_target(char type, struct slice body)
{
    help_message(export_recorder, RECORD_FROM_TARGET, type, body);
}

void said_ready(void)
{
    said_by_target('Z', SLICE("I"));
}

void said_columns(const char *const *names, const uint32_t *types, size_t count, bool is_binary)
{
    struct writer writer = writer_to(&message);
    buf_truncate(&message, 0);
    writer_u16(&writer, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        writer_text(&writer, slice_of_text(names[i]));
        writer_u32(&writer, 0);
        writer_u16(&writer, 0);
        writer_u32(&writer, types[i]);
        writer_u16(&writer, 0xffff);
        writer_u32(&writer, 0xffffffff);
        writer_u16(&writer, is_binary ? 1 : 0);
    }
    said_by_target('T', buf_view(&message));
}

static void values_write(struct writer *writer, const struct slice *values, size_t count)
{
    writer_u16(writer, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        writer_u32(writer, values[i].at == NULL ? UINT32_MAX : (uint32_t)values[i].len);
        writer_bytes(writer, values[i]);
    }
}

void said_row(const struct slice *values, size_t count)
{
    struct writer writer = writer_to(&message);
    buf_truncate(&message, 0);
    values_write(&writer, values, count);
    said_by_target('D', buf_view(&message));
}

void said_parse(const char *name, const char *text, uint32_t type)
{
    struct writer writer = writer_to(&message);
    buf_truncate(&message, 0);
    writer_text(&writer, slice_of_text(name));
    writer_text(&writer, slice_of_text(text));
    writer_u16(&writer, type == 0 ? 0 : 1);
    if (type != 0) {
        writer_u32(&writer, type);
    }
    said_by_client('P', buf_view(&message));
}

void said_bind(const char *portal, const char *name, uint16_t format, const struct slice *values,
               size_t count, uint16_t result_format)
{
    struct writer writer = writer_to(&message);
    buf_truncate(&message, 0);
    writer_text(&writer, slice_of_text(portal));
    writer_text(&writer, slice_of_text(name));
    writer_u16(&writer, 1);
    writer_u16(&writer, format);
    values_write(&writer, values, count);
    writer_u16(&writer, 1);
    writer_u16(&writer, result_format);
    said_by_client('B', buf_view(&message));
}

void said_error(const char *code, const char *text)
{
    struct writer writer = writer_to(&message);
    buf_truncate(&message, 0);
    writer_bytes(&writer, SLICE("SFEHLER\0VERROR\0C"));
    writer_text(&writer, slice_of_text(code));
    writer_u8(&writer, 'M');
    writer_text(&writer, slice_of_text(text));
    writer_bytes(&writer, SLICE("Htry again\0\0"));
    said_by_target('E', buf_view(&message));
}

/* Exports ------------------------------------------------------------------------------------- */

static enum err sink(void *context, struct slice bytes, struct error *reterr)
{
    (void)context;
    (void)reterr;
    return buf_append(&export_out, bytes);
}

enum err export_again(enum recording_format format)
{
    struct recording *recording = NULL;
    buf_truncate(&export_out, 0);
    must(recording_open(export_help.path, export_help.keys, &recording, NULL) == ERR_NONE);
    enum err err =
        recording_export(recording, find_pg_replay, format, sink, NULL, &export_help.error);
    recording_free(recording);
    return err;
}

/* What came export_out, with T in place of each time. */
const char *export_text(void)
{
    struct buf text;
    struct slice rest = buf_view(&export_out);
    buf_init(&text, EXPORT_OUT_SIZE);
    struct writer writer = writer_to(&text);
    while (rest.len > 0) {
        bool is_time = rest.len >= 27 && slice_starts_with(rest, SLICE("20")) &&
                       rest.at[10] == 'T' && rest.at[26] == 'Z';
        writer_bytes(&writer, is_time ? SLICE("T") : slice_sub(rest, 0, 1));
        rest = slice_from(rest, is_time ? 27 : 1);
    }
    const char *copy = arena_text(&export_help.arena, buf_view(&text));
    buf_release(&text);
    return copy;
}

void export_finish(void)
{
    must(recorder_flush(export_recorder, NULL) == ERR_NONE);
    (void)help_close(&export_help, export_recorder);
}

void export_check(enum recording_format format, const char *expected)
{
    assert_int_equal(export_again(format), ERR_NONE);
    assert_string_equal(export_text(), expected);
}
