/* SPDX-License-Identifier: MIT */
/* The gateways that a person uses, by name, as they stand in a file: a document of JSON. It holds
 * no token. Pure: reading and writing the file is files.h. */
#ifndef GH_CLIENT_CONTEXTS_H
#define GH_CLIENT_CONTEXTS_H

#include "base/arena.h"
#include "base/error.h"

#define CLIENT_CONTEXT_NAME_MAX 64

struct client_context {
    struct slice name;
    struct slice url;     /* without a slash at the end */
    struct slice ca_file; /* of issuers that are trusted in the place of the system's; or empty */
};

struct client_contexts {
    struct slice current; /* the name; empty: none was chosen */
    struct client_context *items;
    size_t count;
};

/* Strict: unknown members, equal names and addresses that are none are refused. An empty text has
 * no contexts. */
enum err client_contexts_parse_in(struct arena *arena, struct slice text,
                                  struct client_contexts *ret_contexts,
                                  struct error *reterr) MUST_USE;
/* What client_contexts_parse_in() reads back as the same. */
struct slice client_contexts_write_in(struct arena *arena, const struct client_contexts *contexts);

/* NULL when there is none. */
const struct client_context *client_contexts_find(const struct client_contexts *contexts,
                                                  struct slice name);
/* In the place of one of the same name, or besides; it becomes the current one. ERR_LIMIT. */
enum err client_contexts_put(struct arena *arena, struct client_contexts *contexts,
                             const struct client_context *context, struct error *reterr) MUST_USE;

/* Letters, digits, '.', '-' and '_', not beginning with '.': it is the name of a file, too. */
enum err client_context_check_name(struct slice name, struct error *reterr) MUST_USE;
/* http or https, without user, query and fragment; http for this machine alone, since a token goes
 * there. */
enum err client_context_check_url(struct slice url, struct error *reterr) MUST_USE;

#endif
