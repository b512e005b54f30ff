/* SPDX-License-Identifier: MIT */
/* A moment that was read is written, and read again as the same moment, in both forms. */
#include "fuzz.h"

#include "base/must.h"
#include "base/timestamp.h"

static void check_moment(int64_t timestamp)
{
    must(timestamp >= TIMESTAMP_MIN && timestamp <= TIMESTAMP_MAX);
    char text[TIMESTAMP_TEXT_SIZE];
    int64_t again;
    must(timestamp_parse(timestamp_format(timestamp, text), &again) == ERR_NONE);
    must(again == timestamp);
    must(timestamp_parse_http(timestamp_format_http(timestamp, text), &again) == ERR_NONE);
    must(again <= timestamp && timestamp - again < TIMESTAMP_SECOND);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice input = slice_of(bytes, size);
    int64_t timestamp;
    if (timestamp_parse(input, &timestamp) == ERR_NONE) {
        check_moment(timestamp);
    }
    if (timestamp_parse_http(input, &timestamp) == ERR_NONE) {
        char text[TIMESTAMP_TEXT_SIZE];
        must(slice_equals(timestamp_format_http(timestamp, text), input));
        check_moment(timestamp);
    }
    return 0;
}
