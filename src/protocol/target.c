/* SPDX-License-Identifier: MIT */
#include "protocol/target.h"

void opening_cancel(struct opening *opening)
{
    opening->cancel(opening);
}

const char *target_problem_text(enum target_problem problem)
{
    static const char *const texts[] = {[TARGET_PROBLEM_NONE] = "none",
#define TARGET_PROBLEM_ITEM(name, text) [name] = (text),
                                        TARGET_PROBLEMS(TARGET_PROBLEM_ITEM)
#undef TARGET_PROBLEM_ITEM
    };
    return texts[problem];
}
