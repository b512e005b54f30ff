/* SPDX-License-Identifier: MIT */
/* What a fuzz target is to the fuzzer: a function over one input that returns 0 when nothing is
 * wrong and stops the process (must, a sanitizer) when a property does not hold. */
#ifndef GH_FUZZ_FUZZ_H
#define GH_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
