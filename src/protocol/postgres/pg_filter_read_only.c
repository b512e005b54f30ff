/* SPDX-License-Identifier: MIT */
/* A session that only reads: each of its transactions begins READ ONLY, since
 * default_transaction_read_only is on when it begins, and none can become READ WRITE. PostgreSQL
 * allows that within a transaction up to its first snapshot, thus to SET and BEGIN alone, which are
 * blocked by their words; whatever else may run code (a function, an operator, a view) has a
 * snapshot. Code can change the default for the next transaction, though. So no transaction begins
 * before everything before it was answered and the default is known to be on: servers since 14 tell
 * of each change before their ReadyForQuery; with others it is set each time. And nothing that the
 * client sends at once goes on into another transaction: what stands behind a COMMIT in the same
 * text or batch is refused, and so is a block of code that may COMMIT by itself. */
#include "protocol/postgres/pg_filter_read_only.h"

#include "protocol/postgres/pg_filter_refuse.h"

#define BECOMES_READ_ONLY "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"
#define IS_AS_BEFORE      "RESET default_transaction_read_only"

static enum err read_only_refuse(struct pg_filter *filter, char type, const char *why,
                                 struct error *reterr_error)
{
    return pg_filter_refuse_for(filter, type, "25006", why, reterr_error);
}

void pg_filter_read_only_set(struct pg_filter *filter, const struct passage_policy *policy)
{
    struct pg_filter_read_only *read_only = &filter->read_only;
    /* What is open already began before the rule was there. */
    read_only->covers = read_only->covers && read_only->is_wanted;
    read_only->is_wanted = policy->is_read_only;
}

void pg_filter_read_only_learn(struct pg_filter *filter, struct slice value)
{
    filter->read_only.is_reported = true;
    filter->read_only.is_default = slice_equals(value, SLICE("on"));
}

/* Of ours; the message at hand waits for it. */
static enum err read_only_ask(struct pg_filter *filter, const char *text,
                              struct error *reterr_error)
{
    struct pg_filter_read_only *read_only = &filter->read_only;
    enum err err = pg_filter_send_query(filter, text, &read_only->id, reterr_error);
    read_only->is_asking = true;
    read_only->has_failed = true; /* until it has not */
    return err != ERR_NONE ? err : ERR_AGAIN;
}

/* No transaction is open: the message begins one. */
static enum err read_only_begin_idle(struct pg_filter *filter, char type,
                                     struct error *reterr_error)
{
    struct pg_filter_read_only *read_only = &filter->read_only;
    if (!read_only->is_wanted) {
        read_only->is_ours = false;
        return read_only_ask(filter, IS_AS_BEFORE, reterr_error);
    }
    if (read_only->is_default) {
        read_only->covers = true;
        read_only->has_failed = false;
        read_only->is_default = read_only->is_reported;
        return ERR_NONE;
    }
    if (read_only->has_failed) {
        read_only->has_failed = false;
        return read_only_refuse(filter, type,
                                "the target did not make the session read only, as a rule asks",
                                reterr_error);
    }
    read_only->is_ours = true;
    return read_only_ask(filter, BECOMES_READ_ONLY, reterr_error);
}

enum err pg_filter_read_only_begin(struct pg_filter *filter, char type, struct error *reterr_error)
{
    const struct pg_filter_read_only *read_only = &filter->read_only;
    if ((!read_only->is_wanted && !read_only->is_ours) || filter->state.is_skipping) {
        return ERR_NONE;
    }
    if (filter->state.is_in_batch) {
        bool is_behind = read_only->is_wanted && read_only->has_ended;
        return is_behind && type != PGWIRE_CLIENT_CLOSE
                   ? read_only_refuse(filter, type,
                                      "where only reading is allowed a Sync has to stand behind "
                                      "the end of a transaction",
                                      reterr_error)
                   : ERR_NONE;
    }
    if (pgwire_state_owes_ready(&filter->state)) {
        return ERR_AGAIN;
    }
    return filter->state.transaction == PGWIRE_IDLE
               ? read_only_begin_idle(filter, type, reterr_error)
               : ERR_NONE;
}

enum err pg_filter_read_only_check(struct pg_filter *filter, char type,
                                   const struct pg_filter_facts *facts, struct error *reterr_error)
{
    const struct pg_filter_read_only *read_only = &filter->read_only;
    bool runs = type == PGWIRE_CLIENT_QUERY || type == PGWIRE_CLIENT_EXECUTE;
    if (!read_only->is_wanted || filter->state.is_skipping) {
        return ERR_NONE;
    }
    if (!read_only->covers && !facts->only_ends) {
        return read_only_refuse(filter, type,
                                "only reading is allowed here now, and this transaction began "
                                "before: it has to end first",
                                reterr_error);
    }
    if (facts->goes_on_behind_end) {
        return read_only_refuse(filter, type,
                                "where only reading is allowed nothing may stand behind the end of "
                                "a transaction in the same text",
                                reterr_error);
    }
    if (facts->runs_code && runs && filter->state.transaction != PGWIRE_IN_TRANSACTION) {
        return read_only_refuse(filter, type,
                                "where only reading is allowed a block of code, which may begin "
                                "transactions, has to run inside of one",
                                reterr_error);
    }
    return ERR_NONE;
}

void pg_filter_read_only_run(struct pg_filter *filter, const struct pg_filter_facts *facts)
{
    filter->read_only.has_ended = filter->read_only.has_ended || facts->ends;
}

bool pg_filter_read_only_answer(struct pg_filter *filter, uint64_t id, enum pgwire_server_kind kind)
{
    struct pg_filter_read_only *read_only = &filter->read_only;
    if (!read_only->is_asking || read_only->id != id) {
        return false;
    }
    if (kind == PGWIRE_SERVER_COMMAND_COMPLETE) {
        read_only->has_failed = false;
        read_only->is_default =
            read_only->is_reported ? read_only->is_default : read_only->is_wanted;
    }
    return true;
}

bool pg_filter_read_only_ready(struct pg_filter *filter, uint64_t id)
{
    struct pg_filter_read_only *read_only = &filter->read_only;
    bool is_ours = read_only->is_asking && read_only->id == id;
    if (is_ours) {
        read_only->is_asking = false;
        read_only->has_failed = !read_only->is_default && read_only->is_wanted;
    }
    return is_ours;
}
