/* SPDX-License-Identifier: MIT */
/* An organization: what all else belongs to, and never leaves. */
#ifndef GH_MODEL_ORGANIZATION_H
#define GH_MODEL_ORGANIZATION_H

#include "base/error.h"
#include "base/slice.h"

#include <stdint.h>

#define ORGANIZATION_NAME_MAX   100 /* characters */
#define ORGANIZATION_DEFAULT_ID "01900000-0000-7000-8000-000000000001"

struct organization {
    struct slice id;
    struct slice name;
    int64_t created_at;
};

/* 1 to ORGANIZATION_NAME_MAX characters of UTF-8, no control characters, no space at either end. */
enum err organization_check_name(struct slice name, struct error *reterr) MUST_USE;

#endif
