/* SPDX-License-Identifier: MIT */
#include "identity/saslprep.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"

#include <stringprep.h>

#define SASLPREP_STEPS_MAX 32
#define SASLPREP_GROWTH    18 /* U+FDFA becomes 18 characters, and none becomes more */

/* Unicode's Corrigendum 4: libidn normalizes these as Unicode 3.2 did, by mistake. */
static const Stringprep_table_element saslprep_corrections[] = {
    {.start = 0x2f868, .end = 0x2f868, .map = {0x36fc}},
    {.start = 0x2f874, .end = 0x2f874, .map = {0x5f53}},
    {.start = 0x2f91f, .end = 0x2f91f, .map = {0x243ab}},
    {.start = 0x2f95f, .end = 0x2f95f, .map = {0x7aee}},
    {.start = 0x2f9bf, .end = 0x2f9bf, .map = {0x45d7}},
    {.start = 0},
};

/* PostgreSQL asks what is prohibited before it normalizes, RFC 3454 and libidn after it: here are
 * libidn's steps in PostgreSQL's order. */
static void saslprep_make_profile(Stringprep_profile *profile)
{
    size_t count = 0;
    for (const Stringprep_profile *step = stringprep_saslprep; step->operation != 0; step++) {
        must(count < SASLPREP_STEPS_MAX - 3);
        if (step->operation != STRINGPREP_NFKC) {
            profile[count++] = *step;
        }
    }
    profile[count++] = (Stringprep_profile){.operation = STRINGPREP_MAP_TABLE,
                                            .table = saslprep_corrections,
                                            .table_size = COUNT_OF(saslprep_corrections) - 1};
    profile[count++] = (Stringprep_profile){.operation = STRINGPREP_NFKC};
    profile[count] = (Stringprep_profile){0};
}

/* False when the text cannot be prepared. */
static bool saslprep_characters(struct slice text, uint32_t *characters, size_t size_max,
                                size_t *ret_count)
{
    size_t count = 0;
    while (text.len > 0) {
        size_t size = text_character(text, &characters[count]);
        if (size == 0 || characters[count] == 0) {
            return false;
        }
        text = slice_from(text, size);
        count++;
    }
    Stringprep_profile profile[SASLPREP_STEPS_MAX];
    saslprep_make_profile(profile);
    *ret_count = count;
    return stringprep_4i(characters, ret_count, size_max, STRINGPREP_NO_UNASSIGNED, profile) ==
               STRINGPREP_OK &&
           *ret_count > 0;
}

void saslprep(const struct secret *password, struct secret *prepared)
{
    struct slice text = secret_view(password);
    must(secret_set(prepared, text) == ERR_NONE);
    if (text_is_ascii(text) || text.len > LIMIT_SASLPREP_SIZE) {
        return;
    }
    size_t count_max = text.len * SASLPREP_GROWTH;
    uint32_t *characters = memory_new_array(count_max, sizeof(*characters));
    size_t count = 0;
    if (saslprep_characters(text, characters, count_max, &count)) {
        size_t size = 0;
        char *bytes = stringprep_ucs4_to_utf8(characters, (ssize_t)count, NULL, &size);
        must(bytes != NULL && secret_set(prepared, slice_of(bytes, size)) == ERR_NONE);
        explicit_bzero(bytes, size);
        free(bytes);
    }
    explicit_bzero(characters, count_max * sizeof(*characters));
    memory_free(characters);
}
