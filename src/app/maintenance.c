/* SPDX-License-Identifier: MIT */
#include "app/maintenance.h"

#include "app/recordings.h"
#include "base/limits.h"
#include "base/memory.h"
#include "io/clock.h"
#include "model/organization.h"
#include "store/audit_chain.h"
#include "store/audit_store.h"
#include "store/organization_store.h"
#include "store/row_id.h"
#include "store/seal.h"
#include "store/seal_store.h"

#include <inttypes.h>
#include <unistd.h>

struct maintenance {
    struct arena arena;
    struct seal_keys *keys;
    struct store *store;
};

static void maintenance_release(struct maintenance *self)
{
    store_close(self->store);
    seal_keys_close(self->keys);
    arena_release(&self->arena);
}

/* The key file must be there: one made now would open nothing. */
static enum err maintenance_open(struct maintenance *self, const struct settings *settings,
                                 struct error *reterr)
{
    bool is_new = false;
    if (access(settings->key_file, F_OK) != 0) {
        return fail(reterr, ERR_INPUT, "--master-key-file: there is no '%s'", settings->key_file);
    }
    enum err err = seal_keys_open(settings->key_file, &self->keys, &is_new, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "--master-key-file: ");
        return err;
    }
    const struct store_settings store = {
        .url = settings->store_url,
        .connection_count_max = 2,
        .wait_ms_max = LIMIT_STORE_WAIT_MS,
        .keys = self->keys,
    };
    err = store_open(&store, &self->store, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "--database-url: ");
    }
    return err;
}

/* The audit log -------------------------------------------------------------------------------- */

struct verification {
    struct arena arena; /* of one portion */
    const struct organization *organization;
    struct audit_chain chain;
    struct audit_list list;
};

struct organizations {
    struct arena *arena;
    struct organization *items;
    size_t count;
};

static enum err verification_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct verification *self = context;
    return audit_store_portion(tx, &self->arena, self->organization->id, self->chain.number,
                               &self->list, reterr);
}

static enum err verification_check(struct verification *self, const struct audit_entry *entry,
                                   struct error *reterr)
{
    const char *broken = audit_chain_follow(&self->chain, &self->arena, entry);
    return broken == NULL ? ERR_NONE
                          : fail(reterr, ERR_CONFLICT,
                                 "the audit log of '%.*s' breaks at entry %" PRId64 ": %s",
                                 SLICE_ARG(self->organization->name), self->chain.number, broken);
}

static enum err maintenance_verify_one(struct store *store, const struct organization *organization,
                                       struct error *reterr)
{
    struct verification self = {.organization = organization, .chain = {.number = 1}};
    arena_init(&self.arena);
    enum err err = ERR_NONE;
    do {
        arena_reset(&self.arena);
        err = store_read(store, verification_read, &self, reterr);
        for (size_t i = 0; i < self.list.count && err == ERR_NONE; i++) {
            err = verification_check(&self, &self.list.entries[i], reterr);
        }
    } while (err == ERR_NONE && self.list.count > 0);
    arena_release(&self.arena);
    if (err == ERR_NONE) {
        (void)printf("%.*s: %" PRId64 " entries, each in its place", SLICE_ARG(organization->name),
                     self.chain.number - 1);
        if (self.chain.hash_len > 0) {
            (void)printf("; the last hash is %.*s", (int)self.chain.hash_len, self.chain.hash);
        }
        (void)printf("\n");
    }
    return err;
}

static enum err maintenance_read_organizations(struct store_tx *tx, void *context,
                                               struct error *reterr)
{
    struct organizations *list = context;
    return organization_store_list(tx, list->arena, &list->items, &list->count, reterr);
}

enum err maintenance_verify_audit(const struct settings *settings, struct error *reterr)
{
    struct maintenance self CLEANUP(maintenance_release) = {0};
    struct organizations organizations = {.arena = &self.arena};
    arena_init(&self.arena);
    enum err err = maintenance_open(&self, settings, reterr);
    if (err == ERR_NONE) {
        err = store_read(self.store, maintenance_read_organizations, &organizations, reterr);
    }
    for (size_t i = 0; i < organizations.count && err == ERR_NONE; i++) {
        err = maintenance_verify_one(self.store, &organizations.items[i], reterr);
    }
    return err;
}

/* The master key ------------------------------------------------------------------------------- */

/* For a person who waits; a pipe gets the last line alone. */
static void maintenance_show_progress(const struct seal_progress *progress)
{
    if (isatty(STDOUT_FILENO)) {
        (void)printf("\r%" PRIu64 " secrets seen, %" PRIu64 " closed anew", progress->seen_count,
                     progress->resealed_count);
        (void)fflush(stdout);
    }
}

/* Those that lie here: each gateway has its own. */
static enum err maintenance_reseal_recordings(struct maintenance *self,
                                              const struct settings *settings, struct error *reterr)
{
    struct recordings_resealed resealed;
    const char *folder = recordings_folder_in(&self->arena, settings);
    enum err err = recordings_reseal(folder, self->keys, &resealed, reterr);
    if (err == ERR_NONE && resealed.seen_count > 0) {
        (void)printf("recordings in '%s': %" PRIu64 " seen, %" PRIu64 " closed anew", folder,
                     resealed.seen_count, resealed.resealed_count);
        if (resealed.lost_count > 0) {
            (void)printf(", %" PRIu64 " that no key opens", resealed.lost_count);
        }
        (void)printf("\n");
    }
    return err;
}

static enum err maintenance_reseal(struct maintenance *self, const struct settings *settings,
                                   struct error *reterr)
{
    struct seal_progress progress;
    enum err err = seal_store_reseal(self->store, maintenance_show_progress, &progress, reterr);
    if (err == ERR_NONE) {
        (void)printf("%s%" PRIu64 " secrets seen, %" PRIu64 " closed anew\n",
                     isatty(STDOUT_FILENO) ? "\r" : "", progress.seen_count,
                     progress.resealed_count);
    }
    return err == ERR_NONE ? maintenance_reseal_recordings(self, settings, reterr) : err;
}

struct key_change {
    struct arena *arena;
    struct slice key_id; /* of the key that is current then */
    const char *action;
    const char *cause; /* why it failed; NULL: it did not */
};

static enum err maintenance_write_entry(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct key_change *change = context;
    bool is_good = change->cause == NULL;
    struct audit_entry entry = {
        .id = row_id_new(change->arena),
        .organization_id = SLICE(ORGANIZATION_DEFAULT_ID),
        .actor_name = arena_format(change->arena, "command line, user %u", (unsigned)getuid()),
        .created_at = clock_now(),
        .resource_type = SLICE("master_key"),
        .action = slice_of_text(change->action),
        .payload = arena_format(change->arena, "{\"key_id\":\"%.*s\"}", SLICE_ARG(change->key_id)),
        .outcome = {.value = is_good, .is_given = true},
        .error_message = is_good ? SLICE_NONE : slice_of_text(change->cause),
    };
    return audit_store_append(tx, change->arena, &entry, reterr);
}

/* In the log of the first organization, also when it failed: whatever was done is known. */
static enum err maintenance_audit(struct maintenance *self, const char *action, enum err err,
                                  struct error *reterr)
{
    char id[SEAL_KEY_ID_SIZE] = "";
    struct error failure = {0};
    if (self->keys != NULL) {
        seal_keys_current(self->keys, id);
    }
    struct key_change change = {.arena = &self->arena,
                                .key_id = slice_of_text(id),
                                .action = action,
                                .cause = err == ERR_NONE ? NULL : reterr->message};
    if (self->store == NULL ||
        store_write(self->store, maintenance_write_entry, &change, &failure) == ERR_NONE) {
        return err;
    }
    if (err == ERR_NONE) {
        *reterr = failure;
        error_prefix(reterr, "it is done, but not in the audit log: ");
    }
    return err == ERR_NONE ? ERR_UNAVAILABLE : err;
}

enum err maintenance_rekey(const struct settings *settings, struct error *reterr)
{
    struct maintenance self CLEANUP(maintenance_release) = {0};
    arena_init(&self.arena);
    char id[SEAL_KEY_ID_SIZE];
    enum err err = maintenance_open(&self, settings, reterr);
    if (err == ERR_NONE) {
        err = seal_keys_add(self.keys, reterr);
    }
    if (err == ERR_NONE) {
        err = maintenance_reseal(&self, settings, reterr);
    }
    err = maintenance_audit(&self, "rekey", err, reterr);
    if (err == ERR_NONE) {
        seal_keys_current(self.keys, id);
        (void)printf("the master key is now %s; give '%s' to every gateway of this store, then run "
                     "'gatehouse rekey drop-old'\n",
                     id, settings->key_file);
    }
    return err;
}

enum err maintenance_drop_old_keys(const struct settings *settings, struct error *reterr)
{
    struct maintenance self CLEANUP(maintenance_release) = {0};
    arena_init(&self.arena);
    enum err err = maintenance_open(&self, settings, reterr);
    if (err == ERR_NONE) {
        err = maintenance_reseal(&self, settings, reterr);
    }
    if (err == ERR_NONE) {
        err = seal_keys_drop_old(self.keys, reterr);
    }
    err = maintenance_audit(&self, "drop_old", err, reterr);
    if (err == ERR_NONE) {
        (void)printf("'%s' holds one key\n", settings->key_file);
    }
    return err;
}
