/* SPDX-License-Identifier: MIT */
/* What is taken as a line of a mail server's answer has a code, and lies within what was read. */
#include "fuzz.h"

#include "base/must.h"
#include "wire/smtp_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct smtp_reply reply = {0};
    struct slice input = slice_of(bytes, size);
    if (smtp_reply_parse(input, &reply) == ERR_NONE) {
        struct smtp_reply again = {0};
        must(reply.code >= 200 && reply.code <= 599 && reply.line.len <= size);
        must(smtp_reply_parse(reply.line, &again) == ERR_NONE);
        must(again.code == reply.code && again.is_last == reply.is_last);
        must(slice_equals(again.line, reply.line));
    }
    return 0;
}
