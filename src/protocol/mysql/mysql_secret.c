/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_secret.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "base/writer.h"
#include "identity/mysql_proof.h"
#include "wire/mysqlwire_start.h"

#define NONCE_SIZE_MAX      64
#define SHA256_REQUEST_KEY  "\x01"
#define CACHING_REQUEST_KEY "\x02"
#define PROOF_SIZE_MAX      MYSQL_PROOF_ED25519_SIZE

enum mysql_secret_state {
    MYSQL_SECRET_IDLE,
    MYSQL_SECRET_AT_SHA2, /* caching_sha2_password says whether the proof is enough */
    MYSQL_SECRET_AT_KEY,  /* the server's RSA key comes */
    MYSQL_SECRET_AT_SALT, /* parsec's */
};

struct mysql_secret {
    struct secret password;
    enum mysql_secret_state state;
    bool is_encrypted;
    char nonce[NONCE_SIZE_MAX];
    size_t nonce_len;
};

struct mysql_secret *mysql_secret_new(struct secret *take_password)
{
    struct mysql_secret *self = memory_new(sizeof(*self));
    self->password = *take_password;
    secret_init(take_password);
    return self;
}

void mysql_secret_free(struct mysql_secret *secret)
{
    if (secret != NULL) {
        secret_release(&secret->password);
        memory_free(secret);
    }
}

/* Methods -------------------------------------------------------------------------------------- */

typedef void (*mysql_proof_fn)(struct slice password, struct slice nonce, unsigned char *ret_proof);

/* The empty password is proved by nothing. */
static enum err secret_append_proof(struct mysql_secret *self, mysql_proof_fn prove, size_t size,
                                    struct buf *buf)
{
    unsigned char proof[PROOF_SIZE_MAX];
    struct slice password = secret_view(&self->password);
    if (password.len == 0) {
        return ERR_NONE;
    }
    prove(password, slice_of(self->nonce, self->nonce_len), proof);
    enum err err = buf_append(buf, slice_of(proof, size));
    explicit_bzero(proof, sizeof(proof));
    return err;
}

/* The buffer is large enough at once: what holds a password must not move and leave a copy. */
static enum err secret_append_password(struct mysql_secret *self, struct buf *buf,
                                       struct error *reterr)
{
    struct slice password = secret_view(&self->password);
    const struct slice parts[] = {password, SLICE("\0")};
    if (slice_find_byte(password, '\0') < password.len ||
        buf_append_parts(buf, parts, COUNT_OF(parts)) != ERR_NONE) {
        return fail(reterr, ERR_UNSUPPORTED,
                    "the password cannot be sent: it is too long or has a NUL inside");
    }
    return ERR_NONE;
}

static enum err answer_native(struct mysql_secret *self, const struct mysql_challenge *challenge,
                              struct buf *buf, struct error *reterr)
{
    (void)challenge;
    (void)reterr;
    return secret_append_proof(self, mysql_proof_sha1, MYSQL_PROOF_SHA1_SIZE, buf);
}

static enum err answer_sha2(struct mysql_secret *self, const struct mysql_challenge *challenge,
                            struct buf *buf, struct error *reterr)
{
    (void)challenge;
    (void)reterr;
    self->state = MYSQL_SECRET_AT_SHA2;
    return secret_append_proof(self, mysql_proof_sha2, MYSQL_PROOF_SHA2_SIZE, buf);
}

static enum err answer_ed25519(struct mysql_secret *self, const struct mysql_challenge *challenge,
                               struct buf *buf, struct error *reterr)
{
    (void)challenge;
    (void)reterr;
    return secret_append_proof(self, mysql_proof_ed25519, MYSQL_PROOF_ED25519_SIZE, buf);
}

static enum err answer_sha256(struct mysql_secret *self, const struct mysql_challenge *challenge,
                              struct buf *buf, struct error *reterr)
{
    if (challenge->is_encrypted || secret_view(&self->password).len == 0) {
        return secret_append_password(self, buf, reterr);
    }
    self->state = MYSQL_SECRET_AT_KEY;
    return buf_append(buf, SLICE(SHA256_REQUEST_KEY));
}

static enum err answer_clear(struct mysql_secret *self, const struct mysql_challenge *challenge,
                             struct buf *buf, struct error *reterr)
{
    if (!challenge->is_encrypted && !challenge->is_local) {
        return fail(reterr, ERR_UNSUPPORTED,
                    "the target asks for the password in clear text, which is sent under TLS only: "
                    "set 'envvar:SSLMODE' to require or stronger");
    }
    return secret_append_password(self, buf, reterr);
}

/* What asks for the salt is an empty packet. */
static enum err answer_parsec(struct mysql_secret *self, const struct mysql_challenge *challenge,
                              struct buf *buf, struct error *reterr)
{
    (void)buf;
    (void)reterr;
    memcpy(self->nonce, challenge->nonce.at, challenge->nonce.len); /* any byte may be its last */
    self->nonce_len = challenge->nonce.len;
    self->state = MYSQL_SECRET_AT_SALT;
    return ERR_NONE;
}

static enum err secret_append_parsec(struct mysql_secret *self, struct slice salt, struct buf *buf,
                                     struct error *reterr)
{
    unsigned char proof[MYSQL_PROOF_PARSEC_SIZE];
    enum err err = mysql_proof_parsec(secret_view(&self->password),
                                      slice_of(self->nonce, self->nonce_len), salt, proof, reterr);
    return err == ERR_NONE ? buf_append(buf, slice_of(proof, sizeof(proof))) : err;
}

static const struct {
    const char *plugin;
    enum err (*answer)(struct mysql_secret *self, const struct mysql_challenge *challenge,
                       struct buf *buf, struct error *reterr);
} methods[] = {
    {MYSQLWIRE_PLUGIN_NATIVE, answer_native},   {MYSQLWIRE_PLUGIN_SHA2, answer_sha2},
    {MYSQLWIRE_PLUGIN_SHA256, answer_sha256},   {MYSQLWIRE_PLUGIN_CLEAR, answer_clear},
    {MYSQLWIRE_PLUGIN_ED25519, answer_ed25519}, {MYSQLWIRE_PLUGIN_PARSEC, answer_parsec},
};

static size_t method_of(struct slice plugin)
{
    size_t i = 0;
    while (i < COUNT_OF(methods) && !slice_equals(plugin, slice_of_text(methods[i].plugin))) {
        i++;
    }
    return i;
}

bool mysql_secret_knows(struct slice plugin)
{
    return method_of(plugin) < COUNT_OF(methods);
}

bool mysql_secret_knows_first(struct slice plugin)
{
    return mysql_secret_knows(plugin) && !slice_equals(plugin, SLICE(MYSQLWIRE_PLUGIN_CLEAR)) &&
           !slice_equals(plugin, SLICE(MYSQLWIRE_PLUGIN_PARSEC));
}

bool mysql_secret_awaits_data(const struct mysql_secret *secret)
{
    return secret->state == MYSQL_SECRET_AT_SALT;
}

/* Asking --------------------------------------------------------------------------------------- */

static enum err refuse_plugin(struct slice plugin, struct error *reterr)
{
    struct buf name;
    buf_init(&name, 256);
    struct writer writer = writer_to(&name);
    text_show(&writer, slice_sub(plugin, 0, MYSQLWIRE_NAME_SIZE_MAX));
    enum err err = fail(reterr, ERR_UNSUPPORTED,
                        "the target asks for an authentication that is not supported: %.*s",
                        SLICE_ARG(buf_view(&name)));
    buf_release(&name);
    return err;
}

enum err mysql_secret_answer(struct mysql_secret *secret, const struct mysql_challenge *challenge,
                             struct buf *buf, struct error *reterr)
{
    size_t method = method_of(challenge->plugin);
    if (method == COUNT_OF(methods)) {
        return refuse_plugin(challenge->plugin, reterr);
    }
    if (challenge->nonce.len > NONCE_SIZE_MAX) {
        return fail(reterr, ERR_INPUT, "the target's random bytes are too many");
    }
    struct slice nonce = mysqlwire_scramble_of(challenge->nonce);
    memcpy(secret->nonce, nonce.at, nonce.len);
    secret->nonce_len = nonce.len;
    secret->is_encrypted = challenge->is_encrypted;
    secret->state = MYSQL_SECRET_IDLE;
    return methods[method].answer(secret, challenge, buf, reterr);
}

enum err mysql_secret_go_on(struct mysql_secret *secret, struct slice data, struct buf *buf,
                            bool *ret_is_wanted, struct error *reterr)
{
    static const char fast_ok[] = {MYSQLWIRE_SHA2_FAST_OK};
    static const char full[] = {MYSQLWIRE_SHA2_FULL};
    enum mysql_secret_state state = secret->state;
    secret->state = MYSQL_SECRET_IDLE;
    *ret_is_wanted = true;
    if (state == MYSQL_SECRET_AT_SHA2 && slice_equals(data, slice_of(fast_ok, 1))) {
        *ret_is_wanted = false;
        return ERR_NONE;
    }
    if (state == MYSQL_SECRET_AT_SHA2 && slice_equals(data, slice_of(full, 1))) {
        if (secret->is_encrypted) {
            return secret_append_password(secret, buf, reterr);
        }
        secret->state = MYSQL_SECRET_AT_KEY;
        return buf_append(buf, SLICE(CACHING_REQUEST_KEY));
    }
    if (state == MYSQL_SECRET_AT_KEY) {
        struct slice nonce = slice_of(secret->nonce, secret->nonce_len);
        return mysql_proof_encrypt(&secret->password, nonce, data, buf, reterr);
    }
    if (state == MYSQL_SECRET_AT_SALT) {
        return secret_append_parsec(secret, data, buf, reterr);
    }
    return fail(reterr, ERR_INPUT, "the target asks for an authentication that is not due");
}
