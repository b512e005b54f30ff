/* SPDX-License-Identifier: MIT */
#include "model/ssh_certificate.h"

#include "base/limits.h"
#include "model/name.h"

#define OF(structure, member) .offset = offsetof(struct structure, member)
#define SHOWN(structure, member, words)                                                            \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,            \
        OF(structure, member), .about = words                                                      \
    }

/* A certificate of the gateway's --------------------------------------------------------------- */

static const struct shape_field ssh_certificate_request_fields[] = {
    {.name = "public_key",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     OF(ssh_certificate_request, public_key),
     .min = 1,
     .max = 4096,
     .about = "the line of a '.pub' file, whose secret half stays where it is"},
    {.name = "connections",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_REQUIRED,
     OF(ssh_certificate_request, connections),
     .max = 64,
     .item_max = 254,
     .check = line_check,
     .pattern = LINE_PATTERN,
     .about = "names of connections that it is good for: its principals"},
    {.name = "duration_seconds",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULLABLE,
     OF(ssh_certificate_request, duration_seconds),
     .min = 60,
     .max = LIMIT_SSH_CERTIFICATE_S,
     .about = "how long a session can be opened with it; 300 when it is not given"},
    {.name = "source_address",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     OF(ssh_certificate_request, source_address),
     .max = 1000,
     .about = "addresses and networks that it is good from, with commas between; any, when it is "
              "left out"},
};

const struct shape ssh_certificate_request_shape = {.name = "SshCertificateRequest",
                                                    .size = sizeof(struct ssh_certificate_request),
                                                    SHAPE_FIELDS(ssh_certificate_request_fields)};

static const struct shape_field ssh_certificate_fields[] = {
    SHOWN(ssh_certificate, certificate, "a line, for the '-cert.pub' file beside the key"),
    SHOWN(ssh_certificate, id, "whose it is"),
    SHOWN(ssh_certificate, serial, "its number, in decimal"),
    SHOWN(ssh_certificate, fingerprint, "of the key that is certified"),
    {.name = "connections",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     OF(ssh_certificate, connections)},
    {.name = "expires_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     OF(ssh_certificate, expires_at),
     .about = "when no session can be opened with it any more"},
};

const struct shape ssh_certificate_shape = {.name = "SshCertificate",
                                            .size = sizeof(struct ssh_certificate),
                                            SHAPE_FIELDS(ssh_certificate_fields)};

/* Who else signs ------------------------------------------------------------------------------ */

static const struct shape_field ssh_authority_fields[] = {
    {.name = "id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     OF(ssh_authority_row, id),
     .format = "uuid"},
    SHOWN(ssh_authority_row, name, "what it is called"),
    SHOWN(ssh_authority_row, public_key, "the type and the key in base64"),
    SHOWN(ssh_authority_row, fingerprint, "SHA256:…, as 'ssh-keygen -l' shows it"),
    {.name = "created_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     OF(ssh_authority_row, created_at)},
};

const struct shape ssh_authority_shape = {
    .name = "SshAuthority",
    .size = sizeof(struct ssh_authority_row),
    SHAPE_FIELDS(ssh_authority_fields),
    .about = "a key whose certificates people of the organization may sign in with"};

static const struct shape_field ssh_authority_request_fields[] = {
    {.name = "public_key",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     OF(ssh_authority_request, public_key),
     .min = 1,
     .max = 4096,
     .about = "the line of the authority's '.pub' file"},
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     OF(ssh_authority_request, name),
     .min = 1,
     .max = LIMIT_SSH_KEY_COMMENT,
     .check = line_check,
     .pattern = LINE_PATTERN,
     .about = "what it is called"},
};

const struct shape ssh_authority_request_shape = {.name = "SshAuthorityRequest",
                                                  .size = sizeof(struct ssh_authority_request),
                                                  SHAPE_FIELDS(ssh_authority_request_fields)};

/* The key of a target ------------------------------------------------------------------------- */

#define FINGERPRINT_SIZE 50 /* as OpenSSH shows it: SHA256, in base64 without its '=' */

static enum err fingerprint_check(struct slice fingerprint, struct error *reterr)
{
    struct slice text = slice_from(fingerprint, 7);
    bool is_good =
        slice_starts_with(fingerprint, SLICE("SHA256:")) && fingerprint.len == FINGERPRINT_SIZE;
    for (size_t i = 0; i < text.len && is_good; i++) {
        char byte = text.at[i];
        is_good = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                  (byte >= '0' && byte <= '9') || byte == '+' || byte == '/';
    }
    return is_good ? ERR_NONE : fail(reterr, ERR_INPUT, "must be a fingerprint: 'SHA256:…'");
}

static const struct shape_field ssh_pin_request_fields[] = {
    {.name = "fingerprint",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     OF(ssh_pin_request, fingerprint),
     .min = FINGERPRINT_SIZE,
     .max = FINGERPRINT_SIZE,
     .check = fingerprint_check,
     .pattern = "^SHA256:[A-Za-z0-9+/]{43}$",
     .about = "of the server's key, as the test of the connection shows it and 'ssh-keygen -l' on "
              "the server"},
};

const struct shape ssh_pin_request_shape = {.name = "SshPinRequest",
                                            .size = sizeof(struct ssh_pin_request),
                                            SHAPE_FIELDS(ssh_pin_request_fields)};

/* The gateway itself -------------------------------------------------------------------------- */

static const struct shape_field ssh_about_fields[] = {
    SHOWN(ssh_about, host_key, "by which clients know the gateway"),
    SHOWN(ssh_about, host_key_fingerprint, "SHA256:…"),
    SHOWN(ssh_about, known_hosts,
          "the line for a client's file of that name; empty where the gateway does not listen"),
    SHOWN(ssh_about, people_key, "what signs certificates of people; the gateway trusts it"),
    SHOWN(ssh_about, people_fingerprint, "SHA256:…"),
    SHOWN(ssh_about, targets_key,
          "what signs certificates for target servers: the line for 'TrustedUserCAKeys'"),
    SHOWN(ssh_about, targets_fingerprint, "SHA256:…"),
};

const struct shape ssh_about_shape = {
    .name = "SshAbout", .size = sizeof(struct ssh_about), SHAPE_FIELDS(ssh_about_fields)};
