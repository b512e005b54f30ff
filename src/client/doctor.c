/* SPDX-License-Identifier: MIT */
/* What could be wrong between a person and the gateway, looked at one after the other. */
#include "base/memory.h"
#include "client/files.h"
#include "client/show.h"
#include "io/clock.h"

#include <errno.h>
#include <sys/stat.h>

struct doctor {
    struct client_run *run;
    struct show_pair pairs[8];
    size_t count;
    enum err worst;
};

static void doctor_say(struct doctor *self, const char *what, struct slice finding)
{
    self->pairs[self->count++] = (struct show_pair){what, what, finding};
}

static void doctor_find(struct doctor *self, const char *what, enum err err,
                        const struct error *error)
{
    self->worst = self->worst == ERR_NONE ? err : self->worst;
    doctor_say(self, what, arena_format(self->run->arena, "WRONG: %s", error->message));
}

/* A token that others of this machine may read is not one's own. */
static void doctor_check_file(struct doctor *self)
{
    const char *path = NULL;
    struct stat status;
    struct error error;
    struct client_run *run = self->run;
    if (run->client.has_token_of_env) {
        doctor_say(self, "token", SLICE("of GATEHOUSE_TOKEN"));
        return;
    }
    enum err err = client_token_path_in(run->arena, run->client.context.name, &path, &error);
    if (err == ERR_NONE && stat(path, &status) != 0) {
        err = fail(&error, ERR_IO, "'%s': %s", path, strerror(errno));
    }
    if (err == ERR_NONE && (status.st_mode & 077) != 0) {
        err = fail(&error, ERR_DENIED, "'%s' is open to others: chmod 600 it, and sign in anew",
                   path);
    }
    if (err != ERR_NONE) {
        doctor_find(self, "token", err, &error);
        return;
    }
    doctor_say(self, "token", arena_format(run->arena, "good: %s", path));
}

static void doctor_check_gateway(struct doctor *self)
{
    struct json answer;
    struct error error;
    int64_t before = clock_monotonic();
    enum err err = client_get(&self->run->client, SLICE("/api/healthz"), &answer, &error);
    if (err != ERR_NONE) {
        doctor_find(self, "gateway", err, &error);
        return;
    }
    doctor_say(self, "gateway",
               arena_format(self->run->arena, "good: answers in %lld ms",
                            (long long)((clock_monotonic() - before) / 1000)));
}

static void doctor_check_sign_in(struct doctor *self)
{
    struct json me;
    struct json info;
    struct error error;
    struct client_run *run = self->run;
    enum err err = client_get(&run->client, SLICE("/api/userinfo"), &me, &error);
    if (err == ERR_NONE) {
        err = client_get(&run->client, SLICE("/api/serverinfo"), &info, &error);
    }
    if (err != ERR_NONE) {
        doctor_find(self, "sign-in", err, &error);
        return;
    }
    struct slice who = show_text(&me, "email");
    doctor_say(self, "sign-in",
               arena_format(run->arena, "good: %.*s, %.*s",
                            SLICE_ARG(who.len > 0 ? who : show_text(&me, "name")),
                            SLICE_ARG(show_text(&me, "role"))));
    doctor_say(
        self, "version",
        arena_format(run->arena, "the gateway's is %.*s", SLICE_ARG(show_text(&info, "version"))));
}

static void doctor_check_proxy(struct doctor *self)
{
    const char *proxy =
        getenv("https_proxy") != NULL ? getenv("https_proxy") : getenv("HTTPS_PROXY");
    struct slice rest = SLICE_NONE;
    struct slice text = slice_of_text(proxy == NULL ? "" : proxy);
    struct slice credentials = slice_cut(text, '@', &rest);
    (void)credentials;
    doctor_say(self, "proxy",
               text.len == 0     ? SLICE("none")
               : rest.at != NULL ? rest /* its password is nobody's */
                                 : text);
}

enum err client_doctor(struct client_run *run, struct error *reterr)
{
    struct doctor self = {.run = run, .worst = ERR_NONE};
    struct error error;
    enum err err = client_open(run, &error);
    if (err != ERR_NONE && run->client.context.url.len == 0) {
        return fail(reterr, err, "%s", error.message);
    }
    doctor_say(&self, "address", run->client.context.url);
    if (err != ERR_NONE) {
        doctor_find(&self, "token", err, &error);
    } else {
        doctor_check_file(&self);
    }
    doctor_check_proxy(&self);
    doctor_check_gateway(&self);
    if (err == ERR_NONE && self.worst == ERR_NONE) {
        doctor_check_sign_in(&self);
    }
    show_pairs(run, self.pairs, self.count);
    return self.worst == ERR_NONE
               ? ERR_NONE
               : fail(reterr, self.worst, "something is wrong: see above what to do");
}
