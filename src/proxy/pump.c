/* SPDX-License-Identifier: MIT */
#include "proxy/pump.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"

/* From one side to the other. */
struct pump_way {
    struct pump *pump;
    enum pump_side from;
    struct buf waiting; /* what the other side has not taken yet */
    uint64_t count;
    bool has_ended; /* the side that gives has nothing more */
    bool is_over;   /* and the other was told */
};

struct pump {
    struct stream *streams[2];
    struct pump_way ways[2]; /* by the side that gives */
    char *scratch;
    size_t scratch_size;
    void (*on_end)(void *owner, enum err err);
    void *owner;
    struct loop_task started;
    bool has_told; /* on_end was called */
};

static enum pump_side pump_other(enum pump_side side)
{
    return side == PUMP_CLIENT ? PUMP_TARGET : PUMP_CLIENT;
}

static void pump_tell(struct pump *pump, enum err err)
{
    if (!pump->has_told) {
        pump->has_told = true;
        stream_watch(pump->streams[PUMP_CLIENT], 0);
        stream_watch(pump->streams[PUMP_TARGET], 0);
        pump->on_end(pump->owner, err);
    }
}

/* A side is read while the other takes; it is watched for room while something waits for it. */
static void pump_watch(struct pump *pump)
{
    for (int i = 0; i < 2; i++) {
        const struct pump_way *out = &pump->ways[i];
        const struct pump_way *in = &pump->ways[pump_other((enum pump_side)i)];
        unsigned events = 0;
        if (!out->has_ended && out->waiting.len == 0) {
            events |= STREAM_READABLE;
        }
        if (in->waiting.len > 0 || (in->has_ended && !in->is_over)) {
            events |= STREAM_WRITABLE;
        }
        stream_watch(pump->streams[i], events);
    }
}

/* As much as the other side takes now; the rest waits. */
static enum err pump_send(struct pump_way *way, struct slice bytes)
{
    struct stream *to = way->pump->streams[pump_other(way->from)];
    size_t taken = 0;
    enum err err = way->waiting.len > 0 ? ERR_AGAIN : stream_write(to, &bytes, 1, &taken);
    if (err != ERR_NONE && err != ERR_AGAIN) {
        return ERR_IO;
    }
    bytes = slice_from(bytes, err == ERR_NONE ? taken : 0);
    return bytes.len == 0 ? ERR_NONE : buf_append(&way->waiting, bytes);
}

static enum err pump_flush(struct pump_way *way)
{
    struct stream *to = way->pump->streams[pump_other(way->from)];
    while (way->waiting.len > 0) {
        struct slice bytes = buf_view(&way->waiting);
        size_t taken = 0;
        enum err err = stream_write(to, &bytes, 1, &taken);
        if (err != ERR_NONE) {
            return err == ERR_AGAIN ? ERR_NONE : ERR_IO;
        }
        buf_consume(&way->waiting, taken);
    }
    buf_clear(&way->waiting);
    if (way->has_ended && way->from == PUMP_TARGET) {
        way->is_over = true; /* the client may be told why */
    } else if (way->has_ended && !way->is_over) {
        enum err err = stream_shutdown(to);
        way->is_over = err == ERR_NONE;
        return err == ERR_AGAIN || err == ERR_NONE ? ERR_NONE : ERR_IO;
    }
    return ERR_NONE;
}

/* One reading a turn, so that no pair holds up the others of the loop. */
static enum err pump_carry(struct pump_way *way)
{
    struct pump *pump = way->pump;
    size_t len = 0;
    if (way->has_ended || way->waiting.len > 0) {
        return ERR_NONE;
    }
    enum err err = stream_read(pump->streams[way->from], pump->scratch, pump->scratch_size, &len);
    if (err == ERR_NONE) {
        way->count += len;
        return pump_send(way, slice_of(pump->scratch, len));
    }
    if (err == ERR_CLOSED) {
        way->has_ended = true;
        return pump_flush(way);
    }
    return err == ERR_AGAIN ? ERR_NONE : ERR_IO;
}

static void pump_go_on(struct pump *pump, enum pump_side side, unsigned events)
{
    struct pump_way *out = &pump->ways[side];
    struct pump_way *in = &pump->ways[pump_other(side)];
    enum err err = ERR_NONE;
    if ((events & STREAM_WRITABLE) != 0) {
        err = pump_flush(in);
    }
    if (err == ERR_NONE && (events & STREAM_READABLE) != 0) {
        err = pump_carry(out);
    }
    if (err != ERR_NONE || pump->ways[PUMP_TARGET].is_over) {
        pump_tell(pump, err);
        return;
    }
    pump_watch(pump);
}

static void pump_on_client(void *owner, unsigned events)
{
    pump_go_on(owner, PUMP_CLIENT, events);
}

static void pump_on_target(void *owner, unsigned events)
{
    pump_go_on(owner, PUMP_TARGET, events);
}

/* What came before the pump, in a turn of its own: the owner may not be ready for on_end yet. */
static void pump_start(void *owner)
{
    struct pump *pump = owner;
    for (int i = 0; i < 2; i++) {
        if (pump_flush(&pump->ways[i]) != ERR_NONE) {
            pump_tell(pump, ERR_IO);
            return;
        }
    }
    pump_watch(pump);
}

struct pump *pump_new(const struct pump_settings *settings)
{
    struct pump *pump = memory_new(sizeof(*pump));
    pump->scratch = settings->scratch;
    pump->scratch_size = settings->scratch_size;
    pump->on_end = settings->on_end;
    pump->owner = settings->owner;
    for (int i = 0; i < 2; i++) {
        struct pump_way *way = &pump->ways[i];
        pump->streams[i] = settings->take_streams[i];
        way->pump = pump;
        way->from = (enum pump_side)i;
        way->count = settings->waiting[i].len;
        buf_init(&way->waiting, settings->scratch_size + settings->waiting[i].len);
        must(buf_append(&way->waiting, settings->waiting[i]) == ERR_NONE);
    }
    stream_own(pump->streams[PUMP_CLIENT], pump_on_client, pump);
    stream_own(pump->streams[PUMP_TARGET], pump_on_target, pump);
    loop_task_init(&pump->started, pump_start, pump);
    loop_defer(pump->streams[PUMP_CLIENT]->loop, &pump->started);
    return pump;
}

struct stream *pump_close_target(struct pump *pump)
{
    struct stream *client = pump->streams[PUMP_CLIENT];
    loop_task_cancel(&pump->started);
    stream_close(pump->streams[PUMP_TARGET]);
    buf_release(&pump->ways[PUMP_CLIENT].waiting);
    buf_release(&pump->ways[PUMP_TARGET].waiting);
    memory_free(pump);
    return client;
}

void pump_close(struct pump *pump)
{
    stream_close(pump_close_target(pump));
}

uint64_t pump_count(const struct pump *pump, enum pump_side side)
{
    return pump->ways[side].count;
}
