/* SPDX-License-Identifier: MIT */
#include "api/review_run.h"

#include "api/credentials.h"
#include "base/timestamp.h"
#include "gate/execution.h"
#include "io/clock.h"
#include "io/log.h"
#include "protocol/protocol.h"
#include "store/review_sweep.h"
#include "store/row_id.h"
#include "store/rows.h"

#include <sodium.h>

struct credential_proof review_run_proof_in(struct arena *arena)
{
    char *secrets = arena_alloc(arena, CREDENTIAL_HASH_SIZE + CREDENTIAL_VERIFIER_SIZE);
    randombytes_buf(secrets, CREDENTIAL_HASH_SIZE + CREDENTIAL_VERIFIER_SIZE);
    return (struct credential_proof){
        .hash = slice_of(secrets, CREDENTIAL_HASH_SIZE),
        .verifier = slice_of(secrets + CREDENTIAL_HASH_SIZE, CREDENTIAL_VERIFIER_SIZE),
    };
}

/* One that another process took and did not begin, or this one long ago, is free again: should the
 * other one still be there, its session is refused when it is to be put on record. */
static enum err review_run_free(struct store_tx *tx, struct review_run *run,
                                struct review_progress *progress, int64_t now, struct error *reterr)
{
    struct review *review = &run->look.review;
    bool is_others = !slice_equals(review->run_by, run->api->process_id);
    bool is_late = now - review->claimed_at > LIMIT_REVIEW_CLAIM_S * TIMESTAMP_SECOND;
    if (progress->state != REVIEW_RUNNING || review->begun_at != 0 || !(is_others || is_late)) {
        return ERR_NONE;
    }
    enum err err = credential_store_end_execution(tx, review->run_id, reterr);
    if (err == ERR_NONE) {
        (void)review_move(&progress->state, REVIEW_GIVE_BACK);
    }
    return err;
}

static enum err review_run_insert(struct store_tx *tx, struct review_run *run, int64_t now,
                                  struct error *reterr)
{
    struct review *review = &run->look.review;
    const struct caller *caller = &run->look.grant.caller;
    bool is_first = review->run_count == 0;
    review->run_id = is_first ? review->session_id : row_id_new(run->arena);
    review->run_by = run->api->process_id;
    review->run_count++;
    review->claimed_at = now;
    review->begun_at = 0;
    run->credential = (struct credential){
        .id = review->run_id,
        .organization_id = review->organization_id,
        .connection_id = review->connection_id,
        .member_id = review->member_id,
        .member_email = caller->email,
        .member_name = caller->name,
        .is_execution = true,
        .review_id = review->id,
        .created_at = now,
        .expires_at = review->granted_until,
    };
    const struct credential_proof proof = review_run_proof_in(run->arena);
    enum err err = credential_store_insert(tx, run->arena, &run->credential, &proof, reterr);
    return err == ERR_NONE
               ? rows_pairs_parse_in(run->arena, review->metadata, &run->metadata, reterr)
               : err;
}

enum err review_run_take(struct store_tx *tx, struct review_run *run, struct error *reterr)
{
    struct review_look *look = &run->look;
    struct review_progress progress;
    int64_t now = clock_now();
    const struct review_key key = {
        .organization_id = run->organization_id, .id = run->review_id, .now = now};
    const struct shape_int longest = {.value = LIMIT_EXECUTION_S, .is_given = true};
    enum err err = review_store_find(tx, run->arena, &key, &look->review, reterr);
    if (err == ERR_NONE && !slice_equals(look->review.member_id, run->member_id)) {
        run->answer = REVIEW_NOT_HIS; /* and learns, or moves, nothing */
        return ERR_NONE;
    }
    if (err == ERR_NONE && !slice_equals(look->review.kind, SLICE(REVIEW_ONETIME))) {
        return fail(reterr, ERR_INPUT, "the review is about no script: there is nothing to run");
    }
    if (err == ERR_NONE) {
        err = review_look(run->api, run->arena, tx, run->issuer, look, reterr);
    }
    if (err == ERR_NONE) {
        err = review_store_progress(&look->review, &look->secret, &progress, reterr);
    }
    if (err == ERR_NONE) {
        err = review_run_free(tx, run, &progress, now, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct review_hours hours;
    err = review_store_hours(run->arena, &look->review, now, &hours, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    run->hours = hours.words;
    const struct review_taking taking = {
        .person_id = run->member_id,
        .hash = look->hash,
        .now = now,
        .is_out_of_hours = hours.are_over_now,
        .granted_until = credential_expiry(&look->grant.connection.connection, &longest, now),
    };
    run->answer = review_take(&progress, &taking);
    look->review.granted_until = progress.granted_until;
    if (run->answer == REVIEW_CHANGED) {
        look->review.reason = look->why;
        return review_keep(tx, &look->review, &progress, now, reterr);
    }
    if (run->answer != REVIEW_DONE) {
        return ERR_NONE;
    }
    err = review_run_insert(tx, run, now, reterr);
    return err == ERR_NONE ? review_keep(tx, &look->review, &progress, now, reterr) : err;
}

enum err review_run_refuse(const struct review_run *run, struct error *reterr)
{
    const struct review *review = &run->look.review;
    if (run->answer == REVIEW_CHANGED) {
        return fail(reterr, ERR_CONFLICT, "the approval is void: %.*s; ask again",
                    SLICE_ARG(run->look.why));
    }
    if (run->answer == REVIEW_NOT_HIS) {
        return fail(reterr, ERR_DENIED, "only whoever asked for it runs a script");
    }
    if (run->answer == REVIEW_NOT_NOW) {
        return fail(reterr, ERR_CONFLICT, "the script cannot be run now: %.*s",
                    SLICE_ARG(run->hours));
    }
    return fail(reterr, ERR_CONFLICT, "the script cannot be run: its review is %.*s",
                SLICE_ARG(review->state));
}

/* Running -------------------------------------------------------------------------------------- */

static enum err review_run_release_body(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct review_run *run = context;
    return review_store_release_run(tx, run->credential.id, clock_now(), reterr);
}

void review_run_release(struct review_run *run)
{
    struct error error = {0};
    if (store_write(run->api->store, review_run_release_body, run, &error) != ERR_NONE) {
        log_line(LOG_API, LOG_WARN, "a script that did not begin can be run again in a while only",
                 log_text("review", run->look.review.id), log_error_field(&error));
    }
}

enum err review_run_start(struct review_run *run, struct execution **ret_execution,
                          struct error *reterr)
{
    const struct review *review = &run->look.review;
    struct address client = {{0}};
    (void)address_parse(review->client_ip, &client);
    const struct execution_request request = {
        .protocol = protocols_find_run(run->api->protocols, review->connection_subtype),
        .id = run->credential.id,
        .connection_name = run->look.grant.connection.connection.name,
        .application_name = SLICE("gatehouse"),
        .metadata = run->metadata,
        .script = run->look.secret.script,
        .client = client,
        .page_rows = run->page_rows,
        .organization_id = run->organization_id,
        .member_id = run->member_id,
    };
    bool can_run = request.protocol != NULL && request.protocol->run != NULL;
    enum err err = !can_run || run->api->gate == NULL
                       ? fail(reterr, ERR_INPUT,
                              "this gateway executes nothing on connections of subtype '%.*s'",
                              SLICE_ARG(review->connection_subtype))
                       : execution_start(run->api->gate, &request, ret_execution, reterr);
    if (err != ERR_NONE) {
        review_run_release(run);
    }
    return err;
}

static enum err review_run_unasked_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct review_run *run = context;
    enum err err = review_run_take(tx, run, reterr);
    return err == ERR_NONE && run->answer == REVIEW_DONE
               ? review_audit_unasked(tx, run->arena, &run->look.review, SLICE("execute"), reterr)
               : err;
}

enum err review_run_unasked(struct review_run *run, struct error *reterr)
{
    struct execution *execution = NULL;
    enum err err = store_write(run->api->store, review_run_unasked_body, run, reterr);
    if (err == ERR_NONE && run->answer != REVIEW_DONE) {
        return review_run_refuse(run, reterr);
    }
    if (err == ERR_NONE) {
        err = review_run_start(run, &execution, reterr);
    }
    execution_unref(execution);
    return err;
}
