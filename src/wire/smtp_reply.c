/* SPDX-License-Identifier: MIT */
#include "wire/smtp_reply.h"

#include "base/reader.h"

#define DIGITS     3
#define CODE_LEAST 200
#define CODE_MOST  599

enum err smtp_reply_parse(struct slice bytes, struct smtp_reply *ret_reply)
{
    struct slice line = slice_trim(bytes, "\r\n");
    struct reader reader = reader_of(line);
    unsigned code = 0;
    for (size_t i = 0; i < DIGITS; i++) {
        uint8_t digit = reader_u8(&reader);
        if (digit < '0' || digit > '9') {
            return ERR_INPUT;
        }
        code = code * 10 + (unsigned)(digit - '0');
    }
    /* Behind a code alone there is nothing: servers leave out even the space. */
    uint8_t mark = reader_left(&reader) == 0 ? ' ' : reader_u8(&reader);
    if (code < CODE_LEAST || code > CODE_MOST || (mark != ' ' && mark != '-')) {
        return ERR_INPUT;
    }
    *ret_reply = (struct smtp_reply){.code = (uint16_t)code, .is_last = mark == ' ', .line = line};
    return ERR_NONE;
}
