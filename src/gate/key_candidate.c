/* SPDX-License-Identifier: MIT */
#include "gate/key_candidate.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "gate/certificate_candidate.h"
#include "io/clock.h"
#include "store/review_need.h"
#include "store/row_id.h"
#include "store/ssh_key_store.h"

#include <sodium.h>

struct key_candidate {
    struct candidates_job *job;
    struct slice issuer;                  /* of the identity provider */
    struct slice id;                      /* of the credential, and so of the session */
    char proof[CREDENTIAL_VERIFIER_SIZE]; /* that nobody knows */
    int64_t now;
    struct credential_grant grant;
    bool is_found;
};

struct key_owner {
    struct slice organization_id;
    struct slice user_id;
    struct slice let_in_by; /* the key, or the authority, with whose end the session ends */
};

/* Whether he is active, and sees the connection: ERR_NOT_FOUND when not. ERR_DENIED: no native
 * client reaches it. */
static enum err key_candidate_see(struct key_candidate *self, struct store_tx *tx,
                                  struct error *reterr)
{
    struct candidates_job *job = self->job;
    const struct identity *identity = job->job.worker->gate->settings.identity;
    const struct credential_question question = {
        .issuer = self->issuer,
        .now = self->now,
        .admin_group = identity_admin_group(identity),
        .auditor_group = identity_auditor_group(identity),
    };
    enum err err = credential_store_see(tx, &job->job.arena, &question, &self->grant, reterr);
    const struct connection *connection = &self->grant.connection.connection;
    bool is_seen = connection->id.len > 0 && slice_equals(connection->name, job->name);
    return err == ERR_UNAUTHENTICATED || ((err == ERR_NONE || err == ERR_DENIED) && !is_seen)
               ? ERR_NOT_FOUND
               : err;
}

/* A key cannot wait for others. */
static enum err key_candidate_check_review(struct key_candidate *self, struct store_tx *tx,
                                           struct error *reterr)
{
    const struct connection *connection = &self->grant.connection.connection;
    const struct review_use use = {.connection = connection, .caller = &self->grant.caller};
    struct review_need need = {0};
    enum err err = review_need_load(tx, &self->job->job.arena, &use, &need, reterr);
    return err == ERR_NONE && need.count > 0
               ? fail(reterr, ERR_DENIED,
                      "others must approve access to the connection '%.*s': ask for a credential "
                      "(POST /api/connections/%.*s/credentials, or 'gatehouse connect %.*s'), and "
                      "sign in with its password when they have",
                      SLICE_ARG(connection->name), SLICE_ARG(connection->name),
                      SLICE_ARG(connection->name))
               : err;
}

static enum err key_candidate_let_in(struct key_candidate *self, struct store_tx *tx,
                                     const struct key_owner *owner, struct error *reterr)
{
    const struct connection *connection = &self->grant.connection.connection;
    const struct shape_int *most = &connection->access_max_duration;
    bool is_bounded = most->is_given && !most->is_null && most->value > 0;
    int64_t seconds = is_bounded ? most->value : LIMIT_SSH_KEY_SESSION_S;
    const struct credential credential = {
        .id = self->id,
        .organization_id = owner->organization_id,
        .connection_id = connection->id,
        .member_id = owner->user_id,
        .member_email = self->grant.caller.email,
        .member_name = self->grant.caller.name,
        .is_execution = true,
        .is_terminal = true,
        .ssh_key_id = owner->let_in_by,
        .created_at = self->now,
        .expires_at = self->now + seconds * TIMESTAMP_SECOND,
    };
    const struct credential_proof proof = {
        .hash = slice_of(self->proof, CREDENTIAL_HASH_SIZE),
        .verifier = slice_of(self->proof, CREDENTIAL_VERIFIER_SIZE),
    };
    enum err err = credential_store_insert(tx, &self->job->job.arena, &credential, &proof, reterr);
    self->is_found = err == ERR_NONE;
    return err;
}

static enum err key_candidate_try(struct key_candidate *self, struct store_tx *tx,
                                  const struct key_owner *owner, struct error *reterr)
{
    self->grant =
        (struct credential_grant){.credential = {.organization_id = owner->organization_id,
                                                 .member_id = owner->user_id,
                                                 .connection_id = self->job->name,
                                                 .connection_name = self->job->name,
                                                 .is_execution = true,
                                                 .is_terminal = true}};
    enum err err = key_candidate_see(self, tx, reterr);
    if (err == ERR_NONE) {
        err = key_candidate_check_review(self, tx, reterr);
    }
    return err == ERR_NONE ? key_candidate_let_in(self, tx, owner, reterr) : err;
}

static enum err key_candidate_try_key(struct key_candidate *self, struct store_tx *tx,
                                      struct error *reterr)
{
    struct ssh_key key;
    enum err err =
        ssh_key_store_find_fingerprint(tx, &self->job->job.arena, self->job->key, &key, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct key_owner owner = {
        .organization_id = key.organization_id, .user_id = key.user_id, .let_in_by = key.id};
    err = key_candidate_try(self, tx, &owner, reterr);
    return err == ERR_NONE ? ssh_key_store_used(tx, key.id, self->now, reterr) : err;
}

/* The first whose it is and who sees the connection. */
static enum err key_candidate_try_certificate(struct key_candidate *self, struct store_tx *tx,
                                              struct error *reterr)
{
    struct certificate_owners owners = {0};
    enum err err =
        certificate_candidate_find(self->job, tx, &self->job->job.arena, &owners, reterr);
    for (size_t i = 0; i < owners.count && err == ERR_NONE && !self->is_found; i++) {
        const struct key_owner owner = {.organization_id = owners.items[i].organization_id,
                                        .user_id = owners.items[i].user_id,
                                        .let_in_by = owners.items[i].authority_id};
        err = key_candidate_try(self, tx, &owner, reterr);
        err = err == ERR_NOT_FOUND ? ERR_NONE : err;
    }
    return err;
}

static enum err key_candidate_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct key_candidate *self = context;
    self->is_found = false;
    enum err err = self->job->certificate.len > 0 ? key_candidate_try_certificate(self, tx, reterr)
                                                  : key_candidate_try_key(self, tx, reterr);
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

enum err key_candidate_find(struct candidates_job *job, struct error *reterr)
{
    const struct gate_settings *settings = &job->job.worker->gate->settings;
    struct arena *arena = &job->job.arena;
    struct key_candidate self = {.job = job, .id = row_id_new(arena), .now = clock_now()};
    job->found = (struct credential_candidates){0};
    if (job->proof.credential_id.len > 0) {
        return ERR_NONE; /* a tunnel whose clients have a password of their own */
    }
    randombytes_buf(self.proof, sizeof(self.proof));
    enum err err = identity_issuer_in(arena, settings->identity, &self.issuer, reterr);
    if (err == ERR_NONE) {
        err = store_write(settings->store, key_candidate_write, &self, reterr);
    }
    if (err == ERR_NONE && self.is_found) {
        struct credential_candidate *candidate = arena_alloc(arena, sizeof(*candidate));
        *candidate = (struct credential_candidate){
            .credential_id = self.id,
            .organization_id = self.grant.credential.organization_id,
            .verifier = arena_copy(arena, slice_of(self.proof, CREDENTIAL_VERIFIER_SIZE)),
            .hash = arena_copy(arena, slice_of(self.proof, CREDENTIAL_HASH_SIZE)),
        };
        job->found = (struct credential_candidates){.candidates = candidate, .count = 1};
    }
    return err;
}

static enum err key_candidate_end(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct candidates_job *job = context;
    return credential_store_end_execution(tx, job->found.candidates[0].credential_id, reterr);
}

enum err key_candidate_forget(struct candidates_job *job, struct error *reterr)
{
    return store_write(job->job.worker->gate->settings.store, key_candidate_end, job, reterr);
}
