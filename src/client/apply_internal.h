/* SPDX-License-Identifier: MIT */
#ifndef GH_CLIENT_APPLY_INTERNAL_H
#define GH_CLIENT_APPLY_INTERNAL_H

#include "client/manifest.h"

enum apply_action {
    APPLY_KEEP,
    APPLY_ADD,
    APPLY_CHANGE,
    APPLY_DELETE,
};

struct apply_change {
    struct slice member;
    struct slice from; /* as JSON; empty: nothing */
    struct slice to;
};

/* A document, and what becomes of it. */
struct apply_item {
    const struct manifest_kind *kind;
    struct slice name;
    const char *file;
    struct yamltext_document document;
    struct json current; /* as the API has it; absent: it is not there */
    enum apply_action action;
    struct apply_change *changes;
    size_t change_count;
    struct slice *pair_values; /* of each of its pairs, to be sent; at == NULL: stays as it is */
    size_t hidden_count;       /* of pairs that are there, and cannot be compared */
};

struct apply {
    struct client_run *run;
    struct manifest_estate estate;
    bool writes_hidden; /* --secrets */
    bool prunes;        /* --prune */
    struct apply_item *items;
    size_t count;
};

/* "file:line: 'path' words" */
enum err apply_fail(const struct apply_item *item, struct slice path, enum err err,
                    const char *words, struct error *reterr) MUST_USE;
/* A folder's files, or one file. */
enum err apply_read(struct apply *self, const char *path, struct error *reterr) MUST_USE;
/* What would change, of each. */
enum err apply_plan(struct apply *self, struct error *reterr) MUST_USE;
void apply_print(const struct apply *self);
/* What is there and no document names: of the kinds that the documents have. Joins the plan. */
enum err apply_prune(struct apply *self, const struct manifest_kind *kind,
                     const struct manifest_items *all, struct error *reterr) MUST_USE;
/* One after the other, deletions last; the first that the gateway refuses ends it. */
enum err apply_send(struct apply *self, struct error *reterr) MUST_USE;

#endif
