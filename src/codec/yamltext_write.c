/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/must.h"
#include "base/writer.h"
#include "codec/yamltext.h"

#include <stdio.h>
#include <yaml.h>

#define NUMBER_SIZE 64

/* The emitter's memory; it goes on without a failure, which the end tells. */
struct yamltext_out {
    struct buf *buf;
    yaml_emitter_t emitter;
    bool has_failed;
};

static int yamltext_out_put(void *context, unsigned char *bytes, size_t size)
{
    struct yamltext_out *self = context;
    return buf_append(self->buf, slice_of((const char *)bytes, size)) == ERR_NONE ? 1 : 0;
}

static void yamltext_out_emit(struct yamltext_out *self, yaml_event_t *event, int is_made)
{
    must(is_made == 1);
    if (self->has_failed) {
        yaml_event_delete(event);
    } else {
        self->has_failed = yaml_emitter_emit(&self->emitter, event) != 1;
    }
}

/* What is read as the same text without quotes, beyond doubt. */
static bool yamltext_is_plain(struct slice text)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no",
                                        "on",   "off",  "y",     "n"};
    bool is_plain = text.len > 0 && text.len < 80 &&
                    ((text.at[0] >= 'a' && text.at[0] <= 'z') ||
                     (text.at[0] >= 'A' && text.at[0] <= 'Z') || text.at[0] == '_');
    for (size_t i = 0; i < text.len && is_plain; i++) {
        char at = text.at[i];
        is_plain = (at >= 'a' && at <= 'z') || (at >= 'A' && at <= 'Z') ||
                   (at >= '0' && at <= '9') || at == '_' || at == '-' || at == '.' || at == '/' ||
                   at == '@' || (at == ':' && i + 1 < text.len);
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && is_plain; i++) {
        is_plain = !slice_equals_nocase(text, slice_of_text(words[i]));
    }
    return is_plain;
}

static void yamltext_out_scalar(struct yamltext_out *self, struct slice text, bool is_text)
{
    yaml_event_t event;
    bool is_plain = !is_text || yamltext_is_plain(text);
    bool has_lines = is_text && slice_find_byte(text, '\n') < text.len;
    yaml_scalar_style_t style = is_plain    ? YAML_PLAIN_SCALAR_STYLE
                                : has_lines ? YAML_LITERAL_SCALAR_STYLE
                                            : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    yamltext_out_emit(self, &event,
                      yaml_scalar_event_initialize(&event, NULL, NULL,
                                                   (const unsigned char *)text.at, (int)text.len,
                                                   is_plain ? 1 : 0, 1, style));
}

/* true, false, or a number: with a fraction before its exponent, without which it would be read as
 * a text. */
static void yamltext_out_other(struct yamltext_out *self, struct slice text)
{
    char bytes[NUMBER_SIZE];
    struct slice exponent = SLICE_NONE;
    struct slice digits = slice_cut(text, 'e', &exponent);
    bool is_number = text.len > 0 && text.at[0] != 't' && text.at[0] != 'f'; /* nor a word */
    bool is_bare = digits.len < text.len && slice_find_byte(digits, '.') == digits.len;
    if (is_number && is_bare && text.len + 3 < sizeof(bytes)) {
        (void)snprintf(bytes, sizeof(bytes), "%.*s.0e%.*s", SLICE_ARG(digits), SLICE_ARG(exponent));
        text = slice_of_text(bytes);
    }
    yamltext_out_scalar(self, text, false);
}

static void yamltext_out_value(struct yamltext_out *self, struct json json);

static void yamltext_out_object(struct yamltext_out *self, struct json json)
{
    yaml_event_t event;
    struct slice name;
    struct json value;
    struct json_members members = json_members_of(&json);
    yamltext_out_emit(
        self, &event,
        yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
    while (json_next_member(&members, &name, &value)) {
        yamltext_out_scalar(self, name, true);
        yamltext_out_value(self, value);
    }
    yamltext_out_emit(self, &event, yaml_mapping_end_event_initialize(&event));
}

static void yamltext_out_array(struct yamltext_out *self, struct json json, size_t count)
{
    yaml_event_t event;
    yamltext_out_emit(
        self, &event,
        yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
    for (size_t i = 0; i < count; i++) {
        yamltext_out_value(self, json_item(&json, i));
    }
    yamltext_out_emit(self, &event, yaml_sequence_end_event_initialize(&event));
}

/* As deep as JSON can be. */
static void yamltext_out_value(struct yamltext_out *self, struct json json)
{
    struct slice text;
    size_t count = 0;
    if (!json_is_given(json)) {
        yamltext_out_scalar(self, SLICE("null"), false);
    } else if (json_as_object(json, NULL) == ERR_NONE) {
        yamltext_out_object(self, json);
    } else if (json_as_array(json, &count, NULL) == ERR_NONE) {
        yamltext_out_array(self, json, count);
    } else if (json_as_text(json, &text, NULL) == ERR_NONE) {
        yamltext_out_scalar(self, text, true);
    } else {
        yamltext_out_other(self, json_as_written(json));
    }
}

enum err yamltext_write(struct json json, struct buf *buf)
{
    struct yamltext_out self = {.buf = buf};
    yaml_event_t event;
    must(yaml_emitter_initialize(&self.emitter) == 1);
    yaml_emitter_set_output(&self.emitter, yamltext_out_put, &self);
    yaml_emitter_set_unicode(&self.emitter, 1);
    yaml_emitter_set_width(&self.emitter, -1);
    yamltext_out_emit(&self, &event,
                      yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
    yamltext_out_emit(&self, &event,
                      yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 0));
    yamltext_out_value(&self, json);
    yamltext_out_emit(&self, &event, yaml_document_end_event_initialize(&event, 1));
    yamltext_out_emit(&self, &event, yaml_stream_end_event_initialize(&event));
    yaml_emitter_delete(&self.emitter);
    return self.has_failed ? ERR_LIMIT : ERR_NONE;
}
