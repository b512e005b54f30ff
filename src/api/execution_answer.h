/* SPDX-License-Identifier: MIT */
/* What came of a script, as text and as JSON. */
#ifndef GH_API_EXECUTION_ANSWER_H
#define GH_API_EXECUTION_ANSWER_H

#include "codec/json_writer.h"
#include "gate/execution.h"

struct slice execution_text_in(struct arena *arena, const struct execution_result *result);
/* What a target says may be in any encoding: bytes that are no UTF-8 are shown escaped. */
void execution_write_bytes(struct json_writer *json, struct arena *arena, struct slice bytes);
void execution_write_statement(struct json_writer *json, struct arena *arena,
                               const struct execution_statement *statement);

#endif
