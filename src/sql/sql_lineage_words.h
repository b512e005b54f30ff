/* SPDX-License-Identifier: MIT */
/* For sql_lineage*.c only: words in an expression that are grammar, by what stands around them. */
#ifndef GH_SQL_SQL_LINEAGE_WORDS_H
#define GH_SQL_SQL_LINEAGE_WORDS_H

#include "sql/sql_lineage_internal.h"

/* A word where an operand comes: takes it if it is grammar there. False: it is a name, or one that
 * is reserved and says nothing. */
bool lineage_word_grammar(struct lineage *lineage, struct lineage_frame *frame);
/* A word behind an operand: takes it; what is no grammar that is known is not open. */
void lineage_word_behind(struct lineage *lineage, struct lineage_frame *frame);
/* OPERATOR (schema.name) */
void lineage_take_operator(struct lineage *lineage, struct lineage_frame *frame);

#endif
