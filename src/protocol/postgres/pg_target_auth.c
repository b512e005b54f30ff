/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_target_internal.h"
#include "wire/pgwire_answer.h"

/* What may come ------------------------------------------------------------------------------- */

static bool is_due(const struct pg_target *target, enum pgwire_server_kind kind)
{
    bool is_authenticating = target->state == PG_TARGET_AT_AUTHENTICATION;
    if (kind == PGWIRE_SERVER_ERROR || kind == PGWIRE_SERVER_NOTICE) {
        return true;
    }
    if (kind == PGWIRE_SERVER_AUTHENTICATION) {
        return is_authenticating;
    }
    if (kind == PGWIRE_SERVER_NEGOTIATE_VERSION) {
        return is_authenticating && !target->is_negotiated;
    }
    if (kind == PGWIRE_SERVER_BACKEND_KEY) {
        return !is_authenticating && target->key.len == 0;
    }
    /* A trigger at login may have listened to something. */
    bool is_of_session = kind == PGWIRE_SERVER_PARAMETER_STATUS || kind == PGWIRE_SERVER_READY ||
                         kind == PGWIRE_SERVER_NOTIFICATION;
    return is_of_session && !is_authenticating;
}

enum err pg_target_expect(struct pg_target *target)
{
    if (is_due(target, pgwire_server_kind_of(&target->framer.frame))) {
        return ERR_NONE;
    }
    return fail(&target->error, ERR_INPUT, "the target sends message 0x%02x before it is ready",
                (unsigned)(unsigned char)target->framer.frame.type);
}

/* Authentication ------------------------------------------------------------------------------ */

static void on_answer(void *owner, struct slice message, const struct error *error)
{
    struct pg_target *target = owner;
    target->is_asking = false;
    if (error != NULL) {
        target->error = *error;
        pg_target_answered(target, error->code);
        return;
    }
    /* The last question of SCRAM has no message for an answer, but a proof. */
    target->is_proof_due = target->is_proof_due && message.len > 0;
    enum err err = buf_append(&target->out, message);
    if (err != ERR_NONE) {
        err = fail(&target->error, ERR_LIMIT, "an answer of %zu bytes to the target", message.len);
    }
    pg_target_answered(target, err);
}

static enum err ask_secret(struct pg_target *target, const struct pgwire_auth *auth)
{
    bool is_encrypted = stream_is_encrypted(target->stream);
    if (target->secret == NULL) {
        return fail(&target->error, ERR_UNSUPPORTED,
                    "the target asks for a password and there is none for it");
    }
    if (auth->kind == PGWIRE_AUTH_CLEARTEXT && !is_encrypted && !target->is_local &&
        !target->allows_cleartext) {
        return fail(&target->error, ERR_UNSUPPORTED,
                    "the target asks for the password in clear text over a network without TLS");
    }
    struct pg_challenge challenge = {
        .auth = *auth,
        .user = buf_view(&target->user),
        .is_encrypted = is_encrypted,
        .end_point = target->has_end_point ? &target->end_point : NULL,
    };
    target->is_proof_due = target->is_proof_due || auth->kind == PGWIRE_AUTH_SASL;
    target->is_asking = true;
    pg_secret_ask(target->secret, &challenge, on_answer, target);
    return ERR_NONE;
}

static enum err refuse_method(struct pg_target *target, const char *name)
{
    return fail(&target->error, ERR_UNSUPPORTED,
                "the target asks for an authentication that is not supported: %s", name);
}

static enum err take_ok(struct pg_target *target)
{
    if (target->is_proof_due) {
        return fail(&target->error, ERR_UNAUTHENTICATED,
                    "the target ends the sign-in without a proof that it knows the password");
    }
    target->state = PG_TARGET_AT_READY;
    pg_secret_free(target->secret);
    target->secret = NULL;
    return ERR_NONE;
}

static enum err take_authentication(struct pg_target *target, struct slice body)
{
    struct pgwire_auth auth;
    enum err err = pgwire_auth_read(body, &auth, &target->error);
    if (err != ERR_NONE) {
        error_prefix(&target->error, "the target asks for: ");
        return err;
    }
    switch (auth.kind) {
    case PGWIRE_AUTH_OK:
        return take_ok(target);
    case PGWIRE_AUTH_CLEARTEXT:
    case PGWIRE_AUTH_MD5:
    case PGWIRE_AUTH_SASL:
    case PGWIRE_AUTH_SASL_CONTINUE:
    case PGWIRE_AUTH_SASL_FINAL:
        return ask_secret(target, &auth);
    case PGWIRE_AUTH_KERBEROS:
        return refuse_method(target, "Kerberos V5");
    case PGWIRE_AUTH_GSS:
    case PGWIRE_AUTH_GSS_CONTINUE:
        return refuse_method(target, "GSSAPI");
    case PGWIRE_AUTH_SSPI:
        return refuse_method(target, "SSPI");
    }
    return ERR_INTERNAL;
}

/* The session --------------------------------------------------------------------------------- */

/* A server that asks for nothing to be changed is taken at its word. */
static enum err take_negotiation(struct pg_target *target, struct slice body)
{
    struct pgwire_negotiation negotiation;
    enum err err = pgwire_negotiation_read(body, &negotiation, &target->error);
    if (err != ERR_NONE) {
        return err;
    }
    if (negotiation.version > target->version) {
        return fail(&target->error, ERR_INPUT,
                    "the target wants version %u.%u of the protocol, which is newer than asked for",
                    PGWIRE_VERSION_MAJOR(negotiation.version),
                    PGWIRE_VERSION_MINOR(negotiation.version));
    }
    if (negotiation.name_count > 0) {
        return fail(&target->error, ERR_INPUT,
                    "the target refuses options of the protocol that nobody asked for");
    }
    target->is_negotiated = true;
    target->version = negotiation.version;
    return ERR_NONE;
}

static enum err take_key(struct pg_target *target, struct slice body)
{
    struct pgwire_key key;
    enum err err = pgwire_key_read(body, &key, &target->error);
    if (err != ERR_NONE) {
        return err;
    }
    target->key_process = key.process;
    return buf_append(&target->key, key.secret);
}

static enum err keep(struct pg_target *target, struct slice body)
{
    enum err err = pgwire_header_write(&target->greeting, &target->framer.frame);
    err = err != ERR_NONE ? err : buf_append(&target->greeting, body);
    if (err != ERR_NONE) {
        return fail(&target->error, ERR_LIMIT,
                    "the target sends more than %zu bytes before it is ready", LIMIT_GREETING_SIZE);
    }
    return ERR_NONE;
}

static enum err take_parameter(struct pg_target *target, struct slice body)
{
    struct pgwire_parameter parameter;
    enum err err = pgwire_parameter_status_read(body, &parameter, &target->error);
    return err != ERR_NONE ? err : keep(target, body);
}

static enum err take_notice(struct pg_target *target, struct slice body)
{
    struct slice fields;
    enum err err = pgwire_notice_read(body, &fields, &target->error);
    return err != ERR_NONE ? err : keep(target, body);
}

static enum err take_notification(struct pg_target *target, struct slice body)
{
    struct pgwire_notification notification;
    enum err err = pgwire_notification_read(body, &notification, &target->error);
    return err != ERR_NONE ? err : keep(target, body);
}

static enum err take_ready(struct pg_target *target, struct slice body)
{
    enum err err = pgwire_ready_read(body, &target->transaction, &target->error);
    if (err == ERR_NONE) {
        target->state = PG_TARGET_DONE;
    }
    return err;
}

/* Those that can be due, and what takes them. */
static const struct {
    enum pgwire_server_kind kind;
    enum err (*take)(struct pg_target *target, struct slice body);
} takers[] = {
    {PGWIRE_SERVER_AUTHENTICATION, take_authentication},
    {PGWIRE_SERVER_NEGOTIATE_VERSION, take_negotiation},
    {PGWIRE_SERVER_BACKEND_KEY, take_key},
    {PGWIRE_SERVER_PARAMETER_STATUS, take_parameter},
    {PGWIRE_SERVER_NOTICE, take_notice},
    {PGWIRE_SERVER_NOTIFICATION, take_notification},
    {PGWIRE_SERVER_ERROR, pg_target_refused},
    {PGWIRE_SERVER_READY, take_ready},
};

enum err pg_target_take(struct pg_target *target, struct slice body)
{
    enum pgwire_server_kind kind = pgwire_server_kind_of(&target->framer.frame);
    for (size_t i = 0; i < COUNT_OF(takers); i++) {
        if (takers[i].kind == kind) {
            return takers[i].take(target, body);
        }
    }
    return ERR_INTERNAL;
}
