/* SPDX-License-Identifier: MIT */
/* Included before every file by the build: functions that cannot be used safely do not compile.
 * Each has a better neighbour: copies go through struct buf, numbers through text.h, times
 * through timestamp.h. */
#ifndef GH_BASE_BANNED_H
#define GH_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat stpcpy sprintf vsprintf gets strtok strtok_r
#pragma GCC poison atoi atol atoll atof sscanf localtime gmtime ctime asctime
#pragma GCC poison srand tmpnam tempnam mktemp system popen

/* OpenSSL has parameters of this name, so only the call is an error. */
#define rand() rand_is_banned

#endif
