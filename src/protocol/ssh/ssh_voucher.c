/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_voucher.h"

#include "base/must.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "identity/ssh_authority.h"
#include "io/clock.h"
#include "model/secret_map.h"
#include "protocol/ssh/ssh_environment.h"
#include "protocol/ssh/ssh_forward.h"
#include "protocol/ssh/ssh_key.h"
#include "protocol/ssh/ssh_login.h"
#include "protocol/ssh/ssh_pattern.h"

#include <sodium.h>

#define VOUCHER_S      300 /* that a sign-in may take, and clocks may be ahead */
#define CLOCKS_APART_S 300 /* by which a server's clock may be behind */

static struct slice voucher_texts_in(struct arena *arena, const char *const *texts, size_t count)
{
    struct buf list;
    buf_init(&list, LIMIT_KIB(1));
    for (size_t i = 0; i < count; i++) {
        must(sshwire_field_write(&list, slice_of_text(texts[i])) == ERR_NONE);
    }
    struct slice copy = arena_copy(arena, buf_view(&list));
    buf_release(&list);
    return copy;
}

/* Forwards are asked of the server where the connection allows some, and only there. */
static struct slice voucher_extensions_in(struct arena *arena, bool may_forward)
{
    static const char *const all[] = {"permit-port-forwarding", "", "permit-pty", "",
                                      "permit-user-rc",         ""};
    size_t skipped = may_forward ? 0 : 2;
    return voucher_texts_in(arena, all + skipped, COUNT_OF(all) - skipped);
}

/* All that a client may be at the server: which of them it is, it says there. */
static enum err voucher_principals_in(struct arena *arena, struct slice user, struct slice logins,
                                      struct slice *ret_principals, struct error *reterr)
{
    struct buf list;
    buf_init(&list, LIMIT_KIB(4));
    enum err err = sshwire_field_write(&list, user);
    for (struct slice login = sshd_pattern_next(&logins); login.len > 0 && err == ERR_NONE;
         login = sshd_pattern_next(&logins)) {
        err = sshwire_field_write(&list, login);
    }
    if (err == ERR_NONE) {
        *ret_principals = arena_copy(arena, buf_view(&list));
    }
    buf_release(&list);
    return err == ERR_NONE ? err
                           : fail(reterr, ERR_INPUT, "'envvar:USER' of the connection is too long");
}

/* Open; SLICE(""): there is none, or it is a reference, which may be for others to follow. */
static struct slice voucher_open_in(struct arena *arena, const struct shape_pairs *variables,
                                    const char *wanted)
{
    for (size_t i = 0; i < variables->count; i++) {
        struct slice value = variables->pairs[i].value;
        struct slice open = SLICE("");
        struct slice name = SLICE_NONE;
        enum secret_place place = secret_key_place(variables->pairs[i].key, &name);
        if (place == SECRET_PLACE_FILE || !slice_equals(name, slice_of_text(wanted)) ||
            secret_is_reference(value)) {
            continue;
        }
        if (place == SECRET_PLACE_BARE) {
            return value;
        }
        return base64_decode_in(arena, BASE64_STANDARD, value, &open) == ERR_NONE ? open
                                                                                  : SLICE("");
    }
    return SLICE("");
}

/* As variables are stored. */
static void voucher_add(struct arena *arena, struct shape_pairs *variables, const char *name,
                        struct slice value)
{
    struct shape_pairs longer = {.is_given = true, .count = variables->count + 1};
    longer.pairs = arena_alloc_array(arena, longer.count, sizeof(*longer.pairs));
    for (size_t i = 0; i < variables->count; i++) {
        longer.pairs[i] = variables->pairs[i];
    }
    longer.pairs[variables->count] = (struct shape_pair){
        .key = slice_of_text(name), .value = base64_encode_in(arena, BASE64_STANDARD, value)};
    *variables = longer;
}

static enum err voucher_sign(struct arena *arena, const struct target_voucher *voucher,
                             struct slice user, struct shape_pairs *variables, struct error *reterr)
{
    struct ssh_authority pair;
    struct ssh_authority authority;
    struct slice blob = SLICE("");
    int64_t now = clock_now() / TIMESTAMP_SECOND;
    must(crypto_sign_keypair(pair.public, pair.secret) == 0);
    struct sshwire_certificate certificate = {
        .key = ssh_authority_blob_in(arena, &pair),
        .role = SSHWIRE_CERTIFICATE_OF_USER,
        .id = voucher->id,
        .valid_after = (uint64_t)(now - CLOCKS_APART_S),
        .valid_before = (uint64_t)(now + VOUCHER_S),
        .options = SLICE(""),
        .extensions =
            voucher_extensions_in(arena, place_variable(variables, "FORWARD").len > 0 ||
                                             place_variable(variables, "FORWARD_BACK").len > 0),
    };
    enum err err = voucher_principals_in(arena, user, voucher_open_in(arena, variables, "LOGINS"),
                                         &certificate.principals, reterr);
    if (err == ERR_NONE) {
        ssh_authority_derive(voucher->key, SSH_AUTHORITY_OF_TARGETS, voucher->organization_id,
                             &authority);
        err = ssh_authority_sign_in(arena, &authority, &certificate, &blob, reterr);
        ssh_authority_wipe(&authority);
    }
    if (err == ERR_NONE) {
        struct slice text = base64_encode_in(arena, BASE64_STANDARD, blob);
        voucher_add(arena, variables, "envvar:PRIVATE_KEY",
                    sshd_private_key_in(arena, pair.public, pair.secret));
        voucher_add(arena, variables, "envvar:CERTIFICATE",
                    arena_format(arena, "ssh-ed25519-cert-v01@openssh.com %.*s", SLICE_ARG(text)));
    }
    ssh_authority_wipe(&pair);
    return err;
}

enum err sshd_check_secret(struct arena *arena, const struct shape_pairs *variables,
                           struct error *reterr)
{
    static const char *const names[] = {"FORWARD", "FORWARD_BACK"};
    enum err err = ERR_NONE;
    for (size_t i = 0; i < COUNT_OF(names) && err == ERR_NONE; i++) {
        err = sshd_forward_check(voucher_open_in(arena, variables, names[i]), names[i], reterr);
    }
    err = err == ERR_NONE
              ? sshd_environment_check(voucher_open_in(arena, variables, "ACCEPT_ENV"), reterr)
              : err;
    err = err == ERR_NONE ? sshd_login_check(voucher_open_in(arena, variables, "LOGINS"), reterr)
                          : err;
    return err == ERR_LIMIT ? ERR_INPUT : err;
}

enum err sshd_vouch(struct arena *arena, const struct target_voucher *voucher,
                    struct shape_pairs *variables, struct error *reterr)
{
    struct slice user = voucher_open_in(arena, variables, "USER");
    bool has_own = place_variable(variables, "PASS").len > 0 ||
                   place_variable(variables, "PRIVATE_KEY").len > 0;
    return has_own || user.len == 0 ? ERR_NONE
                                    : voucher_sign(arena, voucher, user, variables, reterr);
}
