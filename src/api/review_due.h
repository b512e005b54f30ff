/* SPDX-License-Identifier: MIT */
/* Scripts that are to run by themselves when they are approved, and did not: they were approved for
 * other hours, the gateway was killed in between, or the target was away. */
#ifndef GH_API_REVIEW_DUE_H
#define GH_API_REVIEW_DUE_H

/* Of a struct api. Runs those whose hours it is; blocks. What fails is logged, and is looked at
 * again LIMIT_REVIEW_AGAIN_S later, LIMIT_REVIEW_TRIES times in all. */
void review_due_look(void *context);

#endif
