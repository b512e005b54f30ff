/* SPDX-License-Identifier: MIT */
/* Sessions and what is kept of them: recordings, saved queries, reports, the audit log. */
#include "api/routes_internal.h"

#include "api/handlers.h"
#include "base/limits.h"
#include "base/memory.h"
#include "model/execution.h"
#include "model/review.h"
#include "model/saved_query.h"
#include "model/session.h"

static const struct api_route routes[] = {
    {"GET", "/api/sessions", API_MEMBER, 0, sessions_list, "sessions",
     "List sessions, the newest first", .query = &session_query_shape, .status = 200,
     .answer = API_OBJECT},
    {"POST", "/api/sessions", API_MEMBER, .handler = sessions_post, .noun = "sessions",
     .summary = "Execute a script on a connection; 202: it goes on, and /result tells the rest",
     .body_size_max = LIMIT_EXECUTION_BODY_SIZE, .query = &execution_query_shape,
     .body = &execution_ask_shape, OBJECT, .may_go_on = true, .errors = {404, 409, 413, 429}},
    {"POST", "/api/sessions/{id}/exec", API_MEMBER, .handler = sessions_exec, .noun = "sessions",
     .summary = "Run a script that others have approved, once; 202: it goes on",
     .query = &execution_query_shape, OBJECT, .may_go_on = true, .errors = {400, 404, 409, 429}},
    {"PUT", "/api/sessions/{id}/review", API_MEMBER, .handler = reviews_put, .noun = "reviews",
     .summary = "Decide on the review of a session", SMALL_BODY, .body = &review_request_shape,
     REVIEW, .errors = {404, 409}},
    {"GET", "/api/sessions/{id}/pages/{page}", API_MEMBER, 0, sessions_get_page, "sessions",
     "A page of what a script returns, which goes on for it; 202: it is not there yet", OBJECT,
     .may_go_on = true, .errors = {404}},
    {"GET", "/api/sessions/{id}/result", API_MEMBER, 0, sessions_get_result, "sessions",
     "What the client of a session got, as it is on record, until it is over",
     .query = &result_query_shape, .status = 200, .answer = API_TEXT, .errors = {404, 429}},
    {"GET", "/api/sessions/{id}", API_MEMBER, 0, sessions_get, "sessions", "Get a session",
     .query = &session_get_shape, .status = 200, .answer = API_ONE, .shape = &session_shape,
     .errors = {404, 429}},
    {"POST", "/api/sessions/{id}/kill", API_MEMBER, 0, sessions_kill, "sessions",
     "End a session, on whichever gateway it is: one's own, or anybody's for an admin",
     .status = 204, .answer = API_NOTHING, .errors = {404, 409}},
    {"PATCH", "/api/sessions/{id}/metadata", API_MEMBER, .handler = sessions_patch_metadata,
     .noun = "sessions", .summary = "Say something else about a session of one's own", SMALL_BODY,
     .body = &session_metadata_shape, .status = 204, .answer = API_NOTHING, .errors = {404}},
    {"GET", "/api/sessions/{id}/stream", API_MEMBER, 0, sessions_stream, "sessions",
     "What is on record of a session, and what comes, as server-sent events", .status = 200,
     .answer = API_TEXT, .errors = {404, 429}},
    {"GET", "/api/sessions/{id}/download", API_MEMBER, 0, sessions_download, "sessions",
     "The recording of a session as a file", .query = &session_download_shape, .status = 200,
     .answer = API_TEXT, .is_long = true, .errors = {404, 429}},
    {"GET", "/api/sessions/{id}/verify", API_MEMBER, 0, sessions_verify, "sessions",
     "Is the recording of a session what was written", OBJECT, .is_long = true,
     .errors = {404, 429}},

    {"GET", "/api/saved-queries", API_MEMBER, 0, saved_queries_list, "saved_queries",
     "List one's own saved queries, and those that are shared on connections that one may use",
     .query = &saved_query_query_shape, .status = 200, .answer = API_PAGE,
     .shape = &saved_query_shape},
    {"POST", "/api/saved-queries", API_MEMBER, .handler = saved_queries_post,
     .noun = "saved_queries", .summary = "Save a query, for oneself or for all of its connection",
     BODY, .body = &saved_query_shape, .status = 201, .answer = API_ONE,
     .shape = &saved_query_shape, .errors = {404, 409}},
    {"GET", "/api/saved-queries/{id}", API_MEMBER, 0, saved_queries_get, "saved_queries",
     "Get a saved query", .status = 200, .answer = API_ONE, .shape = &saved_query_shape,
     .errors = {404}},
    {"PUT", "/api/saved-queries/{id}", API_MEMBER, .handler = saved_queries_put,
     .noun = "saved_queries",
     .summary = "Replace a saved query: one's own, or a shared one for an admin", BODY,
     .body = &saved_query_shape, .status = 200, .answer = API_ONE, .shape = &saved_query_shape,
     .errors = {404, 409}},
    {"DELETE", "/api/saved-queries/{id}", API_MEMBER, 0, saved_queries_delete, "saved_queries",
     "Delete a saved query: one's own, or a shared one for an admin", .status = 204,
     .answer = API_NOTHING, .errors = {404}},

    {"GET", "/api/reports/sessions", API_READER, 0, session_reports_get, "reports",
     "What was masked in sessions that have ended, added up", .query = &session_report_query_shape,
     OBJECT},

    {"GET", "/api/audit/logs", API_READER, 0, audit_logs_list, "audit", "Read the audit log",
     .query = &audit_query_shape, .status = 200, .answer = API_PAGE, .shape = &audit_entry_shape},
    {"GET", "/api/audit/logs/export", API_READER, 0, audit_logs_export, "audit",
     "The whole audit log as JSON lines", .status = 200, .answer = API_TEXT},
    {"GET", "/api/audit/logs/verify", API_READER, 0, audit_logs_verify, "audit",
     "Is the chain of the audit log whole: a part of it, then from 'next' on",
     .query = &audit_verify_query_shape, OBJECT, .is_slow = true},
};

const struct api_route_table api_sessions_routes = {routes, COUNT_OF(routes)};
