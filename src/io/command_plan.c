/* SPDX-License-Identifier: MIT */
#include "io/command_plan.h"

#include "base/limits.h"
#include "base/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLAN_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

void command_plan_init(struct command_plan *plan)
{
    *plan = (struct command_plan){.argument_count = 0};
    arena_init(&plan->arena);
    arena_hold_secrets(&plan->arena);
}

void command_plan_release(struct command_plan *plan)
{
    arena_release(&plan->arena);
}

static void plan_add_variable(struct command_plan *plan, struct slice name, struct slice value)
{
    plan->variables[plan->variable_count++] = arena_text(
        &plan->arena, arena_format(&plan->arena, "%.*s=%.*s", SLICE_ARG(name), SLICE_ARG(value)));
}

static bool plan_is_set(const struct command_plan *plan, const char *name)
{
    size_t len = strlen(name);
    bool is_set = false;
    for (size_t i = 0; i < plan->variable_count; i++) {
        is_set = is_set ||
                 (strncmp(plan->variables[i], name, len) == 0 && plan->variables[i][len] == '=');
    }
    return is_set;
}

/* A value with a NUL would be another one in the program. */
static enum err plan_check(const struct execwire_item *item, struct error *reterr)
{
    bool has_nul = slice_find_byte(item->value, '\0') < item->value.len ||
                   slice_find_byte(item->name, '\0') < item->name.len;
    bool is_path = slice_find_byte(item->name, '/') < item->name.len ||
                   slice_find_byte(item->name, '=') < item->name.len;
    bool is_named = item->kind == EXECWIRE_ARGUMENT || item->name.len > 0;
    bool may_have_nul = item->kind == EXECWIRE_FILE || item->kind == EXECWIRE_TERMINAL;
    if (is_path || !is_named || (has_nul && !may_have_nul)) {
        return fail(reterr, ERR_INPUT,
                    "'%.*s' of the connection cannot be a variable's name, or "
                    "has a NUL in its value",
                    SLICE_ARG(slice_sub(item->name, 0, 128)));
    }
    return ERR_NONE;
}

static enum err plan_take(struct command_plan *plan, const struct command_box *box,
                          const struct execwire_item *item, struct error *reterr)
{
    char path[PATH_MAX];
    enum err err = plan_check(item, reterr);
    if (err == ERR_NONE && item->kind == EXECWIRE_FILE) {
        err =
            command_box_write(box, arena_text(&plan->arena, item->name), item->value, path, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    switch ((int)item->kind) {
    case EXECWIRE_ARGUMENT:
        plan->arguments[plan->argument_count++] = arena_text(&plan->arena, item->value);
        return ERR_NONE;
    case EXECWIRE_VARIABLE:
        plan_add_variable(plan, item->name, item->value);
        return ERR_NONE;
    case EXECWIRE_FILE:
        plan_add_variable(plan, item->name, slice_of_text(path));
        return ERR_NONE;
    case EXECWIRE_TERMINAL:
        plan->is_terminal = true;
        plan_add_variable(plan, SLICE("TERM"), item->name);
        return execwire_size_read(item->value, &plan->size) == ERR_NONE
                   ? ERR_NONE
                   : fail(reterr, ERR_INPUT, "the terminal has no size");
    default:
        return fail(reterr, ERR_INPUT, "a command is told what is not for it");
    }
}

/* What every program may rely on, unless the connection has it. */
static void plan_fill(struct command_plan *plan, const struct command_box *box)
{
    const struct {
        const char *name;
        const char *value;
    } usual[] = {{"PATH", PLAN_PATH},
                 {"HOME", box->folder},
                 {"TMPDIR", box->folder},
                 {"PWD", box->folder},
                 {"LANG", "C.UTF-8"}};
    for (size_t i = 0; i < COUNT_OF(usual); i++) {
        if (!plan_is_set(plan, usual[i].name)) {
            plan_add_variable(plan, slice_of_text(usual[i].name), slice_of_text(usual[i].value));
        }
    }
}

enum err command_plan_read(struct command_plan *plan, const struct command_box *box,
                           struct slice items, struct error *reterr)
{
    struct reader reader = reader_of(items);
    struct execwire_item item;
    size_t count = 0;
    plan->arguments =
        arena_alloc_array(&plan->arena, LIMIT_COMMAND_ITEMS + 1, sizeof(*plan->arguments));
    plan->variables =
        arena_alloc_array(&plan->arena, LIMIT_COMMAND_ITEMS + 8, sizeof(*plan->variables));
    while (execwire_item_next(&reader, &item)) {
        enum err err = ++count > LIMIT_COMMAND_ITEMS
                           ? fail(reterr, ERR_LIMIT, "the command has too many words")
                           : plan_take(plan, box, &item, reterr);
        if (err != ERR_NONE) {
            return err;
        }
    }
    if (reader_done(&reader) != ERR_NONE || plan->argument_count == 0) {
        return fail(reterr, ERR_INPUT, "the connection has no command");
    }
    plan_fill(plan, box);
    return ERR_NONE;
}

const char *command_plan_program(const struct command_plan *plan)
{
    return plan->argument_count == 0 ? "" : plan->arguments[0];
}

/* As a shell looks for it: what may not be executed is worse than what is not there. */
int command_plan_execute(const struct command_plan *plan)
{
    struct slice left = SLICE(PLAN_PATH);
    const char *program = plan->arguments[0];
    int cause = ENOENT;
    for (size_t i = 0; i < plan->variable_count; i++) {
        bool is_path = strncmp(plan->variables[i], "PATH=", 5) == 0;
        left = is_path ? slice_of_text(plan->variables[i] + 5) : left;
    }
    if (strchr(program, '/') != NULL) {
        (void)execve(program, plan->arguments, plan->variables);
        return errno;
    }
    while (left.at != NULL && program[0] != '\0') {
        char path[PATH_MAX];
        struct slice folder = slice_cut(left, ':', &left);
        int len = snprintf(path, sizeof(path), "%.*s/%s", SLICE_ARG(folder), program);
        if (folder.len > 0 && len > 0 && (size_t)len < sizeof(path)) {
            (void)execve(path, plan->arguments, plan->variables);
            cause = errno == ENOENT || errno == ENOTDIR ? cause : errno;
        }
    }
    return cause;
}
