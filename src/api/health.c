/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

/* 200 only when the store answers: a load balancer must not send work to a gateway without one. */
enum err health_get(struct api_call *call, struct error *reterr)
{
    struct error error = {0};
    bool is_well = store_ping(call->api->store, &error) == ERR_NONE;
    struct json_writer json = api_answer(call, is_well ? 200 : 503);
    json_begin_object(&json);
    json_member_text(&json, "liveness", is_well ? SLICE("OK") : SLICE("ERR"));
    if (!is_well) {
        json_member_text(&json, "message", SLICE("the store does not answer"));
    }
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
