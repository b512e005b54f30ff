/* SPDX-License-Identifier: MIT */
/* Connections in the store. Reading joins what a connection inherits and is tied to; what is
 * written is the connection's own. */
#ifndef GH_STORE_CONNECTION_STORE_H
#define GH_STORE_CONNECTION_STORE_H

#include "base/arena.h"
#include "model/caller.h"
#include "model/connection.h"
#include "model/resource.h"
#include "store/store.h"

struct connection_row {
    struct connection connection; /* without the fields that are in 'document' */
    struct slice document;        /* their JSON, without the braces */
    struct slice secret_view;     /* JSON object */
    struct slice resource_id;
    struct slice resource_agent_id;
    bool has_reviewers;
    bool needs_metadata;
    bool inherits_agent;     /* connection.agent_id is the resource's */
    bool has_embedded_agent; /* of one that was found: the agent is the gateway itself */
    size_t order;            /* of its resource, where there are several */
    int64_t version;
};

struct connection_list {
    struct arena *arena;
    struct connection_row **rows;
    size_t count;
    size_t capacity;
    bool wants_features; /* load_links resolves the effective features too */
    /* Of connection_store_list alone: */
    int64_t total; /* exact without filters, and up to LIMIT_LIST_LOOKED rows looked at */
    bool total_is_capped;
    bool has_more;     /* of what is by place */
    bool is_partial;   /* it was not looked at all of them: 'next' is how far */
    struct slice next; /* with has_more: the name to go on behind */
};

/* By name, or by id. ERR_NOT_FOUND also for what must not be seen. */
enum err connection_store_find(struct store_tx *tx, struct arena *arena,
                               const struct visibility *visibility, struct slice name_or_id,
                               struct connection_row *ret_row, struct error *reterr) MUST_USE;
/* Those of the resources, in the order of the resources, then by name. */
enum err connection_store_of_resources(struct store_tx *tx, const struct visibility *visibility,
                                       const struct resource *resources, size_t resource_count,
                                       struct connection_list *list, struct error *reterr) MUST_USE;

#define CONNECTION_FILTER_ATTRIBUTES 8
#define CONNECTION_FILTER_TAGS       4
#define CONNECTION_FILTER_IDS        40

enum connection_tag_match {
    CONNECTION_TAG_PRESENT,
    CONNECTION_TAG_EQUAL,
    CONNECTION_TAG_OTHER, /* present, with another value */
};

struct connection_tag_term {
    struct slice key;
    struct slice value;
    enum connection_tag_match match;
};

struct connection_filter {
    struct slice search; /* in name, type, subtype, resource name and status */
    struct slice name;
    struct slice type;
    struct slice subtype;
    struct slice resource_name;
    struct slice agent_id;
    struct slice managed_by;
    struct slice attributes[CONNECTION_FILTER_ATTRIBUTES]; /* any of them */
    size_t attribute_count;
    struct connection_tag_term tags[CONNECTION_FILTER_TAGS]; /* all of them */
    size_t tag_count;
    struct slice ids[CONNECTION_FILTER_IDS]; /* any of them */
    size_t id_count;
    int64_t limit;
    int64_t offset;
    bool is_by_place;   /* no more than LIMIT_LIST_LOOKED are looked at */
    struct slice place; /* behind this name */
};

enum err connection_store_list(struct store_tx *tx, const struct visibility *visibility,
                               const struct connection_filter *filter, struct connection_list *list,
                               struct error *reterr) MUST_USE;

/* The secrets themselves. */
enum err connection_store_secret(struct store_tx *tx, struct arena *arena, struct slice id,
                                 struct shape_pairs *ret_secret, struct error *reterr) MUST_USE;
/* What a session is opened with: the connection's own and those of its resource that it does not
 * have itself. */
enum err connection_store_variables(struct store_tx *tx, struct arena *arena, struct slice id,
                                    struct shape_pairs *ret_variables,
                                    struct error *reterr) MUST_USE;

/* Fills attributes, managed_attributes and guardrail_rules of what was read. */
enum err connection_store_load_links(struct store_tx *tx, struct connection_list *list,
                                     struct error *reterr) MUST_USE;
/* Fills effective_features and jit_access_duration_sec, from all rules that act on them, tied to
 * the connection or to an attribute of it. */
enum err connection_store_load_features(struct store_tx *tx, struct connection_list *list,
                                        struct error *reterr) MUST_USE;

/* The row's connection with all its plain fields, to be written back: agent_id is then the own one,
 * or "". */
enum err connection_store_open_document(struct arena *arena, struct connection_row *row,
                                        struct error *reterr) MUST_USE;

struct connection_write {
    struct slice organization_id;
    struct slice resource_id;
    struct slice resource_agent_id;
    const struct connection *connection; /* its id says which */
    int64_t secrets_updated_at;
    int64_t now;
};

/* The secret is written when it is given; attributes and guard rails likewise. ERR_CONFLICT: the
 * name is taken. ERR_INPUT: it names an agent, a rule or a template that is not there. */
enum err connection_store_insert(struct store_tx *tx, struct arena *arena,
                                 const struct connection_write *write,
                                 struct error *reterr) MUST_USE;
enum err connection_store_update(struct store_tx *tx, struct arena *arena,
                                 const struct connection_write *write,
                                 struct error *reterr) MUST_USE;
enum err connection_store_delete(struct store_tx *tx, struct slice organization_id, struct slice id,
                                 struct error *reterr) MUST_USE;

/* Tags in use. */
struct tag {
    struct slice id;
    struct slice key;
    struct slice value;
    int64_t created_at;
    int64_t updated_at;
};

/* Those that a connection which may be seen carries. */
enum err connection_store_tags(struct store_tx *tx, struct arena *arena,
                               const struct visibility *visibility, struct tag **ret_tags,
                               size_t *ret_count, struct error *reterr) MUST_USE;

/* The groups that may use it. */
enum err connection_store_access(struct store_tx *tx, struct arena *arena, struct slice id,
                                 struct shape_texts *ret_groups, struct error *reterr) MUST_USE;
/* ERR_INPUT when a group does not exist. */
enum err connection_store_set_access(struct store_tx *tx, struct slice organization_id,
                                     struct slice id, const struct shape_texts *groups,
                                     struct error *reterr) MUST_USE;

#endif
