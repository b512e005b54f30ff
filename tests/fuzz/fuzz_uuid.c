/* SPDX-License-Identifier: MIT */
/* A UUID that was read is written as it was but for case; what is made is a valid UUID. */
#include "fuzz.h"

#include "base/must.h"
#include "codec/uuid.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice input = slice_of(bytes, size);
    unsigned char uuid[UUID_SIZE];
    char text[UUID_TEXT_SIZE];
    if (uuid_parse(input, uuid) == ERR_NONE) {
        must(slice_equals_nocase(uuid_format(uuid, text), input));
    }
    if (size > UUID_RANDOM_SIZE) {
        int64_t timestamp = (int64_t)(bytes[UUID_RANDOM_SIZE] * UINT64_C(0x1000000000));
        must(uuid_parse(uuid_make_v7(timestamp, bytes, text), uuid) == ERR_NONE);
    }
    return 0;
}
