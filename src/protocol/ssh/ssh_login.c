/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_login.h"

#include "protocol/ssh/ssh_pattern.h"

struct slice sshd_login_cut(struct slice user, struct slice *ret_login)
{
    struct slice name = slice_cut(user, '+', ret_login);
    if (ret_login->at == NULL) {
        *ret_login = SLICE("");
        return name;
    }
    return ret_login->len > 0 ? name : user; /* no connection has a name that ends so */
}

/* Servers know others, too: what is no word cannot stand in a list of them. */
static bool login_is_name(struct slice login)
{
    bool is_good = login.len > 0 && login.len <= SSHD_LOGIN_SIZE_MAX;
    for (size_t i = 0; i < login.len; i++) {
        is_good = is_good && login.at[i] > ' ' && login.at[i] != 0x7f && login.at[i] != '*' &&
                  login.at[i] != ';';
    }
    return is_good;
}

enum err sshd_login_check(struct slice logins, struct error *reterr)
{
    size_t count = 0;
    for (struct slice text = sshd_pattern_next(&logins); text.len > 0;
         text = sshd_pattern_next(&logins)) {
        if (!login_is_name(text)) {
            return fail(reterr, ERR_INPUT,
                        "'envvar:LOGINS' of the connection: the name %zu is none of a user",
                        count + 1);
        }
        if (++count > SSHD_LOGINS_MAX) {
            return fail(reterr, ERR_LIMIT,
                        "'envvar:LOGINS' of the connection has more than %d names",
                        SSHD_LOGINS_MAX);
        }
    }
    return ERR_NONE;
}

bool sshd_login_allows(struct slice logins, struct slice user, struct slice login)
{
    bool is_allowed = slice_equals(login, user);
    for (struct slice text = sshd_pattern_next(&logins); text.len > 0 && !is_allowed;
         text = sshd_pattern_next(&logins)) {
        is_allowed = login_is_name(text) && slice_equals(text, login);
    }
    return is_allowed;
}
