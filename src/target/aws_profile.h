/* SPDX-License-Identifier: MIT */
/* The files that AWS's own tools keep below ~/.aws, as text: sections in brackets, lines of 'name =
 * value', comments behind '#' and ';' at the start of a line. Nested and continued values are
 * passed over. */
#ifndef GH_TARGET_AWS_PROFILE_H
#define GH_TARGET_AWS_PROFILE_H

#include "base/arena.h"

enum aws_profile_form {
    AWS_PROFILE_CREDENTIALS, /* [name] */
    AWS_PROFILE_CONFIG,      /* [default] and [profile name] */
};

struct aws_profile {
    bool is_found;
    struct slice access_key_id; /* views of the text; empty when not there */
    struct slice secret_access_key;
    struct slice session_token;
    struct slice region;
};

struct aws_profile aws_profile_read(struct slice text, enum aws_profile_form form,
                                    struct slice name);

#endif
