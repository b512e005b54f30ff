/* SPDX-License-Identifier: MIT */
/* The way from any thread into a loop: mails are delivered on the loop's thread, in the order in
 * which each sender sent them. Sending never blocks and never fails; whoever can send without end
 * must be held back elsewhere. Together with pool.c the only place where threads meet. */
#ifndef GH_IO_MAILBOX_H
#define GH_IO_MAILBOX_H

#include "io/loop.h"

struct mail;
struct mailbox;

typedef void (*mail_deliver_fn)(struct mail *mail);

/* Part of what is sent; belongs to the mailbox from mailbox_send until deliver is called. */
struct mail {
    struct mail *next;
    mail_deliver_fn deliver;
};

struct mailbox *mailbox_new(struct loop *loop);
/* On the loop's thread, when nobody sends any more; what is still in it is delivered. */
void mailbox_free(struct mailbox *mailbox);

/* From any thread. */
void mailbox_send(struct mailbox *mailbox, struct mail *mail);

#endif
