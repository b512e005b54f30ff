/* SPDX-License-Identifier: MIT */
#include "io/mailbox.h"

#include "base/must.h"

#include <stdatomic.h>

struct mailbox {
    uv_async_t wake;
    _Atomic(struct mail *) newest;
};

/* The stack holds the newest mail first; senders are served in their order. */
static struct mail *mailbox_oldest_first(struct mail *mail)
{
    struct mail *first = NULL;
    while (mail != NULL) {
        struct mail *older = mail->next;
        mail->next = first;
        first = mail;
        mail = older;
    }
    return first;
}

static void mailbox_deliver(struct mailbox *mailbox)
{
    struct mail *mail = mailbox_oldest_first(
        atomic_exchange_explicit(&mailbox->newest, NULL, memory_order_acquire));
    while (mail != NULL) {
        struct mail *next = mail->next;
        mail->deliver(mail);
        mail = next;
    }
}

static void mailbox_on_wake(uv_async_t *wake)
{
    mailbox_deliver(wake->data);
}

struct mailbox *mailbox_new(struct loop *loop)
{
    struct mailbox *mailbox = memory_new(sizeof(*mailbox));
    must(uv_async_init(loop_uv(loop), &mailbox->wake, mailbox_on_wake) == 0);
    mailbox->wake.data = mailbox;
    return mailbox;
}

static void mailbox_on_closed(uv_handle_t *handle)
{
    memory_free(handle->data);
}

void mailbox_free(struct mailbox *mailbox)
{
    if (mailbox == NULL) {
        return;
    }
    mailbox_deliver(mailbox);
    uv_close((uv_handle_t *)&mailbox->wake, mailbox_on_closed);
}

void mailbox_send(struct mailbox *mailbox, struct mail *mail)
{
    struct mail *newest = atomic_load_explicit(&mailbox->newest, memory_order_relaxed);
    do {
        mail->next = newest;
    } while (!atomic_compare_exchange_weak_explicit(&mailbox->newest, &newest, mail,
                                                    memory_order_release, memory_order_relaxed));
    if (newest == NULL) {
        (void)uv_async_send(&mailbox->wake);
    }
}
