/* SPDX-License-Identifier: MIT */
#include "api/far_recording.h"

#include "base/limits.h"
#include "base/memory.h"

struct far_recording {
    struct nodes *nodes;
    struct arena arena; /* of the texts */
    struct node node;
    struct slice session_id;
    int64_t started_at;
    struct arena held; /* of the piece that was read last */
    struct node_piece piece;
    uint64_t from; /* where that begins */
};

static enum err far_recording_fetch(struct far_recording *self, uint64_t from, struct error *reterr)
{
    const struct node_request request = {.wish = NODE_WISH_RECORDING,
                                         .session_id = self->session_id,
                                         .started_at = self->started_at,
                                         .from = from};
    struct slice answer = SLICE_NONE;
    arena_reset(&self->held);
    self->piece = (struct node_piece){.bytes = SLICE("")};
    self->from = from;
    enum err err = nodes_ask_in(&self->held, self->nodes, &self->node, &request, &answer, reterr);
    return err == ERR_NONE ? node_piece_read(answer, &self->piece, reterr) : err;
}

static bool far_recording_holds(const struct far_recording *self, uint64_t at)
{
    return at >= self->from && at - self->from < self->piece.bytes.len;
}

static enum err far_recording_read(void *context, uint64_t at, char *bytes, size_t size,
                                   size_t *ret_len, struct error *reterr)
{
    struct far_recording *self = context;
    enum err err = far_recording_holds(self, at) ? ERR_NONE : far_recording_fetch(self, at, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice part = slice_sub(self->piece.bytes, (size_t)(at - self->from), size);
    (void)memcpy(bytes, part.at, part.len);
    *ret_len = part.len;
    return ERR_NONE;
}

/* One that cannot be asked may go on: who reads is told when he does. */
static bool far_recording_look(void *context, uint64_t at)
{
    struct far_recording *self = context;
    struct error error;
    enum err err = far_recording_fetch(self, at, &error);
    return err == ERR_NONE ? self->piece.is_written_to : err != ERR_NOT_FOUND;
}

static void far_recording_free(void *context)
{
    struct far_recording *self = context;
    arena_release(&self->held);
    arena_release(&self->arena);
    memory_free(self);
}

static struct far_recording *far_recording_new(struct nodes *nodes, const struct node *node,
                                               const struct session *session)
{
    struct far_recording *self = memory_new(sizeof(*self));
    arena_init(&self->arena);
    arena_init(&self->held);
    self->nodes = nodes;
    self->node = (struct node){.id = arena_copy(&self->arena, node->id),
                               .url = arena_copy(&self->arena, node->url)};
    self->session_id = arena_copy(&self->arena, session->id);
    self->started_at = session->started_at;
    self->piece = (struct node_piece){.bytes = SLICE("")};
    return self;
}

enum err far_recording_open(struct nodes *nodes, struct seal_keys *keys,
                            const struct session *session, struct recording **ret_recording,
                            struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    struct error error = {0};
    size_t count = 0;
    enum err worst = ERR_NOT_FOUND;
    arena_init(&arena);
    const struct node *list = nodes_list_in(&arena, nodes, &count);
    for (size_t i = 1; i < count; i++) {
        struct far_recording *self = far_recording_new(nodes, &list[i], session);
        enum err err = far_recording_fetch(self, 0, &error);
        if (err == ERR_NONE) {
            const struct recording_source source = {.read = far_recording_read,
                                                    .look = far_recording_look,
                                                    .free = far_recording_free,
                                                    .context = self};
            return recording_open_source(&source, keys, ret_recording, reterr);
        }
        far_recording_free(self);
        worst = err == ERR_NOT_FOUND ? worst : ERR_UNAVAILABLE;
        if (worst == ERR_UNAVAILABLE && reterr != NULL && err != ERR_NOT_FOUND) {
            *reterr = error;
            error_prefix(reterr, "another gateway of the store does not answer: ");
        }
    }
    return worst == ERR_NOT_FOUND ? fail(reterr, worst, "no gateway that runs has the recording")
                                  : worst;
}
