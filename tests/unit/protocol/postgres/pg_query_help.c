/* SPDX-License-Identifier: MIT */
#include "pg_query_help.h"

static void on_done(void *owner, const struct query_rows *rows, const struct query_failure *failure)
{
    struct question *self = owner;
    self->peer.done_count++;
    self->query = NULL;
    assert_true((rows == NULL) != (failure == NULL));
    self->is_answered = rows != NULL;
    if (rows != NULL) {
        self->rows = *rows;
    } else {
        self->failure = *failure;
    }
}

void question_start(struct question *self, const struct query_wish *wish)
{
    static const struct slice values[] = {SLICE_INIT("o'neill"), {.at = NULL}};
    *self = (struct question){.is_answered = false};
    arena_init(&self->arena);
    struct stream *stream = peer_open(&self->peer, &wish->wish);
    const struct query_settings settings = {
        .text = SLICE(STATEMENT),
        .values = values,
        .value_count = COUNT_OF(values),
        .column_count = 2,
        .row_count_max = wish->row_count_max == 0 ? 2 : wish->row_count_max,
        .size_max = wish->size_max == 0 ? 200 : wish->size_max,
        .timeout_ms = wish->timeout_ms == 0 ? 30000 : wish->timeout_ms,
        .rest = wish->rest,
        .arena = &self->arena,
    };
    self->query = pg_query_start(stream, &settings, on_done, self);
    assert_int_equal(self->peer.done_count, 0);
}

void question_end(struct question *self)
{
    if (self->query != NULL) {
        query_cancel(self->query);
    }
    peer_end(&self->peer);
    arena_release(&self->arena);
}

void assert_answered(struct question *self)
{
    assert_true(peer_await(&self->peer, 2000));
    assert_int_equal(self->peer.done_count, 1);
    if (!self->is_answered) {
        fail_msg("%s", self->failure.error.message);
    }
    assert_int_equal(self->rows.count, 2);
    const struct query_row *row = self->rows.first;
    assert_bytes(row->values[0], "a");
    assert_null(row->values[1].at);
    row = row->next;
    assert_non_null(row->values[0].at);
    assert_bytes(row->values[0], "");
    assert_bytes(row->values[1], "\xc3\xbc\n");
    assert_null(row->next);
}

void assert_not_answered(struct question *self, enum err code, const char *sqlstate,
                         const char *words)
{
    assert_true(peer_await(&self->peer, 2000));
    assert_int_equal(self->peer.done_count, 1);
    assert_false(self->is_answered);
    struct slice text = slice_of_text(self->failure.error.message);
    if (slice_find(text, slice_of_text(words)) == text.len) {
        fail_msg("'%s' is not in '%s'", words, self->failure.error.message);
    }
    assert_int_equal(self->failure.error.code, code);
    assert_string_equal(self->failure.code, sqlstate);
}
