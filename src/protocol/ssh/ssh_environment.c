/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_environment.h"

#include "base/limits.h"
#include "protocol/ssh/ssh_pattern.h"

/* None of them says which program runs, or what one loads. git looks at GIT_PROTOCOL for the
 * version of its own protocol. */
#define USUAL "LANG LANGUAGE LC_* TERM COLORTERM NO_COLOR TZ GIT_PROTOCOL"

static bool environment_is_name(struct slice name, bool is_pattern)
{
    bool is_good = name.len > 0 && name.len <= LIMIT_SSH_VARIABLE_SIZE;
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.at[i];
        is_good =
            is_good && ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= '0' && byte <= '9') || byte == '_' || (is_pattern && byte == '*'));
    }
    return is_good;
}

enum err sshd_environment_check(struct slice patterns, struct error *reterr)
{
    size_t count = 0;
    for (struct slice text = sshd_pattern_next(&patterns); text.len > 0;
         text = sshd_pattern_next(&patterns)) {
        if (!environment_is_name(text, true)) {
            return fail(reterr, ERR_INPUT,
                        "'envvar:ACCEPT_ENV' of the connection: pattern %zu is no name of a "
                        "variable",
                        count + 1);
        }
        if (++count > LIMIT_SSH_VARIABLES) {
            return fail(reterr, ERR_LIMIT,
                        "'envvar:ACCEPT_ENV' of the connection has more than %d names",
                        LIMIT_SSH_VARIABLES);
        }
    }
    return ERR_NONE;
}

static bool environment_is_among(struct slice patterns, struct slice name)
{
    bool is_it = false;
    if (!environment_is_name(name, false)) {
        return false;
    }
    for (struct slice text = sshd_pattern_next(&patterns); text.len > 0 && !is_it;
         text = sshd_pattern_next(&patterns)) {
        is_it = sshd_pattern_matches(text, name, true);
    }
    return is_it;
}

bool sshd_environment_is_usual(struct slice name)
{
    return environment_is_among(SLICE(USUAL), name);
}

bool sshd_environment_allows(struct slice patterns, struct slice name)
{
    return sshd_environment_is_usual(name) || environment_is_among(patterns, name);
}
