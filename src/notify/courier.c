/* SPDX-License-Identifier: MIT */
#include "notify/courier.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "codec/url.h"
#include "io/clock.h"
#include "io/fetch.h"
#include "io/log.h"
#include "notify/mail_told.h"
#include "notify/message.h"
#include "notify/upkeep.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define STATUS_GONE     410
#define JITTER_FRACTION 5 /* a fifth of the pause, more or less */

enum courier_thread { COURIER_WORKING, COURIER_FAILING, COURIER_UPKEEP, COURIER_COUNT };

struct courier {
    struct courier_settings settings;
    pthread_t threads[COURIER_COUNT];
    size_t thread_count;
    pthread_mutex_t lock;
    pthread_cond_t woken; /* to stop */
    atomic_bool is_stopped;
};

/* One attempt ---------------------------------------------------------------------------------- */

enum err courier_check_url(const struct courier *courier, struct slice text, struct error *reterr)
{
    struct url url;
    struct address address;
    enum err err = url_parse(text, &url, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_local = address_is_loopback_host(url.host) || slice_ends_with(url.host, SLICE("."));
    bool is_address = address_parse(url.host, &address);
    if (is_address ? !address_is_public(&address) &&
                         !network_list_has(&courier->settings.reachable, &address)
                   : is_local && courier->settings.reachable.count == 0) {
        return fail(reterr, ERR_INPUT,
                    "'url' leads to a private address, or to this machine: --notify-networks "
                    "names those that may be reached");
    }
    return ERR_NONE;
}

enum err courier_check_mail(const struct courier *courier, struct error *reterr)
{
    return courier->settings.mail.host.len > 0
               ? ERR_NONE
               : fail(reterr, ERR_INPUT,
                      "this gateway sends no e-mail: whoever runs it names a mail server with "
                      "--smtp-host");
}

static void courier_mail_in(const struct courier *courier, struct arena *arena,
                            const struct outbox_item *item, struct fetch_request *ret_request)
{
    const struct mail_server *server = &courier->settings.mail;
    struct fetch_mail *mail = arena_alloc(arena, sizeof(*mail));
    struct shape_texts left = mail_told_left_in(arena, item);
    *mail = (struct fetch_mail){
        .host = server->host,
        .from = server->from,
        .recipients = left.items,
        .recipient_count = left.count,
        .is_plain = server->is_plain,
    };
    *ret_request = (struct fetch_request){
        .url = server->url,
        .mail = mail,
        .body = mail_message_in(arena, item, server, courier->settings.public_url),
        .user = server->user,
        .password = server->password,
        .issuers = server->issuers,
        .reachable = &courier->settings.reachable,
        .is_stopped = &courier->is_stopped,
    };
}

/* What is asked of the receiver; its texts are in the arena. */
static void courier_request_in(const struct courier *courier, struct arena *arena,
                               const struct outbox_item *item, struct fetch_header headers[4],
                               struct fetch_request *ret_request)
{
    if (sink_is_email(&item->sink)) {
        courier_mail_in(courier, arena, item, ret_request);
        return;
    }
    int64_t seconds = clock_now() / TIMESTAMP_SECOND;
    struct slice body = message_body_in(arena, item, courier->settings.public_url);
    bool is_signed = slice_equals(item->sink.type, SLICE(SINK_WEBHOOK));
    headers[0] = (struct fetch_header){"Content-Type", SLICE("application/json")};
    headers[1] = (struct fetch_header){"webhook-id", item->delivery_id};
    headers[2] =
        (struct fetch_header){"webhook-timestamp", arena_format(arena, "%" PRId64, seconds)};
    headers[3] = (struct fetch_header){
        "webhook-signature",
        message_signature_in(arena, item->sink.key, item->delivery_id, seconds, body)};
    *ret_request = (struct fetch_request){
        .url = arena_text(arena, item->sink.url),
        .body = body,
        .headers = headers,
        .header_count = is_signed ? 4 : 2,
        .timeout_ms = LIMIT_NOTIFY_MS,
        .reachable = &courier->settings.reachable,
        .status_size = LIMIT_NOTIFY_ANSWER_SIZE,
        .is_stopped = &courier->is_stopped,
    };
}

/* Who took it is not told again, and who was refused for good is not tried again. */
static void courier_judge_mail(struct arena *arena, const struct fetch *fetch,
                               const struct outbox_item *item, struct courier_attempt *ret_attempt)
{
    const struct fetch_mail *mail = fetch->request.mail;
    bool is_taken = fetch->err == ERR_NONE;
    struct mail_told told = {0};
    mail_told_add_in(arena, item, &fetch->answer, mail, is_taken, &told);
    ret_attempt->told = told.told;
    ret_attempt->refused = told.refused;
    ret_attempt->status = is_taken ? fetch->answer.status : 0;
    if (told.left_count == 0 && told.told.len > 0) {
        ret_attempt->remark = told.remark;
    } else {
        ret_attempt->reason =
            is_taken || told.is_put_off || (told.left_count == 0 && told.remark.len > 0)
                ? told.remark
                : arena_copy(arena, slice_of_text(fetch->error.message));
        ret_attempt->is_final = fetch->answer.is_refused || fetch->err == ERR_NOT_FOUND ||
                                (told.left_count == 0 && mail->recipient_count > 0);
    }
}

static void courier_judge(struct arena *arena, const struct fetch *fetch,
                          const struct outbox_item *item, struct courier_attempt *ret_attempt)
{
    *ret_attempt = (struct courier_attempt){
        .reason = SLICE(""), .remark = SLICE(""), .told = item->told, .refused = item->refused};
    if (fetch->request.mail != NULL) {
        courier_judge_mail(arena, fetch, item, ret_attempt);
        return;
    }
    if (fetch->err != ERR_NONE) {
        ret_attempt->reason = arena_copy(arena, slice_of_text(fetch->error.message));
        return;
    }
    ret_attempt->status = fetch->answer.status;
    if (fetch->answer.status < 200 || fetch->answer.status > 299) {
        ret_attempt->reason =
            arena_format(arena, "the receiver answered %ld", fetch->answer.status);
        ret_attempt->is_final = fetch->answer.status == STATUS_GONE;
    }
}

void courier_try(const struct courier *courier, struct arena *arena, const struct outbox_item *item,
                 struct courier_attempt *ret_attempt)
{
    struct fetch_header headers[4];
    struct fetch fetch = {.err = ERR_NONE};
    courier_request_in(courier, arena, item, headers, &fetch.request);
    fetch.err = fetch_in(arena, &fetch.request, &fetch.answer, &fetch.error);
    courier_judge(arena, &fetch, item, ret_attempt);
}

/* What is due ---------------------------------------------------------------------------------- */

struct courier_batch {
    struct courier *courier;
    struct arena arena; /* holds URLs and keys */
    struct outbox_question question;
    struct outbox_items items;
    bool is_due;
};

/* One of it. */
struct courier_sending {
    struct courier_batch *batch;
    const struct outbox_item *item;
    struct outbox_result result;
    struct fetch_header headers[4];
};

static enum err courier_look_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct courier_batch *batch = context;
    return outbox_is_due(tx, &batch->question, &batch->is_due, reterr);
}

static enum err courier_take_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct courier_batch *batch = context;
    return outbox_take(tx, &batch->arena, &batch->question, &batch->items, reterr);
}

static enum err courier_finish_body(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct courier_sending *sending = context;
    return outbox_finish(tx, &sending->result, reterr);
}

/* Four times as long after each failure, and not all at the same time. */
static int64_t courier_next_at(int64_t now, int64_t tries)
{
    int64_t pause_ms = LIMIT_NOTIFY_RETRY_MS;
    for (int64_t i = 1; i < tries && pause_ms < LIMIT_NOTIFY_RETRY_MAX_MS; i++) {
        pause_ms *= 4;
    }
    pause_ms = pause_ms < LIMIT_NOTIFY_RETRY_MAX_MS ? pause_ms : LIMIT_NOTIFY_RETRY_MAX_MS;
    uint32_t random = 0;
    must(getentropy(&random, sizeof(random)) == 0);
    int64_t range = 2 * pause_ms / JITTER_FRACTION;
    return now + (pause_ms - pause_ms / JITTER_FRACTION + (int64_t)random % range) *
                     (TIMESTAMP_SECOND / 1000);
}

static struct outbox_result courier_result(const struct outbox_item *item,
                                           const struct courier_attempt *attempt)
{
    int64_t now = clock_now();
    bool is_taken = attempt->reason.len == 0;
    bool is_dead = !is_taken && (attempt->is_final || item->tries >= LIMIT_NOTIFY_TRIES);
    bool is_over = is_taken || is_dead;
    return (struct outbox_result){
        .item = item,
        .state = is_taken  ? SLICE(DELIVERY_DELIVERED)
                 : is_dead ? SLICE(DELIVERY_DEAD)
                           : SLICE(DELIVERY_PENDING),
        .status = attempt->status,
        .reason = is_taken ? attempt->remark : attempt->reason,
        .told = attempt->told,
        .refused = attempt->refused,
        .next_at = is_over ? now : courier_next_at(now, item->tries),
        .now = now,
    };
}

/* As soon as it is known, for others of the batch may hang. What the store does not take is sent
 * again when its lease is over, and so is what a stop cut off. */
static void courier_on_end(struct fetch *fetch)
{
    struct courier_sending *sending = fetch->owner;
    struct courier_batch *batch = sending->batch;
    struct courier_attempt attempt;
    struct error error = {0};
    courier_judge(&batch->arena, fetch, sending->item, &attempt);
    if (attempt.status == 0 && atomic_load(&batch->courier->is_stopped)) {
        return;
    }
    sending->result = courier_result(sending->item, &attempt);
    if (slice_equals(sending->result.state, SLICE(DELIVERY_DEAD))) {
        log_line(LOG_APP, LOG_WARN, "a notification was given up",
                 log_text("delivery", sending->item->delivery_id),
                 log_text("sink", sending->item->sink.name), log_text("reason", attempt.reason));
    }
    if (store_write(batch->courier->settings.store, courier_finish_body, sending, &error) !=
        ERR_NONE) {
        log_line(LOG_APP, LOG_WARN, "it is not in the store what became of a notification",
                 log_text("delivery", sending->item->delivery_id), log_error_field(&error));
    }
}

static void courier_send_all(struct courier_batch *batch)
{
    struct fetch fetches[LIMIT_FETCH_AT_ONCE] = {0};
    struct courier_sending sendings[LIMIT_FETCH_AT_ONCE] = {0};
    for (size_t i = 0; i < batch->items.count; i++) {
        sendings[i].batch = batch;
        sendings[i].item = &batch->items.items[i];
        courier_request_in(batch->courier, &batch->arena, sendings[i].item, sendings[i].headers,
                           &fetches[i].request);
        fetches[i].on_end = courier_on_end;
        fetches[i].owner = &sendings[i];
    }
    fetch_all_in(&batch->arena, fetches, batch->items.count);
}

/* Whether there was something. */
static enum err courier_turn(struct courier_batch *batch, bool *ret_has_sent, struct error *reterr)
{
    struct store *store = batch->courier->settings.store;
    *ret_has_sent = false;
    enum err err = store_read(store, courier_look_body, batch, reterr);
    if (err == ERR_NONE && batch->is_due) {
        err = store_write(store, courier_take_body, batch, reterr);
        *ret_has_sent = err == ERR_NONE && batch->items.count > 0;
    }
    if (*ret_has_sent) {
        courier_send_all(batch);
    }
    return err;
}

/* Threads -------------------------------------------------------------------------------------- */

/* False: it is to stop. */
static bool courier_wait(struct courier *courier, uint64_t ms)
{
    struct timespec until;
    must(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    must(pthread_mutex_lock(&courier->lock) == 0);
    int waited = 0;
    while (!atomic_load(&courier->is_stopped) && waited == 0) {
        waited = pthread_cond_timedwait(&courier->woken, &courier->lock, &until);
    }
    must(pthread_mutex_unlock(&courier->lock) == 0);
    return !atomic_load(&courier->is_stopped);
}

static void courier_send(struct courier *courier, bool is_failing)
{
    struct courier_batch batch = {.courier = courier};
    bool goes_on = true;
    bool was_well = true;
    arena_init(&batch.arena);
    arena_hold_secrets(&batch.arena);
    while (goes_on) {
        struct error error = {0};
        bool has_sent = false;
        int64_t now = clock_now();
        batch.question = (struct outbox_question){
            .is_failing = is_failing,
            .now = now,
            .lease_until = now + LIMIT_NOTIFY_LEASE_MS * (TIMESTAMP_SECOND / 1000),
            .limit = LIMIT_FETCH_AT_ONCE,
        };
        bool is_well = courier_turn(&batch, &has_sent, &error) == ERR_NONE;
        if (!is_well && was_well) {
            log_line(LOG_APP, LOG_WARN, "notifications wait for the store",
                     log_error_field(&error));
        }
        was_well = is_well;
        arena_reset(&batch.arena);
        goes_on = courier_wait(courier, has_sent && is_well ? 0 : LIMIT_NOTIFY_LOOK_MS);
    }
    arena_release(&batch.arena);
}

static void *courier_run_working(void *argument)
{
    courier_send(argument, false);
    return NULL;
}

static void *courier_run_failing(void *argument)
{
    courier_send(argument, true);
    return NULL;
}

static void *courier_run_upkeep(void *argument)
{
    struct courier *courier = argument;
    struct upkeep upkeep = {.store = courier->settings.store,
                            .review_days = courier->settings.review_days};
    do {
        upkeep_look(&upkeep);
        if (courier->settings.look != NULL) {
            courier->settings.look(courier->settings.look_context);
        }
    } while (courier_wait(courier, LIMIT_NOTIFY_UPKEEP_MS));
    return NULL;
}

/* A store that nobody else uses: whoever had leases is gone. */
static enum err courier_release_body(struct store_tx *tx, void *context, struct error *reterr)
{
    (void)context;
    return store_exec(tx,
                      "UPDATE notification_delivery SET lease_id = '', lease_until = 0 "
                      "WHERE state = 'pending' AND lease_until > 0",
                      NO_PARAMS, NULL, reterr);
}

struct courier *courier_new(const struct courier_settings *settings)
{
    struct courier *courier = memory_new(sizeof(*courier));
    pthread_condattr_t attributes;
    courier->settings = *settings;
    must(pthread_condattr_init(&attributes) == 0);
    must(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    must(pthread_cond_init(&courier->woken, &attributes) == 0);
    must(pthread_condattr_destroy(&attributes) == 0);
    must(pthread_mutex_init(&courier->lock, NULL) == 0);
    return courier;
}

enum err courier_start(struct courier *courier)
{
    static void *(*const runs[COURIER_COUNT])(void *) = {
        [COURIER_WORKING] = courier_run_working,
        [COURIER_FAILING] = courier_run_failing,
        [COURIER_UPKEEP] = courier_run_upkeep,
    };
    struct error error = {0};
    if (!store_is_shared(courier->settings.store) &&
        store_write(courier->settings.store, courier_release_body, NULL, &error) != ERR_NONE) {
        log_line(LOG_APP, LOG_WARN, "notifications that were under way wait for their lease",
                 log_error_field(&error));
    }
    for (size_t i = 0; i < COURIER_COUNT; i++) {
        if (pthread_create(&courier->threads[i], NULL, runs[i], courier) != 0) {
            return ERR_IO;
        }
        courier->thread_count++;
    }
    return ERR_NONE;
}

void courier_end(struct courier *courier)
{
    must(pthread_mutex_lock(&courier->lock) == 0);
    atomic_store(&courier->is_stopped, true);
    must(pthread_cond_broadcast(&courier->woken) == 0);
    must(pthread_mutex_unlock(&courier->lock) == 0);
}

void courier_stop(struct courier *courier)
{
    courier_end(courier);
    for (size_t i = 0; i < courier->thread_count; i++) {
        must(pthread_join(courier->threads[i], NULL) == 0);
    }
    courier->thread_count = 0;
}

void courier_free(struct courier *courier)
{
    if (courier == NULL) {
        return;
    }
    must(pthread_cond_destroy(&courier->woken) == 0);
    must(pthread_mutex_destroy(&courier->lock) == 0);
    memory_free(courier);
}
