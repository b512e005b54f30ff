/* SPDX-License-Identifier: MIT */
#include "protocol/pump.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/timer.h"

/* From one side to the other. */
struct pump_direction {
    struct pump *pump;
    enum pump_side from;
    struct buf waiting; /* what the other side has not taken yet, or may not have yet */
    struct buf unseen;  /* came before the pump, on_pass is still due */
    uint64_t count;
    bool is_held;   /* by on_pass: what waits may not pass */
    bool is_unread; /* by pump_hold(): nothing is read */
    bool is_asked;  /* by pump_ask() */
    bool has_ended; /* the side that gives has nothing more */
    bool is_over;   /* and the other was told, or cannot be */
};

enum pump_state {
    PUMP_STARTING,
    PUMP_CARRYING,
    PUMP_ENDED, /* on_end was called */
    /* The target is closed. What waits goes to the client, then our end; then the client's is
     * waited for: closed with bytes unread, a socket may take back what was sent (RFC 1122,
     * 4.2.2.13). So they are read, for nothing. */
    PUMP_FINISHING,
};

struct pump {
    struct stream *streams[2];           /* no target while PUMP_FINISHING */
    struct pump_direction directions[2]; /* by the side that gives */
    struct pump_settings settings;
    enum pump_state state;
    bool is_target_broken; /* it takes nothing more; what it said before may still be there */
    const struct pump_direction *passing; /* inside on_pass */
    enum pump_side failed_side;
    enum err error; /* why it ends, before on_end is called */
    struct loop_task task;
    struct timer timer; /* while PUMP_FINISHING */
};

static enum pump_side pump_other(enum pump_side side)
{
    return side == PUMP_CLIENT ? PUMP_TARGET : PUMP_CLIENT;
}

static void pump_fail(struct pump *pump, enum pump_side side, enum err err)
{
    if (pump->error == ERR_NONE) {
        pump->failed_side = side;
        pump->error = err;
    }
}

static void pump_defer(struct pump *pump)
{
    loop_defer(pump->streams[PUMP_CLIENT]->loop, &pump->task);
}

static bool pump_may_write(const struct pump_direction *direction)
{
    return !direction->is_held && direction->unseen.len == 0;
}

static bool pump_reads(const struct pump_direction *direction)
{
    const struct pump *pump = direction->pump;
    if (pump->state == PUMP_FINISHING) {
        return direction->from == PUMP_CLIENT && !direction->has_ended;
    }
    if (direction->is_unread || (direction->from == PUMP_CLIENT && pump->is_target_broken)) {
        return false;
    }
    return pump->state == PUMP_CARRYING && !direction->has_ended && pump_may_write(direction) &&
           direction->waiting.len == 0;
}

static bool pump_writes(const struct pump_direction *direction)
{
    bool has_end = direction->has_ended && !direction->is_over;
    return pump_may_write(direction) && (direction->waiting.len > 0 || has_end);
}

/* A side is read while the other takes; it is watched for room while something waits for it. */
static void pump_watch(struct pump *pump)
{
    for (int i = 0; i < 2; i++) {
        const struct pump_direction *out = &pump->directions[i];
        const struct pump_direction *in = &pump->directions[pump_other((enum pump_side)i)];
        unsigned events = 0;
        if (pump_reads(out)) {
            events |= STREAM_READABLE;
        }
        if (pump_writes(in)) {
            events |= STREAM_WRITABLE;
        }
        if (pump->streams[i] != NULL) {
            stream_watch(pump->streams[i], events);
        }
    }
}

/* Writing ------------------------------------------------------------------------------------- */

/* A target that takes nothing more may have said why: it is read to its end first. */
static void pump_write_failed(struct pump_direction *direction)
{
    if (direction->from == PUMP_TARGET) {
        pump_fail(direction->pump, PUMP_CLIENT, ERR_IO);
        return;
    }
    buf_clear(&direction->waiting);
    direction->is_over = true;
    direction->pump->is_target_broken = true;
}

/* Tells a side that nothing more comes; but a client whose target is gone may still be told why. */
static void pump_end_direction(struct pump_direction *direction)
{
    struct pump *pump = direction->pump;
    if (direction->from == PUMP_TARGET && pump->state != PUMP_FINISHING) {
        direction->is_over = true;
        return;
    }
    enum err err = stream_shutdown(pump->streams[pump_other(direction->from)]);
    direction->is_over = err == ERR_NONE;
    if (err != ERR_NONE && err != ERR_AGAIN) {
        pump_write_failed(direction);
    }
}

static void pump_flush(struct pump_direction *direction)
{
    struct stream *to = direction->pump->streams[pump_other(direction->from)];
    while (pump_may_write(direction) && direction->waiting.len > 0) {
        struct slice bytes = buf_view(&direction->waiting);
        size_t taken = 0;
        enum err err = stream_write(to, &bytes, 1, &taken);
        if (err == ERR_AGAIN) {
            return;
        }
        if (err != ERR_NONE) {
            pump_write_failed(direction);
            return;
        }
        buf_consume(&direction->waiting, taken);
    }
    if (direction->waiting.len == 0) {
        buf_clear(&direction->waiting);
        if (direction->has_ended && !direction->is_over) {
            pump_end_direction(direction);
        }
    }
}

/* An owner that puts more in their place than it said has no room for it. */
static void pump_keep(struct pump_direction *direction, struct slice bytes)
{
    if (buf_append(&direction->waiting, bytes) != ERR_NONE) {
        pump_fail(direction->pump, direction->from, ERR_LIMIT);
    }
}

/* As much as the other side takes now; the rest waits. */
static void pump_send(struct pump_direction *direction, struct slice bytes)
{
    struct stream *to = direction->pump->streams[pump_other(direction->from)];
    size_t taken = 0;
    enum err err = direction->waiting.len > 0 ? ERR_AGAIN : stream_write(to, &bytes, 1, &taken);
    if (err != ERR_NONE && err != ERR_AGAIN) {
        pump_write_failed(direction);
        return;
    }
    bytes = slice_from(bytes, err == ERR_NONE ? taken : 0);
    pump_keep(direction, bytes);
}

/* Reading ------------------------------------------------------------------------------------- */

static enum err pump_show(struct pump_direction *direction, struct slice *bytes)
{
    struct pump *pump = direction->pump;
    if (pump->settings.on_pass == NULL) {
        return ERR_NONE;
    }
    pump->passing = direction;
    enum err err = pump->settings.on_pass(pump->settings.owner, direction->from, bytes);
    pump->passing = NULL;
    direction->is_held = err == ERR_AGAIN;
    if (err != ERR_NONE && err != ERR_AGAIN) {
        pump_fail(pump, direction->from, err);
    }
    return err;
}

static void pump_take(struct pump_direction *direction, struct slice bytes)
{
    enum err err = pump_show(direction, &bytes);
    if (err == ERR_NONE) {
        pump_send(direction, bytes);
    } else if (err == ERR_AGAIN) {
        pump_keep(direction, bytes);
    }
}

/* Words that were said meanwhile stay behind it. */
static void pump_show_unseen(struct pump_direction *direction)
{
    struct buf unseen = direction->unseen;
    struct buf words = direction->waiting;
    if (unseen.len > 0) {
        buf_init(&direction->unseen, 0);
        buf_init(&direction->waiting, words.size_max);
        pump_take(direction, buf_view(&unseen));
        pump_keep(direction, buf_view(&words));
        buf_release(&unseen);
        buf_release(&words);
    }
}

static void pump_show_asked(struct pump_direction *direction)
{
    bool is_open =
        direction->pump->state == PUMP_STARTING || direction->pump->state == PUMP_CARRYING;
    if (direction->is_asked && is_open && pump_may_write(direction)) {
        direction->is_asked = false;
        pump_take(direction, SLICE(""));
    }
}

/* One reading a turn, so that no pair holds up the others of the loop. */
static void pump_carry(struct pump_direction *direction)
{
    struct pump *pump = direction->pump;
    size_t len = 0;
    if (!pump_reads(direction)) {
        return;
    }
    enum err err = stream_read(pump->streams[direction->from], pump->settings.scratch,
                               pump->settings.scratch_size, &len);
    if (err == ERR_NONE) {
        if (pump->state != PUMP_FINISHING) {
            direction->count += len;
            pump_take(direction, slice_of(pump->settings.scratch, len));
        }
        return;
    }
    if (err == ERR_AGAIN && !pump->is_target_broken) {
        return;
    }
    if (err != ERR_CLOSED && direction->from == PUMP_CLIENT) {
        pump_fail(pump, PUMP_CLIENT, ERR_IO);
        return;
    }
    direction->has_ended = true;
    if (direction->from == PUMP_TARGET) {
        pump->is_target_broken = pump->is_target_broken || err != ERR_CLOSED;
    } else if (pump->settings.on_half != NULL && pump->state == PUMP_CARRYING) {
        pump->settings.on_half(pump->settings.owner);
    }
    pump_flush(direction);
}

/* Turns --------------------------------------------------------------------------------------- */

/* The owner may close the pump inside: nothing is done after it. */
static void pump_tell(struct pump *pump, enum pump_side side, enum err err)
{
    pump->state = PUMP_ENDED;
    stream_watch(pump->streams[PUMP_CLIENT], 0);
    stream_watch(pump->streams[PUMP_TARGET], 0);
    pump->settings.on_end(pump->settings.owner, side, err);
}

/* So it is here. */
static void pump_vanish(struct pump *pump)
{
    void (*on_gone)(void *owner) = pump->settings.on_gone;
    void *owner = pump->settings.owner;
    pump_close(pump);
    on_gone(owner);
}

/* What comes of a turn. */
static void pump_settle(struct pump *pump)
{
    const struct pump_direction *of_target = &pump->directions[PUMP_TARGET];
    bool is_finishing = pump->state == PUMP_FINISHING;
    if (is_finishing && (pump->error != ERR_NONE ||
                         (of_target->is_over && pump->directions[PUMP_CLIENT].has_ended))) {
        pump_vanish(pump);
        return;
    }
    if (!is_finishing && pump->error != ERR_NONE) {
        pump_tell(pump, pump->failed_side, pump->error);
        return;
    }
    if (!is_finishing && of_target->is_over) {
        pump_tell(pump, PUMP_TARGET, pump->is_target_broken ? ERR_IO : ERR_NONE);
        return;
    }
    if (pump->is_target_broken && pump_reads(of_target)) {
        pump_defer(pump); /* nothing tells that a broken stream can be read */
    }
    pump_watch(pump);
}

static void pump_go_on(struct pump *pump, enum pump_side side, unsigned events)
{
    if (pump->state == PUMP_ENDED) {
        return;
    }
    if ((events & STREAM_WRITABLE) != 0) {
        pump_flush(&pump->directions[pump_other(side)]);
    }
    if (pump->error == ERR_NONE && (events & STREAM_READABLE) != 0) {
        pump_carry(&pump->directions[side]);
    }
    pump_settle(pump);
}

static void pump_on_client(void *owner, unsigned events)
{
    pump_go_on(owner, PUMP_CLIENT, events);
}

static void pump_on_target(void *owner, unsigned events)
{
    pump_go_on(owner, PUMP_TARGET, events);
}

/* What was put off, so that no callback comes out of a call of the owner's. */
static void pump_on_task(void *owner)
{
    struct pump *pump = owner;
    if (pump->state == PUMP_ENDED) {
        return;
    }
    for (int i = 0; i < 2 && pump->error == ERR_NONE; i++) {
        pump_show_unseen(&pump->directions[i]);
        if (pump->error == ERR_NONE) {
            pump_show_asked(&pump->directions[i]);
        }
        if (pump->error == ERR_NONE) {
            pump_flush(&pump->directions[i]);
        }
    }
    if (pump->state == PUMP_STARTING) {
        pump->state = PUMP_CARRYING;
    }
    if (pump->is_target_broken && pump->error == ERR_NONE) {
        pump_carry(&pump->directions[PUMP_TARGET]);
    }
    pump_settle(pump);
}

static void pump_on_time(void *owner)
{
    pump_vanish(owner);
}

/* From outside -------------------------------------------------------------------------------- */

struct pump *pump_new(const struct pump_settings *settings)
{
    struct pump *pump = memory_new(sizeof(*pump));
    pump->settings = *settings;
    for (int i = 0; i < 2; i++) {
        struct pump_direction *direction = &pump->directions[i];
        struct slice waiting = settings->waiting[i];
        pump->streams[i] = settings->take_streams[i];
        direction->pump = pump;
        direction->from = (enum pump_side)i;
        direction->count = waiting.len;
        buf_init(&direction->waiting, settings->scratch_size + waiting.len + LIMIT_PUMP_OWN_SIZE +
                                          2 * settings->replaced_max);
        buf_init(&direction->unseen, waiting.len);
        must(buf_append(&direction->unseen, waiting) == ERR_NONE);
        pump->settings.waiting[i] = SLICE_NONE;
    }
    stream_own(pump->streams[PUMP_CLIENT], pump_on_client, pump);
    stream_own(pump->streams[PUMP_TARGET], pump_on_target, pump);
    loop_task_init(&pump->task, pump_on_task, pump);
    timer_init(&pump->timer, pump_on_time, pump);
    pump_defer(pump);
    return pump;
}

void pump_close(struct pump *pump)
{
    must(pump->passing == NULL);
    loop_task_cancel(&pump->task);
    timer_stop(&pump->timer);
    for (int i = 0; i < 2; i++) {
        if (pump->streams[i] != NULL) {
            stream_close(pump->streams[i]);
        }
        buf_release(&pump->directions[i].waiting);
        buf_release(&pump->directions[i].unseen);
    }
    memory_free(pump);
}

void pump_resume(struct pump *pump, enum pump_side side)
{
    if (pump->directions[side].is_held) {
        pump->directions[side].is_held = false;
        pump_defer(pump);
    }
}

void pump_ask(struct pump *pump, enum pump_side side)
{
    pump->directions[side].is_asked = true;
    pump_defer(pump);
}

void pump_drop(struct pump *pump, enum pump_side side)
{
    struct pump_direction *direction = &pump->directions[side];
    must(pump->passing == NULL);
    if (direction->is_held) {
        direction->is_held = false;
        buf_clear(&direction->waiting);
        pump_defer(pump);
    }
}

bool pump_has_ended(const struct pump *pump, enum pump_side side)
{
    return pump->directions[side].has_ended;
}

void pump_hold(struct pump *pump, enum pump_side side, bool is_held)
{
    if (pump->directions[side].is_unread == is_held) {
        return;
    }
    pump->directions[side].is_unread = is_held;
    if (pump->state == PUMP_CARRYING) {
        pump_watch(pump);
    }
}

enum err pump_say(struct pump *pump, enum pump_side side, struct slice bytes)
{
    struct pump_direction *direction = &pump->directions[pump_other(side)];
    must(pump->passing != direction && pump->state != PUMP_FINISHING);
    pump_defer(pump);
    if (direction->is_over && side == PUMP_TARGET) {
        return ERR_NONE; /* it takes nothing more, and what it said last is on its way */
    }
    return bytes.len > LIMIT_PUMP_OWN_SIZE + pump->settings.replaced_max
               ? ERR_LIMIT
               : buf_append(&direction->waiting, bytes);
}

void pump_finish(struct pump *pump)
{
    struct pump_direction *of_target = &pump->directions[PUMP_TARGET];
    struct pump_direction *of_client = &pump->directions[PUMP_CLIENT];
    must(pump->passing == NULL && pump->state != PUMP_FINISHING);
    pump->state = PUMP_FINISHING;
    pump->error = ERR_NONE;
    pump->is_target_broken = false;
    stream_close(pump->streams[PUMP_TARGET]);
    pump->streams[PUMP_TARGET] = NULL;
    buf_clear(&of_client->waiting);
    buf_clear(&of_client->unseen);
    of_client->is_over = true;
    of_target->has_ended = true;
    of_target->is_over = false;
    timer_start(pump->streams[PUMP_CLIENT]->loop, &pump->timer, LIMIT_PUMP_FINISH_MS);
    pump_defer(pump);
}

uint64_t pump_count(const struct pump *pump, enum pump_side side)
{
    return pump->directions[side].count;
}
