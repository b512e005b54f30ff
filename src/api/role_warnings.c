/* SPDX-License-Identifier: MIT */
/* The roles of a resource are shown as connections, and may be sent back as they were shown. What
 * only the connection itself can set is passed over, and told when it says something else. */
#include "api/resources.h"

static const struct connection_row *role_row(const struct resource_answer *answer,
                                             struct slice name)
{
    for (size_t i = 0; i < answer->roles.count; i++) {
        if (slice_equals(answer->roles.rows[i]->connection.name, name)) {
            return answer->roles.rows[i];
        }
    }
    return NULL;
}

/* A member that a connection can be given and a role cannot. */
static bool role_passes_over(struct slice name)
{
    const struct shape_field *shown = shape_find(&connection_shape, name);
    return shown != NULL && (shown->flags & SHAPE_READ_ONLY) == 0 &&
           shape_find(&role_shape, name) == NULL;
}

static enum err role_shown(struct api_call *call, const struct connection_row *row,
                           struct json *ret_shown, struct error *reterr)
{
    struct api_text text;
    api_text_begin(&text);
    connection_answer_write(call, row, &text.json);
    return json_parse_in(call->arena, api_text_end_in(call->arena, &text), ret_shown, reterr);
}

static void role_warn(struct api_call *call, const struct resource_answer *answer,
                      const struct json *role)
{
    struct json_members members = json_members_of(role);
    const struct connection_row *row = NULL;
    struct json shown;
    struct slice name = SLICE_NONE;
    struct json value;
    struct error ignored = {0};
    while (json_next_member(&members, &name, &value)) {
        if (!role_passes_over(name)) {
            continue;
        }
        if (row == NULL) {
            struct slice role_name = SLICE_NONE;
            bool is_named =
                json_as_text(json_member(role, "name"), &role_name, &ignored) == ERR_NONE;
            row = is_named ? role_row(answer, role_name) : NULL;
            if (row == NULL || role_shown(call, row, &shown, &ignored) != ERR_NONE) {
                return;
            }
        }
        if (!json_is_same(value, json_member_named(&shown, name))) {
            shape_warn(&call->warnings, &value,
                       "was not changed: PUT or PATCH of the connection itself does that");
        }
    }
}

void resource_warn_of_roles(struct api_call *call, const struct resource_answer *answer)
{
    struct json roles = json_member(&call->body, "roles");
    struct error ignored = {0};
    size_t count = 0;
    if (json_as_array(roles, &count, &ignored) != ERR_NONE) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct json role = json_item(&roles, i);
        role_warn(call, answer, &role);
    }
}
