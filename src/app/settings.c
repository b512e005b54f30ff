/* SPDX-License-Identifier: MIT */
#include "app/settings.h"

#include "base/memory.h"
#include "base/text.h"
#include "codec/url.h"
#include "io/cpu_quota.h"
#include "io/fault.h"
#include "io/log.h"
#include "model/name.h"
#include "model/organization_list.h"
#include "model/secret_trust.h"
#include "model/user.h"
#include "wire/address.h"
#include "wire/host_list.h"
#include "wire/origin.h"

#include <arpa/inet.h>

struct setting_row {
    const char *flag;
    enum setting_kind kind;
    const char *value;
    const char *form;
    uint64_t least;
    uint64_t most;
    const char *help;
};

#define SETTING_ROW(name, flag, kind, value, form, least, most, help)                              \
    {flag, kind, value, form, least, most, help},
static const struct setting_row setting_rows[SETTING_COUNT] = {SETTING_MAP(SETTING_ROW)};
#undef SETTING_ROW

#define SETTING_VARIABLE_PREFIX "GATEHOUSE_"
#define SETTING_NAME_SIZE       64
#define SETTING_SHOWN_MAX       80
#define SETTING_SHOWN_SIZE      128

/* "tls-cert" → "GATEHOUSE_TLS_CERT" */
static struct slice setting_variable(const struct setting_row *row, char *text)
{
    int len = snprintf(text, SETTING_NAME_SIZE, SETTING_VARIABLE_PREFIX "%s", row->flag);
    for (int i = 0; i < len; i++) {
        if (text[i] >= 'a' && text[i] <= 'z') {
            text[i] = (char)(text[i] - 'a' + 'A');
        }
        text[i] = text[i] == '-' ? '_' : text[i];
    }
    return slice_of(text, (size_t)len);
}

/* ", 0 to 64", or nothing when it is no number. */
static const char *setting_bounds(const struct setting_row *row, char *text)
{
    text[0] = '\0';
    if (row->kind == SETTING_NUMBER) {
        (void)snprintf(text, SETTING_NAME_SIZE, ", %llu to %llu", (unsigned long long)row->least,
                       (unsigned long long)row->most);
    }
    return text;
}

/* Checks -------------------------------------------------------------------------------------- */

static bool setting_is_address(struct slice value)
{
    size_t colon = value.len;
    while (colon > 0 && value.at[colon - 1] != ':') {
        colon--;
    }
    uint64_t port = 0;
    if (colon == 0 || text_parse_u64(slice_from(value, colon), &port) != ERR_NONE) {
        return false;
    }
    struct slice host = slice_sub(value, 0, colon - 1);
    if (port > 65535 || !slice_starts_with(host, SLICE("["))) {
        return port <= 65535 && slice_find_byte(host, ':') == host.len;
    }
    char text[INET6_ADDRSTRLEN] = "";
    struct in6_addr address;
    bool is_v6 = host.len >= 2 && host.len - 2 < sizeof(text) && host.at[host.len - 1] == ']';
    (void)snprintf(text, sizeof(text), "%.*s", is_v6 ? (int)host.len - 2 : 0, host.at + 1);
    return is_v6 && inet_pton(AF_INET6, text, &address) == 1;
}

/* Paths are added to it. */
static bool setting_is_base_url(struct slice value)
{
    struct url url;
    return url_parse(value, &url, NULL) == ERR_NONE && url.host.len > 0 && !url.has_user &&
           url.query.len == 0 && url.fragment.len == 0 &&
           (slice_equals_nocase(url.scheme, SLICE("http")) ||
            slice_equals_nocase(url.scheme, SLICE("https")));
}

static bool setting_is_choice(const struct setting_row *row, struct slice value)
{
    struct slice rest = slice_of_text(row->form);
    while (rest.at != NULL) {
        if (slice_equals(slice_cut(rest, '|', &rest), value)) {
            return true;
        }
    }
    return false;
}

static bool setting_is_number(const struct setting_row *row, struct slice value)
{
    uint64_t number = 0;
    return text_parse_u64(value, &number) == ERR_NONE && number >= row->least &&
           number <= row->most;
}

static bool setting_starts(struct slice value, const char *first, const char *second)
{
    return slice_starts_with(value, slice_of_text(first)) ||
           slice_starts_with(value, slice_of_text(second));
}

static bool setting_is_store(struct slice value)
{
    return setting_starts(value, "postgres://", "postgresql://") ||
           (slice_starts_with(value, SLICE("sqlite:")) && value.len > strlen("sqlite:"));
}

/* What is expected instead, maybe in 'detail', or NULL when the value is right. */
static const char *setting_objection(const struct setting_row *row, struct slice value,
                                     struct error *detail)
{
    struct network_list networks;
    struct origin_list origins;
    struct host_list hosts;
    struct secret_trust trust;
    struct organization_list organizations;
    struct fault fault = {0};
    switch (row->kind) {
    case SETTING_PATH:
        return value.len > 0 ? NULL : "a path is expected";
    case SETTING_ADDRESS:
        return setting_is_address(value) ? NULL : "HOST:PORT is expected, like 127.0.0.1:8009";
    case SETTING_LISTENER:
        return setting_is_address(value) || slice_equals(value, SLICE("off"))
                   ? NULL
                   : "HOST:PORT is expected, like 127.0.0.1:15432, or off";
    case SETTING_URL:
        return setting_is_base_url(value) ? NULL : "http(s)://HOST is expected, without a query";
    case SETTING_STORE:
        return setting_is_store(value) ? NULL : "sqlite:PATH or postgres://… is expected";
    case SETTING_NUMBER:
        return setting_is_number(row, value) ? NULL : "a whole number is expected";
    case SETTING_CHOICE:
        return setting_is_choice(row, value) ? NULL : row->form;
    case SETTING_LEVELS:
        return log_levels_are_valid(value) ? NULL
                                           : "error, warn, info or debug is expected, or "
                                             "component=level, with commas between";
    case SETTING_NAME:
        return value.len > 0 && value.len <= GROUP_NAME_MAX && title_check(value, NULL) == ERR_NONE
                   ? NULL
                   : "the name of a group is expected";
    case SETTING_TEXT:
    case SETTING_SECRET:
        return line_check(value, NULL) == ERR_NONE ? NULL : "one line of text is expected";
    case SETTING_NETWORKS:
        return network_list_parse(value, &networks, detail) == ERR_NONE ? NULL : detail->message;
    case SETTING_ORIGINS:
        return origin_list_parse(value, &origins, detail) == ERR_NONE ? NULL : detail->message;
    case SETTING_HOSTS:
        return host_list_parse(value, &hosts, detail) == ERR_NONE ? NULL : detail->message;
    case SETTING_SECRET_TRUST:
        return secret_trust_parse(value, &trust, detail) == ERR_NONE ? NULL : detail->message;
    case SETTING_ORGANIZATIONS:
        return organization_list_parse(value, &organizations, detail) == ERR_NONE ? NULL
                                                                                  : detail->message;
    case SETTING_FAULT:
        return fault_parse(value, &fault, NULL) == ERR_NONE ? NULL : "no such fault";
    }
    return NULL;
}

/* On one line, whatever it holds, and short enough to leave room for the reason. */
static const char *setting_shown(struct slice value, char *text)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, 512);
    struct writer writer = writer_to(&buf);
    text_show(&writer, slice_sub(value, 0, SETTING_SHOWN_MAX));
    (void)snprintf(text, SETTING_SHOWN_SIZE, "%.*s%s", SLICE_ARG(buf_view(&buf)),
                   value.len > SETTING_SHOWN_MAX ? "…" : "");
    return text;
}

static enum err setting_set(struct settings *settings, enum setting setting, const char *value,
                            struct error *reterr)
{
    const struct setting_row *row = &setting_rows[setting];
    struct error detail = {0};
    const char *objection = setting_objection(row, slice_of_text(value), &detail);
    if (objection == NULL) {
        settings->values[setting] = value;
        return ERR_NONE;
    }
    char variable[SETTING_NAME_SIZE];
    char shown[SETTING_SHOWN_SIZE];
    char bounds[SETTING_NAME_SIZE];
    (void)setting_variable(row, variable);
    /* A store's URL may hold a password. */
    bool is_hidden = row->kind == SETTING_STORE || row->kind == SETTING_SECRET;
    struct slice repeated = is_hidden ? SLICE("…") : slice_of_text(value);
    return fail(reterr, ERR_INPUT, "--%s (%s): '%s': %s%s%s", row->flag, variable,
                setting_shown(repeated, shown), row->kind == SETTING_CHOICE ? "one of " : "",
                objection, setting_bounds(row, bounds));
}

/* Sources ------------------------------------------------------------------------------------- */

static int settings_first(enum settings_scope scope)
{
    return scope == SETTINGS_SERVE ? 0 : SETTING_LOG_FORMAT;
}

static int settings_end(enum settings_scope scope)
{
    return scope == SETTINGS_SERVE ? SETTING_TOKEN : SETTING_COUNT;
}

/* How many letters to put in, take out or change make one word of the other. */
static size_t setting_distance(struct slice a, struct slice b)
{
    size_t row[SETTING_NAME_SIZE];
    for (size_t i = 0; i <= b.len; i++) {
        row[i] = i;
    }
    for (size_t i = 0; i < a.len; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.len; j++) {
            size_t change = corner + (a.at[i] == b.at[j] ? 0 : 1);
            size_t other = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            corner = row[j + 1];
            row[j + 1] = change < other ? change : other;
        }
    }
    return row[b.len];
}

/* The flag, or with 'as_variable' the variable, that was probably meant; or NULL. */
static const struct setting_row *setting_nearest(struct slice name, bool as_variable,
                                                 enum settings_scope scope)
{
    const struct setting_row *nearest = NULL;
    size_t least = 4; /* more than three slips of the finger are another word */
    for (int i = settings_first(scope); i < settings_end(scope) && name.len < SETTING_NAME_SIZE;
         i++) {
        char variable[SETTING_NAME_SIZE];
        const struct setting_row *row = &setting_rows[i];
        struct slice known =
            as_variable ? setting_variable(row, variable) : slice_of_text(row->flag);
        size_t distance = setting_distance(name, known);
        if (row->kind != SETTING_FAULT && distance < least) {
            least = distance;
            nearest = row;
        }
    }
    return nearest;
}

static void settings_warn(struct arena *arena, struct slice name, struct settings *settings,
                          enum settings_scope scope)
{
    char variable[SETTING_NAME_SIZE];
    const struct setting_row *nearest = setting_nearest(name, true, scope);
    if (settings->warning_count == SETTINGS_WARNINGS_MAX) {
        return;
    }
    const char *warning = arena_text(arena, name);
    if (nearest != NULL) {
        struct slice meant = setting_variable(nearest, variable);
        warning = arena_format(arena, "%.*s (%.*s?)", SLICE_ARG(name), SLICE_ARG(meant)).at;
    }
    settings->warnings[settings->warning_count++] = warning;
}

/* A file of variables may serve a gateway and an agent: the other's are passed over. */
static enum err settings_read_variable(struct arena *arena, const char *variable,
                                       struct settings *settings, enum settings_scope scope,
                                       struct error *reterr)
{
    struct slice value = SLICE_NONE;
    struct slice name = slice_cut(slice_of_text(variable), '=', &value);
    /* An empty one is as good as none: that is how such files leave something out. */
    if (value.len == 0 || !slice_starts_with(name, SLICE(SETTING_VARIABLE_PREFIX))) {
        return ERR_NONE;
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        char known[SETTING_NAME_SIZE];
        if (slice_equals(setting_variable(&setting_rows[i], known), name)) {
            bool is_in = i >= settings_first(scope) && i < settings_end(scope);
            return is_in ? setting_set(settings, (enum setting)i, value.at, reterr) : ERR_NONE;
        }
    }
    settings_warn(arena, name, settings, scope);
    return ERR_NONE;
}

static enum err settings_read_environment(struct arena *arena, char **environment,
                                          struct settings *settings, enum settings_scope scope,
                                          struct error *reterr)
{
    enum err err = ERR_NONE;
    for (; *environment != NULL && err == ERR_NONE; environment++) {
        err = settings_read_variable(arena, *environment, settings, scope, reterr);
    }
    return err;
}

/* What is behind '=' or '://' is not repeated: it may be a secret whose flag was misspelt. */
static enum err settings_refuse_argument(struct slice flag, enum settings_scope scope,
                                         struct error *reterr)
{
    char text[SETTING_SHOWN_SIZE];
    const struct setting_row *nearest = NULL;
    if (slice_starts_with(flag, SLICE("--"))) {
        nearest = setting_nearest(slice_from(flag, 2), false, scope);
    }
    return fail(reterr, ERR_INPUT, "'%s': there is no such flag; %s%s",
                setting_shown(slice_sub(flag, 0, slice_find(flag, SLICE("://"))), text),
                nearest == NULL ? "" : "did you mean --",
                nearest == NULL ? "'gatehouse help' lists them" : nearest->flag);
}

static enum err settings_read_flags(char **arguments, struct settings *settings,
                                    enum settings_scope scope, struct error *reterr)
{
    enum err err = ERR_NONE;
    for (; *arguments != NULL && err == ERR_NONE; arguments++) {
        struct slice value = SLICE_NONE;
        struct slice flag = slice_cut(slice_of_text(*arguments), '=', &value);
        int setting = slice_starts_with(flag, SLICE("--")) ? settings_end(scope) - 1 : -1;
        while (setting >= settings_first(scope) &&
               !slice_equals(slice_from(flag, 2), slice_of_text(setting_rows[setting].flag))) {
            setting--;
        }
        if (setting < settings_first(scope)) {
            return settings_refuse_argument(flag, scope, reterr);
        }
        if (value.at == NULL && arguments[1] == NULL) {
            return fail(reterr, ERR_INPUT, "--%s: the value is missing: %s",
                        setting_rows[setting].flag, setting_rows[setting].form);
        }
        const char *text = value.at != NULL ? value.at : *++arguments;
        err = setting_set(settings, (enum setting)setting, text, reterr);
    }
    return err;
}

static enum err settings_check_oidc(const struct settings *settings, struct error *reterr)
{
    bool has_issuer = !settings_is(settings, SETTING_OIDC_ISSUER, "");
    bool has_client = !settings_is(settings, SETTING_OIDC_CLIENT_ID, "");
    return has_issuer == has_client
               ? ERR_NONE
               : fail(reterr, ERR_INPUT,
                      "--oidc-issuer and --oidc-client-id (GATEHOUSE_OIDC_ISSUER, "
                      "GATEHOUSE_OIDC_CLIENT_ID): both or none");
}

static enum err settings_read_given(struct arena *arena, char **arguments, char **environment,
                                    struct settings *settings, enum settings_scope scope,
                                    struct error *reterr)
{
    *settings = (struct settings){0};
    for (int i = 0; i < SETTING_COUNT; i++) {
        settings->values[i] = setting_rows[i].value;
    }
    enum err err = settings_read_environment(arena, environment, settings, scope, reterr);
    return err == ERR_NONE ? settings_read_flags(arguments, settings, scope, reterr) : err;
}

enum err settings_read_agent(struct arena *arena, char **arguments, char **environment,
                             struct settings *ret_settings, struct error *reterr)
{
    struct settings settings;
    enum err err =
        settings_read_given(arena, arguments, environment, &settings, SETTINGS_AGENT, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (settings.values[SETTING_TOKEN][0] == '\0') {
        return fail(reterr, ERR_INPUT,
                    "--token (GATEHOUSE_TOKEN): what the agent was created with is expected");
    }
    *ret_settings = settings;
    return ERR_NONE;
}

enum err settings_read(struct arena *arena, char **arguments, char **environment,
                       struct settings *ret_settings, struct error *reterr)
{
    struct settings settings;
    enum err err =
        settings_read_given(arena, arguments, environment, &settings, SETTINGS_SERVE, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool has_cert = settings.values[SETTING_TLS_CERT][0] != '\0';
    bool has_key = settings.values[SETTING_TLS_KEY][0] != '\0';
    if (has_cert != has_key) {
        return fail(reterr, ERR_INPUT,
                    "--tls-cert and --tls-key (GATEHOUSE_TLS_CERT, GATEHOUSE_TLS_KEY): both or "
                    "none");
    }
    if (!has_cert && settings_is(&settings, SETTING_POSTGRES_TLS, "required")) {
        return fail(reterr, ERR_INPUT,
                    "--postgres-tls (GATEHOUSE_POSTGRES_TLS): 'required' needs --tls-cert and "
                    "--tls-key");
    }
    if (!has_cert && settings_is(&settings, SETTING_MYSQL_TLS, "required")) {
        return fail(reterr, ERR_INPUT,
                    "--mysql-tls (GATEHOUSE_MYSQL_TLS): 'required' needs --tls-cert and --tls-key");
    }
    settings.store_url = settings.values[SETTING_DATABASE_URL];
    if (settings.store_url[0] == '\0') {
        settings.store_url =
            arena_format(arena, "sqlite:%s/gatehouse.db", settings.values[SETTING_DATA_DIR]).at;
    }
    settings.key_file = settings.values[SETTING_MASTER_KEY_FILE];
    if (settings.key_file[0] == '\0') {
        settings.key_file =
            arena_format(arena, "%s/master.key", settings.values[SETTING_DATA_DIR]).at;
    }
    *ret_settings = settings;
    return settings_check_oidc(&settings, reterr);
}

const char *setting_flag(enum setting setting)
{
    return setting_rows[setting].flag;
}

const char *settings_text(const struct settings *settings, enum setting setting)
{
    return settings->values[setting];
}

uint64_t settings_number(const struct settings *settings, enum setting setting)
{
    return strtoull(settings->values[setting], NULL, 10); /* checked when it was read */
}

uint64_t settings_busy_wait_us(const struct settings *settings)
{
    return cpu_quota_is_set("") ? 0 : settings_number(settings, SETTING_BUSY_WAIT);
}

bool settings_is(const struct settings *settings, enum setting setting, const char *word)
{
    return strcmp(settings->values[setting], word) == 0;
}

/* Pages --------------------------------------------------------------------------------------- */

void settings_print_help(FILE *out, enum settings_scope scope)
{
    for (int i = settings_first(scope); i < settings_end(scope); i++) {
        const struct setting_row *row = &setting_rows[i];
        if (row->kind == SETTING_FAULT) {
            continue;
        }
        char flag[SETTING_NAME_SIZE];
        char bounds[SETTING_NAME_SIZE];
        (void)snprintf(flag, sizeof(flag), "--%s %s", row->flag, row->form);
        (void)fprintf(out, "  %-34s %s\n", flag, row->help);
        if (row->value[0] != '\0') {
            (void)fprintf(out, "  %-34s default: %s%s\n", "", row->value,
                          setting_bounds(row, bounds));
        }
    }
}

/* In a table's cell the bars between choices must not end it. */
static void settings_print_cell(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        (void)fprintf(out, "%s%c", *text == '|' ? "\\" : "", *text);
    }
    (void)fprintf(out, " | ");
}

static void settings_print_table(FILE *out, int first, int end)
{
    (void)fprintf(out, "| flag | environment | value | default | meaning |\n"
                       "|---|---|---|---|---|\n");
    for (int i = first; i < end; i++) {
        const struct setting_row *row = &setting_rows[i];
        char variable[SETTING_NAME_SIZE];
        char bounds[SETTING_NAME_SIZE];
        char form[SETTING_NAME_SIZE * 2];
        (void)setting_variable(row, variable);
        if (row->kind != SETTING_FAULT) {
            (void)fprintf(out, "| `--%s` | `%s` | ", row->flag, variable);
            (void)snprintf(form, sizeof(form), "%s%s", row->form, setting_bounds(row, bounds));
            settings_print_cell(out, form);
            settings_print_cell(out, row->value);
            settings_print_cell(out, row->help);
            (void)fprintf(out, "\n");
        }
    }
}

void settings_print_markdown(FILE *out)
{
    (void)fprintf(out, "# Configuration\n\nEach setting is a flag of `gatehouse serve`, or a "
                       "variable in the environment; the flag goes first.\n\n");
    settings_print_table(out, 0, SETTING_TOKEN);
    (void)fprintf(out, "\n## Agents\n\nThose of `gatehouse agent`, likewise.\n\n");
    settings_print_table(out, SETTING_LOG_FORMAT, SETTING_COUNT);
}
