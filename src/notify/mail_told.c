/* SPDX-License-Identifier: MIT */
#include "notify/mail_told.h"

#include "base/memory.h"

#define CODE_FINAL  500
#define CODE_LEAST  400
#define SHOWN_BYTES 1000 /* of the words of all refusals */

/* An address has no colon. */
static bool mail_told_has(struct slice lines, struct slice address)
{
    bool has = false;
    while (lines.len > 0 && !has) {
        struct slice line = slice_cut(lines, '\n', &lines);
        has = slice_equals(slice_sub(line, 0, slice_find_byte(line, ':')), address);
    }
    return has;
}

struct shape_texts mail_told_left_in(struct arena *arena, const struct outbox_item *item)
{
    const struct shape_texts *all = &item->sink.addresses;
    struct shape_texts left = {
        .items = arena_alloc_array(arena, all->count + 1, sizeof(struct slice)), .is_given = true};
    for (size_t i = 0; i < all->count; i++) {
        if (!mail_told_has(item->told, all->items[i]) &&
            !mail_told_has(item->refused, all->items[i])) {
            left.items[left.count++] = all->items[i];
        }
    }
    return left;
}

static struct slice mail_told_join(struct arena *arena, struct slice lines, struct slice line)
{
    return arena_format(arena, "%.*s%s%.*s", SLICE_ARG(lines), lines.len > 0 ? "\n" : "",
                        SLICE_ARG(line));
}

static size_t mail_told_count(struct slice lines)
{
    size_t count = 0;
    while (lines.len > 0) {
        (void)slice_cut(lines, '\n', &lines);
        count++;
    }
    return count;
}

static struct slice mail_told_remark_in(struct arena *arena, const struct outbox_item *item,
                                        struct slice refusals)
{
    struct slice shown = SLICE("");
    size_t count = mail_told_count(refusals);
    for (struct slice rest = refusals; rest.len > 0 && shown.len < SHOWN_BYTES;) {
        struct slice line = slice_cut(rest, '\n', &rest);
        shown = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(shown), shown.len > 0 ? "; " : "",
                             SLICE_ARG(line));
    }
    return count == 0 ? SLICE("")
                      : arena_format(arena, "%zu of %zu addresses were refused: %.*s", count,
                                     item->sink.addresses.count, SLICE_ARG(shown));
}

void mail_told_add_in(struct arena *arena, const struct outbox_item *item,
                      const struct fetch_answer *answer, const struct fetch_mail *mail,
                      bool is_taken, struct mail_told *ret_told)
{
    struct mail_told told = {.told = item->told, .refused = item->refused};
    struct slice waiting = SLICE("");
    for (size_t i = 0; i < mail->recipient_count; i++) {
        /* Before there is a connection there are no answers. */
        struct fetch_reply reply = {.code = 0};
        if (answer->replies != NULL) {
            reply = answer->replies[i];
        }
        struct slice address = mail->recipients[i];
        struct slice line =
            reply.code < CODE_LEAST
                ? address
                : arena_format(arena, "%.*s: %.*s", SLICE_ARG(address), SLICE_ARG(reply.words));
        if (reply.code >= CODE_FINAL) {
            told.refused = mail_told_join(arena, told.refused, line);
        } else if (is_taken && reply.code != 0 && reply.code < CODE_LEAST) {
            told.told = mail_told_join(arena, told.told, line);
        } else {
            told.left_count++;
            waiting = reply.code < CODE_LEAST ? waiting : mail_told_join(arena, waiting, line);
        }
    }
    struct slice refusals = told.refused;
    told.is_put_off = waiting.len > 0;
    if (told.is_put_off) {
        refusals = mail_told_join(arena, refusals, waiting);
    }
    told.remark = mail_told_remark_in(arena, item, refusals);
    *ret_told = told;
}
