/* SPDX-License-Identifier: MIT */
#include "io/worker.h"

#include "base/memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct visit {
    struct mail mail;
    struct worker *worker;
    pthread_t thread; /* that delivered it */
    bool is_last;
};

static void on_visit(struct mail *mail)
{
    struct visit *visit = CONTAINER_OF(mail, struct visit, mail);
    visit->thread = pthread_self();
    if (visit->is_last) {
        worker_stop(visit->worker);
    }
}

static void mails_are_delivered_on_the_workers_thread_until_it_stops(void **state)
{
    (void)state;
    struct worker *worker = worker_new(3, NULL);
    struct visit first = {.mail = {.deliver = on_visit}, .worker = worker};
    struct visit last = {.mail = {.deliver = on_visit}, .worker = worker, .is_last = true};
    assert_int_equal(worker_index(worker), 3);
    assert_int_equal(worker_start(worker), ERR_NONE);
    mailbox_send(worker_mailbox(worker), &first.mail);
    mailbox_send(worker_mailbox(worker), &last.mail);
    worker_join(worker);
    assert_true(pthread_equal(first.thread, last.thread) != 0);
    assert_true(pthread_equal(first.thread, pthread_self()) == 0);
    worker_free(worker);
}

static void a_mail_that_came_after_the_stop_is_still_delivered(void **state)
{
    (void)state;
    struct worker *worker = worker_new(0, NULL);
    struct visit last = {.mail = {.deliver = on_visit}, .worker = worker, .is_last = true};
    struct visit late = {.mail = {.deliver = on_visit}, .worker = worker};
    assert_int_equal(worker_start(worker), ERR_NONE);
    mailbox_send(worker_mailbox(worker), &last.mail);
    worker_join(worker);
    mailbox_send(worker_mailbox(worker), &late.mail);
    worker_free(worker);
    assert_true(pthread_equal(late.thread, pthread_self()) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mails_are_delivered_on_the_workers_thread_until_it_stops),
        cmocka_unit_test(a_mail_that_came_after_the_stop_is_still_delivered),
    };
    return cmocka_run_group_tests_name("io/worker", tests, NULL, NULL);
}
