/* SPDX-License-Identifier: MIT */
/* What was masked, by what and by whom, over some days. */
#include "api/handlers.h"
#include "base/limits.h"
#include "base/timestamp.h"
#include "io/clock.h"
#include "store/session_report.h"

#define REPORT_DAYS 30 /* when nobody says since when */

struct session_report_query {
    struct slice group_by;
    struct slice id;
    struct slice verb;
    struct slice connection_name;
    struct slice user_email;
    struct slice start_date;
    struct slice end_date;
};

static enum err report_check_date(struct slice text, struct error *reterr)
{
    int64_t ignored = 0;
    return text.len == 10 && timestamp_parse(text, &ignored) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "must be a date: YYYY-MM-DD");
}

#define AT(member) .offset = offsetof(struct session_report_query, member)

/* As enum session_report_group. */
static const char *const report_groups[] = {"connection", "connection_type", "id", "user_email",
                                            NULL};
static const char *const report_verbs[] = {"connect", "exec", NULL};

static const struct shape_field session_report_query_fields[] = {
    {.name = "group_by",
     .kind = SHAPE_TEXT,
     AT(group_by),
     .choices = report_groups,
     .about = "what the items are of; connection when it is left out"},
    {.name = "id", .kind = SHAPE_TEXT, AT(id), .max = 36, .about = "of one session"},
    {.name = "verb", .kind = SHAPE_TEXT, AT(verb), .choices = report_verbs},
    {.name = "connection_name", .kind = SHAPE_TEXT, AT(connection_name), .max = 254},
    {.name = "user_email", .kind = SHAPE_TEXT, AT(user_email), .max = 254},
    {.name = "start_date",
     .kind = SHAPE_TEXT,
     AT(start_date),
     .max = 40,
     .check = report_check_date,
     .format = "date",
     .about = "the first day, UTC; 29 days before the last one when it is left out"},
    {.name = "end_date",
     .kind = SHAPE_TEXT,
     AT(end_date),
     .max = 40,
     .check = report_check_date,
     .format = "date",
     .about = "the last day, UTC; today when it is left out; 120 days at most"},
};

const struct shape session_report_query_shape = {.name = "SessionReportQuery",
                                                 .size = sizeof(struct session_report_query),
                                                 SHAPE_FIELDS(session_report_query_fields)};

struct session_report_call {
    struct api_call *call;
    struct session_report_filter filter;
    struct session_report report;
};

static enum err report_read_days(const struct session_report_query *query,
                                 struct session_report_filter *filter, struct error *reterr)
{
    int64_t now = clock_now();
    int64_t last = now - now % TIMESTAMP_DAY;
    enum err err = ERR_NONE;
    if (query->end_date.len > 0) {
        err = timestamp_parse(query->end_date, &last);
    }
    filter->to = last + TIMESTAMP_DAY;
    filter->from = filter->to - REPORT_DAYS * TIMESTAMP_DAY;
    if (err == ERR_NONE && query->start_date.len > 0) {
        err = timestamp_parse(query->start_date, &filter->from);
    }
    if (err != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "a date must be YYYY-MM-DD");
    }
    if (filter->from >= filter->to) {
        return fail(reterr, ERR_INPUT, "'end_date' must not lie before 'start_date'");
    }
    if (filter->to - filter->from > LIMIT_REPORT_DAYS * TIMESTAMP_DAY) {
        return fail(reterr, ERR_INPUT, "'start_date' and 'end_date': no more than %d days",
                    LIMIT_REPORT_DAYS);
    }
    return ERR_NONE;
}

static enum err report_read_query(struct api_call *call, struct session_report_filter *filter,
                                  struct error *reterr)
{
    struct session_report_query query = {0};
    enum err err = api_read_query(call, &session_report_query_shape, &query, reterr);
    *filter = (struct session_report_filter){
        .organization_id = call->caller.organization_id,
        .id = query.id,
        .verb = query.verb,
        .connection_name = query.connection_name,
        .user_email = query.user_email,
    };
    for (size_t i = 0; report_groups[i] != NULL; i++) {
        if (slice_equals(query.group_by, slice_of_text(report_groups[i]))) {
            filter->group = (enum session_report_group)i;
        }
    }
    return err == ERR_NONE ? report_read_days(&query, filter, reterr) : err;
}

static enum err session_report_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct session_report_call *self = context;
    return session_report_make(tx, self->call->arena, &self->filter, &self->report, reterr);
}

enum err session_reports_get(struct api_call *call, struct error *reterr)
{
    struct session_report_call self = {.call = call};
    enum err err = report_read_query(call, &self.filter, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, session_report_body, &self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "items");
    for (size_t i = 0; i < self.report.count; i++) {
        const struct session_report_item *item = &self.report.items[i];
        json_begin_object(&json);
        json_member_text(&json, "resource", item->resource);
        json_member_text(&json, "info_type", item->info_type);
        json_member_int(&json, "redact_total", item->redact_total);
        json_member_int(&json, "transformed_bytes", item->transformed_bytes);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_member_bool(&json, "has_more", self.report.has_more);
    json_member_int(&json, "total_redact_count", self.report.redact_total);
    json_member_int(&json, "total_transformed_bytes", self.report.transformed_bytes);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
