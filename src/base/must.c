/* SPDX-License-Identifier: MIT */
#include "base/must.h"

void must_fail(const char *condition, const char *file, int line)
{
    (void)fprintf(stderr, "gatehouse: bug: must(%s) failed at %s:%d\n", condition, file, line);
    abort();
}
