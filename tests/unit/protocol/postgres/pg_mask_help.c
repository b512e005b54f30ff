/* SPDX-License-Identifier: MIT */
#include "pg_mask_help.h"

#include "base/memory.h"
#include "pg_facts_made.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_query.h"

#include <string.h>

static const pg_facts_made_row tables[] = {
    {"r", "1000", "public", "people", "r", "", "1:id,2:ssn,3:name"},
    {"r", "1001", "public", "other", "r", "", "1:id,2:note"},
};

static void on_ask(void *owner)
{
    struct talk *talk = owner;
    talk->lookups++;
}

static bool on_known(void *owner, struct catalog_known *ret_known)
{
    struct talk *talk = owner;
    *ret_known = (struct catalog_known){.facts = talk->facts, .stamp = talk->known};
    return talk->known.at_us > 0;
}

static struct catalog_stamp on_stamp(void *owner)
{
    struct talk *talk = owner;
    return talk->now;
}

static void on_change(void *owner, enum catalog_change what, bool is_over)
{
    struct talk *talk = owner;
    struct catalog_stamp *now = &talk->now;
    uint64_t *count = what == CATALOG_MASKED ? (is_over ? &now->ended : &now->begun)
                      : what == CATALOG_DEFINED
                          ? (is_over ? &now->defined_ended : &now->defined_begun)
                          : (is_over ? &now->checked_ended : &now->checked_begun);
    (*count)++;
}

static bool on_check(void *owner, const struct catalog_stamp *known)
{
    struct talk *talk = owner;
    bool is_begun = talk->now.checked_begun == known->checked_begun &&
                    talk->now.checked_ended == known->checked_begun;
    talk->now.checked_begun += is_begun;
    talk->now.begun_at_check = known->begun;
    return is_begun;
}

static void on_finding(void *owner, const struct guard_finding *finding)
{
    struct talk *talk = owner;
    assert_int_equal(finding->direction, GUARD_OUTPUT);
    talk->findings++;
}

void talk_start(struct talk *talk)
{
    *talk = (struct talk){.rules = {.looks_into_text = true}, .id = 1};
    buf_init(&talk->in, LIMIT_MIB(64));
    buf_init(&talk->out, LIMIT_MIB(64));
    talk->known.at_us = 1;
    talk->now.at_us = 1;
}

void talk_begin(struct talk *talk)
{
    const struct pg_mask_settings settings = {
        .rules = &talk->rules,
        .scope = &talk->scope,
        .on_ask = on_ask,
        .on_known = on_known,
        .on_stamp = on_stamp,
        .on_change = on_change,
        .on_check = on_check,
        .on_finding = on_finding,
        .owner = talk,
    };
    if (talk->facts == NULL && talk->known.at_us > 0) {
        talk->facts = pg_facts_made(&talk->rules, tables, COUNT_OF(tables));
    }
    talk->mask = pg_mask_new(&settings);
}

void talk_end(struct talk *talk)
{
    pg_mask_free(talk->mask);
    buf_release(&talk->in);
    buf_release(&talk->out);
    pg_facts_unref(talk->facts);
}

/* The client ------------------------------------------------------------------------------------
 */

static bool is_named(const struct said *said, const char *name)
{
    return (said->used != NULL && strcmp(said->used, name) == 0) ||
           (said->given != NULL && strcmp(said->given, name) == 0);
}

static uint64_t ask(struct talk *talk, char type, struct slice message, const char *text,
                    const struct said *said)
{
    struct sql_column columns[2];
    struct sql_relation people = {.name = {SLICE(""), SLICE("people")}, .is_read = true};
    bool reads_people = slice_find(slice_of_text(text), SLICE("people")) < strlen(text);
    struct sql_statement statement = {.len = strlen(text)};
    struct sql_script script = {.statements = &statement, .count = 1};
    const struct pg_mask_request request = {
        .id = talk->id,
        .type = type,
        .body = slice_from(message, 5),
        .script = said != NULL ? &script : NULL,
        .text = slice_of_text(text),
    };
    if (said != NULL) {
        statement.verb = said->verb;
        statement.operations = said->operations | SQL_BIT(said->verb);
        statement.is_unknown = said->is_unknown;
        statement.columns = columns;
        statement.why = "";
        statement.relations = &people;
        statement.relation_count = reads_people || is_named(said, "ssn");
    }
    struct sql_function function = {.name = {SLICE(""), SLICE("")}};
    if (said != NULL && said->call != NULL) {
        function.name.name = slice_of_text(said->call);
        statement.functions = &function;
        statement.function_count = 1;
    }
    if (said != NULL && said->used != NULL) {
        columns[statement.column_count++] =
            (struct sql_column){.name = slice_of_text(said->used), .is_used = true};
    }
    if (said != NULL && said->given != NULL) {
        columns[statement.column_count++] = (struct sql_column){.name = slice_of_text(said->given)};
    }
    assert_int_equal(pg_mask_request(talk->mask, &request, &talk->error), ERR_NONE);
    return talk->id++;
}

static struct buf message_start(void)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    return buf;
}

uint64_t talk_query(struct talk *talk, const char *text, const struct said *said)
{
    struct buf buf = message_start();
    assert_int_equal(pgwire_query_write(&buf, slice_of_text(text)), ERR_NONE);
    uint64_t id = ask(talk, 'Q', buf_view(&buf), text, said);
    buf_release(&buf);
    return id;
}

uint64_t talk_parse(struct talk *talk, const char *name, const char *text, const struct said *said)
{
    struct buf buf = message_start();
    assert_int_equal(pgwire_parse_write(&buf, slice_of_text(name), slice_of_text(text)), ERR_NONE);
    uint64_t id = ask(talk, 'P', buf_view(&buf), text, said);
    buf_release(&buf);
    return id;
}

uint64_t talk_bind(struct talk *talk, const char *portal, const char *statement, int format)
{
    struct buf buf = message_start();
    struct writer writer = writer_to(&buf);
    writer_bytes(&writer, SLICE("B\0\0\0\0"));
    writer_text(&writer, slice_of_text(portal));
    writer_text(&writer, slice_of_text(statement));
    writer_u16(&writer, 0);
    writer_u16(&writer, 0);
    writer_u16(&writer, format >= 0);
    if (format >= 0) {
        writer_u16(&writer, (uint16_t)format);
    }
    uint64_t id = ask(talk, 'B', buf_view(&buf), "", NULL);
    buf_release(&buf);
    return id;
}

static uint64_t ask_object(struct talk *talk, char type, char kind, const char *name)
{
    struct buf buf = message_start();
    const struct pgwire_object object = {.kind = (enum pgwire_object_kind)kind,
                                         .name = slice_of_text(name)};
    assert_int_equal(pgwire_describe_write(&buf, &object), ERR_NONE);
    uint64_t id = ask(talk, type, buf_view(&buf), "", NULL);
    buf_release(&buf);
    return id;
}

uint64_t talk_describe(struct talk *talk, char kind, const char *name)
{
    return ask_object(talk, 'D', kind, name);
}

uint64_t talk_close(struct talk *talk, char kind, const char *name)
{
    return ask_object(talk, 'C', kind, name);
}

static struct buf execute_message(const char *portal)
{
    struct buf buf = message_start();
    const struct pgwire_execute execute = {.portal = slice_of_text(portal)};
    assert_int_equal(pgwire_execute_write(&buf, &execute), ERR_NONE);
    return buf;
}

uint64_t talk_execute(struct talk *talk, const char *portal)
{
    struct buf buf = execute_message(portal);
    uint64_t id = ask(talk, 'E', buf_view(&buf), "", NULL);
    buf_release(&buf);
    return id;
}

bool talk_needs_describe(struct talk *talk, const char *portal)
{
    struct buf buf = execute_message(portal);
    bool needs = pg_mask_needs_describe(talk->mask, slice_from(buf_view(&buf), 5));
    buf_release(&buf);
    return needs;
}

/* The server ------------------------------------------------------------------------------------
 */

void say(struct talk *talk, char type, struct slice body)
{
    struct writer writer = writer_to(&talk->in);
    writer_u8(&writer, (uint8_t)type);
    writer_u32(&writer, (uint32_t)body.len + 4);
    writer_bytes(&writer, body);
    assert_int_equal(writer_done(&writer), ERR_NONE);
}

void say_description(struct talk *talk, const struct column *columns, size_t count)
{
    struct buf body = message_start();
    struct writer writer = writer_to(&body);
    writer_u16(&writer, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        writer_text(&writer, slice_of_text(columns[i].name));
        writer_u32(&writer, columns[i].table);
        writer_u16(&writer, columns[i].number);
        writer_u32(&writer, columns[i].type);
        writer_u16(&writer, UINT16_MAX);
        writer_u32(&writer, UINT32_MAX);
        writer_u16(&writer, columns[i].format);
    }
    assert_int_equal(writer_done(&writer), ERR_NONE);
    say(talk, 'T', buf_view(&body));
    buf_release(&body);
}

static void write_row(struct buf *body, const struct slice *values, size_t count)
{
    struct writer writer = writer_to(body);
    writer_u16(&writer, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        writer_u32(&writer, values[i].at == NULL ? UINT32_MAX : (uint32_t)values[i].len);
        writer_bytes(&writer, values[i]);
    }
    assert_int_equal(writer_done(&writer), ERR_NONE);
}

void say_row(struct talk *talk, const struct slice *values, size_t count)
{
    struct buf body;
    buf_init(&body, LIMIT_MIB(64));
    write_row(&body, values, count);
    say(talk, 'D', buf_view(&body));
    buf_release(&body);
}

uint64_t talk_one(struct talk *talk, uint32_t type, uint16_t format)
{
    static const struct said said = {.verb = SQL_SELECT};
    const struct column column = {.name = "value", .type = type, .format = format};
    uint64_t id = talk_query(talk, "select value", &said);
    say_description(talk, &column, 1);
    talk_answer(talk, id, PG_MASK_SAME);
    return id;
}

/* Each byte more or less of what is given stands in memory of its own, so that reading beyond it is
 * noticed. */
static enum err pass(struct talk *talk, uint64_t id)
{
    struct slice said = buf_view(&talk->in);
    char *copy = memory_new(said.len + 1);
    memcpy(copy, said.at, said.len);
    buf_clear(&talk->out);
    enum err err = pg_mask_answer(talk->mask, id, slice_of(copy, said.len), &talk->out,
                                  &talk->verdict, &talk->error);
    memory_free(copy);
    return err;
}

void talk_pass(struct talk *talk, uint64_t id)
{
    assert_int_equal(pass(talk, id), ERR_NONE);
    buf_clear(&talk->in);
}

void talk_answer(struct talk *talk, uint64_t id, enum pg_mask_verdict verdict)
{
    talk_pass(talk, id);
    assert_int_equal(talk->verdict, verdict);
    if (verdict == PG_MASK_SAME || verdict == PG_MASK_WAIT) {
        assert_int_equal(talk->out.len, 0);
    }
}

void talk_breaks(struct talk *talk, uint64_t id, enum err err)
{
    assert_int_equal(pass(talk, id), err);
    assert_int_equal(talk->out.len, 0);
    buf_clear(&talk->in);
}

void check_out(struct talk *talk, const char *bytes, size_t len)
{
    assert_int_equal(talk->verdict, PG_MASK_CHANGED);
    assert_int_equal(talk->out.len, len);
    assert_memory_equal(buf_view(&talk->out).at, bytes, len);
}

void check_row(struct talk *talk, const struct slice *values, size_t count)
{
    struct buf body;
    struct buf message;
    buf_init(&body, LIMIT_MIB(64));
    buf_init(&message, LIMIT_MIB(64));
    write_row(&body, values, count);
    struct writer writer = writer_to(&message);
    writer_u8(&writer, 'D');
    writer_u32(&writer, (uint32_t)body.len + 4);
    writer_bytes(&writer, buf_view(&body));
    check_out(talk, buf_view(&message).at, message.len);
    buf_release(&body);
    buf_release(&message);
}
