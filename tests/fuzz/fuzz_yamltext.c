/* SPDX-License-Identifier: MIT */
/* What is read as YAML is JSON within its limits, each value of which has a line of the text; it is
 * written and read again as the same. */
#include "fuzz.h"

#include "base/limits.h"
#include "base/must.h"
#include "codec/yamltext.h"

static void check_again(struct arena *arena, struct json json)
{
    struct yamltext_documents again = {0};
    struct error error;
    struct buf buf;
    size_t line = 0;
    buf_init(&buf, LIMIT_YAML_SIZE * 16);
    must(yamltext_write(json, &buf) == ERR_NONE);
    enum err err = yamltext_parse_in(arena, buf_view(&buf), &again, &line, &error);
    if (buf.len <= LIMIT_YAML_SIZE) {
        must(err == ERR_NONE && again.count == 1 && json_is_same(json, again.items[0].json));
    }
    buf_release(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena;
    struct yamltext_documents found = {0};
    struct slice text = slice_of(bytes, size);
    struct error error;
    size_t line = 0;
    arena_init(&arena);
    enum err err = yamltext_parse_in(&arena, text, &found, &line, &error);
    must(line >= 1 && line <= size + 2);
    if (err != ERR_NONE) {
        must(memchr(error.message, '\0', sizeof(error.message)) != NULL);
    }
    for (size_t i = 0; err == ERR_NONE && i < found.count; i++) {
        const struct yamltext_document *document = &found.items[i];
        must(document->place_count > 0 && document->place_count <= LIMIT_YAML_VALUES);
        must(yamltext_line_of(document, SLICE("")) == document->line);
        for (size_t j = 0; j < document->place_count; j++) {
            must(document->places[j].line >= document->line &&
                 document->places[j].line <= size + 1);
        }
        check_again(&arena, document->json);
    }
    arena_release(&arena);
    return 0;
}
