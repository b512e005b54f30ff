/* SPDX-License-Identifier: MIT */
/* There is one text for a verifier: what was read is printed as it came. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "identity/scram.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice text = slice_of(bytes, size);
    struct scram_verifier verifier;
    struct error error = {0};
    enum err err = scram_verifier_parse(text, &verifier, &error);
    if (err != ERR_NONE) {
        must(err == ERR_INPUT || err == ERR_LIMIT);
        must(error.message[0] != '\0');
        return 0;
    }
    must(verifier.iterations >= SCRAM_ITERATIONS_MIN &&
         verifier.iterations <= LIMIT_SCRAM_ITERATIONS);
    must(verifier.salt_size > 0 && verifier.salt_size <= LIMIT_SCRAM_SALT_SIZE);
    must(!verifier.is_mock);
    struct secret printed CLEANUP(secret_release);
    secret_init(&printed);
    scram_verifier_print(&verifier, &printed);
    must(secret_equals(&printed, text));
    return 0;
}
