/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_refusal.h"

#include "base/limits.h"
#include "base/text.h"
#include "wire/pgwire_answer.h"

#define TEXT_SIZE 200 /* of the server's words in a message of ours */

struct slice pg_refusal_sqlstate(struct slice fields)
{
    struct slice state = pgwire_notice_find(fields, PGWIRE_FIELD_SQLSTATE);
    bool is_valid = state.len == PG_SQLSTATE_SIZE;
    for (size_t i = 0; i < state.len; i++) {
        bool is_digit = state.at[i] >= '0' && state.at[i] <= '9';
        is_valid = is_valid && (is_digit || (state.at[i] >= 'A' && state.at[i] <= 'Z'));
    }
    return is_valid ? state : SLICE("XX000"); /* internal_error */
}

enum err pg_refusal_tell(const char *what, struct slice fields, struct error *reterr)
{
    struct buf text;
    buf_init(&text, LIMIT_KIB(2));
    struct writer writer = writer_to(&text);
    text_show(&writer, slice_sub(pgwire_notice_find(fields, PGWIRE_FIELD_MESSAGE), 0, TEXT_SIZE));
    enum err err = fail(reterr, ERR_DENIED, "%s: %.*s (%.*s)", what, SLICE_ARG(buf_view(&text)),
                        SLICE_ARG(pg_refusal_sqlstate(fields)));
    buf_release(&text);
    return err;
}
