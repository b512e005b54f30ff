/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_key.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/writer.h"
#include "codec/base64.h"

#include <stdio.h>
#include <stdlib.h>

#include <sodium.h>

#define KEY_CONTEXT  "gatehouse ssh host key ed25519"
#define KEY_TYPE     "ssh-ed25519"
#define LINE_SIZE    70
#define KEY_SIZE_MAX 1024 /* of an unencrypted private key of this type, as text */

/* The gateway's own --------------------------------------------------------------------------- */

struct host_key {
    unsigned char public[crypto_sign_PUBLICKEYBYTES];
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
};

static void host_key_derive(const struct secret *key, struct host_key *host_key)
{
    unsigned char seed[crypto_sign_SEEDBYTES];
    struct slice bytes = secret_view(key);
    must(bytes.len >= crypto_generichash_KEYBYTES_MIN);
    must(crypto_generichash(seed, sizeof(seed), (const unsigned char *)KEY_CONTEXT,
                            strlen(KEY_CONTEXT), (const unsigned char *)bytes.at,
                            bytes.len < crypto_generichash_KEYBYTES_MAX
                                ? bytes.len
                                : crypto_generichash_KEYBYTES_MAX) == 0);
    must(crypto_sign_seed_keypair(host_key->public, host_key->secret, seed) == 0);
    sodium_memzero(seed, sizeof(seed));
}

static void key_put(struct writer *writer, struct slice text)
{
    writer_u32(writer, (uint32_t)text.len);
    writer_bytes(writer, text);
}

static void key_put_public(struct writer *writer, const struct host_key *host_key)
{
    key_put(writer, SLICE(KEY_TYPE));
    key_put(writer, slice_of(host_key->public, sizeof(host_key->public)));
}

/* As OpenSSH keeps them (PROTOCOL.key), without a passphrase. */
static void key_put_private(struct writer *writer, const struct host_key *host_key)
{
    struct buf blob;
    struct buf secret;
    buf_init(&blob, KEY_SIZE_MAX);
    buf_init(&secret, KEY_SIZE_MAX);
    struct writer inner = writer_to(&blob);
    key_put_public(&inner, host_key);
    struct writer hidden = writer_to(&secret);
    writer_u64(&hidden, 0); /* the check, twice */
    key_put_public(&hidden, host_key);
    key_put(&hidden, slice_of(host_key->secret, sizeof(host_key->secret)));
    key_put(&hidden, SLICE(""));
    for (uint8_t i = 1; secret.len % 8 != 0; i++) {
        writer_u8(&hidden, i);
    }
    writer_text(writer, SLICE("openssh-key-v1"));
    key_put(writer, SLICE("none"));
    key_put(writer, SLICE("none"));
    key_put(writer, SLICE(""));
    writer_u32(writer, 1);
    key_put(writer, buf_view(&blob));
    key_put(writer, buf_view(&secret));
    buf_release(&blob);
    buf_wipe(&secret);
    buf_release(&secret);
}

static struct slice key_text_in(struct arena *arena, const struct host_key *host_key)
{
    struct buf bytes;
    struct buf text;
    buf_init(&bytes, KEY_SIZE_MAX);
    buf_init(&text, 2 * KEY_SIZE_MAX);
    struct writer writer = writer_to(&bytes);
    key_put_private(&writer, host_key);
    must(writer_done(&writer) == ERR_NONE);
    struct slice base64 = base64_encode_in(arena, BASE64_STANDARD, buf_view(&bytes));
    struct writer lines = writer_to(&text);
    writer_bytes(&lines, SLICE("-----BEGIN OPENSSH PRIVATE KEY-----\n"));
    for (size_t at = 0; at < base64.len; at += LINE_SIZE) {
        writer_bytes(&lines, slice_sub(base64, at, LINE_SIZE));
        writer_bytes(&lines, SLICE("\n"));
    }
    writer_bytes(&lines, SLICE("-----END OPENSSH PRIVATE KEY-----\n"));
    must(writer_done(&lines) == ERR_NONE);
    struct slice copy = arena_copy(arena, buf_view(&text));
    buf_wipe(&bytes);
    buf_wipe(&text);
    buf_release(&bytes);
    buf_release(&text);
    return copy;
}

struct slice sshd_private_key_in(struct arena *arena, const unsigned char public[32],
                                 const unsigned char secret[64])
{
    struct host_key key;
    memcpy(key.public, public, sizeof(key.public));
    memcpy(key.secret, secret, sizeof(key.secret));
    struct slice text = key_text_in(arena, &key);
    sodium_memzero(&key, sizeof(key));
    return text;
}

ssh_key sshd_host_key_new(const struct secret *key)
{
    struct host_key host_key;
    struct arena arena CLEANUP(arena_release);
    ssh_key made = NULL;
    arena_init(&arena);
    arena_hold_secrets(&arena);
    host_key_derive(key, &host_key);
    const char *text = arena_text(&arena, key_text_in(&arena, &host_key));
    must(ssh_pki_import_privkey_base64(text, NULL, NULL, NULL, &made) == SSH_OK);
    sodium_memzero(&host_key, sizeof(host_key));
    return made;
}

struct slice sshd_host_key_line_in(struct arena *arena, const struct secret *key)
{
    struct host_key host_key;
    struct buf blob;
    buf_init(&blob, KEY_SIZE_MAX);
    host_key_derive(key, &host_key);
    struct writer writer = writer_to(&blob);
    key_put_public(&writer, &host_key);
    must(writer_done(&writer) == ERR_NONE);
    struct slice base64 = base64_encode_in(arena, BASE64_STANDARD, buf_view(&blob));
    struct slice line = arena_format(arena, KEY_TYPE " %.*s", SLICE_ARG(base64));
    sodium_memzero(&host_key, sizeof(host_key));
    buf_release(&blob);
    return line;
}

/* A target's ---------------------------------------------------------------------------------- */

void sshd_fingerprint(ssh_key key, char text[SSHD_FINGERPRINT_SIZE])
{
    unsigned char *hash = NULL;
    size_t size = 0;
    must(ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) == SSH_OK);
    char *shown = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, size);
    must(shown != NULL); /* memory is out */
    (void)snprintf(text, SSHD_FINGERPRINT_SIZE, "%s", shown);
    ssh_string_free_char(shown);
    ssh_clean_pubkey_hash(&hash);
}

static struct slice pin_word(struct slice *rest)
{
    struct slice text = slice_trim(*rest, " \t\r");
    size_t end = 0;
    while (end < text.len && text.at[end] != ' ' && text.at[end] != '\t') {
        end++;
    }
    *rest = slice_from(text, end);
    return slice_sub(text, 0, end);
}

/* "host", "[host]:port", several with commas between. */
static bool pin_names_host(const struct sshd_pin *pin, struct slice hosts)
{
    char with_port[300];
    (void)snprintf(with_port, sizeof(with_port), "[%.*s]:%u", SLICE_ARG(pin->host), pin->port);
    bool is_named = false;
    while (hosts.len > 0) {
        struct slice host = slice_cut(hosts, ',', &hosts);
        is_named = is_named || slice_equals_nocase(host, slice_of_text(with_port)) ||
                   (pin->port == 22 && slice_equals_nocase(host, pin->host));
    }
    return is_named;
}

/* One that was named: a type with a key in base64, or a fingerprint alone. */
struct pinned {
    struct slice type;
    struct slice key;
};

/* False: there are no more. */
static bool pin_next(const struct sshd_pin *pin, struct slice *keys, struct slice *hosts,
                     struct pinned *ret_pinned)
{
    while (keys->len > 0 || hosts->len > 0) {
        bool is_hosts = keys->len == 0;
        struct slice line =
            is_hosts ? slice_cut(*hosts, '\n', hosts) : slice_cut(*keys, '\n', keys);
        struct slice first = is_hosts ? pin_word(&line) : SLICE("");
        bool is_other = is_hosts && !pin_names_host(pin, first);
        struct pinned pinned = {.type = pin_word(&line)};
        pinned.key = pin_word(&line);
        if (!is_other && pinned.type.len > 0 && pinned.type.at[0] != '#') {
            *ret_pinned = pinned;
            return true;
        }
    }
    return false;
}

static bool pinned_is(const struct pinned *pinned, ssh_key key, const char *fingerprint)
{
    char *base64 = NULL;
    if (slice_starts_with(pinned->type, SLICE("SHA256:"))) {
        return slice_equals(slice_trim(pinned->type, "="), slice_of_text(fingerprint));
    }
    must(ssh_pki_export_pubkey_base64(key, &base64) == SSH_OK);
    bool is_it = slice_equals(pinned->key, slice_of_text(base64));
    ssh_string_free_char(base64);
    return is_it;
}

/* As a fingerprint, whatever it is written as. */
static void pinned_show(const struct pinned *pinned, char text[SSHD_FINGERPRINT_SIZE])
{
    char key_text[4096];
    char type_text[64];
    ssh_key key = NULL;
    (void)snprintf(text, SSHD_FINGERPRINT_SIZE, "%.*s", SLICE_ARG(pinned->type));
    (void)snprintf(key_text, sizeof(key_text), "%.*s", SLICE_ARG(pinned->key));
    (void)snprintf(type_text, sizeof(type_text), "%.*s", SLICE_ARG(pinned->type));
    if (pinned->key.len > 0 &&
        ssh_pki_import_pubkey_base64(key_text, ssh_key_type_from_name(type_text), &key) == SSH_OK) {
        sshd_fingerprint(key, text);
        ssh_key_free(key);
    }
}

enum err sshd_pin_check(const struct sshd_pin *pin, ssh_key key, struct error *reterr)
{
    char own[SSHD_FINGERPRINT_SIZE];
    char expected[SSHD_FINGERPRINT_SIZE] = "";
    struct slice keys = pin->keys;
    struct slice hosts = pin->known_hosts;
    struct pinned pinned;
    bool is_it = false;
    sshd_fingerprint(key, own);
    while (!is_it && pin_next(pin, &keys, &hosts, &pinned)) {
        is_it = pinned_is(&pinned, key, own);
        if (expected[0] == '\0') {
            pinned_show(&pinned, expected);
        }
    }
    if (is_it) {
        return ERR_NONE;
    }
    if (expected[0] == '\0') {
        return fail(reterr, ERR_DENIED,
                    "the server's host key is not known: it is %s (%s); if that is the server's, "
                    "confirm it ('PUT /api/connections/NAME/host-key'), or set HOST_KEY to it",
                    own, ssh_key_type_to_char(ssh_key_type(key)));
    }
    return fail(reterr, ERR_DENIED,
                "the server's host key is %s (%s), but the connection has %s: the server is "
                "another one, or somebody stands in between",
                own, ssh_key_type_to_char(ssh_key_type(key)), expected);
}

struct slice sshd_pin_types_in(struct arena *arena, const struct sshd_pin *pin)
{
    static const char *const types[] = {"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                                        "ecdsa-sha2-nistp521", "ssh-rsa"};
    bool has[COUNT_OF(types)] = {false};
    struct slice keys = pin->keys;
    struct slice hosts = pin->known_hosts;
    struct slice list = SLICE("");
    struct pinned pinned;
    while (pin_next(pin, &keys, &hosts, &pinned)) {
        for (size_t i = 0; i < COUNT_OF(types); i++) {
            has[i] = has[i] || slice_equals(pinned.type, slice_of_text(types[i]));
        }
    }
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        bool is_rsa = i + 1 == COUNT_OF(types);
        if (has[i]) {
            list = arena_format(arena, "%.*s%s%s", SLICE_ARG(list), list.len > 0 ? "," : "",
                                is_rsa ? "rsa-sha2-512,rsa-sha2-256" : types[i]);
        }
    }
    return list;
}
