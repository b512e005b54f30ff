/* SPDX-License-Identifier: MIT */
/* must(condition): what only a bug of ours can break. On in release builds: a gateway that goes on
 * with a broken invariant is worse than one that stops. Bytes from a peer never reach a must. */
#ifndef GH_BASE_MUST_H
#define GH_BASE_MUST_H

#define must(condition) ((condition) ? (void)0 : must_fail(#condition, __FILE__, __LINE__))

void must_fail(const char *condition, const char *file, int line) __attribute__((noreturn));

#endif
