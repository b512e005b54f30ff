/* SPDX-License-Identifier: MIT */
#include "cli_help.h"

#include "app/cli.h"
#include "base/must.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_all(FILE *file, char *text)
{
    rewind(file);
    text[fread(text, 1, TEXT_SIZE - 1, file)] = '\0';
    must(fclose(file) == 0);
}

/* In a child: a command prints, and may change the process. */
void run(const char *const *words, struct result *result)
{
    char texts[ARGUMENTS_MAX][256];
    char *arguments[ARGUMENTS_MAX + 1] = {NULL};
    char *environment[] = {NULL};
    for (size_t i = 0; i < ARGUMENTS_MAX && words[i] != NULL; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "%s", words[i]);
        arguments[i] = texts[i];
    }
    FILE *out = tmpfile();
    FILE *err = tmpfile();
    must(out != NULL && err != NULL);
    (void)fflush(NULL);
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        bool is_ready = dup2(fileno(out), STDOUT_FILENO) >= 0 &&
                        dup2(fileno(err), STDERR_FILENO) >= 0 &&
                        unsetenv("GATEHOUSE_DATA_DIR") == 0;
        int code = is_ready ? cli_run(arguments, environment) : 99;
        (void)fflush(NULL);
        _exit(code);
    }
    int status = 0;
    must(waitpid(child, &status, 0) == child);
    must(WIFEXITED(status));
    result->code = WEXITSTATUS(status);
    read_all(out, result->out);
    read_all(err, result->err);
}
