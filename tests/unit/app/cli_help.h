/* SPDX-License-Identifier: MIT */
/* Runs a command of the program in a child, and keeps what it printed. */
#ifndef GH_TEST_CLI_HELP_H
#define GH_TEST_CLI_HELP_H

#define TEXT_SIZE     32768
#define ARGUMENTS_MAX 12

struct result {
    int code;
    char out[TEXT_SIZE];
    char err[TEXT_SIZE];
};

/* The words end with NULL. */
void run(const char *const *words, struct result *result);

#define RUN(result, ...) run((const char *const[]){__VA_ARGS__, NULL}, result)

#endif
