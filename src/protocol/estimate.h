/* SPDX-License-Identifier: MIT */
/* What a target's planner expects a statement to do, for people who decide on it: numbers and names
 * of relations, never values. Asked only of statements of which nothing can run when they are
 * planned. */
#ifndef GH_PROTOCOL_ESTIMATE_H
#define GH_PROTOCOL_ESTIMATE_H

#include "codec/shape.h"
#include "sql/sql.h"

struct estimate_step {
    unsigned depth;
    struct slice node;      /* the server's own word for it */
    struct slice operation; /* of a step that writes: insert, update …; else empty */
    struct slice relation;  /* may be empty */
    double rows;
    double cost;
};

struct estimate {
    double rows; /* that are written, or else given */
    double cost;
    bool writes;
    struct estimate_step *steps;
    size_t count;
    bool is_cut; /* there are more steps */
};

struct estimate_ops {
    struct shape_pairs parameters; /* as whom the gateway comes; see struct open_request */
    /* Why it is not asked of this script; NULL: it is, for all that the text says. */
    const char *(*why_not)(const struct sql_script *script);
    /* Likewise, when it is known whose the names are; 'facts' are those of catalog_ops. */
    const char *(*why_not_known)(struct arena *arena, const struct sql_script *script,
                                 const void *facts);
    /* The question: a statement whose answer is a row of one text. */
    struct slice (*text_in)(struct arena *arena, struct slice text,
                            const struct sql_script *script);
    enum err (*read_in)(struct arena *arena, struct slice answer, struct estimate *ret_estimate,
                        struct error *reterr);
};

#endif
