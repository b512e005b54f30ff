/* SPDX-License-Identifier: MIT */
/* What a gateway is to have, as documents of YAML: a kind, a name, and members as the API has them,
 * but with names in the place of ids. One table of kinds, in the order in which they need each
 * other, for reading ('apply') and for writing ('export'). */
#ifndef GH_CLIENT_MANIFEST_H
#define GH_CLIENT_MANIFEST_H

#include "client/command.h"
#include "codec/json_writer.h"
#include "codec/yamltext.h"

struct manifest_kind {
    const char *word;
    const char *path;     /* of all of them */
    const char *method;   /* that changes one; NULL: there is nothing to change */
    const char *pairs;    /* the member that has values of a secret, NULL: none */
    const char *behind;   /* of kinds that are a part of another: behind its path */
    const char *apart;    /* a member that documents of another kind have; NULL: none */
    bool is_paged;        /* the list of them */
    bool is_found_by_id;  /* not by the name */
    bool has_agent;       /* 'agent' */
    bool has_connections; /* 'connections' */
};

extern const struct manifest_kind manifest_kinds[];
extern const size_t manifest_kind_count;

/* Names and ids of what manifests refer to. */
struct manifest_items {
    struct json *items; /* each with 'name' and 'id' */
    size_t count;
};

/* What the gateway has. */
struct manifest_estate {
    struct client_run *run;
    struct manifest_items agents;
    struct manifest_items connections;
};

/* Agents and connections, as they are now. */
enum err manifest_estate_load(struct manifest_estate *estate, struct error *reterr) MUST_USE;
/* All of a kind, as the API has them; of groups their names. */
enum err manifest_list(struct client_run *run, const struct manifest_kind *kind,
                       struct manifest_items *ret_all, struct error *reterr) MUST_USE;
/* The one with this name; not there: ERR_NOT_FOUND. */
enum err manifest_find(const struct manifest_items *all, struct slice name, struct json *ret_item,
                       struct error *reterr) MUST_USE;
/* Where it is read and changed. */
struct slice manifest_path_in(struct arena *arena, const struct manifest_kind *kind,
                              struct slice name, const struct json *current);
/* What part of 'name' has; only of kinds with 'behind'. */
enum err manifest_part(struct client_run *run, const struct manifest_kind *kind, struct slice name,
                       struct json *ret_part, struct error *reterr) MUST_USE;

/* As a document: what the gateway makes itself is left out, and so is what says nothing. */
struct json manifest_of_in(const struct manifest_estate *estate, const struct manifest_kind *kind,
                           struct slice name, const struct json *current);
/* No document of the kind may have this member. */
bool manifest_is_made_by_gateway(const struct manifest_kind *kind, struct slice member);

/* Pairs --------------------------------------------------------------------------------------- */

/* Values that may stand in a file: addresses and names, by the key's last part. */
bool manifest_is_open_key(struct slice key);
/* As the API takes it, from a text, a reference or {env: NAME}. 'ret_value' is SLICE_NONE when the
 * variable is not set. ERR_INPUT: it is none of these, or a secret that stands in the file. */
enum err manifest_value_in(struct arena *arena, struct slice key, struct json value,
                           struct slice *ret_value, struct error *reterr) MUST_USE;

/* Absent where the object is. */
struct json manifest_member(const struct json *object, struct slice name);
/* Any JSON value, where one is expected. */
void manifest_put(struct json_writer *json, struct json value);

#endif
