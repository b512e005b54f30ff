/* SPDX-License-Identifier: MIT */
/* A certificate by which a person signs in over SSH, held against what it says itself: its
 * signature, its role, its time and the addresses that it is good from. Who the signer is, and whom
 * it names, is for whoever asks. */
#ifndef GH_IDENTITY_PERSON_CERTIFICATE_H
#define GH_IDENTITY_PERSON_CERTIFICATE_H

#include "wire/address.h"
#include "wire/ssh_certificate.h"

struct certificate_question {
    int64_t now_s; /* since 1970 */
    const struct address *client;
};

/* ERR_DENIED, in words for the log. */
enum err person_certificate_check(const struct sshwire_certificate *certificate,
                                  const struct certificate_question *question,
                                  struct error *reterr) MUST_USE;
bool person_certificate_names(const struct sshwire_certificate *certificate,
                              struct slice principal);

#endif
