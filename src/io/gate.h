/* SPDX-License-Identifier: MIT */
/* Lets so many threads through at once; the others wait. For work that fills a processor. */
#ifndef GH_IO_GATE_H
#define GH_IO_GATE_H

#include <stddef.h>

struct gate;

struct gate *gate_new(size_t count);
void gate_free(struct gate *gate);

void gate_enter(struct gate *gate);
void gate_leave(struct gate *gate);

#endif
