/* SPDX-License-Identifier: MIT */
#include "app/settings.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/fault.h"
#include "io/log.h"

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
    bool is_v6 = slice_starts_with(host, SLICE("[")) && slice_ends_with(host, SLICE("]"));
    return port <= 65535 && (is_v6 || slice_find_byte(host, ':') == host.len);
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

/* What is expected instead, or NULL when the value is right. */
static const char *setting_objection(const struct setting_row *row, struct slice value)
{
    struct fault fault = {0};
    switch (row->kind) {
    case SETTING_PATH:
        return value.len > 0 ? NULL : "a path is expected";
    case SETTING_ADDRESS:
        return setting_is_address(value) ? NULL : "HOST:PORT is expected, like 127.0.0.1:8009";
    case SETTING_URL:
        return setting_starts(value, "http://", "https://") ? NULL : "http(s)://… is expected";
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
    case SETTING_FAULT:
        return fault_parse(value, &fault, NULL) == ERR_NONE ? NULL : "no such fault";
    }
    return NULL;
}

static enum err setting_set(struct settings *settings, enum setting setting, const char *value,
                            struct error *reterr)
{
    const struct setting_row *row = &setting_rows[setting];
    const char *objection = setting_objection(row, slice_of_text(value));
    if (objection == NULL) {
        settings->values[setting] = value;
        return ERR_NONE;
    }
    char variable[SETTING_NAME_SIZE];
    char bounds[64] = "";
    (void)setting_variable(row, variable);
    if (row->kind == SETTING_NUMBER) {
        (void)snprintf(bounds, sizeof(bounds), ", %llu to %llu", (unsigned long long)row->least,
                       (unsigned long long)row->most);
    }
    /* A store's URL may hold a password. */
    return fail(reterr, ERR_INPUT, "--%s (%s): '%s': %s%s", row->flag, variable,
                row->kind == SETTING_STORE ? "…" : value, objection, bounds);
}

/* Sources ------------------------------------------------------------------------------------- */

static enum err settings_read_variable(struct slice name, const char *value,
                                       struct settings *settings, struct error *reterr)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        char variable[SETTING_NAME_SIZE];
        if (slice_equals(setting_variable(&setting_rows[i], variable), name)) {
            return setting_set(settings, (enum setting)i, value, reterr);
        }
    }
    return fail(reterr, ERR_INPUT,
                "%.*s in the environment: there is no such setting; 'gatehouse serve --help' lists "
                "them",
                SLICE_ARG(name));
}

static enum err settings_read_environment(char **environment, struct settings *settings,
                                          struct error *reterr)
{
    enum err err = ERR_NONE;
    for (; *environment != NULL && err == ERR_NONE; environment++) {
        struct slice value = SLICE_NONE;
        struct slice name = slice_cut(slice_of_text(*environment), '=', &value);
        if (slice_starts_with(name, SLICE(SETTING_VARIABLE_PREFIX))) {
            err = settings_read_variable(name, value.at, settings, reterr);
        }
    }
    return err;
}

static int setting_find_flag(const char *argument, struct slice *ret_value)
{
    struct slice flag = slice_of_text(argument);
    *ret_value = SLICE_NONE;
    if (!slice_starts_with(flag, SLICE("--"))) {
        return -1;
    }
    flag = slice_cut(slice_from(flag, 2), '=', ret_value);
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (slice_equals(slice_of_text(setting_rows[i].flag), flag)) {
            return i;
        }
    }
    return -1;
}

static enum err settings_read_flags(char **arguments, struct settings *settings,
                                    struct error *reterr)
{
    enum err err = ERR_NONE;
    for (; *arguments != NULL && err == ERR_NONE; arguments++) {
        struct slice value = SLICE_NONE;
        int setting = setting_find_flag(*arguments, &value);
        if (setting < 0) {
            return fail(reterr, ERR_INPUT,
                        "'%s': there is no such flag; 'gatehouse serve --help' lists them",
                        *arguments);
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

enum err settings_read(struct arena *arena, char **arguments, char **environment,
                       struct settings *ret_settings, struct error *reterr)
{
    struct settings settings = {0};
    for (int i = 0; i < SETTING_COUNT; i++) {
        settings.values[i] = setting_rows[i].value;
    }
    enum err err = settings_read_environment(environment, &settings, reterr);
    if (err == ERR_NONE) {
        err = settings_read_flags(arguments, &settings, reterr);
    }
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
    settings.store_url = settings.values[SETTING_DATABASE_URL];
    if (settings.store_url[0] == '\0') {
        settings.store_url =
            arena_format(arena, "sqlite:%s/gatehouse.db", settings.values[SETTING_DATA_DIR]).at;
    }
    *ret_settings = settings;
    return ERR_NONE;
}

const char *settings_text(const struct settings *settings, enum setting setting)
{
    return settings->values[setting];
}

uint64_t settings_number(const struct settings *settings, enum setting setting)
{
    return strtoull(settings->values[setting], NULL, 10); /* checked when it was read */
}

bool settings_is(const struct settings *settings, enum setting setting, const char *word)
{
    return strcmp(settings->values[setting], word) == 0;
}

/* Pages --------------------------------------------------------------------------------------- */

void settings_print_help(FILE *out)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting_row *row = &setting_rows[i];
        if (row->kind == SETTING_FAULT) {
            continue;
        }
        char flag[SETTING_NAME_SIZE];
        (void)snprintf(flag, sizeof(flag), "--%s %s", row->flag, row->form);
        (void)fprintf(out, "  %-34s %s\n", flag, row->help);
        if (row->value[0] != '\0') {
            (void)fprintf(out, "  %-34s default: %s\n", "", row->value);
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

void settings_print_markdown(FILE *out)
{
    (void)fprintf(out, "# Configuration\n\nEach setting is a flag of `gatehouse serve`, or a "
                       "variable in the environment; the flag goes first.\n\n"
                       "| flag | environment | value | default | meaning |\n"
                       "|---|---|---|---|---|\n");
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting_row *row = &setting_rows[i];
        char variable[SETTING_NAME_SIZE];
        (void)setting_variable(row, variable);
        if (row->kind != SETTING_FAULT) {
            (void)fprintf(out, "| `--%s` | `%s` | ", row->flag, variable);
            settings_print_cell(out, row->form);
            settings_print_cell(out, row->value);
            settings_print_cell(out, row->help);
            (void)fprintf(out, "\n");
        }
    }
}
