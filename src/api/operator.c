/* SPDX-License-Identifier: MIT */
/* What whoever runs the gateway may do through the control socket before anybody is registered:
 * what an admin may, by the same handlers, in the organization that ?organization= names. */
#include "api/handlers.h"
#include "store/organization_store.h"

struct operator_query {
    struct slice organization;
};

static const struct shape_field operator_query_fields[] = {
    {.name = "organization",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct operator_query, organization),
     .max = 100},
};

static const struct shape operator_query_shape = {.name = "OperatorQuery",
                                                  .size = sizeof(struct operator_query),
                                                  SHAPE_FIELDS(operator_query_fields)};

struct operator_call {
    struct api_call *call;
    struct operator_query query;
};

static enum err operator_find_organization(struct store_tx *tx, void *context, struct error *reterr)
{
    struct operator_call *self = context;
    struct caller *caller = &self->call->caller;
    return organization_store_find(tx, self->call->arena, self->query.organization,
                                   &caller->organization_id, reterr);
}

static enum err operator_run(struct api_call *call, api_handler_fn handler, struct error *reterr)
{
    struct operator_call self = {.call = call};
    enum err err = api_read_query(call, &operator_query_shape, &self.query, reterr);
    if (self.query.organization.len == 0) {
        self.query.organization = SLICE("default");
    }
    if (err == ERR_NONE) {
        err = store_read(call->api->store, operator_find_organization, &self, reterr);
    }
    if (err != ERR_NONE) {
        call->caller.organization_id = SLICE_NONE; /* there is none to tell it to */
        return err;
    }
    call->caller.organization_name = self.query.organization;
    call->caller.name = SLICE("control socket");
    call->caller.is_admin = true;
    return handler(call, reterr);
}

enum err operator_resources_post(struct api_call *call, struct error *reterr)
{
    return operator_run(call, resources_post, reterr);
}

enum err operator_resources_delete(struct api_call *call, struct error *reterr)
{
    return operator_run(call, resources_delete, reterr);
}

enum err operator_machine_identities_post(struct api_call *call, struct error *reterr)
{
    return operator_run(call, machine_identities_post, reterr);
}

enum err operator_machine_identities_delete(struct api_call *call, struct error *reterr)
{
    return operator_run(call, machine_identities_delete, reterr);
}

enum err operator_machine_credentials_list(struct api_call *call, struct error *reterr)
{
    return operator_run(call, machine_credentials_list, reterr);
}

enum err operator_guardrails_test(struct api_call *call, struct error *reterr)
{
    return operator_run(call, guardrails_test, reterr);
}
