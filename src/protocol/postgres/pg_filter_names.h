/* SPDX-License-Identifier: MIT */
/* Guard rails: what prepared statements and portals stand for. */
#ifndef GH_POSTGRES_PG_FILTER_NAMES_H
#define GH_POSTGRES_PG_FILTER_NAMES_H

#include "protocol/postgres/pg_filter_internal.h"

struct pg_filter_judgement;

struct pg_filter_statement *pg_filter_statement_new(struct pg_filter *filter,
                                                    const struct pg_filter_text *text);
struct pg_filter_statement *pg_filter_statement_ref(struct pg_filter_statement *statement);
void pg_filter_statement_unref(struct pg_filter *filter, struct pg_filter_statement *statement);
/* So many texts are kept that there is no room for this one. */
bool pg_filter_is_full(const struct pg_filter *filter, size_t text_size);
void pg_filter_change_add(struct pg_filter *filter, struct pg_filter_request *request,
                          enum pg_filter_definition kind, struct slice name,
                          struct pg_filter_statement *take_statement);
/* All names of the kind. */
void pg_filter_forget(struct pg_filter *filter, enum pg_filter_definition kind);
/* The first change of the request holds. */
void pg_filter_change_apply(struct pg_filter *filter, struct pg_filter_request *request);
void pg_filter_changes_drop(struct pg_filter *filter, struct pg_filter_request *request);
/* What a name stands for when the server comes to what is sent next; NULL: nothing that is known.
 * False: it depends on what is owed for earlier batches. */
bool pg_filter_find(struct pg_filter *filter, enum pg_filter_definition kind, struct slice name,
                    struct pg_filter_statement **ret_statement);
/* What a name will mean to the server has to be known. ERR_DENIED: it is not, and the message was
 * refused; ERR_AGAIN: when what is owed was answered. */
enum err pg_filter_check_name(struct pg_filter *filter, char type, struct slice name,
                              struct error *reterr_error) MUST_USE;
/* Likewise what runs by a name, where that name may be a lost one: what it stands for may need a
 * review, which rules of texts ask for when it is prepared. */
enum err pg_filter_check_lost(struct pg_filter *filter, char type,
                              struct error *reterr_error) MUST_USE;
/* Likewise all that its PREPARE, EXECUTE and DEALLOCATE name. */
enum err pg_filter_check_script_names(struct pg_filter *filter, char type,
                                      const struct pg_filter_judgement *judgement,
                                      struct error *reterr_error) MUST_USE;
void pg_filter_names_init(struct pg_filter *filter);
void pg_filter_names_release(struct pg_filter *filter);
/* Nothing that a name stands for is known any more, nor what was to be defined. */
void pg_filter_lose_names(struct pg_filter *filter);

#endif
