/* SPDX-License-Identifier: MIT */
/* The files that the build embedded (tools/embed-files), sorted by path. */
#ifndef GH_CONSOLE_ASSETS_H
#define GH_CONSOLE_ASSETS_H

#include "base/slice.h"

struct asset {
    struct slice path; /* "/index.html" */
    struct slice content_type;
    struct slice etag; /* as it stands in the header: weak, for all forms of the file */
    struct slice identity;
    struct slice gzip;   /* empty where it would not be smaller, and of pages */
    struct slice brotli; /* likewise */
    bool immutable;      /* the name holds the content's hash */
    bool is_page;        /* HTML: holds places for the nonce, so each answer is another */
};

extern const struct asset assets[];
extern const size_t assets_count;

#endif
