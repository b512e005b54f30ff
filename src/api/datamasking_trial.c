/* SPDX-License-Identifier: MIT */
/* What a masking rule, stored or not, would make of values that are sent along: as rows of texts,
 * each beside the name of its column. Nothing is stored, and hashes are of a key that is nobody's:
 * they are not those of results. */
#include "api/handlers.h"
#include "base/limits.h"
#include "model/masking_rule.h"
#include "policy/mask.h"

struct masking_sample {
    struct slice column;
    struct slice value;
};

struct masking_trial_request {
    struct masking_rule *rule;
    struct shape_objects samples; /* of struct masking_sample */
};

static const struct shape_field masking_sample_fields[] = {
    {.name = "column",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct masking_sample, column),
     .max = LIMIT_TRIAL_NAME_LENGTH,
     .about = "schema.table.column, table.column or column; what is found may depend on it"},
    {.name = "value",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct masking_sample, value),
     .max = LIMIT_TRIAL_TEXT_LENGTH},
};

static const struct shape masking_sample_shape = {.name = "DataMaskingSample",
                                                  .size = sizeof(struct masking_sample),
                                                  SHAPE_FIELDS(masking_sample_fields)};

static const struct shape_field masking_trial_fields[] = {
    {.name = "rule",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct masking_trial_request, rule),
     .object = &masking_rule_shape,
     .about = "as it would be saved"},
    {.name = "samples",
     .kind = SHAPE_OBJECTS,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct masking_trial_request, samples),
     .max = LIMIT_TRIAL_SAMPLES,
     .object = &masking_sample_shape,
     .about = "values as text, each in the form that clients would get it in"},
};

const struct shape masking_trial_shape = {.name = "DataMaskingTrial",
                                          .size = sizeof(struct masking_trial_request),
                                          SHAPE_FIELDS(masking_trial_fields)};

/* "schema.table.column", from the right as far as it goes. */
static struct mask_origin masking_trial_origin(struct slice name)
{
    struct slice parts[3] = {{0}};
    size_t count = 0;
    struct slice rest = name;
    while (rest.at != NULL && count < 3) {
        parts[count++] = slice_cut(rest, '.', &rest);
    }
    struct mask_origin origin = {0};
    origin.column = count > 0 ? parts[count - 1] : name;
    if (count > 1) {
        origin.table = parts[count - 2];
    }
    if (count > 2) {
        origin.schema = parts[0];
    }
    return origin;
}

static const char *masking_trial_outcome(enum mask_outcome outcome)
{
    switch (outcome) {
    case MASK_SAME:
        return "same";
    case MASK_CHANGED:
        return "changed";
    case MASK_NULL:
        return "null";
    case MASK_REFUSED:
        return "refused";
    }
    return "refused";
}

struct masking_trial {
    struct mask_rules *rules;
    struct mask_scratch *scratch;
};

/* The types that are in 'counts', each once. */
static void masking_trial_write_found(const struct mask_counts *counts, struct json_writer *json)
{
    json_member_array(json, "found");
    for (int i = 0; i < DETECT_TYPE_COUNT; i++) {
        if (counts->by_type[i] > 0) {
            json_text(json, slice_of_text(detect_type_word((enum detect_type)i)));
        }
    }
    if (counts->custom > 0) {
        json_text(json, SLICE("CUSTOM"));
    }
    if (counts->columns > 0) {
        json_text(json, SLICE("COLUMN"));
    }
    if (counts->errors > 0) {
        json_text(json, SLICE("UNEXAMINED"));
    }
    json_end_array(json);
}

static void masking_trial_try(const struct masking_trial *self, const struct masking_sample *sample,
                              struct json_writer *json)
{
    struct mask_origin origin = masking_trial_origin(sample->column);
    struct mask_plan plan = mask_plan_of(self->rules, &origin, origin.column);
    struct mask_counts counts = {0};
    struct buf masked CLEANUP(buf_release);
    buf_init(&masked, LIMIT_MASK_VALUE_SIZE);
    enum mask_outcome outcome =
        mask_text(self->rules, &plan, self->scratch, sample->value, &masked, &counts);
    json_begin_object(json);
    json_member_text(json, "outcome", slice_of_text(masking_trial_outcome(outcome)));
    json_key(json, "value");
    if (outcome == MASK_SAME) {
        json_text(json, sample->value);
    } else if (outcome == MASK_CHANGED) {
        json_text(json, buf_view(&masked));
    } else {
        json_no_value(json);
    }
    masking_trial_write_found(&counts, json);
    json_end_object(json);
}

/* "'columns…" of the rule becomes "'rule.columns…". */
static enum err masking_trial_compile(const struct masking_rule *rule,
                                      struct mask_rules **ret_rules, struct error *reterr)
{
    static const char no_key[MASK_KEY_SIZE];
    struct error reason = {0};
    enum err err = masking_rule_check(rule, &reason);
    if (err == ERR_NONE) {
        err = mask_rules_check(rule, &reason);
    }
    if (err == ERR_NONE) {
        err = mask_rules_new(rule, 1, slice_of(no_key, sizeof(no_key)), ret_rules, &reason);
    }
    if (err == ERR_NONE) {
        return ERR_NONE;
    }
    bool has_name = reason.message[0] == '\'';
    return fail(reterr, err, "%s%s", has_name ? "'rule." : "",
                has_name ? reason.message + 1 : reason.message);
}

static enum err masking_trial_audit(struct api_call *call,
                                    const struct masking_trial_request *wanted,
                                    struct error *reterr)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", wanted->rule->name);
    json_member_int(&text.json, "samples", (int64_t)wanted->samples.count);
    json_end_object(&text.json);
    return api_audit_alone(call, "test", 200, api_text_end_in(call->arena, &text), reterr);
}

enum err datamasking_rules_test(struct api_call *call, struct error *reterr)
{
    struct masking_trial_request wanted = {0};
    struct masking_trial self = {0};
    enum err err = api_read_body(call, SHAPE_WHOLE, &masking_trial_shape, &wanted, reterr);
    if (err == ERR_NONE) {
        err = masking_trial_compile(wanted.rule, &self.rules, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self.scratch = mask_scratch_new();
    const struct masking_sample *samples = wanted.samples.items;
    err = masking_trial_audit(call, &wanted, reterr);
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "samples");
    for (size_t i = 0; i < wanted.samples.count; i++) {
        masking_trial_try(&self, &samples[i], &json);
    }
    json_end_array(&json);
    json_end_object(&json);
    mask_scratch_free(self.scratch);
    mask_rules_unref(self.rules);
    return err == ERR_NONE ? api_answer_end(call, &json, reterr) : err;
}
