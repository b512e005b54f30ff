/* SPDX-License-Identifier: MIT */
/* A line with an address, then a password. What is good is text of the right size, and good too
 * when there is no address; what is refused is refused with a reason. */
#include "fuzz.h"

#include "base/must.h"
#include "base/text.h"
#include "identity/password.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice password;
    struct slice email = slice_cut(slice_of(bytes, size), '\n', &password);
    struct error error = {0};
    if (password_check(password, email, &error) == ERR_NONE) {
        must(password.len >= PASSWORD_SIZE_MIN && password.len <= PASSWORD_SIZE_MAX);
        must(text_is_utf8(password));
        must(password_check(password, SLICE_NONE, NULL) == ERR_NONE);
    } else {
        must(error.code == ERR_INPUT && error.message[0] != '\0');
    }
    return 0;
}
