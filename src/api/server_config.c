/* SPDX-License-Identifier: MIT */
/* How people sign in to this gateway, as an admin sets it. It is the same for all organizations, so
 * that only admins of the first may look at it. */
#include "api/handlers.h"
#include "io/clock.h"
#include "model/name.h"
#include "model/organization.h"

struct oidc_config {
    struct slice issuer_url;
    struct slice client_id;
    struct slice client_secret;
    struct shape_texts scopes;
    struct slice audience;
    struct slice groups_claim;
    struct shape_bool trusts_email;
};

struct server_config {
    struct slice auth_method;
    struct oidc_config *oidc;
    struct slice saml;
    struct slice provider_name;
    struct slice users_management; /* always "active" */
    struct slice admin_role_name;
    struct slice auditor_role_name;
};

#define AT(member) .offset = offsetof(struct oidc_config, member)

static const struct shape_field oidc_config_fields[] = {
    {.name = "issuer_url",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(issuer_url),
     .min = 1,
     .max = 1024,
     .check = line_check,
     .pattern = LINE_PATTERN},
    {.name = "client_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(client_id),
     .min = 1,
     .max = 255,
     .check = line_check,
     .pattern = LINE_PATTERN},
    {.name = "client_secret",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_WRITE_ONLY | SHAPE_NULL_IN,
     AT(client_secret),
     .max = 1024,
     .check = line_check,
     .pattern = LINE_PATTERN,
     .about = "never shown; left out, it stays as it is while issuer and client stay"},
    {.name = "scopes",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN,
     AT(scopes),
     .max = 50,
     .item_max = 128,
     .check = title_check,
     .pattern = TITLE_PATTERN},
    {.name = "audience",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(audience),
     .max = 255,
     .check = line_check,
     .pattern = LINE_PATTERN,
     .about = "of access tokens; empty: the client's id"},
    {.name = "groups_claim",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(groups_claim),
     .max = 255,
     .check = line_check,
     .pattern = LINE_PATTERN},
    {.name = "trust_email",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_NULL_IN,
     AT(trusts_email),
     .about = "addresses are verified when the provider does not say ('email_verified')"},
};

static const struct shape oidc_config_shape = {
    .name = "OidcConfig", .size = sizeof(struct oidc_config), SHAPE_FIELDS(oidc_config_fields)};

static const char *const auth_methods[] = {"local", "oidc", NULL};

#undef AT
#define AT(member) .offset = offsetof(struct server_config, member)

static const struct shape_field auth_config_fields[] = {
    {.name = "auth_method",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(auth_method),
     .choices = auth_methods},
    {.name = "oidc_config",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_NULLABLE,
     AT(oidc),
     .object = &oidc_config_shape},
    {.name = "saml_config",
     .kind = SHAPE_RAW,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(saml),
     .about = "always null: SAML is not supported"},
    {.name = "provider_name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(provider_name),
     .max = 100,
     .check = line_check,
     .pattern = LINE_PATTERN,
     .about = "what the sign-in page calls it"},
    {.name = "webapp_users_management_status",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY,
     AT(users_management),
     .about = "always active: people can be managed here whatever signs them in"},
    {.name = "admin_role_name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(admin_role_name),
     .max = 180,
     .about = "the setting --admin-group; cannot be changed here"},
    {.name = "auditor_role_name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(auditor_role_name),
     .max = 180,
     .about = "the setting --auditor-group; cannot be changed here"},
};

const struct shape auth_config_shape = {
    .name = "AuthConfig", .size = sizeof(struct server_config), SHAPE_FIELDS(auth_config_fields)};

static enum err server_config_check_caller(const struct api_call *call, struct error *reterr)
{
    return slice_equals(call->caller.organization_id, SLICE(ORGANIZATION_DEFAULT_ID))
               ? ERR_NONE
               : fail(reterr, ERR_DENIED,
                      "access denied: this needs an admin of the gateway's first organization");
}

/* Looking -------------------------------------------------------------------------------------- */

static void server_config_split(struct arena *arena, struct slice text, struct shape_texts *texts)
{
    texts->items = arena_alloc_array(arena, text.len / 2 + 1, sizeof(*texts->items));
    texts->is_given = true;
    for (struct slice rest = text; rest.len > 0;) {
        struct slice word = slice_cut(rest, ' ', &rest);
        if (word.len > 0) {
            texts->items[texts->count++] = word;
        }
    }
}

static enum err server_config_answer(struct api_call *call, const struct provider *provider,
                                     struct error *reterr)
{
    struct oidc_config oidc = {0};
    struct server_config config = {
        .auth_method = SLICE("local"),
        .saml = SLICE("null"),
        .provider_name = SLICE(""),
        .users_management = SLICE("active"),
        .admin_role_name = identity_admin_group(call->api->identity),
        .auditor_role_name = identity_auditor_group(call->api->identity),
    };
    if (provider != NULL) {
        const struct provider_settings *settings = provider_settings(provider);
        oidc.issuer_url = settings->issuer_url;
        oidc.client_id = settings->client_id;
        oidc.audience = settings->audience;
        oidc.groups_claim = settings->groups_claim;
        oidc.trusts_email = (struct shape_bool){.value = settings->trusts_email, .is_given = true};
        server_config_split(call->arena, settings->scopes, &oidc.scopes);
        config.auth_method = SLICE("oidc");
        config.oidc = &oidc;
        config.provider_name = settings->name;
    }
    struct json_writer json = api_answer(call, 200);
    shape_write(&auth_config_shape, &config, &json);
    return api_answer_end(call, &json, reterr);
}

static enum err server_config_current(struct api_call *call, struct provider **ret_provider,
                                      struct error *reterr)
{
    *ret_provider = NULL;
    enum err err = identity_provider(call->api->identity, ret_provider, reterr);
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

enum err server_config_get(struct api_call *call, struct error *reterr)
{
    struct provider *provider = NULL;
    enum err err = server_config_check_caller(call, reterr);
    if (err == ERR_NONE) {
        err = server_config_current(call, &provider, reterr);
    }
    if (err == ERR_NONE) {
        err = server_config_answer(call, provider, reterr);
    }
    provider_unref(provider);
    return err;
}

/* Setting -------------------------------------------------------------------------------------- */

struct server_config_call {
    struct api_call *call;
    struct server_config wanted;
    struct auth_config config;
    struct provider *provider; /* as wanted; NULL for none */
};

/* "openid" is what makes it OpenID Connect. */
static struct slice server_config_join(struct arena *arena, const struct shape_texts *scopes)
{
    struct slice text = scopes->count == 0 ? SLICE("openid profile email") : SLICE("openid");
    for (size_t i = 0; i < scopes->count; i++) {
        if (!slice_equals(scopes->items[i], SLICE("openid"))) {
            text = arena_format(arena, "%.*s %.*s", SLICE_ARG(text), SLICE_ARG(scopes->items[i]));
        }
    }
    return text;
}

/* The secret stays only where it was: another issuer would be told it. */
static enum err server_config_keep_secret(struct server_config_call *self, struct error *reterr)
{
    struct api_call *call = self->call;
    struct provider *current = NULL;
    if (self->config.client_secret.len > 0) {
        return ERR_NONE;
    }
    enum err err = server_config_current(call, &current, reterr);
    if (err == ERR_NONE && current != NULL) {
        const struct provider_settings *settings = provider_settings(current);
        if (slice_equals(settings->issuer_url, self->config.issuer_url) &&
            slice_equals(settings->client_id, self->config.client_id)) {
            self->config.client_secret = arena_copy(call->arena, settings->client_secret);
        }
    }
    provider_unref(current);
    return err;
}

static enum err server_config_check_names(const struct server_config_call *self,
                                          struct error *reterr)
{
    const struct identity *identity = self->call->api->identity;
    const struct server_config *wanted = &self->wanted;
    bool is_same = (wanted->admin_role_name.len == 0 ||
                    slice_equals(wanted->admin_role_name, identity_admin_group(identity))) &&
                   (wanted->auditor_role_name.len == 0 ||
                    slice_equals(wanted->auditor_role_name, identity_auditor_group(identity)));
    return is_same ? ERR_NONE
                   : fail(reterr, ERR_INPUT,
                          "'admin_role_name' and 'auditor_role_name' are the settings "
                          "--admin-group and --auditor-group of the start");
}

/* Asks the provider first, so that nobody is locked out by a slip. */
static enum err server_config_make_provider(struct server_config_call *self, struct error *reterr)
{
    const struct provider_settings settings = identity_settings_of(&self->config);
    enum err err = provider_new(&settings, &self->provider, reterr);
    if (err == ERR_NONE) {
        err = api_may_ask(self->call, reterr);
    }
    if (err == ERR_AGAIN) {
        return err;
    }
    if (err == ERR_NONE) {
        err = provider_check(self->provider, reterr);
    }
    if (err != ERR_NONE) {
        error_prefix(reterr, "'oidc_config': ");
        return ERR_INPUT;
    }
    return ERR_NONE;
}

static enum err server_config_read(struct server_config_call *self, struct error *reterr)
{
    struct api_call *call = self->call;
    struct server_config *wanted = &self->wanted;
    enum err err = api_read_body(call, SHAPE_WHOLE, &auth_config_shape, wanted, reterr);
    if (err == ERR_NONE) {
        err = server_config_check_names(self, reterr);
    }
    self->config.method = wanted->auth_method;
    self->config.updated_at = clock_now();
    if (err != ERR_NONE || !slice_equals(wanted->auth_method, SLICE("oidc"))) {
        return err;
    }
    const struct oidc_config *oidc = wanted->oidc;
    if (oidc == NULL) {
        return fail(reterr, ERR_INPUT, "'oidc_config' is missing");
    }
    if (!call->api->knows_public_url) {
        return fail(reterr, ERR_INPUT,
                    "the gateway must know its own address first: start it with --public-url");
    }
    self->config.issuer_url = oidc->issuer_url;
    self->config.client_id = oidc->client_id;
    self->config.client_secret = oidc->client_secret;
    self->config.scopes = server_config_join(call->arena, &oidc->scopes);
    self->config.audience = oidc->audience;
    self->config.groups_claim = oidc->groups_claim.len > 0 ? oidc->groups_claim : SLICE("groups");
    self->config.provider_name = wanted->provider_name;
    self->config.trusts_email = oidc->trusts_email.value;
    err = server_config_keep_secret(self, reterr);
    return err == ERR_NONE ? server_config_make_provider(self, reterr) : err;
}

struct server_config_query {
    struct shape_bool dry_run;
};

static const struct shape_field server_config_query_fields[] = {
    {.name = "dry_run",
     .kind = SHAPE_BOOL,
     .offset = offsetof(struct server_config_query, dry_run),
     .about = "the provider is asked, and what would be saved is answered, but nothing is saved"},
};

const struct shape server_config_query_shape = {.name = "AuthConfigQuery",
                                                .size = sizeof(struct server_config_query),
                                                SHAPE_FIELDS(server_config_query_fields)};

static struct slice server_config_payload(const struct server_config_call *self)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "auth_method", self->config.method);
    json_member_text(&text.json, "issuer_url", self->config.issuer_url);
    json_member_text(&text.json, "client_id", self->config.client_id);
    json_member_text(&text.json, "groups_claim", self->config.groups_claim);
    json_member_bool(&text.json, "trust_email", self->config.trusts_email);
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

static enum err server_config_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct server_config_call *self = context;
    enum err err = auth_config_store_put(tx, self->call->arena, &self->config, reterr);
    return err == ERR_NONE
               ? api_audit(self->call, tx, "update", 200, server_config_payload(self), reterr)
               : err;
}

enum err server_config_put(struct api_call *call, struct error *reterr)
{
    struct server_config_call self = {.call = call};
    struct server_config_query query = {0};
    enum err err = server_config_check_caller(call, reterr);
    if (err == ERR_NONE) {
        err = api_read_query(call, &server_config_query_shape, &query, reterr);
    }
    if (err == ERR_NONE) {
        err = server_config_read(&self, reterr);
    }
    if (err == ERR_NONE) {
        err = query.dry_run.value
                  ? api_audit_alone(call, "test", 200, server_config_payload(&self), reterr)
                  : store_write(call->api->store, server_config_put_body, &self, reterr);
    }
    if (err == ERR_NONE) {
        err = server_config_answer(call, self.provider, reterr);
    }
    provider_unref(self.provider);
    return err;
}
