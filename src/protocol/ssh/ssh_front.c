/* SPDX-License-Identifier: MIT */
/* The client's side: a server of libssh's that knows the secret of a credential as a password or as
 * the answer to one question, and people by their public keys. The client hears that it is let in
 * when its session is open. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"
#include "identity/native_credential.h"
#include "identity/person_key.h"
#include "io/timer.h"
#include "protocol/hello.h"
#include "protocol/ssh/ssh.h"
#include "protocol/ssh/ssh_key.h"
#include "protocol/ssh/ssh_link.h"
#include "protocol/ssh/ssh_login.h"
#include "wire/ssh_certificate.h"

#include <stdio.h>

#include <libssh/server.h>

#define KEY_EXCHANGES "curve25519-sha256,curve25519-sha256@libssh.org,diffie-hellman-group16-sha512"
#define CIPHERS                                                                                    \
    "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr,"      \
    "aes128-ctr"
#define MACS                                                                                       \
    "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512"

/* Algorithms of signatures: nothing with SHA-1. */
#define SIGNATURES                                                                                 \
    "ssh-ed25519-cert-v01@openssh.com,sk-ssh-ed25519-cert-v01@openssh.com,"                        \
    "ecdsa-sha2-nistp256-cert-v01@openssh.com,ecdsa-sha2-nistp384-cert-v01@openssh.com,"           \
    "ecdsa-sha2-nistp521-cert-v01@openssh.com,sk-ecdsa-sha2-nistp256-cert-v01@openssh.com,"        \
    "rsa-sha2-512-cert-v01@openssh.com,rsa-sha2-256-cert-v01@openssh.com,"                         \
    "ssh-ed25519,sk-ssh-ed25519@openssh.com,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,"              \
    "ecdsa-sha2-nistp521,sk-ecdsa-sha2-nistp256@openssh.com,rsa-sha2-512,rsa-sha2-256"

#define WAYS_IN (SSH_AUTH_METHOD_PUBLICKEY | SSH_AUTH_METHOD_PASSWORD | SSH_AUTH_METHOD_INTERACTIVE)

#define SIGNATURE_SIZE_MIN 64 /* of what stands behind the key in a packet */

enum sshd_front_state {
    FRONT_AT_KEYS,    /* the transport is being agreed on */
    FRONT_AT_SIGN_IN, /* who the client is, is asked */
    FRONT_ASKING,     /* the owner looks for verifiers */
    FRONT_WRONG,      /* the client is to hear that it was wrong */
    FRONT_PROVEN,     /* the owner is to be told who the client is */
    FRONT_KNOWN,      /* it opens the session */
    FRONT_OPENING,    /* the client is let through */
    FRONT_ENDING,     /* the owner is to be told that it is over */
    FRONT_GONE,
};

struct sshd_front {
    struct front front;
    struct sshd_link *link;
    struct loop *loop;
    const struct front_events *events;
    void *owner;
    enum sshd_front_state state;
    struct arena arena;
    struct slice user;   /* as the client says it */
    struct slice name;   /* of the connection; SLICE_NONE: nobody has said one */
    ssh_message message; /* of the sign-in, that waits for its answer */
    ssh_message asked;   /* about a key, that the client was told would do; NULL: none */
    char proof[NATIVE_HASH_SIZE];
    char (*hashes)[NATIVE_HASH_SIZE]; /* of the name's credentials */
    size_t hash_count;
    size_t index;
    size_t tries;
    size_t key_tries;
    size_t keys_asked;
    uint64_t signed_at; /* bytes in packets, by when what is signed with a key must have come */
    bool awaits_key;    /* the client was told that it would do */
    unsigned forbidden; /* by the certificate that came last; see sshd_link_forbid() */
    bool is_key_asked;  /* the owner looks for that, not for a secret */
    bool was_refused;   /* the owner has been told of a wrong one */
    struct error reason;
    struct timer timer;
    struct loop_task task;
};

static struct sshd_front *sshd_front_of(struct front *front)
{
    return CONTAINER_OF(front, struct sshd_front, front);
}

/* The end ------------------------------------------------------------------------------------- */

static void sshd_front_free(void *owner)
{
    struct sshd_front *self = owner;
    arena_release(&self->arena);
    memory_free(self);
}

/* The link is the stream's by now, or closed, or says its last words alone. */
static void sshd_front_leave(struct sshd_front *self)
{
    self->state = FRONT_GONE;
    ssh_message_free(self->message);
    ssh_message_free(self->asked);
    self->message = self->asked = NULL;
    timer_stop(&self->timer);
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, sshd_front_free, self);
    loop_defer(self->loop, &self->task);
}

static void sshd_front_close(struct front *front)
{
    struct sshd_front *self = sshd_front_of(front);
    if (self->state != FRONT_ENDING) {
        sshd_link_close(self->link);
    }
    sshd_front_leave(self);
}

static void sshd_front_drop(struct sshd_front *self, enum err code, const char *why)
{
    must(fail(&self->reason, code, "%s", why) == code);
    sshd_front_close(&self->front);
    self->events->on_closed(self->owner, &self->reason);
}

static void sshd_front_on_lost(void *owner)
{
    sshd_front_drop(owner, ERR_CLOSED, "client left");
}

static void sshd_front_on_deadline(void *owner)
{
    struct sshd_front *self = owner;
    sshd_front_drop(self, ERR_TIMEOUT, "client took too long");
}

static void sshd_front_on_ended(void *owner)
{
    struct sshd_front *self = owner;
    sshd_front_leave(self);
    self->events->on_closed(self->owner, &self->reason);
}

/* In words; the owner hears of it in a turn of its own. */
static void sshd_front_end(struct sshd_front *self, struct slice message, struct slice hint)
{
    char words[512];
    if (self->state == FRONT_ENDING || self->state == FRONT_GONE) {
        return;
    }
    (void)snprintf(words, sizeof(words), "%.*s%s%.*s", SLICE_ARG(message), hint.len > 0 ? ": " : "",
                   SLICE_ARG(hint));
    must(fail(&self->reason, ERR_UNAUTHENTICATED, "%.*s", SLICE_ARG(message)) != ERR_NONE);
    self->state = FRONT_ENDING;
    timer_stop(&self->timer);
    sshd_link_leave(self->link, words);
    loop_defer(self->loop, &self->task);
}

/* The sign-in --------------------------------------------------------------------------------- */

static bool sshd_front_is_right(struct sshd_front *self)
{
    size_t found = self->hash_count;
    for (size_t i = 0; i < self->hash_count; i++) {
        if (native_credential_is_hash(slice_of(self->hashes[i], NATIVE_HASH_SIZE), self->proof)) {
            found = i;
        }
    }
    self->index = found;
    return found < self->hash_count;
}

static void sshd_front_judge(struct sshd_front *self)
{
    self->state = sshd_front_is_right(self) ? FRONT_PROVEN : FRONT_WRONG;
}

static void sshd_front_refuse_message(ssh_message take_message)
{
    (void)ssh_message_auth_set_methods(take_message, WAYS_IN);
    (void)ssh_message_reply_default(take_message);
    ssh_message_free(take_message);
}

/* One more that was not right. Clients try all keys that they have before they ask for a secret. */
static void sshd_front_say_wrong(struct sshd_front *self, ssh_message take_message)
{
    bool is_key = ssh_message_subtype(take_message) == SSH_AUTH_METHOD_PUBLICKEY;
    self->state = FRONT_AT_SIGN_IN;
    self->tries += is_key ? 0 : 1;
    self->key_tries += is_key ? 1 : 0;
    sshd_front_refuse_message(take_message);
    if (self->key_tries >= LIMIT_SSH_KEY_TRIES) {
        sshd_front_end(self, SLICE("too many keys that are not known"), SLICE(""));
    }
    if (self->tries >= LIMIT_SSH_TRIES) {
        sshd_front_end(self, SLICE("too many wrong secrets"), SLICE(""));
    }
}

static void sshd_front_take_secret(struct sshd_front *self, struct slice secret,
                                   ssh_message take_message)
{
    native_credential_hash(secret, self->proof);
    self->message = take_message;
    self->is_key_asked = false;
    if (self->hashes != NULL) {
        sshd_front_judge(self);
        return;
    }
    self->state = FRONT_ASKING;
    self->events->on_name(self->owner, self->name);
}

/* The name of a connection, perhaps as whom, and why it is used: "orders+deploy;ticket=42". */
static void sshd_front_take_user(struct sshd_front *self, const char *user)
{
    struct shape_pairs metadata = hello_metadata_in(&self->arena);
    struct slice login;
    self->user = arena_copy(&self->arena, slice_of_text(user));
    self->name = sshd_login_cut(hello_application_read(self->user, &metadata), &login);
}

static void sshd_front_ask_secret(ssh_message take_message)
{
    static const char *prompts[] = {"Password: "};
    static char echo[] = {0};
    (void)ssh_message_auth_interactive_request(take_message, "Gatehouse", "", 1, prompts, echo);
    ssh_message_free(take_message);
}

static void sshd_front_take_answer(struct sshd_front *self, ssh_message take_message)
{
    ssh_session session = sshd_link_session(self->link);
    const char *answer = self->name.at != NULL && ssh_userauth_kbdint_getnanswers(session) == 1
                             ? ssh_userauth_kbdint_getanswer(session, 0)
                             : NULL;
    if (answer == NULL) {
        sshd_front_say_wrong(self, take_message);
    } else {
        sshd_front_take_secret(self, slice_of_text(answer), take_message);
    }
}

/* libssh 0.10 has no other way to a password or a key but one that must answer at once. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static const char *sshd_front_password(ssh_message message)
{
    const char *password = ssh_message_auth_password(message);
    return password == NULL ? "" : password;
}

static ssh_key sshd_front_key_of(ssh_message message)
{
    return ssh_message_auth_pubkey(message);
}

static enum ssh_publickey_state_e sshd_front_key_state(ssh_message message)
{
    return ssh_message_auth_publickey_state(message);
}
#pragma GCC diagnostic pop

/* A person's key ---------------------------------------------------------------------------------
 */

/* Without one of these a certificate lets nobody have a terminal, or forward a port. */
static void sshd_front_take_extensions(struct sshd_front *self,
                                       const struct sshwire_certificate *certificate)
{
    struct slice list = certificate->extensions;
    self->forbidden =
        (sshwire_list_find(list, SLICE("permit-pty")).at == NULL ? SSHD_LINK_TERMINALS : 0) |
        (sshwire_list_find(list, SLICE("permit-port-forwarding")).at == NULL ? SSHD_LINK_TUNNELS
                                                                             : 0);
}

/* ERR_INPUT: it is none of those that people may have. */
static enum err sshd_front_read_key(struct sshd_front *self, struct slice blob,
                                    struct front_key *ret_key)
{
    struct sshwire_certificate certificate = {.key = blob};
    struct sshwire_key key;
    struct error error;
    bool is_certificate = sshwire_certificate_is(blob);
    enum err err = ERR_NONE;
    self->forbidden = 0;
    if (is_certificate) {
        err = sshwire_certificate_read_in(&self->arena, blob, &certificate, &error);
    }
    if (err == ERR_NONE) {
        err = sshwire_key_read(certificate.key, &key, &error);
    }
    if (err == ERR_NONE && is_certificate) {
        sshd_front_take_extensions(self, &certificate);
    }
    if (err == ERR_NONE) {
        ret_key->fingerprint = person_key_fingerprint_in(&self->arena, certificate.key);
        ret_key->certificate = is_certificate ? blob : SLICE("");
    }
    return err;
}

/* fingerprint.at == NULL: there is none, or none of those that people may have. */
static struct front_key sshd_front_key(struct sshd_front *self, ssh_key public, size_t *ret_size)
{
    struct front_key key = {.fingerprint = SLICE_NONE, .certificate = SLICE("")};
    struct slice blob;
    char *text = NULL;
    if (public == NULL || ssh_pki_export_pubkey_base64(public, &text) != SSH_OK) {
        return key;
    }
    if (base64_decode_in(&self->arena, BASE64_STANDARD, slice_of_text(text), &blob) == ERR_NONE &&
        sshd_front_read_key(self, blob, &key) == ERR_NONE) {
        *ret_size = blob.len;
    }
    ssh_string_free_char(text);
    return key;
}

/* Whether a key would do is answered for each that could be somebody's: so nobody learns which are.
 * 'size' is that of the key; 0: it is none. */
static void sshd_front_answer_query(struct sshd_front *self, size_t size, ssh_message take_message)
{
    self->keys_asked++;
    if (self->keys_asked > LIMIT_SSH_KEY_ASKED) {
        ssh_message_free(take_message);
        sshd_front_end(self, SLICE("too many keys that are not known"), SLICE(""));
        return;
    }
    if (size == 0) {
        sshd_front_refuse_message(take_message);
        return;
    }
    (void)ssh_message_auth_reply_pk_ok_simple(take_message);
    ssh_message_free(self->asked);
    self->asked = take_message;
    self->awaits_key = true;
    self->signed_at = sshd_link_packet_bytes(self->link) + size + SIGNATURE_SIZE_MIN;
}

/* libssh has held the signature against the key and this session, with one of the algorithms above,
 * and lets nothing else come here. */
static void sshd_front_take_key(struct sshd_front *self, ssh_message take_message)
{
    enum ssh_publickey_state_e state = sshd_front_key_state(take_message);
    size_t size = 0;
    struct front_key key = sshd_front_key(self, sshd_front_key_of(take_message), &size);
    if (state == SSH_PUBLICKEY_STATE_NONE) {
        sshd_front_answer_query(self, size, take_message);
    } else if (state != SSH_PUBLICKEY_STATE_VALID || key.fingerprint.at == NULL) {
        sshd_front_say_wrong(self, take_message);
    } else {
        self->message = take_message;
        self->is_key_asked = true;
        self->state = FRONT_ASKING;
        self->events->on_key(self->owner, self->name, &key);
    }
}

/* What is signed badly, or with SHA-1, libssh drops without a word, and the client would wait. It
 * is told by its size from the short packets that clients send to hide something in. */
static void sshd_front_miss_key(struct sshd_front *self)
{
    bool is_missed = self->awaits_key && self->state == FRONT_AT_SIGN_IN &&
                     sshd_link_packet_bytes(self->link) >= self->signed_at;
    ssh_message message = self->asked;
    if (is_missed) {
        self->awaits_key = false;
        self->asked = NULL;
        sshd_front_say_wrong(self, message);
    }
}

static void sshd_front_take_sign_in(struct sshd_front *self, ssh_message take_message)
{
    int way = ssh_message_subtype(take_message);
    bool is_answer =
        way == SSH_AUTH_METHOD_INTERACTIVE && ssh_message_auth_kbdint_is_response(take_message);
    const char *user = is_answer ? NULL : ssh_message_auth_user(take_message);
    if (user != NULL && self->user.at == NULL) {
        sshd_front_take_user(self, user);
    }
    if (user != NULL && !slice_equals(self->user, slice_of_text(user))) {
        ssh_message_free(take_message);
        sshd_front_end(self, SLICE("the user's name has changed"), SLICE(""));
    } else if (is_answer) {
        sshd_front_take_answer(self, take_message);
    } else if (way == SSH_AUTH_METHOD_INTERACTIVE) {
        sshd_front_ask_secret(take_message);
    } else if (way == SSH_AUTH_METHOD_PASSWORD) {
        sshd_front_take_secret(self, slice_of_text(sshd_front_password(take_message)),
                               take_message);
    } else if (way == SSH_AUTH_METHOD_PUBLICKEY && user != NULL) {
        sshd_front_take_key(self, take_message);
    } else {
        sshd_front_refuse_message(take_message); /* it asks which ways there are */
    }
}

static void sshd_front_take(struct sshd_front *self, ssh_message take_message)
{
    self->awaits_key = false;
    if (ssh_message_type(take_message) == SSH_REQUEST_SERVICE) {
        (void)ssh_message_service_reply_success(take_message);
        ssh_message_free(take_message);
    } else if (ssh_message_type(take_message) == SSH_REQUEST_AUTH) {
        sshd_front_take_sign_in(self, take_message);
    } else {
        (void)ssh_message_reply_default(take_message);
        ssh_message_free(take_message);
    }
}

/* In a turn ----------------------------------------------------------------------------------- */

static void sshd_front_tell_wrong(struct sshd_front *self)
{
    ssh_message message = self->message;
    self->message = NULL;
    sshd_front_say_wrong(self, message);
    if (!self->was_refused && self->events->on_refused != NULL) {
        self->was_refused = true;
        self->events->on_refused(self->owner, self->name);
    }
}

static void sshd_front_let_in(struct sshd_front *self)
{
    ssh_message message = self->message;
    self->message = NULL;
    (void)ssh_message_auth_reply_success(message, 0);
    ssh_message_free(message);
    sshd_link_forbid(self->link, self->is_key_asked ? self->forbidden : 0);
    struct stream *stream = sshd_link_open(self->link);
    sshd_front_leave(self);
    self->events->on_open(self->owner, stream, SLICE(""));
}

static bool sshd_front_is_listening(const struct sshd_front *self)
{
    return self->state == FRONT_AT_SIGN_IN;
}

static enum sshd_step sshd_front_step(void *owner)
{
    struct sshd_front *self = owner;
    ssh_session session = sshd_link_session(self->link);
    if (self->state == FRONT_AT_KEYS && ssh_handle_key_exchange(session) == SSH_OK) {
        self->state = FRONT_AT_SIGN_IN;
    }
    ssh_message message = sshd_front_is_listening(self) ? ssh_message_get(session) : NULL;
    while (message != NULL) {
        sshd_front_take(self, message);
        message = sshd_front_is_listening(self) ? ssh_message_get(session) : NULL;
    }
    sshd_front_miss_key(self);
    if (self->state == FRONT_WRONG) {
        sshd_front_tell_wrong(self);
        if (sshd_front_is_listening(self)) {
            sshd_link_wake(self->link); /* the next may be there */
        }
    }
    if (self->state == FRONT_PROVEN) {
        timer_stop(&self->timer);
        self->state = FRONT_KNOWN;
        self->events->on_known(self->owner, self->index);
    }
    if (self->state == FRONT_OPENING) {
        sshd_front_let_in(self);
        return SSHD_STEP_OPEN;
    }
    return self->state == FRONT_GONE || self->state == FRONT_ENDING ? SSHD_STEP_GONE
                                                                    : SSHD_STEP_WAIT;
}

/* The owner's calls ---------------------------------------------------------------------------- */

static void sshd_front_set_up(const struct secret *key, struct sshd_link *link)
{
    ssh_bind bind = ssh_bind_new();
    bool no_files = false;
    must(bind != NULL); /* memory is out */
    must(ssh_options_set(sshd_link_session(link), SSH_OPTIONS_COMPRESSION, "no") == 0);
    must(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_PROCESS_CONFIG, &no_files) == 0);
    must(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_BANNER, SSHD_SOFTWARE) == 0);
    must(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_IMPORT_KEY, sshd_host_key_new(key)) == 0);
    must(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_KEY_EXCHANGE, KEY_EXCHANGES) == 0);
    must(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_CIPHERS_C_S, CIPHERS) == 0);
    must(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_CIPHERS_S_C, CIPHERS) == 0);
    must(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_HMAC_C_S, MACS) == 0);
    must(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_HMAC_S_C, MACS) == 0);
    must(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_PUBKEY_ACCEPTED_KEY_TYPES, SIGNATURES) == 0);
    must(ssh_bind_accept_fd(bind, sshd_link_session(link), sshd_link_take_fd(link)) == SSH_OK);
    ssh_bind_free(bind);
}

static struct front *sshd_front_start(struct stream *take_stream, const struct front_config *config,
                                      const struct front_events *events, void *owner)
{
    struct sshd_front *self = memory_new(sizeof(*self));
    const struct sshd_link_settings settings = {.take_stream = take_stream,
                                                .is_server = true,
                                                .step = sshd_front_step,
                                                .on_lost = sshd_front_on_lost,
                                                .owner = self};
    self->front.ops = &sshd_front_ops;
    self->loop = take_stream->loop;
    self->events = events;
    self->owner = owner;
    self->name = self->user = SLICE_NONE;
    arena_init(&self->arena);
    arena_hold_secrets(&self->arena);
    timer_init(&self->timer, sshd_front_on_deadline, self);
    loop_task_init(&self->task, sshd_front_on_ended, self);
    if (sshd_link_new(&settings, &self->link, &self->reason) != ERR_NONE) {
        self->state = FRONT_ENDING;
        loop_defer(self->loop, &self->task);
        return &self->front;
    }
    sshd_front_set_up(config->mock_key, self->link);
    timer_start(self->loop, &self->timer, config->authentication_ms);
    return &self->front;
}

/* All of them are compared, so that the time says nothing of which. */
static void sshd_front_answer(struct front *front, const struct front_verifiers *verifiers)
{
    struct sshd_front *self = sshd_front_of(front);
    if (self->state != FRONT_ASKING) {
        return; /* it is on its way out */
    }
    if (self->is_key_asked) {
        self->index = 0;
        self->state = verifiers->count > 0 ? FRONT_PROVEN : FRONT_WRONG;
        sshd_link_wake(self->link);
        return;
    }
    self->hashes = arena_alloc_array(&self->arena, verifiers->count + 1, sizeof(*self->hashes));
    self->hash_count = verifiers->count;
    for (size_t i = 0; i < verifiers->count; i++) {
        /* Of a connection of another protocol there may be none: zeros are no secret's hash. */
        struct slice hash = verifiers->hashes[i];
        bool is_hash = hash.len == NATIVE_HASH_SIZE;
        memcpy(self->hashes[i], is_hash ? hash.at : "", is_hash ? hash.len : 0);
    }
    sshd_front_judge(self);
    sshd_link_wake(self->link);
}

static enum err sshd_front_open(struct front *front, const struct arrival *arrival,
                                const struct cancel_key *key)
{
    struct sshd_front *self = sshd_front_of(front);
    (void)arrival;
    (void)key;
    if (self->state == FRONT_KNOWN) {
        self->state = FRONT_OPENING;
        sshd_link_wake(self->link);
    }
    return ERR_NONE;
}

static void sshd_front_cancelled(struct front *front)
{
    (void)front; /* nothing asks for it there */
}

static void sshd_front_refuse(struct front *front, const struct ending_words *words)
{
    sshd_front_end(sshd_front_of(front), words->message, words->hint);
}

static struct hello sshd_front_hello_in(struct arena *arena, const struct front *front)
{
    const struct sshd_front *self = CONTAINER_OF_CONST(front, struct sshd_front, front);
    struct hello hello = {
        .metadata = hello_metadata_in(arena),
        .metadata_hint = "A client of SSH gives them behind the connection's name, as its user: "
                         "'orders;ticket=42'.",
    };
    hello.name =
        sshd_login_cut(hello_application_read(self->user, &hello.metadata), &hello.database);
    hello.application_name = hello.database; /* so it is on record, too */
    return hello;
}

const struct front_ops sshd_front_ops = {
    .start = sshd_front_start,
    .answer = sshd_front_answer,
    .open = sshd_front_open,
    .cancelled = sshd_front_cancelled,
    .refuse = sshd_front_refuse,
    .hello_in = sshd_front_hello_in,
    .close = sshd_front_close,
};
