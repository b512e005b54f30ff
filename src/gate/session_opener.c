/* SPDX-License-Identifier: MIT */
#include "gate/session_opener.h"

#include "base/memory.h"
#include "store/audit_store.h"

static struct slice copy(struct session_opener *self, struct slice text)
{
    return arena_copy(&self->arena, text);
}

static void copy_credential(struct session_opener *self, const struct credential *from)
{
    self->credential = (struct credential){
        .id = copy(self, from->id),
        .organization_id = copy(self, from->organization_id),
        .connection_id = copy(self, from->connection_id),
        .connection_name = copy(self, from->connection_name),
        .member_id = copy(self, from->member_id),
        .member_email = copy(self, from->member_email),
        .member_name = copy(self, from->member_name),
        .is_execution = from->is_execution,
        .created_at = from->created_at,
        .expires_at = from->expires_at,
    };
}

static void copy_entry(struct session_opener *self, const struct audit_entry *from)
{
    self->entry = *from;
    self->entry.id = copy(self, from->id);
    self->entry.organization_id = copy(self, from->organization_id);
    self->entry.actor_subject = copy(self, from->actor_subject);
    self->entry.actor_email = copy(self, from->actor_email);
    self->entry.actor_name = copy(self, from->actor_name);
    self->entry.http_method = copy(self, from->http_method);
    self->entry.http_path = copy(self, from->http_path);
    self->entry.client_ip = copy(self, from->client_ip);
    self->entry.payload = copy(self, from->payload);
}

static void copy_inputs(struct session_opener *self, const struct execution_inputs *from)
{
    struct shape_pairs *variables = &self->inputs.env_vars;
    struct shape_texts *arguments = &self->inputs.client_args;
    variables->count = from->env_vars.count;
    variables->pairs =
        arena_alloc_array(&self->arena, variables->count + 1, sizeof(*variables->pairs));
    for (size_t i = 0; i < variables->count; i++) {
        variables->pairs[i].key = copy(self, from->env_vars.pairs[i].key);
        variables->pairs[i].value = copy(self, from->env_vars.pairs[i].value);
    }
    arguments->count = from->client_args.count;
    arguments->items =
        arena_alloc_array(&self->arena, arguments->count + 1, sizeof(*arguments->items));
    for (size_t i = 0; i < arguments->count; i++) {
        arguments->items[i] = copy(self, from->client_args.items[i]);
    }
}

struct session_opener *session_opener_copy(const struct session_opener *opener)
{
    if (opener == NULL) {
        return NULL;
    }
    struct session_opener *self = memory_new(sizeof(*self));
    arena_init(&self->arena);
    arena_hold_secrets(&self->arena);
    copy_credential(self, &opener->credential);
    self->proof = (struct credential_proof){.hash = copy(self, opener->proof.hash),
                                            .verifier = copy(self, opener->proof.verifier)};
    copy_entry(self, &opener->entry);
    copy_inputs(self, &opener->inputs);
    self->labels = copy(self, opener->labels);
    self->batch_id = copy(self, opener->batch_id);
    self->correlation_id = copy(self, opener->correlation_id);
    return self;
}

void session_opener_free(struct session_opener *opener)
{
    if (opener != NULL) {
        arena_release(&opener->arena);
        memory_free(opener);
    }
}

static enum err append(struct store_tx *tx, struct arena *arena,
                       const struct session_opener *opener, struct error *reterr)
{
    struct audit_entry entry = opener->entry;
    bool is_there = false;
    enum err err = audit_store_has(tx, entry.id, &is_there, reterr);
    return err == ERR_NONE && !is_there ? audit_store_append(tx, arena, &entry, reterr) : err;
}

enum err session_opener_write(struct store_tx *tx, struct arena *arena,
                              const struct session_opener *opener, struct error *reterr)
{
    enum err err = credential_store_insert(tx, arena, &opener->credential, &opener->proof, reterr);
    return err == ERR_NONE ? append(tx, arena, opener, reterr) : err;
}

struct opener_look {
    const struct session_opener *opener;
    bool is_there;
};

static enum err look(struct store_tx *tx, void *context, struct error *reterr)
{
    struct opener_look *self = context;
    return audit_store_has(tx, self->opener->entry.id, &self->is_there, reterr);
}

static enum err append_alone(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct opener_look *self = context;
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    return append(tx, &arena, self->opener, reterr);
}

enum err session_opener_audit(struct store *store, const struct session_opener *opener,
                              struct error *reterr)
{
    struct opener_look self = {.opener = opener};
    enum err err = store_read(store, look, &self, reterr);
    return err == ERR_NONE && !self.is_there ? store_write(store, append_alone, &self, reterr)
                                             : err;
}
