/* SPDX-License-Identifier: MIT */
#include "identity/person_certificate.h"

#include "identity/person_key.h"
#include "identity/ssh_signature.h"

#define SOURCE_ADDRESS "source-address"

/* What is critical and not known must not be let in: 'force-command' and 'verify-required' are
 * such.
 */
static enum err certificate_check_options(const struct sshwire_certificate *certificate,
                                          const struct address *client, struct error *reterr)
{
    struct slice rest = certificate->options;
    struct network_list networks;
    struct error error;
    while (rest.len > 0) {
        struct slice name = sshwire_list_next(&rest);
        struct slice value = sshwire_option_text(sshwire_list_next(&rest));
        if (!slice_equals(name, SLICE(SOURCE_ADDRESS))) {
            return fail(reterr, ERR_DENIED, "its critical option '%.*s' is not known",
                        SLICE_ARG(slice_sub(name, 0, 64)));
        }
        if (value.len == 0 || network_list_parse(value, &networks, &error) != ERR_NONE) {
            return fail(reterr, ERR_DENIED, "its source address is none");
        }
        if (!network_list_has(&networks, client)) {
            return fail(reterr, ERR_DENIED, "it is not good from this address");
        }
    }
    return ERR_NONE;
}

enum err person_certificate_check(const struct sshwire_certificate *certificate,
                                  const struct certificate_question *question, struct error *reterr)
{
    struct sshwire_key signer;
    struct sshwire_key key;
    uint64_t now = question->now_s < 0 ? 0 : (uint64_t)question->now_s;
    enum err err = sshwire_key_read(certificate->signer, &signer, reterr);
    if (err != ERR_NONE ||
        !ssh_signature_is_right(&signer, certificate->signed_part, certificate->signature)) {
        return fail(reterr, ERR_DENIED, "its signature is wrong");
    }
    if (sshwire_key_read(certificate->key, &key, reterr) != ERR_NONE ||
        !person_key_is_sound(&key)) {
        return fail(reterr, ERR_DENIED, "its key is none that somebody can have a secret for");
    }
    if (certificate->role != SSHWIRE_CERTIFICATE_OF_USER) {
        return fail(reterr, ERR_DENIED, "it is not a person's");
    }
    if (now < certificate->valid_after) {
        return fail(reterr, ERR_DENIED, "it is not good yet");
    }
    if (now >= certificate->valid_before) {
        return fail(reterr, ERR_DENIED, "it is not good any more");
    }
    if (certificate->principals.len == 0) {
        return fail(reterr, ERR_DENIED, "it names nobody");
    }
    return certificate_check_options(certificate, question->client, reterr);
}

bool person_certificate_names(const struct sshwire_certificate *certificate, struct slice principal)
{
    struct slice rest = certificate->principals;
    bool is_named = false;
    while (rest.len > 0) {
        is_named = slice_equals(sshwire_list_next(&rest), principal) || is_named;
    }
    return is_named;
}
