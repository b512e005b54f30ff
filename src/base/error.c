/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>

enum err fail(struct error *error, enum err code, const char *format, ...)
{
    if (error == NULL) {
        return code;
    }
    error->code = code;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error->message, sizeof(error->message), format, args);
    va_end(args);
    return code;
}

void error_prefix(struct error *error, const char *prefix)
{
    if (error == NULL) {
        return;
    }
    size_t size = strnlen(prefix, sizeof(error->message) - 1);
    memmove(error->message + size, error->message, sizeof(error->message) - size);
    memcpy(error->message, prefix, size);
    error->message[sizeof(error->message) - 1] = '\0';
}
