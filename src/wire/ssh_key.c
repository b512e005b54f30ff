/* SPDX-License-Identifier: MIT */
#include "wire/ssh_key.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/reader.h"
#include "base/text.h"
#include "codec/base64.h"

#define ED25519_SIZE      32
#define UNCOMPRESSED      0x04 /* a point of two coordinates, SEC 1 section 2.3.3 */
#define CERTIFICATE       "-cert-v01@openssh.com"
#define EXPONENT_SIZE_MAX 4

struct key_form {
    const char *type;
    enum sshwire_key_kind kind;
    const char *curve; /* of ecdsa */
    uint32_t bits;
    size_t point_size; /* 0: it is a key of RSA */
    bool is_in_device;
};

static const struct key_form key_forms[] = {
    {"ssh-ed25519", SSHWIRE_KEY_ED25519, NULL, 256, ED25519_SIZE, false},
    {"ecdsa-sha2-nistp256", SSHWIRE_KEY_ECDSA_256, "nistp256", 256, 65, false},
    {"ecdsa-sha2-nistp384", SSHWIRE_KEY_ECDSA_384, "nistp384", 384, 97, false},
    {"ecdsa-sha2-nistp521", SSHWIRE_KEY_ECDSA_521, "nistp521", 521, 133, false},
    {"ssh-rsa", SSHWIRE_KEY_RSA, NULL, 0, 0, false},
    {"sk-ssh-ed25519@openssh.com", SSHWIRE_KEY_SK_ED25519, NULL, 256, ED25519_SIZE, true},
    {"sk-ecdsa-sha2-nistp256@openssh.com", SSHWIRE_KEY_SK_ECDSA, "nistp256", 256, 65, true},
};

static const struct key_form *key_form_of(struct slice type)
{
    for (size_t i = 0; i < COUNT_OF(key_forms); i++) {
        if (slice_equals(type, slice_of_text(key_forms[i].type))) {
            return &key_forms[i];
        }
    }
    return NULL;
}

static enum err key_refuse_type(struct slice type, struct error *reterr)
{
    struct slice shown = slice_sub(type, 0, 64);
    if (slice_equals(type, SLICE("ssh-dss"))) {
        return fail(reterr, ERR_INPUT, "keys of DSA are not taken: make one of Ed25519");
    }
    if (slice_ends_with(type, SLICE(CERTIFICATE))) {
        return fail(reterr, ERR_INPUT, "this is a certificate: the public key itself is wanted");
    }
    return fail(reterr, ERR_INPUT, "keys of the type '%.*s' are not known", SLICE_ARG(shown));
}

/* The blob ------------------------------------------------------------------------------------ */

static struct slice key_field(struct reader *reader)
{
    size_t size = reader_u32(reader);
    return reader_view(reader, size);
}

/* A positive number in as few bytes as it has (RFC 4251 section 5); 0: it is none. */
static uint32_t key_number_bits(struct slice number, struct slice *ret_digits)
{
    bool has_zero = number.len > 1 && number.at[0] == '\0';
    struct slice digits = has_zero ? slice_from(number, 1) : number;
    uint8_t first = digits.len == 0 ? 0 : (uint8_t)digits.at[0];
    uint32_t bits = 0;
    if (first == 0 || digits.len > LIMIT_SSH_RSA_BITS / 8 || has_zero != (first >= 0x80)) {
        return 0;
    }
    while (first >> bits != 0) {
        bits++;
    }
    *ret_digits = digits;
    return (uint32_t)(digits.len - 1) * 8 + bits;
}

static bool key_is_odd(struct slice digits)
{
    return ((uint8_t)digits.at[digits.len - 1] & 1) != 0;
}

static enum err key_read_rsa(struct reader *reader, struct sshwire_key *key, struct error *reterr)
{
    struct slice exponent = SLICE("");
    struct slice modulus = SLICE("");
    uint32_t exponent_bits = key_number_bits(key_field(reader), &exponent);
    struct slice number = key_field(reader);
    if (reader_done(reader) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "the key is not whole");
    }
    if (number.len > LIMIT_SSH_RSA_BITS / 8 + 1) {
        return fail(reterr, ERR_INPUT, "a key of RSA must have at most %d bits",
                    LIMIT_SSH_RSA_BITS);
    }
    key->bits = key_number_bits(number, &modulus);
    if (exponent_bits < 2 || exponent.len > EXPONENT_SIZE_MAX || !key_is_odd(exponent) ||
        key->bits == 0 || !key_is_odd(modulus)) {
        return fail(reterr, ERR_INPUT, "these are not the numbers of a key of RSA");
    }
    return key->bits >= LIMIT_SSH_RSA_BITS_MIN
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "a key of RSA must have at least %d bits, this one has %u",
                      LIMIT_SSH_RSA_BITS_MIN, key->bits);
}

static enum err key_read_point(struct reader *reader, const struct key_form *form,
                               struct sshwire_key *key, struct error *reterr)
{
    bool is_right = true;
    if (form->curve != NULL) {
        is_right = slice_equals(key_field(reader), slice_of_text(form->curve));
    }
    key->point = key_field(reader);
    key->application = form->is_in_device ? key_field(reader) : SLICE("");
    key->bits = form->bits;
    if (reader_done(reader) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "the key is not whole");
    }
    is_right = is_right && key->point.len == form->point_size &&
               (form->curve == NULL || (uint8_t)key->point.at[0] == UNCOMPRESSED);
    /* Those of SSH begin so; another one's signatures are for a site on the web. */
    if (form->is_in_device) {
        is_right = is_right && slice_starts_with(key->application, SLICE("ssh:")) &&
                   key->application.len <= LIMIT_SSH_APPLICATION_SIZE &&
                   text_is_ascii(key->application);
    }
    return is_right ? ERR_NONE
                    : fail(reterr, ERR_INPUT, "this is not a key of the type '%s'", form->type);
}

enum err sshwire_key_read(struct slice blob, struct sshwire_key *ret_key, struct error *reterr)
{
    struct reader reader = reader_of(blob);
    struct slice type = key_field(&reader);
    const struct key_form *form = key_form_of(type);
    if (reader.failed) {
        return fail(reterr, ERR_INPUT, "the key is not whole");
    }
    if (form == NULL) {
        return text_is_ascii(type) ? key_refuse_type(type, reterr)
                                   : fail(reterr, ERR_INPUT, "the key has no type");
    }
    struct sshwire_key key = {.kind = form->kind,
                              .type = type,
                              .blob = blob,
                              .point = SLICE(""),
                              .application = SLICE(""),
                              .comment = SLICE("")};
    enum err err = form->point_size == 0 ? key_read_rsa(&reader, &key, reterr)
                                         : key_read_point(&reader, form, &key, reterr);
    if (err == ERR_NONE) {
        *ret_key = key;
    }
    return err;
}

/* The line ------------------------------------------------------------------------------------ */

static struct slice key_word(struct slice *rest)
{
    struct slice text = slice_trim(*rest, " \t");
    size_t end = 0;
    while (end < text.len && text.at[end] != ' ' && text.at[end] != '\t') {
        end++;
    }
    *rest = slice_trim(slice_from(text, end), " \t");
    return slice_sub(text, 0, end);
}

enum err sshwire_key_read_line_in(struct arena *arena, struct slice line,
                                  struct sshwire_key *ret_key, struct error *reterr)
{
    struct slice rest = slice_trim(line, " \t\r\n");
    struct slice blob;
    struct sshwire_key key;
    if (slice_starts_with(rest, SLICE("-----BEGIN")) ||
        slice_starts_with(rest, SLICE("PuTTY-User-Key-File"))) {
        return fail(reterr, ERR_INPUT,
                    "this is the file of a key pair, whose secret half is nobody else's: the line "
                    "of its '.pub' file is wanted");
    }
    if (slice_find_byte(rest, '\n') < rest.len || slice_find_byte(rest, '\r') < rest.len) {
        return fail(reterr, ERR_INPUT, "there is more than one line");
    }
    struct slice type = key_word(&rest);
    struct slice text = key_word(&rest);
    if (key_form_of(type) == NULL) {
        bool is_name = type.len > 0 && text_is_ascii(type) &&
                       slice_find_byte(type, '=') == type.len &&
                       slice_find_byte(type, ',') == type.len;
        return is_name ? key_refuse_type(type, reterr)
                       : fail(reterr, ERR_INPUT,
                              "a line of a type, a key in base64 and perhaps a comment is wanted");
    }
    if (text.len == 0 || text.len > LIMIT_SSH_KEY_SIZE * 2 ||
        base64_decode_in(arena, BASE64_STANDARD, text, &blob) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "behind '%.*s' there is no key in base64", SLICE_ARG(type));
    }
    enum err err = sshwire_key_read(blob, &key, reterr);
    if (err == ERR_NONE && !slice_equals(key.type, type)) {
        err = fail(reterr, ERR_INPUT, "the line says '%.*s', but the key is of the type '%.*s'",
                   SLICE_ARG(type), SLICE_ARG(key.type));
    }
    if (err == ERR_NONE) {
        key.comment = rest;
        *ret_key = key;
    }
    return err;
}
