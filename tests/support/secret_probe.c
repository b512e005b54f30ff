/* SPDX-License-Identifier: MIT */
/* Resolves secrets as an agent would, for tests/e2e/test_secret_sources.py: an object of keys and
 * stored values comes on standard input; {"values":{key:base64}} or {"error":…,"all":…} goes to
 * standard output. With a folder as the argument, the files are made there, too, and
 * {"variables":{name:value}} goes out; a line on standard input ends the session. */
#include "base/limits.h"
#include "base/must.h"
#include "codec/base64.h"
#include "codec/json_writer.h"
#include "io/fetch.h"
#include "model/secret_map.h"
#include "target/secret_source.h"
#include "target/session_files.h"

#include <unistd.h>

#define PROBE_PAIRS_MAX 100
#define PROBE_SIZE_MAX  ((size_t)1 << 20)

static struct arena arena;

static struct slice read_line(void)
{
    struct buf buf;
    char byte = 0;
    buf_init(&buf, PROBE_SIZE_MAX);
    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
        must(buf_append(&buf, slice_of(&byte, 1)) == ERR_NONE);
    }
    struct slice line = arena_copy(&arena, buf_view(&buf));
    buf_release(&buf);
    return line;
}

static struct shape_pairs read_pairs(void)
{
    struct json document;
    struct shape_pairs pairs = {
        .pairs = arena_alloc_array(&arena, PROBE_PAIRS_MAX, sizeof(*pairs.pairs))};
    must(json_parse_in(&arena, read_line(), &document, NULL) == ERR_NONE);
    struct json_members members = json_members_of(&document);
    struct slice name;
    struct json value;
    while (json_next_member(&members, &name, &value)) {
        struct shape_pair *pair = &pairs.pairs[pairs.count++];
        must(pairs.count <= PROBE_PAIRS_MAX);
        pair->key = arena_copy(&arena, name);
        must(json_as_text(value, &pair->value, NULL) == ERR_NONE);
    }
    return pairs;
}

static void print_pairs(const char *what, const struct shape_pairs *pairs, bool is_encoded)
{
    struct buf buf;
    buf_init(&buf, PROBE_SIZE_MAX);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_object(&json, what);
    for (size_t i = 0; i < pairs->count; i++) {
        struct slice value = pairs->pairs[i].value;
        json_key_text(&json, pairs->pairs[i].key);
        json_text(&json, is_encoded ? base64_encode_in(&arena, BASE64_STANDARD, value) : value);
    }
    json_end_object(&json);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    (void)printf("%.*s\n", SLICE_ARG(buf_view(&buf)));
    (void)fflush(stdout);
    buf_wipe(&buf);
}

static int print_error(const struct error *error, struct slice all)
{
    struct buf buf;
    buf_init(&buf, PROBE_SIZE_MAX);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "error", slice_of_text(error->message));
    json_member_int(&json, "status", err_http_status(error->code));
    json_member_text(&json, "all", all);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    (void)printf("%.*s\n", SLICE_ARG(buf_view(&buf)));
    buf_release(&buf);
    return 1;
}

static int run_session(const char *folder, const struct shape_pairs *plain)
{
    struct session_files *files = NULL;
    struct shape_pairs variables;
    struct error error;
    if (session_files_new(folder, &files, &error) != ERR_NONE ||
        session_files_write(files, &arena, SLICE("session-1"), plain, &variables, &error) !=
            ERR_NONE) {
        session_files_free(files);
        return print_error(&error, SLICE(""));
    }
    print_pairs("variables", &variables, false);
    (void)read_line();
    must(session_files_remove(files, SLICE("session-1"), &error) == ERR_NONE);
    session_files_free(files);
    return 0;
}

int main(int argument_count, char **arguments)
{
    struct shape_pairs plain;
    struct slice all = SLICE("");
    struct error error;
    int status = 0;
    fetch_start();
    json_set_seed(1);
    arena_init(&arena);
    struct shape_pairs pairs = read_pairs();
    if (secret_sources_resolve(&arena, SECRET_SOURCES_ALL, &pairs, &plain, &all, &error) !=
        ERR_NONE) {
        status = print_error(&error, all);
    } else if (argument_count > 1) {
        status = run_session(arguments[1], &plain);
    } else {
        print_pairs("values", &plain, true);
    }
    arena_release(&arena);
    return status;
}
