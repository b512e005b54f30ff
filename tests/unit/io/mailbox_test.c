/* SPDX-License-Identifier: MIT */
#include "io/mailbox.h"

#include "base/memory.h"
#include "io/worker.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SENDER_COUNT 4
#define MAIL_COUNT   5000

/* Everything in it but 'worker' belongs to the worker's thread until it has ended. */
struct inbox {
    struct worker *worker;
    unsigned received[SENDER_COUNT];
    unsigned total;
    bool out_of_order;
};

struct numbered {
    struct mail mail;
    struct inbox *inbox;
    unsigned sender;
    unsigned number;
};

struct sender {
    pthread_t thread;
    struct inbox *inbox;
    unsigned index;
};

static void receive(struct mail *mail)
{
    struct numbered *numbered = CONTAINER_OF(mail, struct numbered, mail);
    struct inbox *inbox = numbered->inbox;
    inbox->out_of_order |= inbox->received[numbered->sender] != numbered->number;
    inbox->received[numbered->sender]++;
    if (++inbox->total == SENDER_COUNT * MAIL_COUNT) {
        worker_stop(inbox->worker);
    }
    memory_free(numbered);
}

static void send_number(struct inbox *inbox, unsigned sender, unsigned number)
{
    struct numbered *numbered = memory_new(sizeof(*numbered));
    numbered->mail.deliver = receive;
    numbered->inbox = inbox;
    numbered->sender = sender;
    numbered->number = number;
    mailbox_send(worker_mailbox(inbox->worker), &numbered->mail);
}

static void *send_all(void *argument)
{
    const struct sender *sender = argument;
    for (unsigned i = 0; i < MAIL_COUNT; i++) {
        send_number(sender->inbox, sender->index, i);
    }
    return NULL;
}

static void mails_of_many_threads_arrive_once_and_in_order(void **state)
{
    (void)state;
    struct inbox inbox = {.worker = worker_new(3, NULL)};
    struct sender senders[SENDER_COUNT];
    assert_int_equal(worker_index(inbox.worker), 3);
    assert_int_equal(worker_start(inbox.worker), ERR_NONE);
    for (unsigned i = 0; i < SENDER_COUNT; i++) {
        senders[i].inbox = &inbox;
        senders[i].index = i;
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
    }
    for (unsigned i = 0; i < SENDER_COUNT; i++) {
        assert_int_equal(pthread_join(senders[i].thread, NULL), 0);
    }
    worker_join(inbox.worker);
    assert_int_equal(inbox.total, SENDER_COUNT * MAIL_COUNT);
    assert_false(inbox.out_of_order);
    worker_free(inbox.worker);
}

static void what_is_left_is_delivered_when_the_mailbox_ends(void **state)
{
    (void)state;
    struct inbox inbox = {.worker = worker_new(0, NULL)};
    send_number(&inbox, 0, 0);
    send_number(&inbox, 0, 1);
    assert_int_equal(inbox.total, 0);
    worker_free(inbox.worker);
    assert_int_equal(inbox.total, 2);
    assert_false(inbox.out_of_order);
}

/* One mail that goes to and fro between two workers. */
struct ball {
    struct mail mail;
    struct worker *workers[2];
    unsigned bounce_count;
    bool is_ending;
};

static void bounce(struct mail *mail)
{
    struct ball *ball = CONTAINER_OF(mail, struct ball, mail);
    unsigned here = ball->bounce_count % 2;
    ball->bounce_count++;
    if (ball->is_ending) {
        worker_stop(ball->workers[here]);
        return;
    }
    if (ball->bounce_count == MAIL_COUNT) {
        ball->is_ending = true;
        worker_stop(ball->workers[here]);
    }
    mailbox_send(worker_mailbox(ball->workers[1 - here]), mail);
}

static void two_workers_answer_each_other(void **state)
{
    (void)state;
    struct ball ball = {.mail = {.deliver = bounce}};
    for (size_t i = 0; i < 2; i++) {
        ball.workers[i] = worker_new(i, NULL);
        assert_int_equal(worker_start(ball.workers[i]), ERR_NONE);
    }
    mailbox_send(worker_mailbox(ball.workers[0]), &ball.mail);
    for (size_t i = 0; i < 2; i++) {
        worker_join(ball.workers[i]);
    }
    assert_int_equal(ball.bounce_count, MAIL_COUNT + 1);
    for (size_t i = 0; i < 2; i++) {
        worker_free(ball.workers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mails_of_many_threads_arrive_once_and_in_order),
        cmocka_unit_test(what_is_left_is_delivered_when_the_mailbox_ends),
        cmocka_unit_test(two_workers_answer_each_other),
    };
    return cmocka_run_group_tests_name("io/mailbox", tests, NULL, NULL);
}
