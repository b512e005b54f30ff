/* SPDX-License-Identifier: MIT */
/* What the server gets in the place of what it must not get, and the end of answers that the client
 * must not get. */
#include "protocol/postgres/pg_filter_refuse.h"

#include "base/limits.h"
#include "base/must.h"
#include "protocol/postgres/pg_filter_judge.h"

/* What errs where the message stands: as its own kind is answered. Simple ones end with a
 * ReadyForQuery, all others are skipped up to the Sync. */
static enum err pg_filter_send_substitute(struct pg_filter *filter, char type, uint64_t *ret_id,
                                          struct error *reterr_error)
{
    bool is_simple = type == PGWIRE_CLIENT_QUERY || type == PGWIRE_CLIENT_FUNCTION_CALL;
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_KIB(1));
    enum err err =
        is_simple ? pgwire_query_write(&buf, SLICE(PG_FILTER_SUBSTITUTE))
                  : pgwire_parse_write(&buf, SLICE(PG_FILTER_NAME), SLICE(PG_FILTER_SUBSTITUTE));
    must(err == ERR_NONE);
    return pg_filter_send_own(filter, buf_view(&buf), ret_id, reterr_error);
}

void pg_filter_block(struct pg_filter *filter)
{
    struct pg_filter_limit *limit = &filter->limit;
    if (filter->is_blocked) {
        return;
    }
    filter->is_blocked = true;
    filter->is_blocked_to_sync = !filter->answered.is_simple;
    filter->is_discarding = filter->is_discarding || filter->answered.is_in_open;
    limit->is_over = limit->is_over || limit->phase != PG_FILTER_UNLIMITED;
    if (filter->settings.on_block != NULL) {
        filter->wait.is_for_cancel = true;
        filter->settings.on_block(filter->settings.owner);
    }
}

enum err pg_filter_refuse(struct pg_filter *filter, char type, struct buf *words,
                          struct error *reterr_error)
{
    uint64_t id = 0;
    enum err err = pg_filter_send_substitute(filter, type, &id, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    struct pg_filter_request *request = pg_filter_request_add(filter, id);
    request->is_own = false;
    request->is_refused = true;
    must(buf_append(&request->words, buf_view(words)) == ERR_NONE);
    return ERR_NONE;
}

static enum err pg_filter_refuse_why(struct pg_filter *filter, char type, const char *sqlstate,
                                     const char *why, struct slice hint, struct error *reterr_error)
{
    struct buf words CLEANUP(buf_release);
    const struct guard_event event = {
        .kind = GUARD_EVENT_REFUSED,
        .request = filter->number,
        .words = slice_of_text(why),
    };
    filter->settings.on_event(filter->settings.owner, &event);
    buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
    pg_filter_write_error(&words, sqlstate, slice_of_text(why), hint);
    return pg_filter_refuse(filter, type, &words, reterr_error);
}

enum err pg_filter_refuse_for(struct pg_filter *filter, char type, const char *sqlstate,
                              const char *why, struct error *reterr_error)
{
    return pg_filter_refuse_why(filter, type, sqlstate, why,
                                SLICE("Guard rails are set for this connection."), reterr_error);
}

enum err pg_filter_refuse_masked(struct pg_filter *filter, char type, const char *sqlstate,
                                 const char *why, struct error *reterr_error)
{
    return pg_filter_refuse_why(filter, type, sqlstate, why,
                                SLICE("Masking rules are set for this connection."), reterr_error);
}

enum err pg_filter_refuse_malformed(struct pg_filter *filter, char type, const struct error *why,
                                    struct error *reterr_error)
{
    return pg_filter_refuse_for(filter, type, "08P01", why->message, reterr_error);
}
