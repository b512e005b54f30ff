/* SPDX-License-Identifier: MIT */
#include "io/timer.h"

#include "base/must.h"
#include "io/loop_internal.h"

static uint64_t timer_tick_of(uint64_t ms)
{
    return ms / TIMER_TICK_MS;
}

static void timer_wheel_expire(struct timer_wheel *wheel, struct list *expired)
{
    for (struct list *link = list_take_first(expired); link != NULL;
         link = list_take_first(expired)) {
        struct timer *timer = LIST_ITEM(link, struct timer, link);
        wheel->count--;
        timer->on_expire(timer->owner);
    }
}

static void timer_wheel_visit(struct timer_wheel *wheel, uint64_t tick, struct list *expired)
{
    struct list *slot = &wheel->slots[tick % TIMER_SLOT_COUNT];
    LIST_EACH(link, slot) {
        struct timer *timer = LIST_ITEM(link, struct timer, link);
        if (timer_tick_of(timer->deadline_ms) < tick) {
            list_remove(link);
            list_append(expired, link);
        }
    }
}

/* A timer stands in the slot after its deadline's tick, so that it never expires early. */
static void timer_wheel_turn(uv_timer_t *ticker)
{
    struct loop *loop = ticker->data;
    struct timer_wheel *wheel = &loop->wheel;
    uint64_t now = timer_tick_of(loop_now_ms(loop));
    struct list expired;
    list_init(&expired);
    uint64_t steps = now - wheel->tick;
    if (steps > TIMER_SLOT_COUNT) {
        steps = TIMER_SLOT_COUNT;
    }
    for (uint64_t tick = now + 1 - steps; tick <= now; tick++) {
        timer_wheel_visit(wheel, tick, &expired);
    }
    wheel->tick = now;
    timer_wheel_expire(wheel, &expired);
    if (wheel->count == 0) {
        (void)uv_timer_stop(ticker);
    }
}

void timer_wheel_init(struct loop *loop)
{
    for (size_t i = 0; i < TIMER_SLOT_COUNT; i++) {
        list_init(&loop->wheel.slots[i]);
    }
    must(uv_timer_init(&loop->uv, &loop->wheel.ticker) == 0);
    loop->wheel.ticker.data = loop;
}

void timer_wheel_close(struct loop *loop)
{
    must(loop->wheel.count == 0);
    uv_close((uv_handle_t *)&loop->wheel.ticker, NULL);
}

void timer_init(struct timer *timer, timer_expire_fn on_expire, void *owner)
{
    list_init(&timer->link);
    timer->loop = NULL;
    timer->deadline_ms = 0;
    timer->on_expire = on_expire;
    timer->owner = owner;
}

void timer_start(struct loop *loop, struct timer *timer, uint64_t delay_ms)
{
    struct timer_wheel *wheel = &loop->wheel;
    timer_stop(timer);
    timer->loop = loop;
    timer->deadline_ms = loop_now_ms(loop) + delay_ms;
    uint64_t tick = timer_tick_of(timer->deadline_ms) + 1;
    list_append(&wheel->slots[tick % TIMER_SLOT_COUNT], &timer->link);
    if (wheel->count++ == 0) {
        wheel->tick = timer_tick_of(loop_now_ms(loop));
        (void)uv_timer_start(&wheel->ticker, timer_wheel_turn, TIMER_TICK_MS, TIMER_TICK_MS);
    }
}

void timer_stop(struct timer *timer)
{
    if (list_is_empty(&timer->link)) {
        return;
    }
    list_remove(&timer->link);
    timer->loop->wheel.count--;
}
