/* SPDX-License-Identifier: MIT */
#include "api/api.h"
#include "api/handlers.h"

/* 200 only when the store answers: a load balancer must not send work to a gateway without one. */
enum err health_get(struct http_call *call, struct error *reterr)
{
    struct error error = {0};
    bool is_well = store_ping(api_of(call)->store, &error) == ERR_NONE;
    struct json_writer json = http_call_json(call, is_well ? 200 : 503);
    json_begin_object(&json);
    json_member_text(&json, "liveness", is_well ? SLICE("OK") : SLICE("ERR"));
    if (!is_well) {
        json_member_text(&json, "message", SLICE("the store does not answer"));
    }
    json_end_object(&json);
    return http_call_json_end(call, &json, reterr);
}
