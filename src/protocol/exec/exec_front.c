/* SPDX-License-Identifier: MIT */
/* The side of the gateway's own client: one frame says what for, one answers. */
#include "base/memory.h"
#include "base/must.h"
#include "model/session.h"
#include "protocol/exec/exec.h"
#include "protocol/front_exchange.h"
#include "wire/execwire.h"

struct exec_front {
    struct front_exchange exchange;
    struct slice hello; /* items, in the input */
};

static struct exec_front *exec_front_of(struct front_exchange *exchange)
{
    return CONTAINER_OF(exchange, struct exec_front, exchange);
}

static void exec_front_free(struct front_exchange *exchange)
{
    struct exec_front *self = exec_front_of(exchange);
    buf_release(&exchange->input);
    buf_release(&exchange->output);
    memory_free(self);
}

static void exec_front_take(struct front_exchange *exchange)
{
    struct execwire_frame frame;
    size_t taken = 0;
    enum err err = execwire_read(buf_view(&exchange->input), &taken, &frame);
    if (err == ERR_MORE) {
        return;
    }
    if (err != ERR_NONE || frame.type != EXECWIRE_HELLO || taken != exchange->input.len) {
        front_exchange_drop(exchange, ERR_INPUT, "the client does not begin as it must");
        return;
    }
    exec_front_of(exchange)->hello = frame.payload;
    buf_consume(&exchange->input, taken); /* its bytes stay, for nothing is read any more */
    front_exchange_prove(exchange, 0);    /* nobody else comes this way */
}

static const struct exchange_ops exec_exchange_ops = {
    .take = exec_front_take,
    .write_words = exec_answer_write,
    .free = exec_front_free,
};

/* The owner's calls --------------------------------------------------------------------------- */

static struct front *exec_front_start(struct stream *take_stream, const struct front_config *config,
                                      const struct front_events *events, void *owner)
{
    struct exec_front *self = memory_new(sizeof(*self));
    struct front_exchange *exchange = &self->exchange;
    must(config->is_inside); /* nobody signs in */
    exchange->front.ops = &exec_front_ops;
    exchange->ops = &exec_exchange_ops;
    exchange->stream = take_stream;
    exchange->events = events;
    exchange->owner = owner;
    buf_init(&exchange->input, LIMIT_EXEC_FRAME_SIZE + EXECWIRE_HEAD_SIZE);
    buf_init(&exchange->output, LIMIT_EXEC_WORDS_SIZE + LIMIT_KIB(1));
    front_exchange_start(exchange, config->authentication_ms);
    return &exchange->front;
}

static void exec_front_answer(struct front *front, const struct front_verifiers *verifiers)
{
    (void)front; /* nobody asks for it here */
    (void)verifiers;
}

static enum err exec_front_open(struct front *front, const struct arrival *arrival,
                                const struct cancel_key *key)
{
    struct buf answer CLEANUP(buf_release);
    (void)arrival;
    (void)key;
    buf_init(&answer, EXECWIRE_HEAD_SIZE);
    must(execwire_write(&answer, EXECWIRE_ACCEPT, SLICE("")) == ERR_NONE);
    return front_exchange_open(front, buf_view(&answer));
}

/* What the terminal is, for whoever keeps the command. */
static struct shape_pairs exec_front_terminal_in(struct arena *arena,
                                                 const struct execwire_item *item)
{
    struct execwire_size size = {.columns = 80, .rows = 24};
    struct shape_pair *pairs = arena_alloc_array(arena, 3, sizeof(*pairs));
    enum err err = execwire_size_read(item->value, &size);
    must(err == ERR_NONE); /* the gateway has written it */
    pairs[0] = (struct shape_pair){.key = SLICE(EXEC_TERMINAL_KIND),
                                   .value = arena_copy(arena, item->name)};
    pairs[1] = (struct shape_pair){.key = SLICE(EXEC_TERMINAL_COLUMNS),
                                   .value = arena_format(arena, "%u", (unsigned)size.columns)};
    pairs[2] = (struct shape_pair){.key = SLICE(EXEC_TERMINAL_ROWS),
                                   .value = arena_format(arena, "%u", (unsigned)size.rows)};
    return (struct shape_pairs){.pairs = pairs, .count = 3};
}

static struct hello exec_front_hello_in(struct arena *arena, const struct front *front)
{
    const struct front_exchange *exchange = CONTAINER_OF_CONST(front, struct front_exchange, front);
    const struct exec_front *self = CONTAINER_OF_CONST(exchange, struct exec_front, exchange);
    struct reader reader = reader_of(self->hello);
    struct execwire_item item;
    struct hello hello = {.name = SLICE(""),
                          .database = SLICE(""),
                          .application_name = SLICE(""),
                          .metadata_hint = ""};
    hello.metadata.pairs =
        arena_alloc_array(arena, SESSION_METADATA_COUNT + 1, sizeof(*hello.metadata.pairs));
    while (execwire_item_next(&reader, &item)) {
        struct slice value = arena_copy(arena, item.value);
        if (item.kind == EXECWIRE_TERMINAL) {
            hello.parameters = exec_front_terminal_in(arena, &item);
        } else if (item.kind == EXECWIRE_NAME) {
            hello.name = value;
        } else if (item.kind == EXECWIRE_APPLICATION) {
            hello.application_name = value;
        } else if (item.kind == EXECWIRE_METADATA &&
                   hello.metadata.count < SESSION_METADATA_COUNT) {
            hello.metadata.pairs[hello.metadata.count++] =
                (struct shape_pair){.key = arena_copy(arena, item.name), .value = value};
        }
    }
    return hello;
}

const struct front_ops exec_front_ops = {
    .start = exec_front_start,
    .answer = exec_front_answer,
    .open = exec_front_open,
    .cancelled = front_exchange_cancelled,
    .refuse = front_exchange_refuse,
    .hello_in = exec_front_hello_in,
    .close = front_exchange_close,
};
