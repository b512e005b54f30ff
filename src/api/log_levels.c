/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "io/log.h"

struct log_levels_request {
    struct slice levels;
};

static const struct shape_field log_levels_fields[] = {
    {.name = "levels",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct log_levels_request, levels)},
};

const struct shape log_levels_shape = {.name = "LogLevels",
                                       .size = sizeof(struct log_levels_request),
                                       SHAPE_FIELDS(log_levels_fields)};

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
    struct log_levels_request wanted = {0};
    enum err err = api_read_body(call, SHAPE_WHOLE, &log_levels_shape, &wanted, reterr);
    if (err == ERR_NONE) {
        err = log_set_levels(wanted.levels, reterr);
    }
    return err == ERR_NONE ? log_levels_get(call, reterr) : err;
}
