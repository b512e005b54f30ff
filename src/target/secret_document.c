/* SPDX-License-Identifier: MIT */
#include "target/secret_document.h"

#include "base/limits.h"
#include "base/must.h"
#include "io/clock.h"

#include <sodium.h>
#include <time.h>

/* Those that one round asks for. */
struct secret_round {
    struct secret_document *documents[LIMIT_FETCH_AT_ONCE];
    struct fetch fetches[LIMIT_FETCH_AT_ONCE];
    size_t count;
};

static bool secret_document_waits(const struct secret_document *document, unsigned sources)
{
    return (document->source & sources) != 0 && document->err == ERR_AGAIN;
}

bool secret_documents_wanted(const struct secret_documents *documents, unsigned sources)
{
    for (size_t i = 0; i < documents->count; i++) {
        if (secret_document_waits(&documents->items[i], sources)) {
            return true;
        }
    }
    return false;
}

void secret_documents_fail(struct secret_documents *documents, unsigned sources,
                           const struct error *error)
{
    for (size_t i = 0; i < documents->count; i++) {
        struct secret_document *document = &documents->items[i];
        if (secret_document_waits(document, sources)) {
            document->err = error->code;
            document->failure = *error;
        }
    }
}

uint32_t secret_documents_left_ms(const struct secret_documents *documents)
{
    int64_t left_ms = (documents->ends_at - clock_monotonic()) / 1000;
    if (left_ms <= 0) {
        return 0;
    }
    return left_ms < LIMIT_SECRET_REQUEST_MS ? (uint32_t)left_ms : LIMIT_SECRET_REQUEST_MS;
}

/* A document that cannot even be asked for is done. */
static void secret_round_add(struct secret_round *round, struct arena *arena,
                             struct secret_document *document, const struct secret_keeper *keeper,
                             uint32_t left_ms)
{
    struct fetch *fetch = &round->fetches[round->count];
    *fetch = (struct fetch){.err = ERR_NONE};
    document->err =
        keeper->prepare(keeper->context, arena, document, &fetch->request, &document->failure);
    if (document->err == ERR_NONE) {
        fetch->request.timeout_ms = left_ms;
        document->err = ERR_AGAIN;
        round->documents[round->count++] = document;
    }
}

/* Leaves ERR_BUSY in a document that is to be asked for again. */
static void secret_round_run(struct secret_round *round, struct arena *arena,
                             const struct secret_keeper *keeper)
{
    fetch_all_in(arena, round->fetches, round->count);
    for (size_t i = 0; i < round->count; i++) {
        struct secret_document *document = round->documents[i];
        const struct fetch *fetch = &round->fetches[i];
        if (fetch->err != ERR_NONE) {
            document->err = fetch->err;
            document->failure = fetch->error;
        } else {
            document->err = keeper->take(keeper->context, arena, document, &fetch->answer,
                                         &document->object, &document->failure);
        }
    }
    round->count = 0;
}

/* Every document once. False when the time was over before the last one. */
static bool secret_documents_try(struct arena *arena, struct secret_documents *documents,
                                 unsigned sources, const struct secret_keeper *keeper)
{
    struct secret_round round = {.count = 0};
    uint32_t left_ms = secret_documents_left_ms(documents);
    for (size_t i = 0; i < documents->count && left_ms > 0; i++) {
        if (!secret_document_waits(&documents->items[i], sources)) {
            continue;
        }
        secret_round_add(&round, arena, &documents->items[i], keeper, left_ms);
        if (round.count == LIMIT_FETCH_AT_ONCE) {
            secret_round_run(&round, arena, keeper);
            left_ms = secret_documents_left_ms(documents);
        }
    }
    secret_round_run(&round, arena, keeper);
    return !secret_documents_wanted(documents, sources);
}

/* Between half and all of the pause, so that those who were refused together do not come back
 * together. False when it would end too late. */
static bool secret_documents_pause(const struct secret_documents *documents, unsigned attempt)
{
    uint32_t pause_ms = (uint32_t)LIMIT_SECRET_PAUSE_MS << attempt;
    pause_ms = pause_ms / 2 + randombytes_uniform(pause_ms / 2 + 1);
    if (clock_monotonic() + (int64_t)pause_ms * 1000 >= documents->ends_at) {
        return false;
    }
    struct timespec pause = {.tv_sec = pause_ms / 1000,
                             .tv_nsec = (long)(pause_ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
    return true;
}

/* Those that were told to come back are asked for again. */
static void secret_documents_retry(struct secret_documents *documents, unsigned sources)
{
    for (size_t i = 0; i < documents->count; i++) {
        struct secret_document *document = &documents->items[i];
        if ((document->source & sources) != 0 && document->err == ERR_BUSY) {
            document->err = ERR_AGAIN;
        }
    }
}

static bool secret_documents_any_busy(const struct secret_documents *documents, unsigned sources)
{
    for (size_t i = 0; i < documents->count; i++) {
        const struct secret_document *document = &documents->items[i];
        if ((document->source & sources) != 0 && document->err == ERR_BUSY) {
            return true;
        }
    }
    return false;
}

void secret_documents_fetch(struct arena *arena, struct secret_documents *documents,
                            unsigned sources, const struct secret_keeper *keeper)
{
    for (unsigned attempt = 0; attempt < LIMIT_SECRET_ATTEMPTS; attempt++) {
        if (attempt > 0) {
            /* Without time for another attempt, what the last one said is the failure. */
            if (!secret_documents_any_busy(documents, sources) ||
                !secret_documents_pause(documents, attempt - 1)) {
                return;
            }
            secret_documents_retry(documents, sources);
        }
        if (!secret_documents_try(arena, documents, sources, keeper)) {
            static const struct error too_late = {
                .code = ERR_TIMEOUT, .message = "not asked for: the time for all secrets is over"};
            secret_documents_fail(documents, sources, &too_late);
            return;
        }
    }
}
