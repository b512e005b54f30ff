/* SPDX-License-Identifier: MIT */
/* Rows that are sieved, under real rules: whatever stands in them, the same comes out as under
 * rules that cannot be sieved because of a pattern that matches nothing, and as of rows that come
 * in pieces, which are not sieved either. */
#include "base/memory.h"
#include "base/writer.h"
#include "protocol/postgres/pg_mask.h"

#include "mask_rig.h"
#include "pg_facts_made.h"

#include <stdio.h>
#include <string.h>

enum {
    COLUMNS = 7,
    RUNS = 400,
    ROWS = 24,
};

#define TYPES                                                                                      \
    "\"supported_entity_types\":[{\"name\":\"T\",\"entity_types\":[%s]}],\"columns\":[{\"name\":"  \
    "\"hidden\"}]"
#define NEVER "\"custom_entity_types\":[{\"name\":\"N\",\"score\":1,\"regex\":\"qzqzqz[0-9]zq\"}]"

static const char *const type_sets[] = {
    "\"EMAIL_ADDRESS\",\"CREDIT_CARD\",\"IBAN_CODE\",\"PHONE_NUMBER\",\"US_SSN\"",
    "\"EMAIL_ADDRESS\"",
    "\"PASSWORD\",\"AWS_KEY\",\"PRIVATE_KEY\",\"JWT\",\"GITHUB_TOKEN\",\"URL\","
    "\"URL_WITH_CREDENTIALS\",\"IP_ADDRESS\",\"MAC_ADDRESS\",\"CRYPTO\"",
    "\"DATE_TIME\",\"DATE_OF_BIRTH\",\"UK_NINO\",\"ES_NIF\",\"IT_FISCAL_CODE\",\"IN_PAN\","
    "\"US_PASSPORT\",\"MEDICAL_LICENSE\",\"BR_CPF\",\"FI_PERSONAL_IDENTITY_CODE\"",
};

static const char *const pieces[] = {
    "someone@example.com",
    "4111 1111 1111 1111",
    "4539148803436467",
    "DE89370400440532013000",
    "GB29 NWBK 6016 1331 9268 19",
    "+1 415 555 2671",
    "030 1234567",
    "078-05-1120",
    "212345678",
    "hunter2secret",
    "password=hunter2!",
    "sig=abc",
    "https://u:p@example.com/x?a=b&c=d",
    "www.example.com",
    "10.20.30.40",
    "2001:db8::1",
    "00:1b:44:11:3a:b7",
    "2024-02-29 12:00:00+00",
    "1979-05-11",
    "AB123456C",
    "12345678Z",
    "ABCDE1234F",
    "131052-308T",
    "-----",
    "{\"phone\":\"x\"}",
    "{a@b.com,c}",
    "(x,\"y@z.com\")",
    "<a b=\"c@d.com\"/>",
    "&#64;",
    "a&#64;b.com",
    "{\"x\": \"someone\\u0040example.com\"}",
    "{a,\"some\\\\one@b.com\"}",
    "someone\xef\xbc\xa0"
    "example.com",
    "4111\xc2\xa0"
    "1111\xc2\xa0"
    "1111\xc2\xa0"
    "1111",
    "someone%40example.com",
    "x4111111111111111y",
    "1234567890"
    "4111111111111111",
    "4111.1111.1111.1111",
    "4.111111111111111e+15",
    "078051120.00",
    "word",
    "Ann",
    "order 2024-1234567",
    " ",
    "  x",
    "\"q\"",
    "0",
    "7",
    "1234567",
    "-",
    "_",
    "@",
    ":",
    "=",
    "&",
    "caf\xc3\xa9",
    "d41d8cd98f00b204e9800998ecf8427e",
    "a",
    "Z",
    "9",
    "[1,2]",
};

static const char *const names[COLUMNS] = {"id",     "phone", "password", "note",
                                           "hidden", "card",  "document"};
static const uint32_t types[COLUMNS] = {16, 25, 1043, 25, 25, 25, 114};

static uint64_t seed;

static size_t pick(size_t count)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(seed >> 33) % count;
}

static struct mask_rules *rules_of(size_t set, bool is_sieved)
{
    char types_text[1024];
    char text[2048];
    assert_true(snprintf(types_text, sizeof(types_text), TYPES, type_sets[set]) > 0);
    assert_true(snprintf(text, sizeof(text), "[{\"name\":\"r\",%s%s%s}]", types_text,
                         is_sieved ? "" : ",", is_sieved ? "" : NEVER) > 0);
    rig_rules(text);
    assert_int_equal(mask_rules_can_sieve(rig.rules), is_sieved);
    return mask_rules_ref(rig.rules);
}

/* Mostly nothing that could be found, often short. */
static void write_value(struct writer *writer)
{
    if (pick(5) == 0) {
        writer_bytes(writer, slice_of_text(pieces[pick(COUNT_OF(pieces))]));
        return;
    }
    size_t count = pick(4);
    for (size_t i = 0; i < count; i++) {
        writer_bytes(writer,
                     slice_of_text(pick(3) == 0 ? pieces[pick(COUNT_OF(pieces))] : "plain"));
        writer_bytes(writer, pick(2) == 0 ? SLICE("") : SLICE(" "));
    }
    for (size_t i = pick(40) == 0 ? pick(400) : 0; i > 0; i--) {
        writer_u8(writer, (uint8_t)(pick(20) == 0 ? '0' + pick(10) : 'a' + pick(26)));
    }
}

/* Under rules, what a session makes of messages: with its counts, which are the rules' word for
 * what was found. */
struct outcome {
    struct buf bytes;
    struct mask_counts counts;
};

/* No relation has a masked column. */
static bool on_known(void *owner, struct catalog_known *ret_known)
{
    static struct pg_facts *facts;
    facts = facts != NULL ? facts : pg_facts_made(NULL, NULL, 0);
    (void)owner;
    return pg_facts_made_known(facts, ret_known);
}

static struct pg_mask *mask_of(struct mask_rules *rules, const char *text)
{
    const struct pg_mask_settings settings = {.rules = rules,
                                              .scratch = rig.scratch,
                                              .on_known = on_known,
                                              .on_stamp = pg_facts_made_stamp};
    struct sql_statement statement = {
        .len = strlen(text), .verb = SQL_COPY, .operations = SQL_BIT(SQL_COPY)};
    const struct sql_script script = {.statements = &statement, .count = 1};
    const struct pg_mask_request request = {
        .id = 1, .type = 'Q', .body = SLICE("\0"), .script = &script, .text = slice_of_text(text)};
    struct pg_mask *mask = pg_mask_new(&settings);
    assert_int_equal(pg_mask_request(mask, &request, NULL), ERR_NONE);
    return mask;
}

static void answer(struct pg_mask *mask, struct slice messages, struct outcome *outcome)
{
    enum pg_mask_verdict verdict;
    size_t before = outcome->bytes.len;
    char *copy = memory_new(messages.len); /* nothing stands behind it */
    memcpy(copy, messages.at, messages.len);
    assert_int_equal(
        pg_mask_answer(mask, 1, slice_of(copy, messages.len), &outcome->bytes, &verdict, NULL),
        ERR_NONE);
    if (verdict == PG_MASK_SAME) {
        assert_int_equal(outcome->bytes.len, before);
        assert_int_equal(buf_append(&outcome->bytes, messages), ERR_NONE);
    }
    memory_free(copy);
    outcome->counts = *pg_mask_counts(mask);
}

static void check_same(struct outcome *one, struct outcome *other)
{
    assert_int_equal(one->bytes.len, other->bytes.len);
    assert_memory_equal(buf_view(&one->bytes).at, buf_view(&other->bytes).at, one->bytes.len);
    assert_memory_equal(&one->counts, &other->counts, sizeof(one->counts));
    buf_release(&one->bytes);
    buf_release(&other->bytes);
}

/* Rows of messages --------------------------------------------------------------------------- */

static void write_message_size(struct buf *buf, size_t start)
{
    struct writer writer = writer_to(buf);
    writer_u32_at(&writer, start + 1, (uint32_t)(buf->len - start - 1));
}

static void write_description(struct buf *buf, uint16_t format)
{
    struct writer writer = writer_to(buf);
    writer_bytes(&writer, SLICE("T\0\0\0\0"));
    writer_u16(&writer, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++) {
        writer_text(&writer, slice_of_text(names[i]));
        writer_bytes(&writer, SLICE("\0\0\0\0\0\0"));
        writer_u32(&writer, types[i]);
        writer_bytes(&writer, SLICE("\xff\xff\xff\xff\xff\xff"));
        writer_u16(&writer, format);
    }
    write_message_size(buf, 0);
}

static void write_rows(struct buf *buf)
{
    for (size_t row = 0; row < ROWS; row++) {
        size_t start = buf->len;
        struct writer writer = writer_to(buf);
        writer_bytes(&writer, SLICE("D\0\0\0\0"));
        writer_u16(&writer, COLUMNS);
        for (size_t i = 0; i < COLUMNS; i++) {
            size_t at = buf->len;
            writer_u32(&writer, UINT32_MAX);
            if (pick(8) > 0) {
                write_value(&writer);
                writer_u32_at(&writer, at, (uint32_t)(buf->len - at - 4));
            }
        }
        write_message_size(buf, start);
    }
}

static void rows_are_masked_as_one_by_one(void **state)
{
    (void)state;
    for (seed = 0; seed < RUNS; seed++) {
        uint64_t run = seed;
        struct outcome outcomes[2] = {0};
        struct buf description;
        struct buf rows;
        buf_init(&description, LIMIT_KIB(64));
        buf_init(&rows, LIMIT_MIB(1));
        write_description(&description, (uint16_t)pick(2));
        write_rows(&rows);
        for (size_t i = 0; i < 2; i++) {
            struct mask_rules *rules = rules_of(run % COUNT_OF(type_sets), i == 0);
            struct pg_mask *mask = mask_of(rules, "select");
            buf_init(&outcomes[i].bytes, LIMIT_MIB(8));
            answer(mask, buf_view(&description), &outcomes[i]);
            answer(mask, buf_view(&rows), &outcomes[i]);
            pg_mask_free(mask);
            mask_rules_unref(rules);
        }
        check_same(&outcomes[0], &outcomes[1]);
        buf_release(&description);
        buf_release(&rows);
        seed = run;
    }
}

/* Rows of copies ----------------------------------------------------------------------------- */

static const struct {
    const char *text;
    char delimiter;
    char quote; /* NUL: escapes */
} copies[] = {
    {"copy t to stdout", '\t', '\0'},
    {"copy t (id, phone, password, note, plain, card, document) to stdout", '\t', '\0'},
    {"copy t (id, phone, password, note, hidden, card, document) to stdout", '\t', '\0'},
    {"copy t (a, b, c, d, e, f, g) to stdout (delimiter '-', null 'plain')", '-', '\0'},
    {"copy t (a, b, c, d, e, f, g) to stdout (delimiter ' ')", ' ', '\0'},
    {"copy t (a, b, c, d, e, f, g) to stdout (delimiter 'X')", 'X', '\0'},
    {"copy t (a, b, c, d, e, f, g) to stdout (format csv)", ',', '"'},
    {"copy t (a, b, c, d, e, f, g) to stdout (format csv, header, delimiter '@', quote '''')", '@',
     '\''},
};

static void write_escaped(struct writer *writer, struct slice value, char delimiter)
{
    for (size_t i = 0; i < value.len; i++) {
        bool is_odd = value.at[i] == '\\' || value.at[i] == delimiter;
        if (is_odd || pick(value.at[i] == '@' ? 2 : 100) == 0) {
            writer_bytes(writer, SLICE("\\x"));
            writer_u8(writer, (uint8_t) "0123456789abcdef"[(uint8_t)value.at[i] >> 4]);
            writer_u8(writer, (uint8_t) "0123456789abcdef"[value.at[i] & 15]);
        } else {
            writer_u8(writer, (uint8_t)value.at[i]);
        }
    }
}

static void write_quoted(struct writer *writer, struct slice value, char delimiter, char quote)
{
    bool is_quoted = slice_find_byte(value, delimiter) < value.len ||
                     slice_find_byte(value, quote) < value.len || pick(8) == 0;
    writer_bytes(writer, slice_of(&quote, is_quoted));
    for (size_t i = 0; i < value.len; i++) {
        writer_bytes(writer, slice_of(&quote, value.at[i] == quote));
        writer_u8(writer, (uint8_t)value.at[i]);
    }
    writer_bytes(writer, slice_of(&quote, is_quoted));
}

/* One row, without what frames it; now and then it is no whole one, or more. */
static void write_line(struct buf *buf, size_t copy)
{
    char delimiter = copies[copy].delimiter;
    struct writer writer = writer_to(buf);
    struct buf value;
    buf_init(&value, LIMIT_KIB(64));
    for (size_t i = 0; i < COLUMNS; i++) {
        struct writer to = writer_to(&value);
        buf_truncate(&value, 0);
        write_value(&to);
        writer_bytes(&writer, slice_of(&delimiter, i > 0));
        if (copies[copy].quote != '\0') {
            write_quoted(&writer, buf_view(&value), delimiter, copies[copy].quote);
        } else if (pick(8) == 0) {
            writer_bytes(&writer, SLICE("\\N"));
        } else {
            write_escaped(&writer, buf_view(&value), delimiter);
        }
    }
    writer_bytes(&writer, pick(30) == 0 ? SLICE("\r\n") : SLICE("\n"));
    buf_release(&value);
}

/* What the client has of it: the data of what passes, one behind the other. */
static void take_data(struct outcome *outcome)
{
    struct buf data;
    struct slice rest = buf_view(&outcome->bytes);
    buf_init(&data, LIMIT_MIB(8));
    while (rest.len > 0) {
        size_t len =
            (size_t)((uint8_t)rest.at[2] << 16 | (uint8_t)rest.at[3] << 8 | (uint8_t)rest.at[4]) -
            4;
        assert_int_equal(buf_append(&data, rest.at[0] == 'd' ? slice_sub(rest, 5, len) : SLICE("")),
                         ERR_NONE);
        rest = slice_from(rest, 5 + len);
    }
    buf_release(&outcome->bytes);
    outcome->bytes = data;
}

static void frame(struct buf *to, struct slice data)
{
    struct writer writer = writer_to(to);
    writer_u8(&writer, 'd');
    writer_u32(&writer, (uint32_t)data.len + 4);
    writer_bytes(&writer, data);
}

static void copied_rows_are_masked_as_in_pieces(void **state)
{
    (void)state;
    for (seed = 0; seed < RUNS; seed++) {
        uint64_t run = seed;
        size_t copy = run % COUNT_OF(copies);
        struct outcome outcomes[3] = {0};
        struct buf whole; /* a message for each row */
        struct buf parts; /* and messages of any size */
        struct buf lines;
        buf_init(&whole, LIMIT_MIB(1));
        buf_init(&parts, LIMIT_MIB(1));
        buf_init(&lines, LIMIT_MIB(1));
        for (size_t row = 0; row < ROWS; row++) {
            size_t start = lines.len;
            write_line(&lines, copy);
            frame(&whole, slice_from(buf_view(&lines), start));
        }
        for (size_t at = 0; at < lines.len;) {
            size_t len = 1 + pick(300);
            frame(&parts, slice_sub(buf_view(&lines), at, len));
            at += len;
        }
        for (size_t i = 0; i < 3; i++) {
            struct mask_rules *rules = rules_of(run / 8 % COUNT_OF(type_sets), i != 1);
            struct pg_mask *mask = mask_of(rules, copies[copy].text);
            buf_init(&outcomes[i].bytes, LIMIT_MIB(8));
            answer(mask, SLICE("H\0\0\0\x15\0\0\7\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), &outcomes[i]);
            answer(mask, buf_view(i == 2 ? &parts : &whole), &outcomes[i]);
            answer(mask, SLICE("c\0\0\0\4"), &outcomes[i]);
            pg_mask_free(mask);
            mask_rules_unref(rules);
            take_data(&outcomes[i]);
        }
        struct outcome again = {.counts = outcomes[0].counts};
        buf_init(&again.bytes, LIMIT_MIB(8));
        assert_int_equal(buf_append(&again.bytes, buf_view(&outcomes[0].bytes)), ERR_NONE);
        check_same(&again, &outcomes[1]);
        check_same(&outcomes[0], &outcomes[2]);
        buf_release(&whole);
        buf_release(&parts);
        buf_release(&lines);
        seed = run;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(rows_are_masked_as_one_by_one),
        RIG_TEST(copied_rows_are_masked_as_in_pieces),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_mask_sieve", tests, NULL, NULL);
}
