/* SPDX-License-Identifier: MIT */
/* The chain of the audit log, looked at over the API: a part of it with each call, so that none
 * takes long, however long the log is. Who asks goes on from 'next'. */
#include "api/handlers.h"
#include "base/limits.h"
#include "io/clock.h"
#include "store/audit_chain.h"

struct audit_verify_query {
    struct shape_int from;
};

static const struct shape_field audit_verify_query_fields[] = {
    {.name = "from",
     .kind = SHAPE_INT,
     .offset = offsetof(struct audit_verify_query, from),
     .min = 1,
     .max = INT64_C(1000000000000000),
     .about = "the entry to begin with: 'next' of the answer before"},
};

const struct shape audit_verify_query_shape = {.name = "AuditVerifyQuery",
                                               .size = sizeof(struct audit_verify_query),
                                               SHAPE_FIELDS(audit_verify_query_fields)};

struct audit_walk {
    struct api_call *call;
    struct arena arena; /* of one portion */
    struct audit_chain chain;
    struct audit_list list;
    int64_t asked; /* the first entry of the portion */
    int64_t checked;
    const char *broken;
    bool is_over;
};

static enum err audit_walk_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct audit_walk *walk = context;
    return audit_store_portion(tx, &walk->arena, walk->call->caller.organization_id, walk->asked,
                               &walk->list, reterr);
}

/* The entry before 'from' was looked at by the call before: it is where this one begins. */
static void audit_walk_begin(struct audit_walk *walk, size_t *ret_first)
{
    bool goes_on = walk->asked != walk->chain.number;
    if (goes_on && walk->list.count > 0 && walk->list.entries[0].number.value == walk->asked &&
        audit_chain_begin_behind(&walk->chain, &walk->list.entries[0])) {
        *ret_first = 1;
    } else if (goes_on && walk->list.count > 0) {
        walk->broken = "the one before it is missing";
    }
}

static enum err audit_walk_portion(struct audit_walk *walk, struct error *reterr)
{
    size_t first = 0;
    arena_reset(&walk->arena);
    enum err err = store_read(walk->call->api->store, audit_walk_read, walk, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    audit_walk_begin(walk, &first);
    for (size_t i = first; i < walk->list.count && walk->broken == NULL; i++) {
        walk->broken = audit_chain_follow(&walk->chain, &walk->arena, &walk->list.entries[i]);
        walk->checked += walk->broken == NULL ? 1 : 0;
    }
    walk->is_over = walk->list.count <= first;
    walk->asked = walk->chain.number;
    return ERR_NONE;
}

static enum err audit_walk_answer(struct audit_walk *walk, int64_t from, struct error *reterr)
{
    struct json_writer json = api_answer(walk->call, 200);
    json_begin_object(&json);
    json_member_text(&json, "chain_status",
                     walk->broken != NULL ? SLICE("broken")
                     : walk->is_over      ? SLICE("whole")
                                          : SLICE("whole_so_far"));
    json_member_int(&json, "from", from);
    json_member_int(&json, "checked", walk->checked);
    json_member_text(&json, "hash", slice_of(walk->chain.hash, walk->chain.hash_len));
    json_member_timestamp(&json, "checked_at", clock_now());
    if (walk->broken != NULL) {
        json_member_int(&json, "broken_at", walk->chain.number);
        json_member_text(&json, "message", slice_of_text(walk->broken));
    }
    if (walk->broken == NULL && !walk->is_over) {
        json_member_int(&json, "next", walk->chain.number);
    } else {
        json_member_no_value(&json, "next");
    }
    json_end_object(&json);
    return api_answer_end(walk->call, &json, reterr);
}

enum err audit_logs_verify(struct api_call *call, struct error *reterr)
{
    struct audit_verify_query query = {0};
    struct audit_walk walk = {.call = call};
    enum err err = api_read_query(call, &audit_verify_query_shape, &query, reterr);
    int64_t from = query.from.is_given ? query.from.value : 1;
    walk.chain.number = from;
    walk.asked = from > 1 ? from - 1 : from;
    arena_init(&walk.arena);
    while (err == ERR_NONE && walk.broken == NULL && !walk.is_over &&
           walk.checked < LIMIT_AUDIT_VERIFIED) {
        err = audit_walk_portion(&walk, reterr);
    }
    err = err == ERR_NONE ? audit_walk_answer(&walk, from, reterr) : err;
    arena_release(&walk.arena);
    return err;
}
