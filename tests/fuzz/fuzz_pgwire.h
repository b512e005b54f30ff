/* SPDX-License-Identifier: MIT */
/* What the targets of both directions of the PostgreSQL protocol have in common: a stream goes
 * through a framer, whole and in pieces, and every body is also collected and handed on. */
#ifndef GH_FUZZ_FUZZ_PGWIRE_H
#define GH_FUZZ_FUZZ_PGWIRE_H

#include "fuzz.h"

#include "base/must.h"
#include "base/writer.h"
#include "wire/pgwire_frame.h"

#define SKIP_START   0x80
#define COLLECT_SIZE LIMIT_KIB(4)

typedef void (*body_fn)(const struct pgwire_frame *frame, struct slice body);

struct stream {
    enum pgwire_sender sender;
    bool skips_start;
    bool collects;
    size_t piece;
    body_fn read; /* NULL: bodies are not read */
};

static inline bool is_inside(struct slice part, struct slice whole)
{
    return part.len == 0 || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len);
}

static inline void must_same(struct slice a, struct slice b)
{
    must(slice_equals(a, b));
}

static inline void must_inside(struct slice part, struct slice whole)
{
    must(is_inside(part, whole));
}

/* One event: what it was is added to 'text', so that two runs can be compared. */
static inline void note(const struct stream *stream, struct pgwire_framer *framer,
                        const struct pgwire_event *event, struct buf *body, struct buf *text)
{
    struct writer writer = writer_to(text);
    if (event->kind == PGWIRE_EVENT_HEADER) {
        must(pgwire_header_write(text, &framer->frame) == ERR_NONE);
        must(event->is_last == (framer->frame.size == 0));
        if (stream->collects && framer->frame.size <= COLLECT_SIZE) {
            must(pgwire_framer_collect(framer, body, NULL) == ERR_NONE);
        }
        return;
    }
    writer_bytes(&writer, event->bytes);
    must(writer_done(&writer) == ERR_NONE);
    if (event->kind == PGWIRE_EVENT_BODY) {
        must(event->bytes.len == framer->frame.size && event->is_last);
        if (stream->read != NULL) {
            stream->read(&framer->frame, event->bytes);
        }
        buf_truncate(body, 0);
    } else {
        must(event->bytes.len > 0);
    }
}

static inline enum err run(const struct stream *stream, struct slice input, struct buf *text)
{
    struct pgwire_framer framer;
    struct buf body;
    enum err err = ERR_MORE;
    buf_init(&body, COLLECT_SIZE);
    pgwire_framer_init(&framer, stream->sender);
    if (stream->skips_start) {
        pgwire_framer_skip_start(&framer);
    }
    while (err == ERR_MORE && input.len > 0) {
        struct slice part = slice_sub(input, 0, stream->piece);
        struct pgwire_event event;
        size_t taken = 0;
        input = slice_from(input, part.len);
        while ((err = pgwire_framer_next(&framer, part, &taken, &event, NULL)) == ERR_NONE) {
            must(taken <= part.len && (taken > 0 || event.kind == PGWIRE_EVENT_BODY));
            must(event.kind != PGWIRE_EVENT_PART || is_inside(event.bytes, part));
            note(stream, &framer, &event, &body, text);
            pgwire_framer_resume(&framer);
            part = slice_from(part, taken);
        }
        must(err != ERR_MORE || taken == part.len);
    }
    buf_release(&body);
    return err;
}

/* The first byte says in pieces of which size the rest comes. What comes out, written again, is
 * what went in, whatever the pieces are and whether bodies are collected. */
static inline int check_stream(enum pgwire_sender sender, body_fn read, const uint8_t *bytes,
                               size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct stream stream = {
        .sender = sender,
        .skips_start = (bytes[0] & SKIP_START) != 0,
        .piece = size,
    };
    struct slice input = slice_of(bytes + 1, size - 1);
    struct buf whole;
    struct buf split;
    buf_init(&whole, LIMIT_MIB(4));
    buf_init(&split, LIMIT_MIB(4));
    enum err err = run(&stream, input, &whole);
    stream.piece = 1 + (bytes[0] & (SKIP_START - 1u));
    stream.collects = true;
    stream.read = read;
    must(run(&stream, input, &split) == err);
    struct slice text = buf_view(&whole);
    must(slice_starts_with(input, text));
    /* A body that is being collected when the input ends was not handed out yet. */
    must(slice_starts_with(text, buf_view(&split)));
    must(text.len - buf_view(&split).len <= COLLECT_SIZE);
    buf_release(&whole);
    buf_release(&split);
    return 0;
}

/* The one message in 'buf' has this body; the buffer is released. */
static inline void must_write_again(struct buf *buf, enum err err, struct slice body)
{
    must(err == ERR_NONE && slice_ends_with(buf_view(buf), body));
    must(buf_view(buf).len == PGWIRE_HEADER_SIZE + body.len);
    buf_release(buf);
}

#endif
