/* SPDX-License-Identifier: MIT */
/* Where an agent's connection becomes a link: it proves itself with its secret, and may say by
 * which name it was told to be known. */
#include "api/handlers.h"
#include "store/agent_store.h"
#include "tunnel/gateway_side.h"

struct agent_link_call {
    struct arena *arena;
    struct slice token_hash;
    struct agent agent;
};

static struct slice agent_link_secret(const struct api_call *call)
{
    struct slice rest = SLICE_NONE;
    struct slice given = http_request_header(call->request, SLICE("Authorization"));
    struct slice scheme = slice_cut(given, ' ', &rest);
    struct slice secret = slice_trim(rest, " ");
    bool is_ours = slice_equals_nocase(scheme, SLICE("Bearer")) &&
                   slice_starts_with(secret, SLICE(IDENTITY_AGENT_PREFIX));
    return is_ours ? secret : SLICE_NONE;
}

static enum err agent_link_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct agent_link_call *self = context;
    return agent_store_find_by_token(tx, self->arena, self->token_hash, &self->agent, reterr);
}

static enum err agent_link_authenticate(struct agent_link_call *self, struct api_call *call,
                                        struct error *reterr)
{
    struct slice secret = agent_link_secret(call);
    struct slice name = http_request_header(call->request, SLICE("Gatehouse-Agent"));
    enum err err = ERR_NOT_FOUND;
    if (secret.len > 0) {
        self->token_hash = identity_hash_secret_in(call->arena, secret);
        err = store_read(call->api->store, agent_link_body, self, reterr);
    }
    bool is_other = err == ERR_NONE && name.len > 0 && !slice_equals(name, self->agent.name);
    return err == ERR_NOT_FOUND || is_other
               ? fail(reterr, ERR_UNAUTHENTICATED, "access denied: this is no agent's token")
               : err;
}

enum err agent_link_get(struct api_call *call, struct error *reterr)
{
    struct agent_link_call self = {.arena = call->arena};
    enum err err = agent_link_authenticate(&self, call, reterr);
    return err == ERR_NONE
               ? gateway_side_admit(call->api->gateway_side, call->http, &self.agent, reterr)
               : err;
}
