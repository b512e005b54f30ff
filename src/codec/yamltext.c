/* SPDX-License-Identifier: MIT */
#include "codec/yamltext.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/json_writer.h"

#include <yaml.h>

/* A collection that is open. */
struct yamltext_level {
    struct slice path; /* its own */
    struct slice key;  /* of the value that comes; at == NULL: a key comes */
    bool is_mapping;
    size_t count;       /* of items so far */
    size_t first_place; /* its members' places begin here */
};

struct yamltext_reader {
    struct arena *arena;
    yaml_parser_t parser;
    struct buf buf;
    struct json_writer json;
    struct yamltext_level levels[LIMIT_YAML_DEPTH];
    size_t depth;
    struct yamltext_place *places;
    size_t place_count;
    size_t place_capacity;
    bool is_started; /* a value of the document was there */
    size_t first_line;
    size_t line;
    struct yamltext_documents found;
    size_t found_capacity;
};

/* Places --------------------------------------------------------------------------------------- */

static enum err yamltext_keep_place(struct yamltext_reader *self, struct slice path,
                                    struct error *reterr)
{
    if (self->place_count == LIMIT_YAML_VALUES) {
        return fail(reterr, ERR_LIMIT, "the document has more than %d values", LIMIT_YAML_VALUES);
    }
    if (self->place_count == self->place_capacity) {
        size_t capacity = self->place_capacity == 0 ? 64 : self->place_capacity * 2;
        struct yamltext_place *places = arena_alloc_array(self->arena, capacity, sizeof(*places));
        for (size_t i = 0; i < self->place_count; i++) {
            places[i] = self->places[i];
        }
        self->places = places;
        self->place_capacity = capacity;
    }
    self->places[self->place_count++] = (struct yamltext_place){.path = path, .line = self->line};
    return ERR_NONE;
}

static struct slice yamltext_path_in(struct yamltext_reader *self)
{
    if (self->depth == 0) {
        return SLICE("");
    }
    const struct yamltext_level *level = &self->levels[self->depth - 1];
    if (!level->is_mapping) {
        return arena_format(self->arena, "%.*s[%zu]", SLICE_ARG(level->path), level->count);
    }
    return level->path.len == 0 ? level->key
                                : arena_format(self->arena, "%.*s.%.*s", SLICE_ARG(level->path),
                                               SLICE_ARG(level->key));
}

/* Before each value: where it stands. */
static enum err yamltext_begin_value(struct yamltext_reader *self, struct slice *ret_path,
                                     struct error *reterr)
{
    *ret_path = yamltext_path_in(self);
    if (!self->is_started) {
        self->is_started = true;
        self->first_line = self->line;
    }
    return yamltext_keep_place(self, *ret_path, reterr);
}

static void yamltext_end_value(struct yamltext_reader *self)
{
    if (self->depth > 0) {
        struct yamltext_level *level = &self->levels[self->depth - 1];
        level->count++;
        level->key = SLICE_NONE;
    }
}

/* Scalars -------------------------------------------------------------------------------------- */

static bool yamltext_is_one_of(struct slice text, const char *const *words)
{
    bool is_one = false;
    for (; *words != NULL; words++) {
        is_one = is_one || slice_equals(text, slice_of_text(*words));
    }
    return is_one;
}

static const char *const yamltext_nulls[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const yamltext_trues[] = {"true", "True", "TRUE", NULL};
static const char *const yamltext_falses[] = {"false", "False", "FALSE", NULL};

static size_t yamltext_digits(struct slice text, size_t at)
{
    size_t end = at;
    while (end < text.len && text.at[end] >= '0' && text.at[end] <= '9') {
        end++;
    }
    return end - at;
}

/* Less than 10 to the power of 300, which a number of JSON can be. */
static bool yamltext_is_exponent(struct slice text, size_t digits_before)
{
    uint64_t exponent = 0;
    bool is_negative = text.len > 0 && text.at[0] == '-';
    bool has_sign = is_negative || (text.len > 0 && text.at[0] == '+');
    struct slice digits = slice_from(text, has_sign ? 1 : 0);
    return digits.len <= 3 && text_parse_u64(digits, &exponent) == ERR_NONE &&
           (is_negative || digits_before + exponent <= 300);
}

/* As JSON writes them, and an exponent behind a fraction alone: '1e3' is somebody's name. YAML's
 * other forms ('+1', '.5', '0x1f') are texts, too. */
static bool yamltext_is_number(struct slice text)
{
    size_t at = text.len > 0 && text.at[0] == '-' ? 1 : 0;
    size_t before = yamltext_digits(text, at);
    if (before == 0 || before > 18 || (before > 1 && text.at[at] == '0')) {
        return false;
    }
    at += before;
    bool has_fraction = at < text.len && text.at[at] == '.';
    if (has_fraction) {
        size_t digits = yamltext_digits(text, at + 1);
        at += 1 + digits;
        if (digits == 0 || digits > 18) {
            return false;
        }
    }
    bool has_exponent = has_fraction && at < text.len && (text.at[at] | 0x20) == 'e';
    return has_exponent ? yamltext_is_exponent(slice_from(text, at + 1), before) : at == text.len;
}

static void yamltext_put_plain(struct yamltext_reader *self, struct slice text)
{
    if (yamltext_is_one_of(text, yamltext_nulls)) {
        json_no_value(&self->json);
    } else if (yamltext_is_one_of(text, yamltext_trues) ||
               yamltext_is_one_of(text, yamltext_falses)) {
        json_bool(&self->json, yamltext_is_one_of(text, yamltext_trues));
    } else if (yamltext_is_number(text)) {
        json_raw(&self->json, text);
    } else {
        json_text(&self->json, text);
    }
}

static enum err yamltext_take_key(struct yamltext_reader *self, struct slice key,
                                  struct error *reterr)
{
    struct yamltext_level *level = &self->levels[self->depth - 1];
    if (key.len == 0 || slice_find_byte(key, '\0') < key.len) {
        return fail(reterr, ERR_INPUT, "a key must be a text, and not empty");
    }
    level->key = arena_copy(self->arena, key);
    struct slice path = yamltext_path_in(self);
    for (size_t i = level->first_place; i < self->place_count; i++) {
        if (slice_equals(self->places[i].path, path)) {
            return fail(reterr, ERR_INPUT, "a key is there twice, at first in line %zu",
                        self->places[i].line);
        }
    }
    json_key_text(&self->json, level->key);
    return ERR_NONE;
}

static enum err yamltext_take_scalar(struct yamltext_reader *self, const yaml_event_t *event,
                                     struct error *reterr)
{
    struct slice text = slice_of((const char *)event->data.scalar.value, event->data.scalar.length);
    struct yamltext_level *level = self->depth == 0 ? NULL : &self->levels[self->depth - 1];
    struct slice path;
    if (event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL) {
        return fail(reterr, ERR_INPUT, "anchors, aliases and tags are not taken");
    }
    if (level != NULL && level->is_mapping && level->key.at == NULL) {
        return yamltext_take_key(self, text, reterr);
    }
    if (slice_find_byte(text, '\0') < text.len) {
        return fail(reterr, ERR_INPUT, "a text has a character U+0000");
    }
    enum err err = yamltext_begin_value(self, &path, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        yamltext_put_plain(self, text);
    } else {
        json_text(&self->json, text);
    }
    yamltext_end_value(self);
    return ERR_NONE;
}

/* Collections ---------------------------------------------------------------------------------- */

static enum err yamltext_open(struct yamltext_reader *self, bool is_mapping, bool is_marked,
                              struct error *reterr)
{
    struct slice path;
    if (is_marked) {
        return fail(reterr, ERR_INPUT, "anchors, aliases and tags are not taken");
    }
    if (self->depth > 0 && self->levels[self->depth - 1].is_mapping &&
        self->levels[self->depth - 1].key.at == NULL) {
        return fail(reterr, ERR_INPUT, "a key must be a text, and not empty");
    }
    if (self->depth == LIMIT_YAML_DEPTH) {
        return fail(reterr, ERR_LIMIT, "values are more than %d deep", LIMIT_YAML_DEPTH);
    }
    enum err err = yamltext_begin_value(self, &path, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    self->levels[self->depth++] = (struct yamltext_level){.path = path,
                                                          .key = SLICE_NONE,
                                                          .is_mapping = is_mapping,
                                                          .first_place = self->place_count};
    if (is_mapping) {
        json_begin_object(&self->json);
    } else {
        json_begin_array(&self->json);
    }
    return ERR_NONE;
}

static void yamltext_close(struct yamltext_reader *self)
{
    if (self->levels[--self->depth].is_mapping) {
        json_end_object(&self->json);
    } else {
        json_end_array(&self->json);
    }
    yamltext_end_value(self);
}

/* Documents ------------------------------------------------------------------------------------ */

static void yamltext_begin_document(struct yamltext_reader *self)
{
    buf_clear(&self->buf);
    self->json = json_writer_to(&self->buf);
    self->depth = 0;
    self->places = NULL;
    self->place_count = 0;
    self->place_capacity = 0;
    self->is_started = false;
}

static void yamltext_keep_document(struct yamltext_reader *self,
                                   const struct yamltext_document *document)
{
    struct yamltext_documents *found = &self->found;
    if (found->count == self->found_capacity) {
        self->found_capacity = self->found_capacity == 0 ? 16 : self->found_capacity * 2;
        struct yamltext_document *items =
            arena_alloc_array(self->arena, self->found_capacity, sizeof(*items));
        for (size_t i = 0; i < found->count; i++) {
            items[i] = found->items[i];
        }
        found->items = items;
    }
    found->items[found->count++] = *document;
}

static enum err yamltext_end_document(struct yamltext_reader *self, struct error *reterr)
{
    struct yamltext_document document = {
        .line = self->first_line, .places = self->places, .place_count = self->place_count};
    if (!self->is_started || slice_equals(buf_view(&self->buf), SLICE("null"))) {
        return ERR_NONE;
    }
    if (json_writer_done(&self->json) != ERR_NONE) {
        return fail(reterr, ERR_LIMIT, "the document is too large");
    }
    enum err err = json_parse_in(self->arena, buf_view(&self->buf), &document.json, reterr);
    if (err == ERR_NONE) {
        yamltext_keep_document(self, &document);
    }
    return err;
}

static enum err yamltext_take(struct yamltext_reader *self, const yaml_event_t *event,
                              struct error *reterr)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        yamltext_begin_document(self);
        return ERR_NONE;
    case YAML_DOCUMENT_END_EVENT:
        return yamltext_end_document(self, reterr);
    case YAML_SCALAR_EVENT:
        return yamltext_take_scalar(self, event, reterr);
    case YAML_SEQUENCE_START_EVENT:
        return yamltext_open(self, false,
                             event->data.sequence_start.anchor != NULL ||
                                 event->data.sequence_start.tag != NULL,
                             reterr);
    case YAML_MAPPING_START_EVENT:
        return yamltext_open(self, true,
                             event->data.mapping_start.anchor != NULL ||
                                 event->data.mapping_start.tag != NULL,
                             reterr);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        yamltext_close(self);
        return ERR_NONE;
    case YAML_ALIAS_EVENT:
        return fail(reterr, ERR_INPUT, "anchors, aliases and tags are not taken");
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
        break;
    }
    return ERR_NONE;
}

static enum err yamltext_read_all(struct yamltext_reader *self, struct error *reterr)
{
    for (bool is_over = false; !is_over;) {
        yaml_event_t event;
        if (yaml_parser_parse(&self->parser, &event) != 1) {
            self->line = self->parser.problem_mark.line + 1;
            return fail(reterr, ERR_INPUT, "that is no YAML: %s",
                        self->parser.problem == NULL ? "it is malformed" : self->parser.problem);
        }
        self->line = event.start_mark.line + 1;
        is_over = event.type == YAML_STREAM_END_EVENT;
        enum err err = yamltext_take(self, &event, reterr);
        yaml_event_delete(&event);
        if (err != ERR_NONE) {
            return err;
        }
    }
    return ERR_NONE;
}

enum err yamltext_parse_in(struct arena *arena, struct slice text,
                           struct yamltext_documents *ret_documents, size_t *ret_line,
                           struct error *reterr)
{
    struct yamltext_reader *self = NULL;
    *ret_line = 1;
    if (text.len > LIMIT_YAML_SIZE) {
        return fail(reterr, ERR_LIMIT, "it has more than %zu bytes", (size_t)LIMIT_YAML_SIZE);
    }
    self = memory_new(sizeof(*self));
    self->arena = arena;
    buf_init(&self->buf, LIMIT_YAML_SIZE * 8);
    must(yaml_parser_initialize(&self->parser) == 1);
    yaml_parser_set_input_string(&self->parser, (const unsigned char *)text.at, text.len);
    enum err err = yamltext_read_all(self, reterr);
    yaml_parser_delete(&self->parser);
    *ret_line = self->line;
    *ret_documents = self->found;
    buf_wipe(&self->buf);
    memory_free(self);
    return err;
}

size_t yamltext_line_of(const struct yamltext_document *document, struct slice path)
{
    size_t line = document->line;
    size_t longest = 0;
    for (size_t i = 0; i < document->place_count; i++) {
        struct slice place = document->places[i].path;
        bool is_around =
            slice_starts_with(path, place) &&
            (place.len == path.len || path.at[place.len] == '.' || path.at[place.len] == '[');
        if (is_around && place.len > longest) {
            line = document->places[i].line;
            longest = place.len;
        }
    }
    return line;
}
