/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_secret.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "identity/md5_password.h"
#include "protocol/secret_cache_internal.h"

#define ANSWER_SIZE_MAX (SECRET_SIZE_MAX + 64)

/* Which questions are due. */
enum pg_secret_state {
    PG_SECRET_AT_FIRST,
    PG_SECRET_AT_CONTINUE,
    PG_SECRET_AT_FINAL,
    PG_SECRET_SPENT,
};

struct pg_secret {
    struct worker *worker;
    struct pool *pool;
    struct secret_cache *cache; /* or NULL */
    struct secret password;
    struct arena arena; /* of SCRAM; the pool's while it computes */
    struct scram_client *scram;
    struct slice message;    /* of the server, which SCRAM takes */
    struct slice proof;      /* what SCRAM answers */
    struct secret_name name; /* of what was computed, in the cache */
    struct buf answer;
    struct error error;
    enum err err;
    enum pg_secret_state state;
    bool is_computing;
    bool is_to_be_kept; /* what was computed, once the server has shown that it is right */
    bool is_free;       /* goes when it has computed */
    pg_answer_fn on_answer;
    void *owner;
    struct loop_task answer_task;
    struct loop_task free_task;
    struct pool_job job;
    struct mail mail;
};

static void pg_secret_release(void *owner)
{
    struct pg_secret *self = owner;
    secret_release(&self->password);
    buf_wipe(&self->answer);
    arena_release(&self->arena);
    memory_free(self);
}

static void pg_secret_tell(void *owner)
{
    struct pg_secret *self = owner;
    self->on_answer(self->owner, buf_view(&self->answer),
                    self->err == ERR_NONE ? NULL : &self->error);
    buf_wipe(&self->answer);
}

/* The buffer is made large enough at once: what holds a password must not move and leave a copy. */
static void pg_secret_reserve(struct pg_secret *self, size_t size)
{
    char *at = NULL;
    must(self->answer.len == 0);
    must(buf_reserve(&self->answer, size + 64, &at) == ERR_NONE);
}

/* Passwords ----------------------------------------------------------------------------------- */

static enum err pg_secret_answer_cleartext(struct pg_secret *self)
{
    struct slice password = secret_view(&self->password);
    pg_secret_reserve(self, password.len);
    enum err err = pgwire_password_write(&self->answer, password);
    secret_release(&self->password);
    return err == ERR_NONE
               ? ERR_NONE
               : fail(&self->error, ERR_UNSUPPORTED,
                      "the password cannot be sent: it is too long or has a NUL inside");
}

static enum err pg_secret_answer_md5(struct pg_secret *self, const struct pg_challenge *challenge)
{
    char text[MD5_PASSWORD_TEXT_SIZE];
    enum err err = md5_password_answer(&self->password, challenge->user, challenge->auth.data, text,
                                       &self->error);
    secret_release(&self->password);
    if (err == ERR_NONE) {
        pg_secret_reserve(self, sizeof(text));
        must(pgwire_password_write(&self->answer, slice_of_text(text)) == ERR_NONE);
    }
    explicit_bzero(text, sizeof(text));
    return err;
}

/* SCRAM --------------------------------------------------------------------------------------- */

static enum err pg_secret_refuse_mechanisms(struct pg_secret *self, struct slice rest)
{
    struct buf names;
    struct slice name;
    buf_init(&names, 128);
    struct writer writer = writer_to(&names);
    while (pgwire_mechanism_next(&rest, &name)) {
        writer_bytes(&writer, names.len > 0 ? SLICE(", ") : SLICE_NONE);
        text_show(&writer, name);
    }
    enum err err = fail(&self->error, ERR_UNSUPPORTED,
                        "the target asks for an authentication that is not supported: SASL with "
                        "%.*s",
                        SLICE_ARG(buf_view(&names)));
    buf_release(&names);
    return err;
}

static enum err pg_secret_answer_sasl(struct pg_secret *self, const struct pg_challenge *challenge)
{
    bool is_offered = false;
    bool plus_is_offered = false;
    struct slice rest = challenge->auth.data;
    struct slice name;
    while (pgwire_mechanism_next(&rest, &name)) {
        is_offered = is_offered || slice_equals(name, SLICE(SCRAM_MECHANISM));
        plus_is_offered = plus_is_offered || slice_equals(name, SLICE(SCRAM_MECHANISM_PLUS));
    }
    /* Whoever takes TLS off in between and forgets that the server said this gives himself away. */
    if (plus_is_offered && !challenge->is_encrypted) {
        return fail(&self->error, ERR_UNAUTHENTICATED,
                    "the target offers to bind the sign-in to TLS, but there is none");
    }
    if (!is_offered && !(plus_is_offered && challenge->end_point != NULL)) {
        return pg_secret_refuse_mechanisms(self, challenge->auth.data);
    }
    struct scram_client_options options = {
        .is_marked = true,
        .password = &self->password,
        .end_point = challenge->end_point,
        .plus_is_offered = plus_is_offered,
    };
    self->scram = scram_client_new_in(&self->arena, &options);
    struct pgwire_sasl_initial initial = {
        .mechanism = scram_client_mechanism(self->scram),
        .response = scram_client_first_in(&self->arena, self->scram),
    };
    must(pgwire_sasl_initial_write(&self->answer, &initial) == ERR_NONE);
    self->state = PG_SECRET_AT_CONTINUE;
    return ERR_NONE;
}

/* On the pool. */
static void pg_secret_compute(struct pool_job *job)
{
    struct pg_secret *self = CONTAINER_OF(job, struct pg_secret, job);
    self->err =
        scram_client_take_in(&self->arena, self->scram, self->message, &self->proof, &self->error);
    mailbox_send(worker_mailbox(self->worker), &self->mail);
}

/* Of taking the server's first message. */
static enum err pg_secret_answer_proof(struct pg_secret *self, enum err err)
{
    secret_release(&self->password);
    must(err != ERR_NONE); /* the last message is another one */
    if (err == ERR_MORE) {
        self->state = PG_SECRET_AT_FINAL;
        err = pgwire_sasl_response_write(&self->answer, self->proof);
        must(err == ERR_NONE);
    }
    return err;
}

static void pg_secret_on_computed(struct mail *mail)
{
    struct pg_secret *self = CONTAINER_OF(mail, struct pg_secret, mail);
    self->is_computing = false;
    if (self->is_free) {
        pg_secret_release(self);
        return;
    }
    self->err = pg_secret_answer_proof(self, self->err);
    pg_secret_tell(self);
}

/* Whether SCRAM has what the password becomes, from an earlier sign-in. */
static bool pg_secret_recall(struct pg_secret *self, struct slice message)
{
    struct scram_salt salt;
    const struct scram_keys *keys = NULL;
    if (self->cache == NULL || scram_client_look(self->scram, message, &salt, NULL) != ERR_NONE) {
        return false;
    }
    secret_cache_name(self->cache, &self->password, &salt, &self->name);
    keys = secret_cache_find(self->cache, &self->name);
    self->is_to_be_kept = keys == NULL;
    if (keys != NULL) {
        scram_client_use_keys(self->scram, keys);
    }
    return keys != NULL;
}

/* ERR_AGAIN when it is being computed. */
static enum err pg_secret_answer_continue(struct pg_secret *self, struct slice message)
{
    self->message = arena_copy(&self->arena, message);
    if (pg_secret_recall(self, message)) {
        return pg_secret_answer_proof(self, scram_client_take_in(&self->arena, self->scram, message,
                                                                 &self->proof, &self->error));
    }
    self->is_computing = pool_submit(self->pool, &self->job) == ERR_NONE;
    return self->is_computing ? ERR_AGAIN
                              : fail(&self->error, ERR_BUSY, "too many sign-ins at once");
}

/* What is cheap is done at once. */
static enum err pg_secret_check_final(struct pg_secret *self, struct slice message)
{
    struct slice none;
    enum err err = scram_client_take_in(&self->arena, self->scram, message, &none, &self->error);
    must(err != ERR_MORE);
    if (err == ERR_NONE && self->is_to_be_kept) {
        secret_cache_put(self->cache, &self->name, scram_client_keys(self->scram));
    }
    return err;
}

/* Asking -------------------------------------------------------------------------------------- */

static enum pg_secret_state pg_secret_due(enum pgwire_auth_kind kind)
{
    if (kind == PGWIRE_AUTH_SASL_CONTINUE) {
        return PG_SECRET_AT_CONTINUE;
    }
    return kind == PGWIRE_AUTH_SASL_FINAL ? PG_SECRET_AT_FINAL : PG_SECRET_AT_FIRST;
}

static enum err pg_secret_answer(struct pg_secret *self, const struct pg_challenge *challenge)
{
    enum pgwire_auth_kind kind = challenge->auth.kind;
    if (self->state != pg_secret_due(kind)) {
        return fail(&self->error, ERR_INPUT,
                    "the target asks for an authentication that is not due");
    }
    self->state = PG_SECRET_SPENT; /* unless it goes on */
    if (kind == PGWIRE_AUTH_SASL) {
        return pg_secret_answer_sasl(self, challenge);
    }
    if (kind == PGWIRE_AUTH_SASL_CONTINUE) {
        return pg_secret_answer_continue(self, challenge->auth.data);
    }
    if (kind == PGWIRE_AUTH_SASL_FINAL) {
        return pg_secret_check_final(self, challenge->auth.data);
    }
    if (kind == PGWIRE_AUTH_MD5) {
        return pg_secret_answer_md5(self, challenge);
    }
    must(kind == PGWIRE_AUTH_CLEARTEXT);
    return pg_secret_answer_cleartext(self);
}

void pg_secret_ask(struct pg_secret *secret, const struct pg_challenge *challenge,
                   pg_answer_fn on_answer, void *owner)
{
    must(!secret->is_computing && !secret->is_free);
    secret->on_answer = on_answer;
    secret->owner = owner;
    enum err err = pg_secret_answer(secret, challenge);
    if (err != ERR_AGAIN) { /* else all belongs to the pool by now */
        secret->err = err;
        loop_defer(worker_loop(secret->worker), &secret->answer_task);
    }
}

struct pg_secret *pg_secret_new(struct worker *worker, struct pool *pool,
                                struct secret_cache *cache, struct secret *take_password)
{
    struct pg_secret *self = memory_new(sizeof(*self));
    self->worker = worker;
    self->pool = pool;
    self->cache = cache;
    self->password = *take_password;
    secret_init(take_password);
    arena_init(&self->arena);
    buf_init(&self->answer, ANSWER_SIZE_MAX);
    loop_task_init(&self->answer_task, pg_secret_tell, self);
    loop_task_init(&self->free_task, pg_secret_release, self);
    self->job.run = pg_secret_compute;
    self->mail.deliver = pg_secret_on_computed;
    return self;
}

void pg_secret_free(struct pg_secret *secret)
{
    if (secret == NULL) {
        return;
    }
    secret->is_free = true;
    loop_task_cancel(&secret->answer_task);
    if (!secret->is_computing) {
        secret_release(&secret->password);
        loop_defer(worker_loop(secret->worker), &secret->free_task);
    }
}
