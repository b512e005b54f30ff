/* SPDX-License-Identifier: MIT */
#include "target/secret_source.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/base64.h"
#include "io/clock.h"
#include "model/secret_trust.h"
#include "target/aws_credentials.h"
#include "target/environment.h"
#include "target/secret_answer.h"
#include "target/secret_document.h"

#define SECRET_ALL_SIZE_MAX ((size_t)1 << 20) /* of all failures, as text */
#define SECRET_MORE_SIZE    24                /* "; and 99 more" */
#define SECRET_ROOM_SIZE    64                /* of what else an error has, beside one group */

/* One pair, on its way. */
struct secret_wish {
    struct slice key;
    struct secret_reference reference; /* of text with at == NULL: there is none */
    struct secret_document *document;
    struct slice value;
    enum err err;
    struct error failure;
};

struct secret_wishes {
    struct secret_wish *items;
    size_t count;
    size_t failure_count;
};

/* What is wanted ------------------------------------------------------------------------------ */

static struct secret_document *secret_document_of(struct secret_documents *documents,
                                                  const struct secret_reference *reference)
{
    for (size_t i = 0; i < documents->count; i++) {
        struct secret_document *document = &documents->items[i];
        if (document->source == reference->source &&
            slice_equals(document->name, reference->name)) {
            return document;
        }
    }
    struct secret_document *added = &documents->items[documents->count++];
    *added = (struct secret_document){
        .source = reference->source, .name = reference->name, .err = ERR_AGAIN};
    return added;
}

static bool secret_has_nul(struct slice text)
{
    return slice_find_byte(text, '\0') < text.len;
}

static void secret_wish_read(struct secret_wish *wish, struct arena *arena,
                             struct secret_documents *documents, struct slice value)
{
    struct slice name = SLICE_NONE;
    if (secret_key_place(wish->key, &name) == SECRET_PLACE_BARE) {
        wish->value = value;
        return;
    }
    if (secret_reference_in(arena, value, &wish->reference)) {
        if (secret_has_nul(wish->reference.text)) {
            wish->err = fail(&wish->failure, ERR_INPUT, "the reference has a NUL byte");
        } else if ((wish->reference.source & documents->sources) == 0) {
            wish->err = fail(&wish->failure, ERR_INPUT, SECRET_TRUST_REFUSED);
        } else {
            wish->document = secret_document_of(documents, &wish->reference);
        }
        return;
    }
    wish->reference.text = SLICE_NONE;
    if (base64_decode_in(arena, BASE64_STANDARD, value, &wish->value) != ERR_NONE) {
        wish->err = fail(&wish->failure, ERR_INPUT, "is neither base64 nor a reference");
    }
}

/* What is got --------------------------------------------------------------------------------- */

static void secret_read_variable(struct secret_document *document, struct arena *arena)
{
    const char *text = environment_text(arena_text(arena, document->name));
    document->err = text == NULL
                        ? fail(&document->failure, ERR_UNAVAILABLE,
                               "the agent's environment has no such "
                               "variable")
                        : secret_answer_object_in(arena, "the variable", slice_of_text(text),
                                                  &document->object, &document->failure);
}

static void secret_documents_get(struct arena *arena, struct secret_documents *documents)
{
    static const struct error unsupported = {
        .code = ERR_UNSUPPORTED, .message = "tokens for databases by IAM are not supported"};
    secret_documents_fail(documents, SECRET_SOURCE_AWS_IAM_RDS, &unsupported);
    for (size_t i = 0; i < documents->count; i++) {
        if (documents->items[i].source == SECRET_SOURCE_ENVJSON) {
            secret_read_variable(&documents->items[i], arena);
        }
    }
    aws_secrets_fetch(arena, documents);
    vault_secrets_fetch(arena, documents);
}

static void secret_wish_finish(struct secret_wish *wish, struct arena *arena)
{
    struct slice name = SLICE_NONE;
    if (wish->document != NULL) {
        wish->err = wish->document->err;
        wish->failure = wish->document->failure;
        if (wish->err == ERR_NONE) {
            wish->err = secret_answer_value_in(arena, &wish->document->object, wish->reference.key,
                                               &wish->value, &wish->failure);
        }
    }
    if (wish->err == ERR_NONE && secret_has_nul(wish->value) &&
        secret_key_place(wish->key, &name) != SECRET_PLACE_FILE) {
        wish->err =
            fail(&wish->failure, ERR_INPUT, "the value has a NUL byte, which only a file can hold");
    }
}

/* What is told -------------------------------------------------------------------------------- */

/* Safe to print, at most LIMIT_SECRET_SHOWN_SIZE bytes of it. */
static struct slice secret_shown_in(struct arena *arena, struct slice text)
{
    struct buf buf;
    size_t len = text.len < LIMIT_SECRET_SHOWN_SIZE ? text.len : LIMIT_SECRET_SHOWN_SIZE;
    while (len > 0 && len < text.len && ((unsigned char)text.at[len] & 0xc0) == 0x80) {
        len--;
    }
    buf_init(&buf, (size_t)LIMIT_SECRET_SHOWN_SIZE * 10);
    struct writer writer = writer_to(&buf);
    text_show(&writer, slice_sub(text, 0, len));
    must(writer_done(&writer) == ERR_NONE);
    struct slice shown =
        arena_format(arena, "%.*s%s", SLICE_ARG(buf_view(&buf)), len < text.len ? "…" : "");
    buf_release(&buf);
    return shown;
}

/* "envvar:PASS (_aws:prod/db:password)" */
static struct slice secret_wish_shown_in(struct arena *arena, const struct secret_wish *wish)
{
    struct slice key = secret_shown_in(arena, wish->key);
    if (wish->reference.text.at == NULL) {
        return key;
    }
    struct slice reference = secret_shown_in(arena, wish->reference.text);
    return arena_format(arena, "%.*s (%.*s)", SLICE_ARG(key), SLICE_ARG(reference));
}

static bool secret_fails_alike(const struct secret_wish *a, const struct secret_wish *b)
{
    return a->err != ERR_NONE && b->err != ERR_NONE &&
           strcmp(a->failure.message, b->failure.message) == 0;
}

static bool secret_was_told(const struct secret_wishes *wishes, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (secret_fails_alike(&wishes->items[i], &wishes->items[index])) {
            return true;
        }
    }
    return false;
}

/* All that fail for the reason for which this one does: "A (…), B (…): reason", or, where they are
 * too many for an error, "A (…) and 9 more: reason". */
static struct slice secret_group_in(struct arena *arena, const struct secret_wishes *wishes,
                                    size_t index, size_t *ret_count)
{
    const struct secret_wish *first = &wishes->items[index];
    struct slice group = secret_wish_shown_in(arena, first);
    size_t size_max = ERROR_MESSAGE_SIZE - slice_of_text(first->failure.message).len;
    size_t left_count = 0;
    *ret_count = 1;
    for (size_t i = index + 1; i < wishes->count; i++) {
        if (!secret_fails_alike(first, &wishes->items[i])) {
            continue;
        }
        struct slice shown = secret_wish_shown_in(arena, &wishes->items[i]);
        (*ret_count)++;
        if (left_count > 0 || group.len + shown.len + SECRET_ROOM_SIZE > size_max) {
            left_count++;
        } else {
            group = arena_format(arena, "%.*s, %.*s", SLICE_ARG(group), SLICE_ARG(shown));
        }
    }
    if (left_count > 0) {
        group = arena_format(arena, "%.*s and %zu more", SLICE_ARG(group), left_count);
    }
    return arena_format(arena, "%.*s: %s", SLICE_ARG(group), first->failure.message);
}

/* As many groups as fit into an error, and how many are left out. The first is always there, cut
 * if need be. */
static struct slice secret_summary_in(struct arena *arena, const struct secret_wishes *wishes)
{
    struct slice summary = arena_format(arena, "cannot get %zu secret%s: ", wishes->failure_count,
                                        wishes->failure_count == 1 ? "" : "s");
    size_t told_count = 0;
    for (size_t i = 0; i < wishes->count; i++) {
        size_t count = 0;
        if (wishes->items[i].err == ERR_NONE || secret_was_told(wishes, i)) {
            continue;
        }
        struct slice group = secret_group_in(arena, wishes, i, &count);
        bool is_last = told_count + count == wishes->failure_count;
        size_t size = summary.len + group.len + 2 + (is_last ? 0 : SECRET_MORE_SIZE);
        if (told_count > 0 && size >= ERROR_MESSAGE_SIZE) {
            return arena_format(arena, "%.*s; and %zu more", SLICE_ARG(summary),
                                wishes->failure_count - told_count);
        }
        summary = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(summary), told_count == 0 ? "" : "; ",
                               SLICE_ARG(group));
        told_count += count;
    }
    return summary;
}

static struct slice secret_all_in(struct arena *arena, const struct secret_wishes *wishes)
{
    struct buf buf;
    struct arena scratch;
    arena_init(&scratch);
    buf_init(&buf, SECRET_ALL_SIZE_MAX);
    struct writer writer = writer_to(&buf);
    for (size_t i = 0; i < wishes->count; i++) {
        const struct secret_wish *wish = &wishes->items[i];
        if (wish->err != ERR_NONE) {
            writer_bytes(&writer, buf.len == 0 ? SLICE("") : SLICE("\n"));
            writer_bytes(&writer, secret_wish_shown_in(&scratch, wish));
            writer_bytes(&writer, SLICE(": "));
            writer_bytes(&writer, slice_of_text(wish->failure.message));
        }
    }
    must(writer_done(&writer) == ERR_NONE);
    struct slice all = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    arena_release(&scratch);
    return all;
}

static enum err secret_wishes_fail(struct arena *arena, const struct secret_wishes *wishes,
                                   struct slice *reterr_all, struct error *reterr)
{
    struct arena scratch CLEANUP(arena_release);
    enum err err = ERR_INPUT;
    arena_init(&scratch);
    for (size_t i = 0; i < wishes->count; i++) {
        bool is_fixed = wishes->items[i].err == ERR_NONE || wishes->items[i].err == ERR_INPUT;
        err = is_fixed ? err : ERR_UNAVAILABLE;
    }
    if (reterr_all != NULL) {
        *reterr_all = secret_all_in(arena, wishes);
    }
    struct slice summary = secret_summary_in(&scratch, wishes);
    return fail(reterr, err, "%.*s", SLICE_ARG(summary));
}

/* All of it ----------------------------------------------------------------------------------- */

static void secret_wishes_get(struct arena *arena, unsigned sources,
                              const struct shape_pairs *secret, struct secret_wishes *wishes)
{
    struct secret_documents documents = {
        .sources = sources,
        .items = arena_alloc_array(arena, secret->count, sizeof(*documents.items)),
        .ends_at = clock_monotonic() + (int64_t)LIMIT_SECRETS_MS * 1000,
    };
    wishes->items = arena_alloc_array(arena, secret->count, sizeof(*wishes->items));
    wishes->count = secret->count;
    for (size_t i = 0; i < secret->count; i++) {
        wishes->items[i] = (struct secret_wish){.key = secret->pairs[i].key};
        secret_wish_read(&wishes->items[i], arena, &documents, secret->pairs[i].value);
    }
    secret_documents_get(arena, &documents);
    for (size_t i = 0; i < secret->count; i++) {
        secret_wish_finish(&wishes->items[i], arena);
        wishes->failure_count += wishes->items[i].err != ERR_NONE;
    }
}

enum err secret_sources_resolve(struct arena *arena, unsigned sources,
                                const struct shape_pairs *secret, struct shape_pairs *ret_plain,
                                struct slice *reterr_all, struct error *reterr)
{
    struct arena work CLEANUP(arena_release);
    struct secret_wishes wishes = {.count = 0};
    arena_init(&work);
    arena_hold_secrets(&work);
    secret_wishes_get(&work, sources, secret, &wishes);
    if (wishes.failure_count > 0) {
        return secret_wishes_fail(arena, &wishes, reterr_all, reterr);
    }
    arena_hold_secrets(arena);
    ret_plain->pairs = arena_alloc_array(arena, wishes.count, sizeof(*ret_plain->pairs));
    ret_plain->count = wishes.count;
    ret_plain->is_given = true;
    for (size_t i = 0; i < wishes.count; i++) {
        ret_plain->pairs[i] = (struct shape_pair){
            .key = arena_copy(arena, wishes.items[i].key),
            .value = arena_copy(arena, wishes.items[i].value),
        };
    }
    return ERR_NONE;
}

size_t secret_source_files_in(struct arena *arena, const char *ret_paths[SECRET_SOURCE_FILES_MAX])
{
    size_t count = aws_files_in(arena, ret_paths);
    const char *issuers = environment_text("VAULT_CACERT");
    if (issuers != NULL) {
        ret_paths[count++] = issuers;
    }
    return count;
}
