/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_contents.h"

#include "base/must.h"
#include "codec/hex.h"

#include <openssl/evp.h>

#define HASH_SIZE 32

static EVP_MD_CTX *contents_begin(void)
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    must(hash != NULL && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1);
    return hash;
}

void sshd_contents_add(struct sshd_contents *contents, struct slice data)
{
    if (contents->hash == NULL) {
        contents->hash = contents_begin();
    }
    must(data.len == 0 || EVP_DigestUpdate(contents->hash, data.at, data.len) == 1);
    contents->bytes += data.len;
}

struct slice sshd_contents_hash(const struct sshd_contents *contents, struct arena *arena)
{
    unsigned char digest[HASH_SIZE];
    EVP_MD_CTX *hash = contents_begin();
    must(contents->hash == NULL || EVP_MD_CTX_copy_ex(hash, contents->hash) == 1);
    must(EVP_DigestFinal_ex(hash, digest, NULL) == 1);
    EVP_MD_CTX_free(hash);
    return hex_encode(arena, slice_of(digest, sizeof(digest)));
}

void sshd_contents_release(struct sshd_contents *contents)
{
    EVP_MD_CTX_free(contents->hash);
    *contents = (struct sshd_contents){.hash = NULL};
}
