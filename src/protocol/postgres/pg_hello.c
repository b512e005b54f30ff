/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_hello.h"

#include "base/text.h"
#include "protocol/hello.h"

#define PG_HELLO_KEY_SIZE 32 /* of the secret that cancels, where the protocol allows it */
#define HINT                                                                                       \
    "Give it as a startup option, -c gatehouse.metadata.NAME=VALUE (for psql in PGOPTIONS), or "   \
    "in the application's name: psql;NAME=VALUE."

/* PostgreSQL takes names of settings in any case. */
static bool metadata_is_name(struct slice name)
{
    return name.len > PG_HELLO_METADATA_PREFIX.len &&
           slice_equals_nocase(slice_sub(name, 0, PG_HELLO_METADATA_PREFIX.len),
                               PG_HELLO_METADATA_PREFIX);
}

/* Options ------------------------------------------------------------------------------------- */

/* As servers split them: at white space, which a backslash before it makes a part of the word. */
static struct slice options_next(struct slice *rest)
{
    static const char blanks[] = " \t\n\v\f\r";
    size_t start = 0;
    while (start < rest->len && strchr(blanks, rest->at[start]) != NULL) {
        start++;
    }
    size_t end = start;
    while (end < rest->len && strchr(blanks, rest->at[end]) == NULL) {
        end += rest->at[end] == '\\' ? 2 : 1;
    }
    struct slice word = slice_sub(*rest, start, end - start);
    *rest = slice_from(*rest, end);
    return word;
}

/* What is made of options: each text is as long as the options at most. */
struct options_texts {
    char *plain; /* of settings that were taken, and of the word that is looked at */
    size_t plain_len;
    char *left; /* for the target, each word as it was */
    size_t left_len;
};

static struct slice options_plain(struct options_texts *texts, struct slice word)
{
    char *plain = texts->plain + texts->plain_len;
    size_t len = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (word.at[i] == '\\' && i + 1 < word.len) {
            i++;
        }
        plain[len++] = word.at[i];
    }
    return slice_of(plain, len);
}

/* A setting out of 'word', which is "-cNAME=VALUE", "--NAME=VALUE", or what comes behind "-c". */
static bool options_take(struct options_texts *texts, struct slice word, bool is_behind,
                         struct shape_pairs *given)
{
    struct slice plain = options_plain(texts, word);
    bool is_setting =
        is_behind || slice_starts_with(plain, SLICE("-c")) || slice_starts_with(plain, SLICE("--"));
    struct slice value = SLICE_NONE;
    struct slice name = slice_cut(is_behind ? plain : slice_from(plain, 2), '=', &value);
    if (!is_setting || !metadata_is_name(name) || value.at == NULL) {
        return false;
    }
    texts->plain_len += plain.len;
    hello_metadata_put(given, slice_from(name, PG_HELLO_METADATA_PREFIX.len), value);
    return true;
}

static void options_leave(struct options_texts *texts, struct slice word)
{
    if (word.len > 0 && texts->left_len > 0) {
        texts->left[texts->left_len++] = ' ';
    }
    for (size_t i = 0; i < word.len; i++) {
        texts->left[texts->left_len++] = word.at[i];
    }
}

/* What is left of them. */
static struct slice options_read(struct arena *arena, struct slice options,
                                 struct shape_pairs *given)
{
    struct options_texts texts = {
        .plain = arena_alloc_bare(arena, options.len + 1),
        .left = arena_alloc_bare(arena, options.len + 1),
    };
    struct slice word = options_next(&options);
    while (word.len > 0) {
        bool is_ahead = slice_equals(word, SLICE("-c"));
        struct slice behind = is_ahead ? options_next(&options) : SLICE("");
        if (!options_take(&texts, is_ahead ? behind : word, is_ahead, given)) {
            options_leave(&texts, word);
            options_leave(&texts, behind);
        }
        word = options_next(&options);
    }
    return slice_of(texts.left, texts.left_len);
}

/* Together ------------------------------------------------------------------------------------ */

static void hello_keep(struct hello *hello, struct slice name, struct slice value)
{
    hello->parameters.pairs[hello->parameters.count++] =
        (struct shape_pair){.key = name, .value = value};
}

/* The name that clients take for the database when none is given is that of their user, which is
 * the connection here, so it says nothing. */
static struct slice hello_database(const struct pgwire_startup *startup)
{
    return slice_equals(startup->database, startup->user) ? SLICE("") : startup->database;
}

struct hello pg_hello_in(struct arena *arena, const struct pgwire_startup *startup)
{
    struct slice name = pgwire_startup_find(startup, SLICE("application_name"));
    struct slice options = pgwire_startup_find(startup, SLICE("options"));
    struct hello hello = {
        .name = startup->user,
        .database = hello_database(startup),
        .application_name = SLICE(""),
        .metadata_hint = HINT,
        .version = startup->version,
        .key_size =
            startup->version >= PGWIRE_VERSION(3, 2) ? PG_HELLO_KEY_SIZE : PGWIRE_KEY_SIZE_MIN,
    };
    hello.metadata = hello_metadata_in(arena);
    hello.parameters.pairs =
        arena_alloc_array(arena, startup->parameter_count + 1, sizeof(*hello.parameters.pairs));
    if (name.at != NULL) {
        hello.application_name = hello_application_read(name, &hello.metadata);
        hello_keep(&hello, SLICE("application_name"), hello.application_name);
    }
    struct slice left = options_read(arena, options, &hello.metadata);
    if (left.len > 0) {
        hello_keep(&hello, SLICE("options"), left);
    }
    for (size_t i = 0; i < startup->parameter_count; i++) {
        const struct pgwire_parameter *parameter = &startup->parameters[i];
        if (metadata_is_name(parameter->name)) {
            hello_metadata_put(&hello.metadata,
                               slice_from(parameter->name, PG_HELLO_METADATA_PREFIX.len),
                               parameter->value);
        } else if (!slice_equals(parameter->name, SLICE("application_name")) &&
                   !slice_equals(parameter->name, SLICE("options"))) {
            hello_keep(&hello, parameter->name, parameter->value);
        }
    }
    return hello;
}
