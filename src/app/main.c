/* SPDX-License-Identifier: MIT */
#include "app/cli.h"

#include <unistd.h>

int main(int argument_count, char **arguments)
{
    (void)argument_count;
    return cli_run(arguments + 1, environ);
}
