/* SPDX-License-Identifier: MIT */
#include "model/organization_list.h"

#include "model/organization.h"

enum err organization_list_parse(struct slice text, struct organization_list *ret_list,
                                 struct error *reterr)
{
    struct organization_list list = {.count = 0};
    for (struct slice rest = text; rest.at != NULL && !slice_equals(text, SLICE("off"));) {
        struct slice name = slice_trim(slice_cut(rest, ',', &rest), " ");
        if (organization_check_name(name, NULL) != ERR_NONE) {
            return fail(reterr, ERR_INPUT,
                        "names of organizations are expected, with commas between");
        }
        if (list.count == LIMIT_ORGANIZATION_LIST) {
            return fail(reterr, ERR_LIMIT, "more than %d organizations", LIMIT_ORGANIZATION_LIST);
        }
        list.items[list.count++] = name;
    }
    *ret_list = list;
    return ERR_NONE;
}

bool organization_list_has(const struct organization_list *list, struct slice id, struct slice name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (slice_equals(list->items[i], id) || slice_equals(list->items[i], name)) {
            return true;
        }
    }
    return false;
}
