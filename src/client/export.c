/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "client/manifest.h"
#include "client/show.h"

static enum err export_write(const struct manifest_estate *estate, const struct manifest_kind *kind,
                             struct slice name, const struct json *current, struct error *reterr)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_CLIENT_ANSWER_SIZE);
    if (yamltext_write(manifest_of_in(estate, kind, name, current), &buf) != ERR_NONE) {
        return fail(reterr, ERR_LIMIT, "%s '%.*s' is too large", kind->word, SLICE_ARG(name));
    }
    (void)printf("%.*s", SLICE_ARG(buf_view(&buf)));
    return ERR_NONE;
}

/* What others keep up to date (packs of rules, programs) is theirs. */
static bool export_is_managed(const struct json *item)
{
    return show_text(item, "managed_by").len > 0;
}

static enum err export_kind(const struct manifest_estate *estate, const struct manifest_kind *kind,
                            struct error *reterr)
{
    struct manifest_items all = {.count = 0};
    enum err err = manifest_list(estate->run, kind, &all, reterr);
    for (size_t i = 0; i < all.count && err == ERR_NONE; i++) {
        struct json item = all.items[i];
        struct slice name = json_is_text(item) ? json_as_written(item) : show_text(&item, "name");
        if (!json_is_text(item) && export_is_managed(&item)) {
            continue;
        }
        if (kind->behind != NULL) {
            err = manifest_part(estate->run, kind, name, &item, reterr);
        }
        if (err == ERR_NONE) {
            err = export_write(estate, kind, name, &item, reterr);
        }
    }
    return err;
}

enum err client_export(struct client_run *run, struct error *reterr)
{
    struct manifest_estate estate = {.run = run};
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = manifest_estate_load(&estate, reterr);
    }
    for (size_t i = 0; i < manifest_kind_count && err == ERR_NONE; i++) {
        err = export_kind(&estate, &manifest_kinds[i], reterr);
    }
    return err;
}
