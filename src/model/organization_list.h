/* SPDX-License-Identifier: MIT */
/* Organizations that whoever operates the gateway has listed: for which its own agent, which every
 * organization has, runs the commands of connections. Agents in processes of their own belong to
 * one organization, and run what that names. */
#ifndef GH_MODEL_ORGANIZATION_LIST_H
#define GH_MODEL_ORGANIZATION_LIST_H

#include "base/error.h"
#include "base/limits.h"
#include "base/slice.h"

/* Names, or ids: views of the text that was parsed. */
struct organization_list {
    struct slice items[LIMIT_ORGANIZATION_LIST];
    size_t count;
};

/* "off", or names with commas between. */
enum err organization_list_parse(struct slice text, struct organization_list *ret_list,
                                 struct error *reterr) MUST_USE;

bool organization_list_has(const struct organization_list *list, struct slice id,
                           struct slice name);

/* To whoever would run something of an organization that is not in it. */
#define ORGANIZATION_COMMANDS_REFUSED                                                              \
    "the gateway's own agent runs no commands for this organization: use an agent of the "         \
    "organization's own, or have whoever operates the gateway list it in --local-commands"

#endif
