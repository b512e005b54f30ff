/* SPDX-License-Identifier: MIT */
#include "io/tls_handshake.h"

#include "base/must.h"
#include "io/timer.h"
#include "io/tls_internal.h"
#include "io/tls_stream.h"

struct tls_handshake {
    struct loop *loop;
    struct stream *stream; /* NULL: it failed */
    struct timer deadline;
    struct loop_task task; /* begins; tells the end; frees */
    struct error error;
    tls_handshake_done_fn on_done;
    void *owner;
};

static void tls_handshake_free(void *owner)
{
    memory_free(owner);
}

static void tls_handshake_defer(struct tls_handshake *handshake, loop_task_fn run)
{
    loop_task_cancel(&handshake->task);
    loop_task_init(&handshake->task, run, handshake);
    loop_defer(handshake->loop, &handshake->task);
}

static void tls_handshake_tell(void *owner)
{
    struct tls_handshake *handshake = owner;
    struct stream *stream = handshake->stream;
    tls_handshake_defer(handshake, tls_handshake_free);
    handshake->on_done(handshake->owner, stream, stream == NULL ? &handshake->error : NULL);
}

static void tls_handshake_end(struct tls_handshake *handshake, enum err err)
{
    timer_stop(&handshake->deadline);
    if (err == ERR_NONE) {
        stream_watch(handshake->stream, 0);
    } else {
        stream_close(handshake->stream);
        handshake->stream = NULL;
    }
    tls_handshake_defer(handshake, tls_handshake_tell);
}

static void tls_handshake_go_on(void *owner)
{
    struct tls_handshake *handshake = owner;
    enum err err = tls_stream_shake_hands(handshake->stream);
    if (err == ERR_AGAIN) {
        stream_watch(handshake->stream, STREAM_READABLE);
        return;
    }
    if (err != ERR_NONE) {
        err = tls_stream_explain(handshake->stream, &handshake->error);
    }
    tls_handshake_end(handshake, err);
}

static void tls_handshake_on_event(void *owner, unsigned events)
{
    (void)events;
    tls_handshake_go_on(owner);
}

static void tls_handshake_on_deadline(void *owner)
{
    struct tls_handshake *handshake = owner;
    tls_stream_note(handshake->stream, SLICE("the handshake took too long"));
    enum err err = tls_stream_explain(handshake->stream, &handshake->error);
    must(err != ERR_NONE);
    handshake->error.code = ERR_TIMEOUT;
    tls_handshake_end(handshake, ERR_TIMEOUT);
}

struct tls_handshake *tls_handshake_start(struct stream *take_tls, uint64_t timeout_ms,
                                          tls_handshake_done_fn on_done, void *owner)
{
    struct tls_handshake *handshake = memory_new(sizeof(*handshake));
    handshake->loop = take_tls->loop;
    handshake->stream = take_tls;
    handshake->on_done = on_done;
    handshake->owner = owner;
    stream_own(take_tls, tls_handshake_on_event, handshake);
    timer_init(&handshake->deadline, tls_handshake_on_deadline, handshake);
    timer_start(handshake->loop, &handshake->deadline, timeout_ms);
    loop_task_init(&handshake->task, tls_handshake_go_on, handshake);
    loop_defer(handshake->loop, &handshake->task);
    return handshake;
}

void tls_handshake_cancel(struct tls_handshake *handshake)
{
    timer_stop(&handshake->deadline);
    if (handshake->stream != NULL) {
        stream_close(handshake->stream);
    }
    tls_handshake_defer(handshake, tls_handshake_free);
}
