/* SPDX-License-Identifier: MIT */
/* What a gateway says to an agent over a link: the bytes behind the upgrade. */
#include "fuzz_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_link_run(LINK_AGENT, bytes, size, 0);
}
