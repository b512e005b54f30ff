/* SPDX-License-Identifier: MIT */
/* For which organizations the gateway's own agent looks up references to secrets, and where: with
 * the gateway's environment, its role at AWS, its token of Vault. Who operates the gateway says so;
 * an organization's admins could otherwise have these sent to a server of theirs. Agents in
 * processes of their own belong to one organization, and look up whatever it names. */
#ifndef GH_MODEL_SECRET_TRUST_H
#define GH_MODEL_SECRET_TRUST_H

#include "base/limits.h"
#include "model/secret_map.h"

struct secret_trust_entry {
    struct slice organization; /* its name, or its id */
    unsigned sources;          /* of enum secret_source */
};

/* Views of the text that was parsed. */
struct secret_trust {
    struct secret_trust_entry entries[LIMIT_SECRET_TRUST];
    size_t count;
};

/* "off", or with commas between NAME, for all sources, or NAME=SOURCE+SOURCE with aws, envjson,
 * vaultkv1 and vaultkv2. */
enum err secret_trust_parse(struct slice text, struct secret_trust *ret_trust,
                            struct error *reterr) MUST_USE;

/* The sources that may be asked for an organization; none of others. */
unsigned secret_trust_of(const struct secret_trust *trust, struct slice id, struct slice name);

/* ERR_INPUT for the first value that refers to another source. */
enum err secret_trust_check(unsigned sources, const struct shape_pairs *secret,
                            struct error *reterr) MUST_USE;

/* What is wrong with a reference to a source that is not among them. */
#define SECRET_TRUST_REFUSED                                                                       \
    "the gateway's own agent does not look up references of this kind for this organization: "     \
    "give "                                                                                        \
    "the value itself, use an agent of the organization's own, or have whoever operates the "      \
    "gateway list the organization in --local-secrets"

#endif
