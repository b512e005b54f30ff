/* SPDX-License-Identifier: MIT */
/* What masking costs a session's rows: pg_mask_bench [MILLISECONDS]. One line a case: megabytes of
 * messages a second, first of a walk over the same bytes that sums them up, which is the least that
 * an examination costs. */
#include "base/memory.h"
#include "base/must.h"
#include "base/writer.h"
#include "pg_mask_fake.h"
#include "protocol/postgres/pg_mask.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RUN_SIZE LIMIT_KIB(64) /* as it is read */
#define COLUMNS  6

static const uint32_t types[COLUMNS] = {23, 25, 25, 1184, 1700, 1043};
static const char *const values[COLUMNS] = {"4711",
                                            "Ann Smith of Harbour Street",
                                            "a longer remark about an order that was shipped",
                                            "2024-02-29 12:00:00+00",
                                            "1234.50",
                                            "paid"};

static double now_seconds(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_description(struct buf *buf, uint16_t format)
{
    struct buf body;
    struct writer writer = writer_to(&body);
    struct writer message = writer_to(buf);
    buf_init(&body, LIMIT_KIB(64));
    writer_u16(&writer, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++) {
        writer_text(&writer, SLICE("name"));
        writer_u32(&writer, 0);
        writer_u16(&writer, 0);
        writer_u32(&writer, types[i]);
        writer_u16(&writer, UINT16_MAX);
        writer_u32(&writer, UINT32_MAX);
        writer_u16(&writer, format);
    }
    writer_u8(&message, 'T');
    writer_u32(&message, (uint32_t)body.len + 4);
    writer_bytes(&message, buf_view(&body));
    buf_release(&body);
}

/* One in 'rarity' rows has something to be masked; none for 0. */
static void write_rows(struct buf *buf, unsigned rarity)
{
    for (unsigned row = 0; buf->len < RUN_SIZE; row++) {
        struct writer writer = writer_to(buf);
        size_t start = buf->len;
        writer_u8(&writer, 'D');
        writer_u32(&writer, 0);
        writer_u16(&writer, COLUMNS);
        for (size_t i = 0; i < COLUMNS; i++) {
            bool is_secret = i == 2 && rarity > 0 && row % rarity == 0;
            struct slice value = slice_of_text(is_secret ? "a SECRET" : values[i]);
            writer_u32(&writer, (uint32_t)value.len);
            writer_bytes(&writer, value);
        }
        writer_u32_at(&writer, start + 1, (uint32_t)(buf->len - start - 1));
    }
}

static void measure(const char *name, struct mask_rules *rules, unsigned rarity, double seconds)
{
    const struct pg_mask_settings settings = {.rules = rules};
    const struct pg_mask_request request = {.id = 1, .type = 'Q', .body = SLICE("select\0")};
    struct pg_mask *mask = pg_mask_new(&settings);
    enum pg_mask_verdict verdict;
    struct buf rows;
    struct buf out;
    double bytes = 0;
    buf_init(&rows, LIMIT_MIB(1));
    buf_init(&out, LIMIT_MIB(4));
    must(pg_mask_request(mask, &request, NULL) == ERR_NONE);
    write_description(&rows, 0);
    must(pg_mask_answer(mask, 1, buf_view(&rows), &out, &verdict, NULL) == ERR_NONE);
    buf_truncate(&rows, 0);
    write_rows(&rows, rarity);
    double start = now_seconds();
    while (now_seconds() - start < seconds) {
        for (int i = 0; i < 50; i++) {
            buf_truncate(&out, 0);
            must(pg_mask_answer(mask, 1, buf_view(&rows), &out, &verdict, NULL) == ERR_NONE);
            bytes += (double)rows.len;
        }
    }
    printf("%-32s %8.0f MB/s\n", name, bytes / (now_seconds() - start) / 1e6);
    buf_release(&rows);
    buf_release(&out);
    pg_mask_free(mask);
}

static void measure_sum(double seconds)
{
    struct buf rows;
    double bytes = 0;
    volatile unsigned sum = 0;
    buf_init(&rows, LIMIT_MIB(1));
    write_rows(&rows, 0);
    double start = now_seconds();
    while (now_seconds() - start < seconds) {
        struct slice view = buf_view(&rows);
        unsigned part = 0;
        for (size_t i = 0; i < view.len; i++) {
            part += (unsigned char)view.at[i];
        }
        sum += part;
        bytes += (double)view.len;
    }
    (void)sum; /* only so that it is made */
    printf("%-32s %8.0f MB/s\n", "the sum of all bytes", bytes / (now_seconds() - start) / 1e6);
    buf_release(&rows);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) / 1000 : 1;
    struct mask_rules nothing = {.looks_into_text = false};
    struct mask_rules text = {.looks_into_text = true};
    struct mask_rules column = {.columns = {{.column = "name"}}, .column_count = 1};
    measure_sum(seconds);
    measure("no rule concerns the rows", &nothing, 0, seconds);
    measure("text is looked into, none found", &text, 0, seconds);
    measure("one row in ten has something", &text, 10, seconds);
    measure("every row has something", &text, 1, seconds);
    measure("every column is masked", &column, 0, seconds);
    return EXIT_SUCCESS;
}
