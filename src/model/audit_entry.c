/* SPDX-License-Identifier: MIT */
#include "model/audit_entry.h"

#define ENTRY(member, of_kind, more_flags, text)                                                   \
    {                                                                                              \
        .name = #member, .kind = of_kind,                                                          \
        .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED | (more_flags),                                  \
        .offset = offsetof(struct audit_entry, member), .about = text                              \
    }

/* In the order in which they are hashed; all but the hash itself. */
static const struct shape_field audit_entry_fields[] = {
    {.name = "id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED | SHAPE_KEPT,
     .offset = offsetof(struct audit_entry, id),
     .format = "uuid"},
    {.name = "org_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED | SHAPE_KEPT,
     .offset = offsetof(struct audit_entry, organization_id),
     .format = "uuid"},
    ENTRY(number, SHAPE_INT, SHAPE_KEPT, "1, 2, 3 … within the organization"),
    ENTRY(actor_subject, SHAPE_TEXT, SHAPE_KEPT, "empty: nobody was signed in"),
    ENTRY(actor_email, SHAPE_TEXT, SHAPE_KEPT, NULL),
    ENTRY(actor_name, SHAPE_TEXT, SHAPE_KEPT, NULL),
    ENTRY(created_at, SHAPE_TIME, SHAPE_KEPT, NULL),
    ENTRY(resource_type, SHAPE_TEXT, SHAPE_KEPT, "what was acted upon"),
    ENTRY(action, SHAPE_TEXT, SHAPE_KEPT,
          "create, update, delete, revoke, disclose, sign_in, authenticate …"),
    ENTRY(http_method, SHAPE_TEXT, SHAPE_KEPT, NULL),
    ENTRY(http_status, SHAPE_INT, SHAPE_KEPT, NULL),
    ENTRY(http_path, SHAPE_TEXT, SHAPE_KEPT, NULL),
    ENTRY(client_ip, SHAPE_TEXT, SHAPE_KEPT, NULL),
    {.name = "request_payload_redacted",
     .kind = SHAPE_RAW,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED | SHAPE_NULL_OUT | SHAPE_KEPT,
     .offset = offsetof(struct audit_entry, payload),
     .about = "the members of the request that may be shown"},
    ENTRY(outcome, SHAPE_BOOL, SHAPE_KEPT, "whether it was done"),
    ENTRY(error_message, SHAPE_TEXT, SHAPE_KEPT, NULL),
    ENTRY(previous_hash, SHAPE_TEXT, SHAPE_KEPT, "the hash of the entry before"),
    ENTRY(hash, SHAPE_TEXT, 0, "SHA-256 over all other members, in hexadecimal"),
};

const struct shape audit_entry_shape = {
    .name = "AuditEntry",
    .size = sizeof(struct audit_entry),
    SHAPE_FIELDS(audit_entry_fields),
};
