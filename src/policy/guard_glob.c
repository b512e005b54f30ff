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

static char glob_lower(char byte)
{
    return (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
}

static bool glob_is_byte(char byte, char of_name, enum sql_dialect dialect)
{
    return (dialect == SQL_MYSQL ? glob_lower(byte) : byte) == of_name;
}

/* Only the last star is ever taken back: what an earlier one matched need not be more. */
static bool glob_matches_text(struct slice glob, struct slice text, enum sql_dialect dialect)
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
        } else if (at < glob.len && glob_is_byte(glob.at[at], text.at[index], dialect)) {
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

static uint64_t glob_bit(char byte)
{
    return UINT64_C(1) << (byte & 63);
}

uint64_t guard_name_start(struct slice name, enum sql_dialect dialect)
{
    if (name.len == 0) {
        return UINT64_MAX;
    }
    char first = name.at[0];
    bool has_upper = dialect == SQL_MYSQL && first >= 'a' && first <= 'z';
    return glob_bit(first) | (has_upper ? glob_bit((char)(first - 'a' + 'A')) : 0);
}

uint64_t guard_glob_start(const struct guard_glob *glob)
{
    return glob_is_any_start(glob->name) ? UINT64_MAX : glob_bit(glob->name.at[0]);
}

/* Most globs begin with a character that most names do not. */
static bool glob_is_other(struct slice glob, struct slice name, enum sql_dialect dialect)
{
    return name.len > 0 && !glob_is_any_start(glob) &&
           !glob_is_byte(glob.at[0], name.at[0], dialect);
}

static bool glob_matches_name(struct slice glob, struct slice name, enum sql_dialect dialect)
{
    if (glob_is_other(glob, name, dialect)) {
        return false;
    }
    if (glob_matches_text(glob, slice_sub(name, 0, NAME_SIZE_COMPARED), dialect)) {
        return true;
    }
    return dialect == SQL_POSTGRES && name.len > NAME_SIZE_MAX &&
           glob_matches_text(glob, glob_cut_name(name), dialect);
}

bool guard_glob_matches_schema(const struct guard_glob *glob, struct slice schema,
                               enum sql_dialect dialect)
{
    return glob->schema.len == 0 || schema.len == 0 ||
           glob_matches_name(glob->schema, schema, dialect);
}

bool guard_glob_matches(const struct guard_glob *glob, const struct sql_name *name,
                        enum sql_dialect dialect)
{
    return guard_glob_matches_schema(glob, name->schema, dialect) &&
           glob_matches_name(glob->name, name->name, dialect);
}
