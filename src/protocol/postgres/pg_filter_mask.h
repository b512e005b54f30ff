/* SPDX-License-Identifier: MIT */
/* Guard rails: what pg_mask is told, and what becomes of what it says. */
#ifndef GH_POSTGRES_PG_FILTER_MASK_H
#define GH_POSTGRES_PG_FILTER_MASK_H

#include "protocol/postgres/pg_filter_internal.h"

struct pg_filter_judgement;

void pg_filter_mask_init(struct pg_filter *filter);
void pg_filter_mask_release(struct pg_filter *filter);
/* Of the policy that the filter has. */
void pg_filter_mask_set(struct pg_filter *filter);
/* The message goes to the server next, with a Describe of ours before it where one is needed.
 * ERR_DENIED: it does not, and was refused. */
enum err pg_filter_mask_request(struct pg_filter *filter, const struct pg_filter_message *message,
                                struct error *reterr_error) MUST_USE;
bool pg_filter_mask_wants(const struct pg_filter *filter, char type);
/* As pg_filter_pass_messages(), of types that it wants. */
enum err pg_filter_mask_pass(struct pg_filter *filter, struct slice messages, bool is_lasting,
                             struct error *reterr_error) MUST_USE;
/* What does not go on, but changes what is known. */
enum err pg_filter_mask_note(struct pg_filter *filter, struct slice message,
                             struct error *reterr_error) MUST_USE;
/* The message under way, of which only the header has come, as above. ERR_AGAIN as above. */
enum err pg_filter_mask_large(struct pg_filter *filter, struct slice header,
                              struct error *reterr_error) MUST_USE;
enum err pg_filter_mask_part(struct pg_filter *filter, struct slice part,
                             struct error *reterr_error) MUST_USE;
/* Whether the catalog was asked, and has not answered. */
bool pg_filter_asks(const struct pg_filter *filter);
/* What waited. */
enum err pg_filter_mask_again(struct pg_filter *filter, struct error *reterr_error) MUST_USE;
/* Whether the text may be asked; at == NULL: none that is known. ERR_DENIED: not, and it was
 * refused; ERR_AGAIN: it depends on the catalog, which was asked. */
enum err pg_filter_mask_check(struct pg_filter *filter, char type, struct slice text,
                              const struct pg_filter_judgement *judgement,
                              struct error *reterr_error) MUST_USE;

#endif
