/* SPDX-License-Identifier: MIT */
#include "store/opening_link.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "model/review.h"
#include "store/rows.h"
#include "store/seal.h"

/* It opens for no other organization, and no row's envelope is one. */
static struct slice opening_link_owner_in(struct arena *arena, struct slice organization_id)
{
    return arena_format(arena, "opening link of %.*s", SLICE_ARG(organization_id));
}

struct slice opening_link_in(struct arena *arena, const struct store_tx *tx,
                             const struct opening_link *link)
{
    struct slice plain = arena_format(arena, "%lld\n%.*s\n%.*s", (long long)link->ends_at,
                                      SLICE_ARG(link->review_id), SLICE_ARG(link->delivery_id));
    struct slice sealed =
        seal_in(arena, store_keys(tx), opening_link_owner_in(arena, link->organization_id), plain);
    return base64_encode_in(arena, BASE64_URL, sealed);
}

static enum err opening_link_read(struct store_tx *tx, struct arena *arena,
                                  const struct opening_link_use *use, struct opening_link *ret_link,
                                  struct error *reterr)
{
    struct slice sealed = SLICE_NONE;
    struct slice plain = SLICE_NONE;
    struct slice rest = SLICE_NONE;
    struct error why = {0};
    uint64_t ends_at = 0;
    if (use->text.len > REVIEW_OPENING_MAX ||
        base64_decode_in(arena, BASE64_URL, use->text, &sealed) != ERR_NONE ||
        unseal_in(arena, store_keys(tx), opening_link_owner_in(arena, use->organization_id), sealed,
                  &plain, &why) != ERR_NONE ||
        text_parse_u64(slice_cut(plain, '\n', &rest), &ends_at) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "the link was not made here, or was changed on its way");
    }
    ret_link->ends_at = (int64_t)ends_at;
    ret_link->review_id = slice_cut(rest, '\n', &ret_link->delivery_id);
    return slice_equals(ret_link->review_id, use->review_id)
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "the link is for another review");
}

static enum err opening_link_check_unused(struct store_tx *tx, const struct opening_link *link,
                                          struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    char when[TIMESTAMP_TEXT_SIZE];
    enum err err = store_query_one(
        tx, "SELECT member_email, opened_at FROM opening_link WHERE delivery_id = $1",
        PARAMS(store_text(link->delivery_id)), &rows, reterr);
    if (err != ERR_NONE) {
        return err == ERR_NOT_FOUND ? ERR_NONE : err;
    }
    (void)timestamp_format(store_rows_int(&rows, 1), when);
    return fail(reterr, ERR_CONFLICT,
                "the link is good once, and was opened by %.*s at %s: open the review itself",
                SLICE_ARG(store_rows_view(&rows, 0)), when);
}

enum err opening_link_open(struct store_tx *tx, struct arena *arena,
                           const struct opening_link_use *use, struct error *reterr)
{
    struct opening_link link = {0};
    enum err err = opening_link_read(tx, arena, use, &link, reterr);
    if (err == ERR_NONE && link.ends_at <= use->now) {
        err = fail(reterr, ERR_CONFLICT,
                   "the link was good for %d hours, which are over: open the review itself",
                   OPENING_LINK_HOURS);
    }
    if (err == ERR_NONE) {
        err = opening_link_check_unused(tx, &link, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = store_exec(tx,
                     "INSERT INTO opening_link (delivery_id, review_id, member_email, opened_at) "
                     "VALUES ($1, $2, $3, $4)",
                     PARAMS(store_text(link.delivery_id), store_text(link.review_id),
                            store_text(use->member_email), store_int(use->now)),
                     NULL, reterr);
    return err == ERR_CONFLICT ? fail(reterr, err, "the link is good once, and was opened just now")
                               : err;
}
