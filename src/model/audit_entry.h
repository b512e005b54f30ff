/* SPDX-License-Identifier: MIT */
/* One entry of the audit log: who did what, from where, and how it ended. */
#ifndef GH_MODEL_AUDIT_ENTRY_H
#define GH_MODEL_AUDIT_ENTRY_H

#include "codec/shape.h"

struct audit_entry {
    struct slice id;
    struct slice organization_id;
    struct shape_int number; /* 1, 2, 3 … within the organization */
    struct slice actor_subject;
    struct slice actor_email;
    struct slice actor_name;
    int64_t created_at;
    struct slice resource_type;
    struct slice action;
    struct slice http_method;
    struct shape_int http_status;
    struct slice http_path;
    struct slice client_ip;
    struct slice payload; /* a JSON object of members that may be shown, or empty */
    struct shape_bool outcome;
    struct slice error_message;
    struct slice previous_hash; /* of the entry before; empty for the first */
    struct slice hash;
};

extern const struct shape audit_entry_shape;

#endif
