/* SPDX-License-Identifier: MIT */
/* Certificates of SSH. Held: what is read lies inside the blob, its key is one, its lists end, what
 * was signed is what would be written again, and no prefix of it is a certificate. */
#include "base/limits.h"
#include "base/must.h"
#include "fuzz.h"
#include "wire/ssh_certificate.h"

static void check_inside(struct slice part, struct slice whole)
{
    must(part.len == 0 || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len));
}

static void check_list(struct slice list)
{
    size_t before = list.len;
    while (list.len > 0) {
        struct slice name = sshwire_list_next(&list);
        must(list.len < before && name.len < before);
        before = list.len;
    }
}

static void check(const struct sshwire_certificate *certificate, struct slice blob)
{
    struct sshwire_key key;
    struct error error;
    struct buf again;
    check_inside(certificate->id, blob);
    check_inside(certificate->principals, blob);
    check_inside(certificate->options, blob);
    check_inside(certificate->extensions, blob);
    check_inside(certificate->signer, blob);
    check_inside(certificate->signature, blob);
    check_list(certificate->principals);
    check_list(certificate->options);
    check_list(certificate->extensions);
    must(sshwire_key_read(certificate->key, &key, &error) == ERR_NONE);
    must(sshwire_key_read(certificate->signer, &key, &error) == ERR_NONE);
    buf_init(&again, 2 * LIMIT_SSH_CERTIFICATE_SIZE);
    must(sshwire_certificate_write(certificate, &again) == ERR_NONE);
    /* But for the field that is kept for later, which may have anything in it. */
    must(again.len <= certificate->signed_part.len);
    must(again.len < certificate->signed_part.len ||
         slice_equals(buf_view(&again), certificate->signed_part));
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sshwire_certificate certificate;
    struct error error;
    struct arena arena;
    struct slice blob = slice_of(bytes, size);
    arena_init(&arena);
    if (sshwire_certificate_read_in(&arena, blob, &certificate, &error) == ERR_NONE) {
        must(sshwire_certificate_is(blob));
        check(&certificate, blob);
        for (size_t len = 0; len < blob.len && blob.len < LIMIT_KIB(1); len++) {
            must(sshwire_certificate_read_in(&arena, slice_sub(blob, 0, len), &certificate,
                                             &error) == ERR_INPUT);
        }
    }
    arena_release(&arena);
    return 0;
}
