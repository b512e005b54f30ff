/* SPDX-License-Identifier: MIT */
/* Files of 'apply': a folder's, or one; each with documents of YAML. */
#include "client/apply_internal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "client/files.h"
#include "client/show.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum err apply_fail(const struct apply_item *item, struct slice path, enum err err,
                    const char *words, struct error *reterr)
{
    size_t line = yamltext_line_of(&item->document, path);
    return path.len == 0 ? fail(reterr, err, "%s:%zu: %s", item->file, line, words)
                         : fail(reterr, err, "%s:%zu: '%.*s' %s", item->file, line,
                                SLICE_ARG(slice_sub(path, 0, 200)), words);
}

static enum err apply_take(struct apply *self, const char *file,
                           const struct yamltext_document *document, struct error *reterr)
{
    struct apply_item item = {.file = file,
                              .document = *document,
                              .current = {.path = SLICE(""), .arena = self->run->arena}};
    struct slice word = SLICE("");
    if (json_as_object(document->json, NULL) != ERR_NONE) {
        return apply_fail(&item, SLICE(""), ERR_INPUT, "a document must have members", reterr);
    }
    word = show_text(&document->json, "kind");
    for (size_t i = 0; i < manifest_kind_count; i++) {
        if (slice_equals(word, slice_of_text(manifest_kinds[i].word))) {
            item.kind = &manifest_kinds[i];
        }
    }
    if (item.kind == NULL) {
        return apply_fail(&item, SLICE("kind"), ERR_INPUT,
                          "must be group, resource, connection, access, attribute, guardrail, "
                          "masking-rule or access-rule",
                          reterr);
    }
    if (json_as_text(json_member(&document->json, "name"), &item.name, NULL) != ERR_NONE ||
        item.name.len == 0) {
        return apply_fail(&item, SLICE("name"), ERR_INPUT, "must be a text", reterr);
    }
    for (size_t i = 0; i < self->count; i++) {
        const struct apply_item *other = &self->items[i];
        if (other->kind == item.kind && slice_equals(other->name, item.name)) {
            return apply_fail(&item, SLICE("name"), ERR_INPUT,
                              arena_format(self->run->arena, "is there twice, at first in %s:%zu",
                                           other->file, other->document.line)
                                  .at,
                              reterr);
        }
    }
    if (self->count == LIMIT_CLIENT_MANIFESTS) {
        return fail(reterr, ERR_LIMIT, "there are more than %d documents", LIMIT_CLIENT_MANIFESTS);
    }
    self->items[self->count++] = item;
    return ERR_NONE;
}

static enum err apply_read_file(struct apply *self, const char *file, struct error *reterr)
{
    struct arena *arena = self->run->arena;
    struct yamltext_documents documents = {.count = 0};
    struct slice text = SLICE("");
    size_t line = 1;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(reterr, ERR_INPUT, "'%s': %s", file, strerror(errno));
    }
    enum err err = client_file_take_in(arena, fd, LIMIT_YAML_SIZE, &text, reterr);
    (void)close(fd);
    if (err == ERR_NONE) {
        err = yamltext_parse_in(arena, text, &documents, &line, reterr);
    }
    if (err != ERR_NONE) {
        error_prefix(reterr, arena_format(arena, "%s:%zu: ", file, line).at);
        return err;
    }
    for (size_t i = 0; i < documents.count && err == ERR_NONE; i++) {
        err = apply_take(self, file, &documents.items[i], reterr);
    }
    return err;
}

static int apply_is_wanted(const struct dirent *entry)
{
    struct slice name = slice_of_text(entry->d_name);
    return name.at[0] != '.' &&
                   (slice_ends_with(name, SLICE(".yaml")) || slice_ends_with(name, SLICE(".yml")))
               ? 1
               : 0;
}

static enum err apply_read_folder(struct apply *self, const char *folder, struct error *reterr)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, apply_is_wanted, alphasort);
    enum err err = ERR_NONE;
    if (count < 0) {
        return fail(reterr, ERR_INPUT, "'%s': %s", folder, strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        if (err == ERR_NONE) {
            err = apply_read_file(
                self, arena_format(self->run->arena, "%s/%s", folder, entries[i]->d_name).at,
                reterr);
        }
        free(entries[i]);
    }
    free(entries);
    return err == ERR_NONE && self->count == 0
               ? fail(reterr, ERR_INPUT, "'%s' has no documents: files named *.yaml or *.yml",
                      folder)
               : err;
}

/* In the order of kinds, else in that of the files. */
static void apply_sort(struct apply *self)
{
    struct apply_item *sorted =
        arena_alloc_array(self->run->arena, LIMIT_CLIENT_MANIFESTS, sizeof(*sorted));
    size_t count = 0;
    for (size_t kind = 0; kind < manifest_kind_count; kind++) {
        for (size_t i = 0; i < self->count; i++) {
            if (self->items[i].kind == &manifest_kinds[kind]) {
                sorted[count++] = self->items[i];
            }
        }
    }
    self->items = sorted;
}

enum err apply_read(struct apply *self, const char *path, struct error *reterr)
{
    struct stat about;
    self->items = arena_alloc_array(self->run->arena, LIMIT_CLIENT_MANIFESTS, sizeof(*self->items));
    bool is_folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    enum err err =
        is_folder ? apply_read_folder(self, path, reterr) : apply_read_file(self, path, reterr);
    if (err == ERR_NONE) {
        apply_sort(self);
    }
    return err;
}
