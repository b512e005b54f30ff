/* SPDX-License-Identifier: MIT */
#include "store/session_report.h"

#include "base/limits.h"
#include "base/memory.h"
#include "store/rows.h"

/* sum() of integers is no integer everywhere. */
#define TOTALS                                                                                     \
    "CAST(coalesce(sum(m.redact_count), 0) AS BIGINT), "                                           \
    "CAST(coalesce(sum(m.transformed_bytes), 0) AS BIGINT) "
#define CHOSEN                                                                                     \
    "FROM session s JOIN session_masking m ON m.session_id = s.id "                                \
    "WHERE s.organization_id = $1 AND s.started_at >= $2 AND s.started_at < $3 "                   \
    "AND ($4 = '' OR s.id = $4) AND ($5 = '' OR s.verb = $5) "                                     \
    "AND ($6 = '' OR s.connection_name = $6) AND ($7 = '' OR s.user_email = $7) "
#define CHOSEN_PARAMS 7
#define ITEMS(column)                                                                              \
    "SELECT " column ", m.info_type, " TOTALS CHOSEN "GROUP BY " column                            \
    ", m.info_type ORDER BY 3 DESC, 1, 2 LIMIT $8"

static const char *const session_report_items[] = {
    [SESSION_REPORT_CONNECTION] = ITEMS("s.connection_name"),
    [SESSION_REPORT_CONNECTION_TYPE] = ITEMS("s.connection_type"),
    [SESSION_REPORT_ID] = ITEMS("s.id"),
    [SESSION_REPORT_USER] = ITEMS("s.user_email"),
};

static enum err session_report_total(struct store_tx *tx, const struct store_value *values,
                                     struct session_report *report, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, "SELECT " TOTALS CHOSEN,
                                   (struct store_params){values, CHOSEN_PARAMS}, &rows, reterr);
    if (err == ERR_NONE) {
        report->redact_total = store_rows_int(&rows, 0);
        report->transformed_bytes = store_rows_int(&rows, 1);
    }
    return err;
}

enum err session_report_make(struct store_tx *tx, struct arena *arena,
                             const struct session_report_filter *filter,
                             struct session_report *ret_report, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct session_report_item)};
    const struct store_value values[] = {
        store_text(filter->organization_id),
        store_int(filter->from),
        store_int(filter->to),
        store_text(filter->id),
        store_text(filter->verb),
        store_text(filter->connection_name),
        store_text(filter->user_email),
        store_int(LIMIT_REPORT_ITEMS + 1),
    };
    *ret_report = (struct session_report){0};
    enum err err = session_report_total(tx, values, ret_report, reterr);
    if (err == ERR_NONE) {
        err = store_query(tx, session_report_items[filter->group],
                          (struct store_params){values, COUNT_OF(values)}, &rows, reterr);
    }
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct session_report_item *item = rows_list_add(&list);
        *item = (struct session_report_item){
            .resource = rows_text_in(arena, &rows, 0),
            .info_type = rows_text_in(arena, &rows, 1),
            .redact_total = store_rows_int(&rows, 2),
            .transformed_bytes = store_rows_int(&rows, 3),
        };
    }
    ret_report->items = list.items;
    ret_report->has_more = list.count > LIMIT_REPORT_ITEMS;
    ret_report->count = ret_report->has_more ? LIMIT_REPORT_ITEMS : list.count;
    return rows_end(err);
}
