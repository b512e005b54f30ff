/* SPDX-License-Identifier: MIT */
/* Keys of SSH: those that somebody signs in with, certificates for them, and the gateway's own. */
#include "base/limits.h"
#include "base/memory.h"
#include "client/files.h"
#include "client/show.h"
#include "codec/json_writer.h"
#include "codec/url.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define OWN_KEYS       "/api/users/me/ssh-keys"
#define PUBLIC_KEY_MAX LIMIT_KIB(16)

static const struct show_column ssh_key_columns[] = {{"ID", "id"},
                                                     {"NAME", "name"},
                                                     {"TYPE", "type"},
                                                     {"FINGERPRINT", "fingerprint"},
                                                     {"CREATED", "created_at"},
                                                     {"LAST USED", "last_used_at"}};

enum err client_ssh_keys_list(struct client_run *run, struct error *reterr)
{
    struct json answer;
    size_t count = 0;
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_get(&run->client, SLICE(OWN_KEYS), &answer, reterr);
    }
    if (err == ERR_NONE) {
        err = json_as_array(answer, &count, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json *items = arena_alloc_array(run->arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        items[i] = json_item(&answer, i);
    }
    show_list(run, items, count, ssh_key_columns, COUNT_OF(ssh_key_columns));
    return ERR_NONE;
}

/* The path of the public half: "id_ed25519" is as good as "id_ed25519.pub". */
static struct slice ssh_key_stem(const char *path)
{
    struct slice text = slice_of_text(path);
    return slice_ends_with(text, SLICE(".pub")) ? slice_sub(text, 0, text.len - strlen(".pub"))
                                                : text;
}

static enum err ssh_key_read_in(struct arena *arena, const char *given, struct slice *ret_line,
                                struct error *reterr)
{
    struct slice stem = ssh_key_stem(given);
    const char *path = arena_text(arena, arena_format(arena, "%.*s.pub", SLICE_ARG(stem)));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(reterr, ERR_INPUT, "%s: %s", path, strerror(errno));
    }
    enum err err = client_file_take_in(arena, fd, PUBLIC_KEY_MAX, ret_line, reterr);
    (void)close(fd);
    *ret_line = err == ERR_NONE ? slice_trim(*ret_line, " \t\r\n") : SLICE("");
    return err;
}

/* What is sent is written, and wiped by nobody: keys that are public are no secrets. */
static enum err ssh_key_send(struct client_run *run, const char *path, const struct buf *body,
                             struct json *ret_answer, struct error *reterr)
{
    struct client_answer answer = {0};
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        const struct client_request request = {
            .method = "POST", .path = slice_of_text(path), .body = buf_view(body)};
        err = client_call(&run->client, &request, &answer, reterr);
    }
    *ret_answer = answer.json;
    return err;
}

static void ssh_key_show(const struct client_run *run, const struct json *answer,
                         const char *const *members, size_t count)
{
    struct show_pair *pairs = arena_alloc_array(run->arena, count, sizeof(*pairs));
    for (size_t i = 0; i < count; i++) {
        pairs[i] = (struct show_pair){members[i], members[i], show_text(answer, members[i])};
    }
    show_pairs(run, pairs, count);
}

enum err client_ssh_keys_add(struct client_run *run, struct error *reterr)
{
    static const char *const members[] = {"id", "name", "type", "fingerprint"};
    struct slice line = SLICE("");
    struct json answer;
    struct buf body;
    enum err err = ssh_key_read_in(run->arena, run->given.words[0], &line, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    buf_init(&body, LIMIT_KIB(64));
    struct json_writer json = json_writer_to(&body);
    json_begin_object(&json);
    json_member_text(&json, "public_key", line);
    if (run->given.word_count > 1) {
        json_member_text(&json, "name", slice_of_text(run->given.words[1]));
    }
    json_end_object(&json);
    err = ssh_key_send(run, OWN_KEYS, &body, &answer, reterr);
    buf_release(&body);
    if (err == ERR_NONE) {
        ssh_key_show(run, &answer, members, COUNT_OF(members));
    }
    return err;
}

enum err client_ssh_keys_remove(struct client_run *run, struct error *reterr)
{
    struct client_answer answer = {0};
    struct slice id = url_encode(run->arena, slice_of_text(run->given.words[0]));
    struct slice path = arena_format(run->arena, OWN_KEYS "/%.*s", SLICE_ARG(id));
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_call(&run->client, &(struct client_request){.method = "DELETE", .path = path},
                          &answer, reterr);
    }
    if (err == ERR_NONE) {
        show_line(arena_format(run->arena, "the key %s is removed; its sessions end",
                               run->given.words[0]));
    }
    return err;
}

/* Certificates -------------------------------------------------------------------------------- */

static void ssh_sign_write_body(const struct client_run *run, struct slice line, int64_t seconds,
                                struct buf *body)
{
    struct json_writer json = json_writer_to(body);
    json_begin_object(&json);
    json_member_text(&json, "public_key", line);
    json_member_array(&json, "connections");
    for (size_t i = 1; i < run->given.word_count; i++) {
        json_text(&json, slice_of_text(run->given.words[i]));
    }
    json_end_array(&json);
    if (seconds > 0) {
        json_member_int(&json, "duration_seconds", seconds);
    }
    json_end_object(&json);
}

enum err client_ssh_keys_sign(struct client_run *run, struct error *reterr)
{
    static const char *const members[] = {"file", "fingerprint", "serial", "expires_at"};
    struct arena *arena = run->arena;
    struct slice line = SLICE("");
    struct json answer;
    struct buf body;
    int64_t seconds = 0;
    enum err err = client_given_seconds(run, CLIENT_DURATION, 0, &seconds, reterr);
    if (err == ERR_NONE) {
        err = ssh_key_read_in(arena, run->given.words[0], &line, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    buf_init(&body, LIMIT_KIB(64));
    ssh_sign_write_body(run, line, seconds, &body);
    err = ssh_key_send(run, "/api/ssh/certificates", &body, &answer, reterr);
    buf_release(&body);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice stem = ssh_key_stem(run->given.words[0]);
    struct slice file = arena_format(arena, "%.*s-cert.pub", SLICE_ARG(stem));
    struct slice certificate = show_text(&answer, "certificate");
    err = client_file_write(arena, arena_text(arena, file),
                            arena_format(arena, "%.*s\n", SLICE_ARG(certificate)), reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct show_pair pairs[COUNT_OF(members)];
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        pairs[i] = (struct show_pair){members[i], members[i], show_text(&answer, members[i])};
    }
    pairs[0].value = file;
    show_pairs(run, pairs, COUNT_OF(pairs));
    return ERR_NONE;
}

/* The gateway's own --------------------------------------------------------------------------- */

enum err client_ssh_keys_gateway(struct client_run *run, struct error *reterr)
{
    static const char *const members[] = {
        "host_key",           "host_key_fingerprint", "known_hosts",        "people_key",
        "people_fingerprint", "targets_key",          "targets_fingerprint"};
    struct json answer;
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_get(&run->client, SLICE("/api/ssh"), &answer, reterr);
    }
    if (err == ERR_NONE) {
        ssh_key_show(run, &answer, members, COUNT_OF(members));
    }
    return err;
}
