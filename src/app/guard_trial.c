/* SPDX-License-Identifier: MIT */
#include "app/guard_trial.h"

#include "app/control.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "codec/json.h"
#include "codec/json_writer.h"
#include "codec/url.h"

#include <errno.h>
#include <inttypes.h>

struct guard_trial {
    struct arena *arena;
    const char *name;
    const char *days;
    const char *rule; /* a file */
    const char *organization;
    const char *data_dir;
};

static enum err guard_trial_flag(struct guard_trial *self, char **argument, size_t *ret_count,
                                 struct error *reterr)
{
    struct slice value = SLICE_NONE;
    struct slice flag = slice_cut(slice_of_text(argument[0]), '=', &value);
    const struct {
        const char *name;
        const char **at;
    } flags[] = {{"--days", &self->days},
                 {"--rule", &self->rule},
                 {"--organization", &self->organization},
                 {"--data-dir", &self->data_dir}};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        if (!slice_equals(flag, slice_of_text(flags[i].name))) {
            continue;
        }
        *flags[i].at = value.at != NULL ? value.at : argument[1];
        *ret_count = value.at != NULL ? 1 : 2;
        return *flags[i].at == NULL
                   ? fail(reterr, ERR_INPUT, "%s: a value is expected", argument[0])
                   : ERR_NONE;
    }
    return fail(reterr, ERR_INPUT,
                "'%s': only --days N, --rule FILE, --organization NAME and --data-dir FOLDER are "
                "possible here",
                argument[0]);
}

static enum err guard_trial_read(struct guard_trial *self, char **arguments, struct error *reterr)
{
    size_t count = 1;
    const char *from_environment = getenv("GATEHOUSE_DATA_DIR");
    self->data_dir = from_environment != NULL ? from_environment : "./gatehouse-data";
    for (enum err err = ERR_NONE; *arguments != NULL; arguments += count) {
        count = 1;
        if (strncmp(*arguments, "--", 2) == 0) {
            err = guard_trial_flag(self, arguments, &count, reterr);
        } else if (self->name != NULL) {
            err = fail(reterr, ERR_INPUT, "guard test: one NAME is expected");
        } else {
            self->name = *arguments;
        }
        if (err != ERR_NONE) {
            return err;
        }
    }
    return self->name == NULL ? fail(reterr, ERR_INPUT,
                                     "guard test: the NAME of a guard rail is "
                                     "expected")
                              : ERR_NONE;
}

static enum err guard_trial_read_rule(struct guard_trial *self, struct slice *ret_text,
                                      struct error *reterr)
{
    struct buf buf CLEANUP(buf_release);
    FILE *file = fopen(self->rule, "re");
    char *at = NULL;
    buf_init(&buf, LIMIT_HTTP_BODY_SIZE);
    if (file == NULL) {
        return fail(reterr, ERR_INPUT, "'%s': %s", self->rule, strerror(errno));
    }
    while (!feof(file) && !ferror(file) && buf_reserve(&buf, 4096, &at) == ERR_NONE) {
        buf_commit(&buf, fread(at, 1, 4096, file));
    }
    bool is_whole = feof(file) && !ferror(file);
    (void)fclose(file);
    *ret_text = arena_copy(self->arena, buf_view(&buf));
    return is_whole ? ERR_NONE : fail(reterr, ERR_INPUT, "'%s' cannot be read whole", self->rule);
}

static enum err guard_trial_ask(struct guard_trial *self, struct json *ret_answer,
                                struct error *reterr)
{
    struct slice rule = SLICE_NONE;
    struct slice answer = SLICE_NONE;
    struct slice name = url_encode(self->arena, slice_of_text(self->name));
    const char *organization = self->organization == NULL ? "default" : self->organization;
    int64_t days = 0;
    if (self->days != NULL && text_parse_i64(slice_of_text(self->days), &days) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "--days: a number is expected");
    }
    enum err err = self->rule == NULL ? ERR_NONE : guard_trial_read_rule(self, &rule, reterr);
    struct slice body =
        arena_format(self->arena, "{%s%.*s%s%.*s}", self->days == NULL ? "" : "\"days\":",
                     SLICE_ARG(slice_of_text(self->days == NULL ? "" : self->days)),
                     rule.len == 0        ? ""
                     : self->days == NULL ? "\"rule\":"
                                          : ",\"rule\":",
                     SLICE_ARG(rule));
    struct slice path = arena_format(
        self->arena, "/control/guardrails/%.*s/test?organization=%.*s", SLICE_ARG(name),
        SLICE_ARG(url_encode(self->arena, slice_of_text(organization))));
    const struct control_request request = {"POST", arena_text(self->arena, path), body};
    if (err == ERR_NONE) {
        err = control_call(self->arena, self->data_dir, &request, &answer, reterr);
    }
    return err == ERR_NONE ? json_parse_in(self->arena, answer, ret_answer, reterr) : err;
}

static int64_t guard_trial_number(const struct json *object, const char *member)
{
    int64_t number = 0;
    return json_as_int(json_member(object, member), 0, INT64_MAX, &number, NULL) == ERR_NONE
               ? number
               : 0;
}

static struct slice guard_trial_text(const struct json *object, const char *member)
{
    struct slice text = SLICE_NONE;
    return json_as_text(json_member(object, member), &text, NULL) == ERR_NONE ? text : SLICE("");
}

static void guard_trial_print_tally(const struct json *tally)
{
    size_t count = 0;
    struct json examples = json_member(tally, "examples");
    (void)printf("\n%.*s on %.*s: %" PRId64 " (%" PRId64 " blocked)\n",
                 SLICE_ARG(guard_trial_text(tally, "user")),
                 SLICE_ARG(guard_trial_text(tally, "connection")),
                 guard_trial_number(tally, "count"), guard_trial_number(tally, "blocked"));
    if (json_as_array(examples, &count, NULL) != ERR_NONE) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct json example = json_item(&examples, i);
        (void)printf("  %.*s  %.*s\n", SLICE_ARG(guard_trial_text(&example, "session_id")),
                     SLICE_ARG(guard_trial_text(&example, "statement")));
    }
}

enum err guard_trial_run(struct arena *arena, char **arguments, struct error *reterr)
{
    struct guard_trial self = {.arena = arena};
    struct json answer;
    size_t count = 0;
    enum err err = guard_trial_read(&self, arguments, reterr);
    if (err == ERR_NONE) {
        err = guard_trial_ask(&self, &answer, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    (void)printf("%" PRId64 " of %" PRId64 " statements in %" PRId64
                 " sessions of the last %" PRId64 " days match, %" PRId64 " would be blocked\n",
                 guard_trial_number(&answer, "matched"), guard_trial_number(&answer, "statements"),
                 guard_trial_number(&answer, "sessions"), guard_trial_number(&answer, "days"),
                 guard_trial_number(&answer, "blocked"));
    struct slice missed = guard_trial_text(&answer, "missed");
    if (missed.len > 0) {
        (void)printf("not everything was looked at: %.*s\n", SLICE_ARG(missed));
    }
    struct json by = json_member(&answer, "by");
    err = json_as_array(by, &count, reterr);
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        struct json tally = json_item(&by, i);
        guard_trial_print_tally(&tally);
    }
    return err;
}
