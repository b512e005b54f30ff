/* SPDX-License-Identifier: MIT */
#include "gate/certificate_candidate.h"

#include "base/timestamp.h"
#include "identity/person_certificate.h"
#include "identity/person_key.h"
#include "identity/ssh_authority.h"
#include "io/clock.h"
#include "io/log.h"
#include "store/ssh_authority_store.h"
#include "store/user_store.h"

static void certificate_log(const struct candidates_job *job,
                            const struct sshwire_certificate *certificate, const char *why)
{
    char client[ADDRESS_TEXT_SIZE];
    log_line(LOG_GATE, LOG_WARN, "a certificate is not taken", log_text("connection", job->name),
             log_text("id", slice_sub(certificate->id, 0, 256)),
             log_text("client", address_format(&job->client, client)),
             log_text("why", slice_of_text(why)));
}

/* The gateway's own ---------------------------------------------------------------------------- */

/* Behind the last blank of its id, which is worth nothing before its signer is known. */
static struct slice certificate_person_of(const struct sshwire_certificate *certificate)
{
    size_t start = certificate->id.len;
    while (start > 0 && certificate->id.at[start - 1] != ' ') {
        start--;
    }
    return slice_from(certificate->id, start);
}

static bool certificate_is_own(const struct candidates_job *job,
                               const struct sshwire_certificate *certificate,
                               struct slice organization_id, struct arena *arena)
{
    const struct secret *key = identity_scram_key(job->job.worker->gate->settings.identity);
    struct ssh_authority authority;
    ssh_authority_derive(key, SSH_AUTHORITY_OF_PEOPLE, organization_id, &authority);
    struct slice blob = ssh_authority_blob_in(arena, &authority);
    ssh_authority_wipe(&authority);
    return slice_equals(blob, certificate->signer);
}

static enum err certificate_find_own(const struct candidates_job *job, struct store_tx *tx,
                                     struct arena *arena,
                                     const struct sshwire_certificate *certificate,
                                     struct certificate_owners *owners, struct error *reterr)
{
    struct slice person = certificate_person_of(certificate);
    struct slice organization_id = SLICE("");
    enum err err = user_store_organization(tx, arena, person, &organization_id, reterr);
    if (err == ERR_NONE && certificate_is_own(job, certificate, organization_id, arena)) {
        if (!person_certificate_names(certificate, job->name)) {
            certificate_log(job, certificate, "it is for other connections");
            return ERR_NOT_FOUND;
        }
        owners->items[owners->count++] = (struct certificate_owner){
            .organization_id = organization_id, .user_id = person, .authority_id = SLICE("")};
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

/* Of authorities ------------------------------------------------------------------------------- */

/* The one person that a principal is the e-mail address of. Two are nobody. */
static enum err certificate_find_person(struct store_tx *tx, struct arena *arena,
                                        struct slice organization_id, struct slice principals,
                                        struct slice *ret_person, struct error *reterr)
{
    enum err err = ERR_NONE;
    *ret_person = SLICE("");
    while (principals.len > 0 && err == ERR_NONE) {
        struct user user = {0};
        struct slice name = sshwire_list_next(&principals);
        err = user_store_find_owner(tx, arena, organization_id, name, &user, reterr);
        if (err == ERR_NONE && ret_person->len > 0 && !slice_equals(*ret_person, user.id)) {
            return ERR_NOT_FOUND;
        }
        if (err == ERR_NONE) {
            *ret_person = user.id;
        }
        err = err == ERR_NOT_FOUND || err == ERR_INPUT ? ERR_NONE : err;
    }
    return err == ERR_NONE && ret_person->len == 0 ? ERR_NOT_FOUND : err;
}

static enum err certificate_find_trusted(const struct candidates_job *job, struct store_tx *tx,
                                         struct arena *arena,
                                         const struct sshwire_certificate *certificate,
                                         struct certificate_owners *owners, struct error *reterr)
{
    struct ssh_authority_list list = {0};
    struct slice fingerprint = person_key_fingerprint_in(arena, certificate->signer);
    enum err err = ssh_authority_store_trusting(tx, arena, fingerprint, &list, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    owners->items = arena_alloc_array(arena, list.count + 1, sizeof(*owners->items));
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        struct certificate_owner owner = {.organization_id = list.rows[i].organization_id,
                                          .authority_id = list.rows[i].id};
        err = certificate_find_person(tx, arena, owner.organization_id, certificate->principals,
                                      &owner.user_id, reterr);
        if (err == ERR_NONE) {
            owners->items[owners->count++] = owner;
        }
        err = err == ERR_NOT_FOUND ? ERR_NONE : err;
    }
    if (err == ERR_NONE && owners->count == 0) {
        certificate_log(job, certificate,
                        list.count == 0 ? "nobody trusts who signed it" : "it names nobody");
    }
    return err;
}

enum err certificate_candidate_find(const struct candidates_job *job, struct store_tx *tx,
                                    struct arena *arena, struct certificate_owners *ret_owners,
                                    struct error *reterr)
{
    struct sshwire_certificate certificate;
    struct error why;
    const struct certificate_question question = {.now_s = clock_now() / TIMESTAMP_SECOND,
                                                  .client = &job->client};
    *ret_owners = (struct certificate_owners){0};
    if (sshwire_certificate_read_in(arena, job->certificate, &certificate, &why) != ERR_NONE) {
        return ERR_NONE; /* the front has read it, too */
    }
    if (person_certificate_check(&certificate, &question, &why) != ERR_NONE) {
        certificate_log(job, &certificate, why.message);
        return ERR_NONE;
    }
    ret_owners->items = arena_alloc_array(arena, 1, sizeof(*ret_owners->items));
    enum err err = certificate_find_own(job, tx, arena, &certificate, ret_owners, reterr);
    if (err == ERR_NONE && ret_owners->count == 0) {
        err = certificate_find_trusted(job, tx, arena, &certificate, ret_owners, reterr);
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}
