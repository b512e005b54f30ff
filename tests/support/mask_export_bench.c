/* SPDX-License-Identifier: MIT */
/* What masking by real rules costs the rows of an export, on one core: mask_export_bench
 * [MILLISECONDS [PART OF A NAME]]. One line a case: gigabytes of messages a second, and nanoseconds
 * a row. */
#include "base/memory.h"
#include "base/must.h"
#include "base/writer.h"
#include "pg_facts_made.h"
#include "policy/mask.h"
#include "protocol/postgres/pg_mask.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUN_SIZE LIMIT_KIB(64) /* as it is read */

#define PII                                                                                        \
    "\"supported_entity_types\":[{\"name\":\"PII\",\"entity_types\":[\"EMAIL_ADDRESS\","           \
    "\"CREDIT_CARD\",\"IBAN_CODE\",\"PHONE_NUMBER\",\"US_SSN\"]}]"
#define COLUMNS(name, type)                                                                        \
    "\"columns\":[{\"name\":\"" name "\",\"strategy\":{\"type\":\"" type "\"}}]"
#define ELSEWHERE "\"columns\":[{\"name\":\"elsewhere\"}]"

static double now_seconds(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct mask_rules *compile(const char *members)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct json document;
    struct slice text = arena_format(&arena, "{\"name\":\"r\",%s}", members);
    must(json_parse_in(&arena, text, &document, NULL) == ERR_NONE);
    struct masking_rule rule = {0};
    must(shape_read(&masking_rule_shape, SHAPE_WHOLE, &document, &rule, NULL) == ERR_NONE);
    struct mask_rules *rules = NULL;
    must(mask_rules_new(&rule, 1, SLICE("0123456789abcdef0123456789abcdef"), &rules, NULL) ==
         ERR_NONE);
    return rules;
}

struct bench_case {
    const char *name;
    const char *members;
    bool is_copy;
    size_t columns; /* 0: the export's five, of which every tenth row has something */
    size_t value_len;
};

/* What a shop's export has, a mail address and a card in every tenth row. */
static size_t write_export(char *text, size_t size, unsigned row, size_t column)
{
    bool is_hit = row % 10 == 0;
    int len = 0;
    switch (column) {
    case 0:
        len = snprintf(text, size, "%u", row);
        break;
    case 1:
        len = snprintf(text, size, "customer %u", row);
        break;
    case 2:
        len = snprintf(text, size, is_hit ? "someone%u@example.com" : "no address %u", row);
        break;
    case 3:
        len = snprintf(text, size, is_hit ? "4539148803436467" : "order 2024-%u", row);
        break;
    default:
        len = snprintf(text, size, "%08xc9f0f895fb98ab9159f51fd0", row * 2654435761U);
        break;
    }
    must(len > 0 && (size_t)len < size);
    return (size_t)len;
}

static void write_value(const struct bench_case *of, struct buf *rows, unsigned row, size_t column)
{
    static const char words[] = "order shipped green alpha Berlin pending customer invoice paid ";
    struct writer writer = writer_to(rows);
    char text[64];
    if (of->columns == 0) {
        writer_bytes(&writer, slice_of(text, write_export(text, sizeof(text), row, column)));
    }
    for (size_t i = 0; of->columns > 0 && i < of->value_len; i++) {
        writer_u8(&writer, (uint8_t)words[(row + column * 7 + i) % (sizeof(words) - 1)]);
    }
}

static size_t columns_of(const struct bench_case *of)
{
    return of->columns == 0 ? 5 : of->columns;
}

static void write_row(const struct bench_case *of, struct buf *rows, unsigned row)
{
    size_t start = rows->len;
    struct writer writer = writer_to(rows);
    writer_u8(&writer, of->is_copy ? 'd' : 'D');
    writer_u32(&writer, 0);
    if (!of->is_copy) {
        writer_u16(&writer, (uint16_t)columns_of(of));
    }
    for (size_t i = 0; i < columns_of(of); i++) {
        size_t at = rows->len;
        if (of->is_copy) {
            writer_bytes(&writer, i > 0 ? SLICE("\t") : SLICE(""));
            write_value(of, rows, row, i);
        } else {
            writer_u32(&writer, 0);
            write_value(of, rows, row, i);
            writer_u32_at(&writer, at, (uint32_t)(rows->len - at - 4));
        }
    }
    writer_bytes(&writer, of->is_copy ? SLICE("\n") : SLICE(""));
    writer_u32_at(&writer, start + 1, (uint32_t)(rows->len - start - 1));
}

static void write_head(const struct bench_case *of, struct buf *head)
{
    struct writer writer = writer_to(head);
    size_t count = columns_of(of);
    writer_bytes(&writer, of->is_copy ? SLICE("H\0\0\0\0\0") : SLICE("T\0\0\0\0"));
    writer_u16(&writer, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        char name[] = "c0";
        name[1] = (char)('0' + i);
        if (of->is_copy) {
            writer_u16(&writer, 0);
            continue;
        }
        writer_text(&writer, slice_of_text(name));
        writer_u32(&writer, 16400);
        writer_u16(&writer, (uint16_t)(i + 1));
        writer_bytes(&writer, SLICE("\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"));
    }
    writer_u32_at(&writer, 1, (uint32_t)head->len - 1);
}

static struct pg_mask *start(const struct bench_case *of, struct mask_rules *rules,
                             struct mask_scratch *scratch)
{
    static const pg_facts_made_row table[] = {{"r", "16400", "public", "export", "r", "",
                                               "1:c0,2:c1,3:c2,4:c3,5:c4,6:c5,7:c6,8:c7,9:c8"}};
    struct sql_relation relation = {.name = {SLICE(""), SLICE("export")}, .is_read = true};
    const struct pg_mask_settings settings = {.rules = rules,
                                              .scratch = scratch,
                                              .on_known = pg_facts_made_known,
                                              .on_stamp = pg_facts_made_stamp,
                                              .owner = pg_facts_made(rules, table, 1)};
    struct sql_statement statement = {
        .len = sizeof("TABLE export") - 1, .why = "", .relations = &relation, .relation_count = 1};
    const struct sql_script script = {.statements = &statement, .count = 1};
    struct pg_mask_request request = {.id = 1,
                                      .type = 'Q',
                                      .body = SLICE("\0"),
                                      .script = &script,
                                      .text = SLICE("TABLE export")};
    if (of->is_copy) {
        request.text = SLICE("COPY (TABLE export) TO STDOUT");
        statement.len = request.text.len;
        statement.verb = SQL_COPY;
        statement.operations = SQL_BIT(SQL_COPY);
    }
    struct pg_mask *mask = pg_mask_new(&settings);
    must(pg_mask_request(mask, &request, NULL) == ERR_NONE);
    return mask;
}

static void measure(const struct bench_case *of, double seconds)
{
    enum pg_mask_verdict verdict;
    struct mask_rules *rules = compile(of->members);
    struct mask_scratch *scratch = mask_scratch_new();
    struct pg_mask *mask = start(of, rules, scratch);
    struct buf rows;
    struct buf out;
    size_t rounds = 0;
    unsigned count = 0;
    buf_init(&rows, LIMIT_MIB(1));
    buf_init(&out, LIMIT_MIB(4));
    write_head(of, &rows);
    must(pg_mask_answer(mask, 1, buf_view(&rows), &out, &verdict, NULL) == ERR_NONE);
    buf_truncate(&rows, 0);
    for (; rows.len < RUN_SIZE; count++) {
        write_row(of, &rows, 300000 + count);
    }
    double begin = now_seconds();
    double took = 0;
    for (; took < seconds; took = now_seconds() - begin) {
        for (int i = 0; i < 20; i++, rounds++) {
            buf_truncate(&out, 0);
            must(pg_mask_answer(mask, 1, buf_view(&rows), &out, &verdict, NULL) == ERR_NONE);
        }
    }
    printf("%-44s  %8.2f GB/s %8.0f ns a row\n", of->name,
           (double)rows.len * (double)rounds / took / 1e9,
           took * 1e9 / ((double)count * (double)rounds));
    buf_release(&rows);
    buf_release(&out);
    pg_mask_free(mask);
    mask_scratch_free(scratch);
    mask_rules_unref(rules);
}

/* One column of a row, and each of them, by a strategy. */
#define CASES_OF(type)                                                                             \
    {type ", 1 of 10 columns, 10 bytes each", COLUMNS("c2", type), false, 10, 10},                 \
        {type ", 1 of 10 columns, 100 bytes each", COLUMNS("c2", type), false, 10, 100},           \
        {type ", 1 of 3 columns, 1 KB each", COLUMNS("c2", type), false, 3, 1000},                 \
        {type ", 10 of 10 columns, 10 bytes each", COLUMNS("c*", type), false, 10, 10},            \
        {type ", 10 of 10 columns, 100 bytes each", COLUMNS("c*", type), false, 10, 100},          \
    {                                                                                              \
        type ", 3 of 3 columns, 1 KB each", COLUMNS("c*", type), false, 3, 1000                    \
    }

static const struct bench_case cases[] = {
    {"export, copied, every tenth row masked", PII, true, 0, 0},
    {"export, selected, every tenth row masked", PII, false, 0, 0},
    {"text looked into, 10 cells of 10 bytes", PII, false, 10, 10},
    {"text looked into, 1 of 10 columns redacted", PII "," COLUMNS("c2", "redact"), false, 10, 10},
    {"column rule elsewhere, 10 cells of 10 bytes", ELSEWHERE, false, 10, 10},
    CASES_OF("redact"),
    CASES_OF("null"),
    CASES_OF("partial"),
    CASES_OF("hash"),
};

int main(int argc, char **argv)
{
    double seconds = (argc > 1 ? strtod(argv[1], NULL) : 300) / 1000;
    const char *wanted = argc > 2 ? argv[2] : "";
    must(sodium_init() >= 0); /* which chooses how it hashes */
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (strstr(cases[i].name, wanted) != NULL) {
            measure(&cases[i], seconds);
        }
    }
    return EXIT_SUCCESS;
}
