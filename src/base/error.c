/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>

/* What did not fit in whole ends with a whole character. */
static void error_cut(struct error *error)
{
    size_t len = strnlen(error->message, sizeof(error->message) - 1);
    size_t last = len > 0 ? len - 1 : 0;
    while (last > 0 && ((unsigned char)error->message[last] & 0xc0) == 0x80) {
        last--;
    }
    uint32_t code = 0;
    if (text_character(slice_of(error->message + last, len - last), &code) == 0) {
        error->message[last] = '\0';
    }
}

enum err fail(struct error *error, enum err code, const char *format, ...)
{
    if (error == NULL) {
        return code;
    }
    error->code = code;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(error->message, sizeof(error->message), format, args);
    va_end(args);
    if (len >= (int)sizeof(error->message)) {
        error_cut(error);
    }
    return code;
}

void error_prefix(struct error *error, const char *prefix)
{
    if (error == NULL) {
        return;
    }
    size_t size = strnlen(prefix, sizeof(error->message) - 1);
    bool fits = size + strnlen(error->message, sizeof(error->message)) < sizeof(error->message);
    memmove(error->message + size, error->message, sizeof(error->message) - size);
    memcpy(error->message, prefix, size);
    error->message[sizeof(error->message) - 1] = '\0';
    if (!fits) {
        error_cut(error);
    }
}
