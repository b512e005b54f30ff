/* SPDX-License-Identifier: MIT */
/* The way to a server: dialed, its host key held against what the connection says, signed in by
 * key, password or the answers to its questions. Then its channels are frames. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"
#include "io/timer.h"
#include "protocol/ssh/ssh.h"
#include "protocol/ssh/ssh_environment.h"
#include "protocol/ssh/ssh_forward.h"
#include "protocol/ssh/ssh_key.h"
#include "protocol/ssh/ssh_link.h"
#include "protocol/ssh/ssh_login.h"
#include "protocol/target_server.h"
#include "wire/ssh_certificate.h"

#include <stdio.h>

#define KEY_EXCHANGES                                                                              \
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"        \
    "ecdh-sha2-nistp521,diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,"              \
    "diffie-hellman-group14-sha256"
#define CIPHERS                                                                                    \
    "aes256-gcm@openssh.com,aes128-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr,"      \
    "aes192-ctr,aes128-ctr"
#define MACS                                                                                       \
    "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512"
#define HOST_KEYS                                                                                  \
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,"        \
    "rsa-sha2-256"

#define QUESTIONS_MAX 8 /* rounds of keyboard-interactive */

enum sshd_open_state {
    OPEN_AT_KEYS,
    OPEN_AT_NONE, /* which ways in are there? */
    OPEN_AT_KEY,
    OPEN_AT_PASSWORD,
    OPEN_AT_QUESTIONS,
    OPEN_AT_END, /* there is no other way left */
};

struct sshd_open {
    struct opening opening;
    struct target_server server;
    struct dial *dial;
    struct sshd_link *link;
    enum sshd_open_state state;
    const char *user;
    struct slice denied_login; /* that the client wants to be and may not; empty: there is none */
    const char *password;      /* NULL: there is none */
    ssh_key key;               /* likewise */
    bool has_certificate;      /* the key has one */
    struct sshd_pin pin;
    char refused_key[SSHD_FINGERPRINT_SIZE]; /* that the server has; "": it was not refused */
    struct sshd_allowed allowed;
    unsigned ways; /* of the server */
    size_t questions;
    struct timer timer;
    opened_fn on_done;
    void *owner;
    struct loop_task free_task;
};

static void sshd_open_free(void *owner)
{
    struct sshd_open *self = owner;
    ssh_key_free(self->key);
    target_server_release(&self->server);
    memory_free(self);
}

static void sshd_open_leave(struct sshd_open *self)
{
    timer_stop(&self->timer);
    loop_defer(self->server.loop, &self->free_task);
}

/* The client sees 'message', the log and who manages the connection the error. */
static void sshd_open_fail(struct sshd_open *self, enum target_stage stage, struct slice message,
                           const struct error *error)
{
    struct target_failure failure = {.stage = stage, .error = *error};
    const struct ending_words words = {
        .why = ENDING_CONNECTION, .code = SLICE(""), .message = message, .hint = SLICE("")};
    struct buf answer;
    buf_init(&answer, SSHD_ANSWER_SIZE_MAX);
    must(sshd_answer_write(&words, failure.code, &answer) == ERR_NONE);
    failure.answer = buf_view(&answer);
    failure.host_key = slice_of_text(self->refused_key);
    if (self->link != NULL) {
        sshd_link_close(self->link);
    }
    sshd_open_leave(self);
    self->on_done(self->owner, NULL, &failure);
    buf_release(&answer);
}

/* The sign-in --------------------------------------------------------------------------------- */

/* A connection whose target is a gateway would open itself again and again. */
static bool sshd_open_is_gateway(const struct sshd_open *self)
{
    const char *banner = ssh_get_serverbanner(sshd_link_session(self->link));
    return banner != NULL && slice_equals(slice_of_text(banner), SLICE("SSH-2.0-" SSHD_SOFTWARE));
}

static enum err sshd_open_check_server(struct sshd_open *self, struct error *reterr)
{
    ssh_key key = NULL;
    if (sshd_open_is_gateway(self)) {
        return fail(
            reterr, ERR_INPUT,
            "the target of the connection is a gateway's own port: it would lead to itself");
    }
    if (ssh_get_server_publickey(sshd_link_session(self->link), &key) != SSH_OK) {
        return fail(reterr, ERR_UNAVAILABLE, "the server has no host key");
    }
    enum err err = sshd_pin_check(&self->pin, key, reterr);
    if (err != ERR_NONE) {
        sshd_fingerprint(key, self->refused_key);
    }
    ssh_key_free(key);
    return err;
}

static enum err sshd_open_check_login(const struct sshd_open *self, struct error *reterr)
{
    return self->denied_login.len == 0
               ? ERR_NONE
               : fail(reterr, ERR_DENIED, "the connection does not allow the login '%.*s'",
                      SLICE_ARG(slice_sub(self->denied_login, 0, SSHD_LOGIN_SIZE_MAX)));
}

/* The next way that the server takes and the connection has something for. */
static enum sshd_open_state sshd_open_next(const struct sshd_open *self)
{
    if (self->state < OPEN_AT_KEY && self->key != NULL &&
        (self->ways & SSH_AUTH_METHOD_PUBLICKEY) != 0) {
        return OPEN_AT_KEY;
    }
    if (self->state < OPEN_AT_PASSWORD && self->password != NULL &&
        (self->ways & SSH_AUTH_METHOD_PASSWORD) != 0) {
        return OPEN_AT_PASSWORD;
    }
    if (self->state < OPEN_AT_QUESTIONS && self->password != NULL &&
        (self->ways & SSH_AUTH_METHOD_INTERACTIVE) != 0) {
        return OPEN_AT_QUESTIONS;
    }
    return OPEN_AT_END;
}

/* Each question that hides its answer is for the password. */
static int sshd_open_answer(struct sshd_open *self)
{
    ssh_session session = sshd_link_session(self->link);
    int result = ssh_userauth_kbdint(session, self->user, NULL);
    while (result == SSH_AUTH_INFO && self->questions++ < QUESTIONS_MAX) {
        int count = ssh_userauth_kbdint_getnprompts(session);
        for (int i = 0; i < count; i++) {
            char is_shown = 0;
            (void)ssh_userauth_kbdint_getprompt(session, (unsigned)i, &is_shown);
            (void)ssh_userauth_kbdint_setanswer(session, (unsigned)i,
                                                is_shown != 0 ? "" : self->password);
        }
        result = ssh_userauth_kbdint(session, self->user, NULL);
    }
    return result == SSH_AUTH_INFO ? SSH_AUTH_DENIED : result;
}

static int sshd_open_try(struct sshd_open *self)
{
    ssh_session session = sshd_link_session(self->link);
    switch (self->state) {
    case OPEN_AT_NONE:
        return ssh_userauth_none(session, self->user);
    case OPEN_AT_KEY:
        return ssh_userauth_publickey(session, self->user, self->key);
    case OPEN_AT_PASSWORD:
        return ssh_userauth_password(session, self->user, self->password);
    case OPEN_AT_QUESTIONS:
        return sshd_open_answer(self);
    case OPEN_AT_KEYS:
    case OPEN_AT_END:
        break;
    }
    return SSH_AUTH_ERROR;
}

static enum sshd_step sshd_open_succeed(struct sshd_open *self)
{
    sshd_link_allow(self->link, &self->allowed);
    const struct arrival arrival = {.take_stream = sshd_link_open(self->link),
                                    .key = {.secret = SLICE_NONE},
                                    .greeting = SLICE(""),
                                    .rest = SLICE("")};
    sshd_open_leave(self);
    self->on_done(self->owner, &arrival, NULL);
    return SSHD_STEP_OPEN;
}

static enum sshd_step sshd_open_deny(struct sshd_open *self)
{
    struct error error;
    bool has_way = self->key != NULL || self->password != NULL;
    must(fail(&error, ERR_UNAUTHENTICATED,
              self->has_certificate
                  ? "the server does not let the user of the connection in with a certificate: it "
                    "must trust whose it is ('TrustedUserCAKeys'; 'GET /api/ssh' shows the "
                    "gateway's own); it takes%s%s%s"
              : has_way ? "the server does not let the user of the connection in (it takes%s%s%s)"
                        : "the connection has neither 'envvar:PASS' nor 'envvar:PRIVATE_KEY' (the "
                          "server takes%s%s%s)",
              (self->ways & SSH_AUTH_METHOD_PUBLICKEY) != 0 ? " keys" : "",
              (self->ways & SSH_AUTH_METHOD_PASSWORD) != 0 ? " passwords" : "",
              (self->ways & SSH_AUTH_METHOD_INTERACTIVE) != 0 ? " answers" : "") != ERR_NONE);
    sshd_open_fail(self, TARGET_STAGE_SIGN_IN,
                   SLICE("the target does not let the connection's user in"), &error);
    return SSHD_STEP_GONE;
}

static enum sshd_step sshd_open_sign_in(struct sshd_open *self)
{
    int result = SSH_AUTH_DENIED;
    while (result == SSH_AUTH_DENIED || result == SSH_AUTH_PARTIAL) {
        if (self->state == OPEN_AT_END) {
            return sshd_open_deny(self);
        }
        result = sshd_open_try(self);
        if (result == SSH_AUTH_DENIED || result == SSH_AUTH_PARTIAL) {
            self->ways = (unsigned)ssh_userauth_list(sshd_link_session(self->link), NULL);
            self->state = sshd_open_next(self);
        }
    }
    /* What is lost is seen by the link. */
    return result == SSH_AUTH_SUCCESS ? sshd_open_succeed(self) : SSHD_STEP_WAIT;
}

static enum sshd_step sshd_open_step(void *owner)
{
    struct sshd_open *self = owner;
    struct error error;
    if (self->state != OPEN_AT_KEYS) {
        return sshd_open_sign_in(self);
    }
    if (ssh_connect(sshd_link_session(self->link)) != SSH_OK) {
        return SSHD_STEP_WAIT;
    }
    if (sshd_open_check_login(self, &error) != ERR_NONE) {
        sshd_open_fail(self, TARGET_STAGE_SIGN_IN,
                       SLICE("the connection does not allow this login"), &error);
        return SSHD_STEP_GONE;
    }
    if (sshd_open_check_server(self, &error) != ERR_NONE) {
        sshd_open_fail(self, TARGET_STAGE_TLS, slice_of_text(error.message), &error);
        return SSHD_STEP_GONE;
    }
    self->state = OPEN_AT_NONE;
    return sshd_open_sign_in(self);
}

static void sshd_open_on_lost(void *owner)
{
    struct sshd_open *self = owner;
    struct error error;
    const char *why = ssh_get_error(sshd_link_session(self->link));
    enum target_stage stage = self->state == OPEN_AT_KEYS ? TARGET_STAGE_TLS : TARGET_STAGE_SIGN_IN;
    must(fail(&error, ERR_UNAVAILABLE, "the server ends the connection: %.200s", why) != ERR_NONE);
    sshd_open_fail(self, stage, SLICE("the target ends the connection"), &error);
}

static void sshd_open_on_deadline(void *owner)
{
    struct sshd_open *self = owner;
    struct error error;
    must(fail(&error, ERR_TIMEOUT, "the server takes too long to let the user in") != ERR_NONE);
    sshd_open_fail(self, TARGET_STAGE_SIGN_IN, SLICE("the target does not answer"), &error);
}

/* The start ----------------------------------------------------------------------------------- */

static void sshd_open_set(ssh_session session, enum ssh_options_e option, const void *value)
{
    must(ssh_options_set(session, option, value) == SSH_OK);
}

static void sshd_open_set_up(struct sshd_open *self)
{
    ssh_session session = sshd_link_session(self->link);
    struct slice pinned = sshd_pin_types_in(&self->server.arena, &self->pin);
    int fd = sshd_link_take_fd(self->link);
    int no = 0;
    bool no_files = false;
    sshd_open_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no_files);
    sshd_open_set(session, SSH_OPTIONS_FD, &fd);
    sshd_open_set(session, SSH_OPTIONS_SSH_DIR, "/nonexistent");
    sshd_open_set(session, SSH_OPTIONS_KNOWNHOSTS, "/dev/null");
    sshd_open_set(session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null");
    sshd_open_set(session, SSH_OPTIONS_USER, self->user);
    sshd_open_set(session, SSH_OPTIONS_GSSAPI_AUTH, &no);
    sshd_open_set(session, SSH_OPTIONS_COMPRESSION, "no");
    sshd_open_set(session, SSH_OPTIONS_KEY_EXCHANGE, KEY_EXCHANGES);
    sshd_open_set(session, SSH_OPTIONS_CIPHERS_C_S, CIPHERS);
    sshd_open_set(session, SSH_OPTIONS_CIPHERS_S_C, CIPHERS);
    sshd_open_set(session, SSH_OPTIONS_HMAC_C_S, MACS);
    sshd_open_set(session, SSH_OPTIONS_HMAC_S_C, MACS);
    sshd_open_set(session, SSH_OPTIONS_HOSTKEYS,
                  pinned.len > 0 ? arena_text(&self->server.arena, pinned) : HOST_KEYS);
}

static void sshd_open_on_connected(void *owner, struct stream *take_stream,
                                   const struct error *error)
{
    struct sshd_open *self = owner;
    struct error problem;
    const struct sshd_link_settings settings = {.take_stream = take_stream,
                                                .is_server = false,
                                                .step = sshd_open_step,
                                                .on_lost = sshd_open_on_lost,
                                                .owner = self};
    self->dial = NULL;
    if (take_stream == NULL) {
        sshd_open_fail(self, TARGET_STAGE_NETWORK, SLICE("the target cannot be reached"), error);
        return;
    }
    if (sshd_link_new(&settings, &self->link, &problem) != ERR_NONE) {
        sshd_open_fail(self, TARGET_STAGE_NETWORK, SLICE("the target cannot be reached"), &problem);
        return;
    }
    sshd_open_set_up(self);
    timer_start(self->server.loop, &self->timer, target_server_left_ms(&self->server));
}

static void sshd_open_cancel(struct opening *opening)
{
    struct sshd_open *self = CONTAINER_OF(opening, struct sshd_open, opening);
    if (self->dial != NULL) {
        dial_cancel(self->dial);
    } else if (self->link != NULL) {
        sshd_link_close(self->link);
    }
    sshd_open_leave(self);
}

/* Whether the certificate's blob is one of this key: libssh 0.10 compares them by their types. */
static bool sshd_open_is_of_key(struct arena *arena, struct slice blob, ssh_key key)
{
    struct sshwire_certificate certificate;
    struct slice own = SLICE("");
    struct error error;
    char *text = NULL;
    if (sshwire_certificate_read_in(arena, blob, &certificate, &error) != ERR_NONE ||
        ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) {
        return false;
    }
    bool is_it = base64_decode_in(arena, BASE64_STANDARD, slice_of_text(text), &own) == ERR_NONE &&
                 slice_equals(own, certificate.key);
    ssh_string_free_char(text);
    return is_it;
}

/* The line is "TYPE BASE64 COMMENT"; the key then goes by it. */
static bool sshd_open_certify(struct arena *arena, struct slice line, ssh_key key)
{
    struct slice rest = slice_trim(line, " \t\r\n");
    struct slice type = slice_cut(rest, ' ', &rest);
    struct slice text = slice_cut(rest, ' ', &rest);
    struct slice blob = SLICE("");
    ssh_key certificate = NULL;
    bool is_certified = base64_decode_in(arena, BASE64_STANDARD, text, &blob) == ERR_NONE &&
                        sshd_open_is_of_key(arena, blob, key) &&
                        ssh_pki_import_cert_base64(arena_text(arena, text),
                                                   ssh_key_type_from_name(arena_text(arena, type)),
                                                   &certificate) == SSH_OK &&
                        ssh_pki_copy_cert_to_privkey(certificate, key) == SSH_OK;
    ssh_key_free(certificate);
    return is_certified;
}

/* 'login': what the client asks for; empty: the connection's own. */
static void sshd_open_take_place(struct sshd_open *self, const struct place *place,
                                 struct slice login)
{
    struct arena *arena = &self->server.arena;
    self->user = arena_text(arena, login.len > 0 ? login : place->user);
    self->denied_login = login.len > 0 && !sshd_login_allows(place->logins, place->user, login)
                             ? arena_copy(arena, login)
                             : SLICE("");
    self->password = place->password.len == 0 ? NULL : arena_text(arena, place->password);
    self->pin = (struct sshd_pin){.keys = arena_copy(arena, place->host_key),
                                  .known_hosts = arena_copy(arena, place->known_hosts),
                                  .host = arena_copy(arena, place->host),
                                  .port = place->port};
    self->allowed = (struct sshd_allowed){.forward = arena_copy(arena, place->forward),
                                          .back = arena_copy(arena, place->forward_back),
                                          .variables = arena_copy(arena, place->accept_env)};
    if (place->private_key.len > 0 &&
        ssh_pki_import_privkey_base64(arena_text(arena, place->private_key), NULL, NULL, NULL,
                                      &self->key) != SSH_OK) {
        self->key = NULL; /* it was read when the place was */
    }
    if (self->key != NULL && place->user_certificate.len > 0) {
        self->has_certificate = sshd_open_certify(arena, place->user_certificate, self->key);
    }
}

struct opening *sshd_open_start(const struct dial_context *context,
                                const struct open_request *request, opened_fn on_done, void *owner)
{
    struct sshd_open *self = memory_new(sizeof(*self));
    self->opening.cancel = sshd_open_cancel;
    target_server_init(&self->server, request->place, NULL, worker_loop(context->worker),
                       request->timeout_ms);
    arena_hold_secrets(&self->server.arena);
    sshd_open_take_place(self, request->place, request->database);
    self->on_done = on_done;
    self->owner = owner;
    timer_init(&self->timer, sshd_open_on_deadline, self);
    loop_task_init(&self->free_task, sshd_open_free, self);
    self->dial = target_server_dial(&self->server, context, sshd_open_on_connected, self);
    return &self->opening;
}

/* Where there is time for it: a passphrase is made to cost some. */
enum err sshd_place_prepare(struct arena *arena, struct place *place, struct error *reterr)
{
    ssh_key key = NULL;
    char *text = NULL;
    const char *passphrase =
        place->passphrase.len == 0 ? NULL : arena_text(arena, place->passphrase);
    place->mode = PLACE_TLS_DISABLE; /* nothing here needs settings of TLS, 8 KB of each session */
    enum err err = sshd_forward_check(place->forward, "FORWARD", reterr);
    err = err == ERR_NONE ? sshd_forward_check(place->forward_back, "FORWARD_BACK", reterr) : err;
    err = err == ERR_NONE ? sshd_environment_check(place->accept_env, reterr) : err;
    err = err == ERR_NONE ? sshd_login_check(place->logins, reterr) : err;
    if (err != ERR_NONE || place->private_key.len == 0) {
        return err == ERR_LIMIT ? ERR_INPUT : err;
    }
    if (ssh_pki_import_privkey_base64(arena_text(arena, place->private_key), passphrase, NULL, NULL,
                                      &key) != SSH_OK) {
        return fail(reterr, ERR_INPUT,
                    "'envvar:PRIVATE_KEY' of the connection is no private key, or "
                    "'envvar:PASSPHRASE' does not open it");
    }
    int result = ssh_pki_export_privkey_base64(key, NULL, NULL, NULL, &text);
    must(result == SSH_OK);
    bool is_certified =
        place->user_certificate.len == 0 || sshd_open_certify(arena, place->user_certificate, key);
    ssh_key_free(key);
    place->private_key = arena_copy(arena, slice_of_text(text));
    explicit_bzero(text, strlen(text));
    ssh_string_free_char(text);
    return is_certified ? ERR_NONE
                        : fail(reterr, ERR_INPUT,
                               "'envvar:CERTIFICATE' of the connection is no certificate of its "
                               "'envvar:PRIVATE_KEY'");
}
