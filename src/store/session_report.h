/* SPDX-License-Identifier: MIT */
/* What was masked in sessions, added up. */
#ifndef GH_STORE_SESSION_REPORT_H
#define GH_STORE_SESSION_REPORT_H

#include "base/arena.h"
#include "store/store.h"

/* What the items of a report are of. */
enum session_report_group {
    SESSION_REPORT_CONNECTION,
    SESSION_REPORT_CONNECTION_TYPE,
    SESSION_REPORT_ID,
    SESSION_REPORT_USER,
};

struct session_report_filter {
    struct slice organization_id;
    enum session_report_group group;
    struct slice id; /* empty, like the others: any */
    struct slice verb;
    struct slice connection_name;
    struct slice user_email;
    int64_t from; /* of the start */
    int64_t to;   /* before this */
};

struct session_report_item {
    struct slice resource;
    struct slice info_type;
    int64_t redact_total;
    int64_t transformed_bytes;
};

struct session_report {
    struct session_report_item *items; /* what was masked most often first */
    size_t count;                      /* at most LIMIT_REPORT_ITEMS */
    bool has_more;
    int64_t redact_total; /* of all, shown or not */
    int64_t transformed_bytes;
};

/* Of sessions that have ended. */
enum err session_report_make(struct store_tx *tx, struct arena *arena,
                             const struct session_report_filter *filter,
                             struct session_report *ret_report, struct error *reterr) MUST_USE;

#endif
