/* SPDX-License-Identifier: MIT */
/* Who calls: a person, an API key or a service account of one organization, and what they are
 * there. Roles add up: an auditor keeps the rights of a member. A machine identity calls with
 * native clients alone, and is nothing there. */
#ifndef GH_MODEL_CALLER_H
#define GH_MODEL_CALLER_H

#include "base/slice.h"

struct caller {
    struct slice organization_id;
    struct slice organization_name;
    struct slice id; /* of the row in user_account, api_key, service_account, machine_identity */
    struct slice subject;
    struct slice email;
    struct slice name;
    struct slice *groups;
    size_t group_count;
    bool is_admin;
    bool is_auditor;
    bool is_key;     /* an API key: no person, no cookie, no password; or a machine identity */
    bool is_machine; /* a machine identity: sees nothing but what is granted to it */
    /* Of the organization. */
    bool has_access_rules;
    bool opens_unruled; /* members may use what no access rule names */
    bool hides_role_info;
};

/* What a caller may see of an organization's connections. */
struct visibility {
    struct slice organization_id;
    struct slice member_id;
    bool sees_all;        /* admins, auditors, and everybody where nothing is closed */
    bool sees_unruled;    /* what no access rule names */
    bool hides_role_info; /* the organization's switch: inline values are not shown to anybody */
};

static inline bool caller_reads_all(const struct caller *caller)
{
    return caller->is_admin || caller->is_auditor;
}

static inline struct visibility caller_visibility(const struct caller *caller)
{
    return (struct visibility){
        .organization_id = caller->organization_id,
        .member_id = caller->id,
        .sees_all =
            caller_reads_all(caller) || (caller->opens_unruled && !caller->has_access_rules),
        .sees_unruled = caller->opens_unruled,
        .hides_role_info = caller->hides_role_info,
    };
}

#endif
