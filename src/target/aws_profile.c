/* SPDX-License-Identifier: MIT */
#include "target/aws_profile.h"

#include "base/memory.h"

#define AWS_SPACE " \t\r"

static bool aws_profile_is(struct slice section, enum aws_profile_form form, struct slice name)
{
    if (form == AWS_PROFILE_CONFIG && slice_starts_with(section, SLICE("profile"))) {
        struct slice rest = slice_from(section, strlen("profile"));
        struct slice named = slice_trim(rest, AWS_SPACE);
        return named.len < rest.len && slice_equals(named, name);
    }
    bool is_plain = form == AWS_PROFILE_CREDENTIALS || slice_equals(name, SLICE("default"));
    return is_plain && slice_equals(section, name);
}

/* The first of a name counts; of a section that comes twice, both. */
static void aws_profile_take(struct aws_profile *profile, struct slice line)
{
    const struct {
        struct slice name;
        struct slice *value;
    } fields[] = {
        {SLICE("aws_access_key_id"), &profile->access_key_id},
        {SLICE("aws_secret_access_key"), &profile->secret_access_key},
        {SLICE("aws_session_token"), &profile->session_token},
        {SLICE("region"), &profile->region},
    };
    struct slice value = SLICE_NONE;
    struct slice name = slice_trim(slice_cut(line, '=', &value), AWS_SPACE);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (slice_equals_nocase(name, fields[i].name) && fields[i].value->len == 0) {
            *fields[i].value = slice_trim(value, AWS_SPACE);
        }
    }
}

struct aws_profile aws_profile_read(struct slice text, enum aws_profile_form form,
                                    struct slice name)
{
    struct aws_profile profile = {.is_found = false};
    bool is_inside = false;
    for (struct slice rest = text; rest.len > 0;) {
        struct slice line = slice_cut(rest, '\n', &rest);
        bool is_continued = line.len > 0 && (line.at[0] == ' ' || line.at[0] == '\t');
        line = slice_trim(line, AWS_SPACE);
        if (line.len == 0 || line.at[0] == '#' || line.at[0] == ';' || is_continued) {
            continue;
        }
        if (line.at[0] == '[') {
            size_t end = slice_find_byte(line, ']');
            struct slice section = slice_trim(slice_sub(line, 1, end - 1), AWS_SPACE);
            is_inside = end < line.len && aws_profile_is(section, form, name);
            profile.is_found = profile.is_found || is_inside;
        } else if (is_inside) {
            aws_profile_take(&profile, line);
        }
    }
    return profile;
}
