/* SPDX-License-Identifier: MIT */
#include "policy/guard_glob.h"

/* PostgreSQL, 4.1.1: longer ones are cut to that many bytes, at the end of a character. */
#define NAME_SIZE_MAX 63
/* Far beyond what any build of the database keeps: keeps matching linear in the text. */
#define NAME_SIZE_COMPARED 512

struct guard_glob guard_glob_view(struct slice text)
{
    struct slice rest = SLICE_NONE;
    struct slice first = slice_cut(text, '.', &rest);
    return rest.at == NULL ? (struct guard_glob){.schema = SLICE(""), .name = first}
                           : (struct guard_glob){.schema = first, .name = rest};
}

static bool glob_is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t glob_character_end(struct slice text, size_t index)
{
    index++;
    while (index < text.len && glob_is_inside_character(text.at[index])) {
        index++;
    }
    return index;
}

/* Only the last star is ever taken back: what an earlier one matched need not be more. */
static bool glob_matches_text(struct slice glob, struct slice text)
{
    size_t at = 0;
    size_t index = 0;
    size_t star = glob.len;
    size_t star_index = 0;
    while (index < text.len) {
        if (at < glob.len && glob.at[at] == '*') {
            star = at++;
            star_index = index;
        } else if (at < glob.len && glob.at[at] == '?') {
            at++;
            index = glob_character_end(text, index);
        } else if (at < glob.len && glob.at[at] == text.at[index]) {
            at++;
            index++;
        } else if (star < glob.len) {
            at = star + 1;
            star_index++;
            index = star_index;
        } else {
            return false;
        }
    }
    while (at < glob.len && glob.at[at] == '*') {
        at++;
    }
    return at == glob.len;
}

static struct slice glob_cut_name(struct slice name)
{
    size_t len = NAME_SIZE_MAX;
    while (len > 0 && glob_is_inside_character(name.at[len])) {
        len--;
    }
    return slice_sub(name, 0, len);
}

static bool glob_is_any_start(struct slice glob)
{
    return glob.len == 0 || glob.at[0] == '*' || glob.at[0] == '?';
}

uint64_t guard_name_start(struct slice name)
{
    return name.len == 0 ? UINT64_MAX : UINT64_C(1) << (name.at[0] & 63);
}

uint64_t guard_glob_start(const struct guard_glob *glob)
{
    return glob_is_any_start(glob->name) ? UINT64_MAX : guard_name_start(glob->name);
}

/* Most globs begin with a character that most names do not. */
static bool glob_is_other(struct slice glob, struct slice name)
{
    return name.len > 0 && !glob_is_any_start(glob) && glob.at[0] != name.at[0];
}

static bool glob_matches_name(struct slice glob, struct slice name)
{
    if (glob_is_other(glob, name)) {
        return false;
    }
    if (glob_matches_text(glob, slice_sub(name, 0, NAME_SIZE_COMPARED))) {
        return true;
    }
    return name.len > NAME_SIZE_MAX && glob_matches_text(glob, glob_cut_name(name));
}

bool guard_glob_matches_schema(const struct guard_glob *glob, struct slice schema)
{
    return glob->schema.len == 0 || schema.len == 0 || glob_matches_name(glob->schema, schema);
}

bool guard_glob_matches(const struct guard_glob *glob, const struct sql_name *name)
{
    return guard_glob_matches_schema(glob, name->schema) &&
           glob_matches_name(glob->name, name->name);
}
