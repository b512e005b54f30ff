/* SPDX-License-Identifier: MIT */
/* Who this process is to AWS, found in the order in which AWS's own tools look: the environment,
 * the shared files of a profile, the container's credentials, the machine's (IMDSv2). */
#ifndef GH_TARGET_AWS_CREDENTIALS_H
#define GH_TARGET_AWS_CREDENTIALS_H

#include "base/error.h"
#include "target/aws_signature.h"

/* The arena should be one that is wiped. ERR_NOT_FOUND when there are none anywhere; what is there
 * but incomplete, or does not answer, is an error and not passed over. */
enum err aws_credentials_find_in(struct arena *arena, struct aws_credentials *ret_credentials,
                                 struct error *reterr) MUST_USE;

/* A region is letters, digits and '-': it becomes part of a host's name. */
bool aws_region_is_valid(struct slice region);
enum err aws_region_find_in(struct arena *arena, struct slice *ret_region,
                            struct error *reterr) MUST_USE;

#define AWS_FILES_MAX 3

/* The files that may be read for them; how many is returned. */
size_t aws_files_in(struct arena *arena, const char *ret_paths[AWS_FILES_MAX]);

#endif
