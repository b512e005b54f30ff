/* SPDX-License-Identifier: MIT */
#include "base/err.h"

const char *err_text(enum err err)
{
    switch (err) {
#define ERR_TEXT(code, text, status)                                                               \
    case code:                                                                                     \
        return text;
        ERR_MAP(ERR_TEXT)
#undef ERR_TEXT
    }
    return "unknown error";
}

int err_http_status(enum err err)
{
    switch (err) {
#define ERR_STATUS(code, text, status)                                                             \
    case code:                                                                                     \
        return status;
        ERR_MAP(ERR_STATUS)
#undef ERR_STATUS
    }
    return 500;
}
