/* SPDX-License-Identifier: MIT */
/* Reviews: those that one asked for, or has a say in; for admins and auditors all. */
#include "api/handlers.h"
#include "api/review_answer.h"
#include "api/review_look.h"
#include "base/timestamp.h"
#include "io/clock.h"
#include "store/opening_link.h"
#include "store/row_id.h"

struct review_query {
    struct api_page page;
    struct shape_bool mine;
    struct shape_bool to_decide;
    struct shape_bool emergency;
    struct slice status;
    struct slice connection;
    struct slice requester;
    struct slice start_date;
    struct slice end_date;
};

static enum err review_check_time(struct slice text, struct error *reterr)
{
    int64_t timestamp = 0;
    return timestamp_parse(text, &timestamp) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "must be a date, or a time as in RFC 3339");
}

#define WORD(state, word) word,
static const char *const review_words[] = {REVIEW_STATES(WORD) NULL};
#undef WORD

#define AT(member) .offset = offsetof(struct review_query, member)

static const struct shape_field review_query_fields[] = {
    API_PAGE_FIELDS(struct review_query, page),
    {.name = "mine", .kind = SHAPE_BOOL, AT(mine), .about = "those that one asked for oneself"},
    {.name = "to_decide",
     .kind = SHAPE_BOOL,
     AT(to_decide),
     .about = "pending ones that one has a say in, and has not decided"},
    {.name = "emergency", .kind = SHAPE_BOOL, AT(emergency), .about = "those that somebody forced"},
    {.name = "status", .kind = SHAPE_TEXT, AT(status), .choices = review_words},
    {.name = "connection",
     .kind = SHAPE_TEXT,
     AT(connection),
     .max = 254,
     .about = "the connection's name or id"},
    {.name = "requester",
     .kind = SHAPE_TEXT,
     AT(requester),
     .max = 254,
     .about = "the id or address of who asked"},
    {.name = "start_date",
     .kind = SHAPE_TEXT,
     AT(start_date),
     .max = 40,
     .check = review_check_time,
     .format = "date-time",
     .about = "not asked for before this time"},
    {.name = "end_date",
     .kind = SHAPE_TEXT,
     AT(end_date),
     .max = 40,
     .check = review_check_time,
     .format = "date-time",
     .about = "not asked for after this time"},
};

const struct shape review_query_shape = {
    .name = "ReviewQuery", .size = sizeof(struct review_query), SHAPE_FIELDS(review_query_fields)};

/* A list ----------------------------------------------------------------------------------------
 */

struct reviews_listing {
    struct api_call *call;
    struct review_filter filter;
    struct review_view *views;
    size_t count;
    int64_t total;
};

static enum err reviews_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct reviews_listing *self = context;
    struct review_list list = {0};
    enum err err = review_store_list(tx, self->call->arena, &self->filter, &list, reterr);
    self->views = arena_alloc_array(self->call->arena, list.count + 1, sizeof(*self->views));
    self->count = list.count;
    self->total = list.total;
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        self->views[i].review = list.reviews[i];
        err = review_view_load(self->call, tx, false, &self->views[i], reterr);
    }
    return err;
}

enum err reviews_list(struct api_call *call, struct error *reterr)
{
    struct review_query query = {0};
    struct reviews_listing self = {.call = call};
    enum err err = api_read_query(call, &review_query_shape, &query, reterr);
    self.filter = (struct review_filter){
        .organization_id = call->caller.organization_id,
        .member_id = call->caller.id,
        .sees_all = caller_reads_all(&call->caller),
        .is_mine = query.mine.value,
        .is_to_decide = query.to_decide.value,
        .is_emergency = query.emergency.value,
        .state = query.status,
        .connection = query.connection,
        .requester = query.requester,
        .now = clock_now(),
        .limit = api_page_limit(&query.page),
        .offset = api_page_offset(&query.page),
    };
    if (err == ERR_NONE && query.start_date.len > 0) {
        err = timestamp_parse(query.start_date, &self.filter.start_date);
    }
    if (err == ERR_NONE && query.end_date.len > 0) {
        err = timestamp_parse(query.end_date, &self.filter.end_date);
    }
    if (err == ERR_NONE) {
        err = store_read(call->api->store, reviews_list_body, &self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < self.count; i++) {
        review_view_write(call, &self.views[i], &json);
    }
    json_end_array(&json);
    api_write_pages(&json, &query.page, self.total);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

/* One -------------------------------------------------------------------------------------------
 */

struct review_call {
    struct api_call *call;
    struct review_view view;
    struct review_comment_request wanted;
};

/* What one does not see is not there. */
static enum err review_call_find(struct review_call *self, struct store_tx *tx,
                                 struct error *reterr)
{
    struct api_call *call = self->call;
    bool sees = false;
    const struct review_key key = {.organization_id = call->caller.organization_id,
                                   .id = call->request->values[0],
                                   .now = clock_now()};
    enum err err = review_store_find(tx, call->arena, &key, &self->view.review, reterr);
    if (err == ERR_NONE) {
        err = review_store_sees(tx, &self->view.review, &call->caller, &sees, reterr);
    }
    return err == ERR_NONE && !sees
               ? fail(reterr, ERR_NOT_FOUND, "there is no review '%.*s'", SLICE_ARG(key.id))
               : err;
}

static enum err review_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct review_call *self = context;
    enum err err = review_call_find(self, tx, reterr);
    return err == ERR_NONE ? review_view_load(self->call, tx, true, &self->view, reterr) : err;
}

static enum err review_call_answer(struct review_call *self, int status, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, status);
    review_view_write(self->call, &self->view, &json);
    return api_answer_end(self->call, &json, reterr);
}

enum err reviews_get(struct api_call *call, struct error *reterr)
{
    struct review_call self = {.call = call};
    enum err err = store_read(call->api->store, review_get_body, &self, reterr);
    return err == ERR_NONE ? review_call_answer(&self, 200, reterr) : err;
}

/* All of it: what is shown with the review is cut. */
enum err reviews_get_script(struct api_call *call, struct error *reterr)
{
    struct review_call self = {.call = call};
    enum err err = store_read(call->api->store, review_get_body, &self, reterr);
    if (err == ERR_NONE && self.view.review.whole_size > 0) {
        return fail(reterr, ERR_NOT_FOUND,
                    "only the start of the script is kept, %d days after it ended without a run: "
                    "it is shown with the review, and the hash of all of it",
                    LIMIT_REVIEW_WHOLE_DAYS);
    }
    if (err == ERR_NONE) {
        call->response->status = 200;
        call->response->content_type = SLICE("text/plain; charset=utf-8");
        err = buf_append(&call->response->buf, self.view.secret.script);
    }
    return err;
}

static enum err review_comment_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct review_call *self = context;
    struct api_call *call = self->call;
    enum err err = review_call_find(self, tx, reterr);
    const struct review_comment comment = {
        .id = row_id_new(call->arena),
        .member_id = call->caller.id,
        .member_email = call->caller.email,
        .member_name = call->caller.name,
        .body = self->wanted.comment,
        .created_at = clock_now(),
    };
    if (err == ERR_NONE) {
        err = review_store_comment(tx, self->view.review.id, &comment, reterr);
    }
    if (err == ERR_NONE) {
        err = review_view_load(call, tx, true, &self->view, reterr);
    }
    return err == ERR_NONE ? api_audit(call, tx, "comment", 201,
                                       review_payload_in(call->arena, &self->view.review), reterr)
                           : err;
}

struct review_opening_call {
    struct review_call review;
    struct review_opening wanted;
};

/* Whoever does not see the review uses up no link to it. */
static enum err review_open_link_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct review_opening_call *self = context;
    struct api_call *call = self->review.call;
    enum err err = review_call_find(&self->review, tx, reterr);
    const struct opening_link_use use = {
        .organization_id = call->caller.organization_id,
        .review_id = self->review.view.review.id,
        .text = self->wanted.link,
        .member_email = call->caller.email.len > 0 ? call->caller.email : call->caller.name,
        .now = clock_now(),
    };
    if (err == ERR_NONE && call->caller.is_key) {
        err = fail(reterr, ERR_DENIED, "links in messages are for people who have signed in");
    }
    if (err == ERR_NONE) {
        err = opening_link_open(tx, call->arena, &use, reterr);
    }
    if (err == ERR_NONE) {
        err = review_view_load(call, tx, true, &self->review.view, reterr);
    }
    return err == ERR_NONE
               ? api_audit(call, tx, "open_link", 200,
                           review_payload_in(call->arena, &self->review.view.review), reterr)
               : err;
}

enum err reviews_open_link(struct api_call *call, struct error *reterr)
{
    struct review_opening_call self = {.review = {.call = call}};
    enum err err = api_read_body(call, SHAPE_WHOLE, &review_opening_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, review_open_link_body, &self, reterr);
    }
    return err == ERR_NONE ? review_call_answer(&self.review, 200, reterr) : err;
}

enum err reviews_comment(struct api_call *call, struct error *reterr)
{
    struct review_call self = {.call = call};
    enum err err =
        api_read_body(call, SHAPE_WHOLE, &review_comment_request_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, review_comment_body, &self, reterr);
    }
    return err == ERR_NONE ? review_call_answer(&self, 201, reterr) : err;
}
