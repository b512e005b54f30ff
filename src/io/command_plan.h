/* SPDX-License-Identifier: MIT */
/* What a keeper was told to run: arguments, and the environment, which is all that the program gets
 * of this machine's. Values are never among the arguments. */
#ifndef GH_IO_COMMAND_PLAN_H
#define GH_IO_COMMAND_PLAN_H

#include "base/arena.h"
#include "io/command_box.h"
#include "wire/execwire.h"

struct command_plan {
    struct arena arena; /* wiped */
    char **arguments;
    size_t argument_count; /* 0: nothing was told */
    char **variables;
    size_t variable_count;
    bool is_terminal; /* its input and output are one */
    struct execwire_size size;
};

void command_plan_init(struct command_plan *plan);
void command_plan_release(struct command_plan *plan);

/* From the items of EXECWIRE_START; makes the files of secrets in the box. */
enum err command_plan_read(struct command_plan *plan, const struct command_box *box,
                           struct slice items, struct error *reterr) MUST_USE;
const char *command_plan_program(const struct command_plan *plan);

/* Becomes the program; why not: errno. */
int command_plan_execute(const struct command_plan *plan);

#endif
