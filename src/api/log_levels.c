/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "codec/json.h"
#include "io/log.h"

enum err log_levels_get(struct api_call *call, struct error *reterr)
{
    char text[LOG_LEVELS_SIZE];
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "levels", log_levels(text, sizeof(text)));
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

enum err log_levels_put(struct api_call *call, struct error *reterr)
{
    struct json body;
    struct slice levels = SLICE_NONE;
    enum err err = json_parse_in(call->arena, call->request->body, &body, reterr);
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&body, "levels"), &levels, reterr);
    }
    if (err == ERR_NONE) {
        err = log_set_levels(levels, reterr);
    }
    return err == ERR_NONE ? log_levels_get(call, reterr) : err;
}
