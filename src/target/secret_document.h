/* SPDX-License-Identifier: MIT */
/* The JSON objects that references look into, each fetched once, and how those of one keeper are
 * fetched: a few at once, again after a pause where the keeper asks for patience, until all are
 * done or the time is over. */
#ifndef GH_TARGET_SECRET_DOCUMENT_H
#define GH_TARGET_SECRET_DOCUMENT_H

#include "codec/json.h"
#include "io/fetch.h"
#include "model/secret_map.h"

struct secret_document {
    enum secret_source source;
    struct slice name;
    struct json object; /* when it was got */
    enum err err;       /* ERR_AGAIN: not yet */
    struct error failure;
};

struct secret_keeper {
    /* Called before each attempt. */
    enum err (*prepare)(void *context, struct arena *arena, const struct secret_document *document,
                        struct fetch_request *ret_request, struct error *reterr);
    /* ERR_BUSY: once more, later. */
    enum err (*take)(void *context, struct arena *arena, const struct secret_document *document,
                     const struct fetch_answer *answer, struct json *ret_object,
                     struct error *reterr);
    void *context;
};

struct secret_documents {
    struct secret_document *items;
    size_t count;
    unsigned sources; /* that may be asked */
    int64_t ends_at;  /* clock_monotonic() */
};

/* All that are of these sources and not done. */
void secret_documents_fetch(struct arena *arena, struct secret_documents *documents,
                            unsigned sources, const struct secret_keeper *keeper);
/* What those that are not done are from now on. */
void secret_documents_fail(struct secret_documents *documents, unsigned sources,
                           const struct error *error);
bool secret_documents_wanted(const struct secret_documents *documents, unsigned sources);

/* How long a request may take now: 0 when the time is over. */
uint32_t secret_documents_left_ms(const struct secret_documents *documents);

/* The keepers. Each fetches its own and leaves the others as they are. */
void aws_secrets_fetch(struct arena *arena, struct secret_documents *documents);
void vault_secrets_fetch(struct arena *arena, struct secret_documents *documents);

#endif
