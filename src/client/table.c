/* SPDX-License-Identifier: MIT */
#include "client/table.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/clock.h"

#define HELD_ROWS    200
#define HELD_US      300000
#define WIDTH_MAX    60 /* that is made room for; a wider value sticks out */
#define SHOWN_FACTOR 8  /* a byte as \u{202e} */

/* One value ------------------------------------------------------------------------------------ */

static size_t table_width(struct slice text)
{
    size_t width = 0;
    while (text.len > 0) {
        uint32_t code = 0;
        size_t len = text_character(text, &code);
        text = slice_from(text, len == 0 ? 1 : len);
        width++;
    }
    return width;
}

static struct slice table_shown_in(struct arena *arena, struct slice text)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, text.len * SHOWN_FACTOR + 16);
    struct writer writer = writer_to(&buf);
    text_show(&writer, text);
    return arena_copy(arena, buf_view(&buf));
}

/* As COPY … CSV writes it: NULL is nothing, an empty text is "". */
static void table_write_csv(FILE *out, struct slice text)
{
    struct slice special = SLICE(",\"\r\n");
    bool is_quoted = text.at != NULL && text.len == 0;
    for (size_t i = 0; i < text.len && !is_quoted; i++) {
        is_quoted = slice_find_byte(special, text.at[i]) < special.len;
    }
    is_quoted = is_quoted || (text.len > 0 && (text.at[0] == ' ' || text.at[text.len - 1] == ' '));
    if (!is_quoted) {
        (void)fwrite(text.at == NULL ? "" : text.at, 1, text.len, out);
        return;
    }
    (void)fputc('"', out);
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '"') {
            (void)fputc('"', out);
        }
        (void)fputc(text.at[i], out);
    }
    (void)fputc('"', out);
}

/* What would end the cell, or begin something in it, is escaped. */
static void table_write_markdown(FILE *out, struct slice text)
{
    struct slice special = SLICE("|\\`*_[]<>&");
    for (size_t i = 0; i < text.len; i++) {
        if (slice_find_byte(special, text.at[i]) < special.len) {
            (void)fputc('\\', out);
        }
        (void)fputc(text.at[i], out);
    }
}

/* Rows ----------------------------------------------------------------------------------------- */

static void table_write_row(const struct table *table, struct slice *const values)
{
    FILE *out = table->out;
    for (size_t i = 0; i < table->column_count; i++) {
        bool is_last = i + 1 == table->column_count;
        if (table->form == TABLE_CSV) {
            (void)fputs(i == 0 ? "" : ",", out);
            table_write_csv(out, values[i]);
        } else if (table->form == TABLE_MARKDOWN) {
            (void)fputs("| ", out);
            table_write_markdown(out, values[i]);
            (void)fputs(is_last ? " |" : " ", out);
        } else {
            size_t width = table_width(values[i]);
            size_t gap = width < table->widths[i] ? table->widths[i] - width : 0;
            (void)fwrite(values[i].len == 0 ? "" : values[i].at, 1, values[i].len, out);
            (void)fprintf(out, "%*s", is_last ? 0 : (int)gap + 2, "");
        }
    }
    (void)fputc('\n', out);
}

static void table_write_head(struct table *table)
{
    table_write_row(table, table->names);
    for (size_t i = 0; i < table->column_count && table->form == TABLE_MARKDOWN; i++) {
        (void)fputs(i + 1 == table->column_count ? "| --- |\n" : "| --- ", table->out);
    }
    table->is_written = true;
}

static void table_flush(struct table *table)
{
    if (!table->is_written) {
        table_write_head(table);
    }
    for (size_t i = 0; i < table->row_count; i++) {
        table_write_row(table, table->rows[i]);
    }
    table->row_count = 0;
    table->size = 0;
    (void)fflush(table->out);
}

void table_begin(struct table *table, FILE *out, enum table_form form, const struct slice *names,
                 size_t count)
{
    *table = (struct table){.out = out, .form = form, .column_count = count};
    arena_init(&table->arena);
    table->names = arena_alloc_array(&table->arena, count + 1, sizeof(*table->names));
    table->widths = arena_alloc_array(&table->arena, count + 1, sizeof(*table->widths));
    table->rows = arena_alloc_array(&table->arena, HELD_ROWS, sizeof(*table->rows));
    for (size_t i = 0; i < count; i++) {
        table->names[i] = form == TABLE_CSV ? arena_copy(&table->arena, names[i])
                                            : table_shown_in(&table->arena, names[i]);
        table->widths[i] = table_width(table->names[i]);
    }
}

/* Those behind the first go out by themselves, from an arena that is theirs alone. */
static void table_row_now(struct table *table, const struct slice *values)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct slice *shown = arena_alloc_array(&arena, table->column_count + 1, sizeof(*shown));
    for (size_t i = 0; i < table->column_count; i++) {
        shown[i] = table->form == TABLE_CSV ? values[i] : table_shown_in(&arena, values[i]);
    }
    table_write_row(table, shown);
}

void table_row(struct table *table, const struct slice *values)
{
    if (table->is_written) {
        table_row_now(table, values);
        return;
    }
    struct slice *held = arena_alloc_array(&table->arena, table->column_count + 1, sizeof(*held));
    for (size_t i = 0; i < table->column_count; i++) {
        bool is_null = values[i].at == NULL;
        held[i] = is_null                    ? SLICE_NONE
                  : table->form == TABLE_CSV ? arena_copy(&table->arena, values[i])
                                             : table_shown_in(&table->arena, values[i]);
        size_t width = table_width(held[i]);
        if (width > table->widths[i]) {
            table->widths[i] = width > WIDTH_MAX ? WIDTH_MAX : width;
        }
        table->size += held[i].len;
    }
    table->held_since = table->row_count == 0 ? clock_monotonic() : table->held_since;
    table->rows[table->row_count++] = held;
    if (table->row_count == HELD_ROWS || table->size > LIMIT_CLIENT_TABLE_SIZE) {
        table_flush(table);
    }
}

void table_look(struct table *table)
{
    bool is_late = table->row_count > 0 && clock_monotonic() - table->held_since > HELD_US;
    if (is_late) {
        table_flush(table);
    } else if (table->is_written) {
        (void)fflush(table->out);
    }
}

void table_end(struct table *table)
{
    table_flush(table);
    arena_release(&table->arena);
}
