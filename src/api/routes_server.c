/* SPDX-License-Identifier: MIT */
/* The gateway itself: its health, its description, and the control socket. */
#include "api/routes_internal.h"

#include "api/handlers.h"
#include "base/limits.h"
#include "base/memory.h"
#include "model/machine.h"
#include "model/resource.h"

static const struct api_route routes[] = {
    {"GET", "/api/healthz", API_ANYONE, 0, health_get, "server", "Is the gateway well", OBJECT},

    {"GET", "/api/publicserverinfo", API_ANYONE, 0, server_info_get_public, "server",
     "What a sign-in page must know", OBJECT},

    {"GET", "/api/serverinfo", API_MEMBER, 0, server_info_get, "server", "About this gateway",
     OBJECT},

    {"GET", "/api/openapi.json", API_ANYONE, 0, openapi_get, "server", "This description", OBJECT},

    {"GET", "/api/metrics", API_ADMIN, 0, metrics_get_for_admin, "server",
     "The figures of /metrics, as Prometheus has them", .status = 200, .answer = API_TEXT},

    {"GET", "/metrics", API_METRICS, .handler = metrics_get},

    {"GET", "/control/log-levels", API_CONTROL, .handler = log_levels_get},
    {"PUT", "/control/log-levels", API_CONTROL, SMALL_BODY, .body = &log_levels_shape,
     .handler = log_levels_put},

    {"GET", "/control/setup-code", API_CONTROL, .handler = setup_code_get},

    {"GET", "/control/organizations", API_CONTROL, .handler = organizations_list},
    {"POST", "/control/organizations", API_CONTROL, .handler = organizations_create,
     .noun = "organizations", SMALL_BODY, .body = &organization_request_shape},

    {"POST", "/control/resources", API_CONTROL, .handler = operator_resources_post,
     .noun = "resources", BODY, .body = &resource_request_shape},
    {"DELETE", "/control/resources/{name}", API_CONTROL, .handler = operator_resources_delete,
     .noun = "resources"},

    {"POST", "/control/machineidentities", API_CONTROL, .handler = operator_machine_identities_post,
     .noun = "machine_identities", BODY, .body = &machine_identity_shape},
    {"DELETE", "/control/machineidentities/{nameOrID}", API_CONTROL,
     .handler = operator_machine_identities_delete, .noun = "machine_identities"},
    {"GET", "/control/machineidentities/{nameOrID}/credentials", API_CONTROL,
     .handler = operator_machine_credentials_list},

    {"POST", "/control/guardrails/{nameOrID}/test", API_CONTROL,
     .handler = operator_guardrails_test, .noun = "guardrails", BODY,
     .body = &guardrail_trial_shape, .is_long = true},
};

const struct api_route_table api_server_routes = {routes, COUNT_OF(routes)};
