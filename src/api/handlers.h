/* SPDX-License-Identifier: MIT */
/* The handlers and shapes that the table in routes.c names, by noun. */
#ifndef GH_API_HANDLERS_H
#define GH_API_HANDLERS_H

#include "api/api.h"

#define HANDLER(name) enum err name(struct api_call *call, struct error *reterr)

/* health.c, server_info.c, metrics.c, log_levels.c, openapi.c */
HANDLER(health_get);
HANDLER(server_info_get_public);
HANDLER(server_info_get);
HANDLER(metrics_get);
HANDLER(metrics_get_for_admin);
HANDLER(log_levels_get);
HANDLER(log_levels_put);
extern const struct shape log_levels_shape;
HANDLER(openapi_get);

/* organizations.c */
HANDLER(organizations_list);
HANDLER(organizations_create);
HANDLER(setup_code_get);
HANDLER(hide_role_info_get);
HANDLER(hide_role_info_put);
HANDLER(provider_roles_get);
HANDLER(provider_roles_put);
extern const struct shape provider_roles_shape;
extern const struct shape hide_role_info_shape;
HANDLER(default_access_get);
HANDLER(default_access_put);
extern const struct shape default_access_shape;
extern const struct shape organization_request_shape;

/* saved_queries.c */
HANDLER(saved_queries_list);
HANDLER(saved_queries_get);
HANDLER(saved_queries_post);
HANDLER(saved_queries_put);
HANDLER(saved_queries_delete);
extern const struct shape saved_query_query_shape;

/* ssh_certificates.c */
HANDLER(ssh_about_get);
HANDLER(ssh_certificates_post);
HANDLER(ssh_authorities_list);
HANDLER(ssh_authorities_post);
HANDLER(ssh_authorities_delete);

/* ssh_keys.c */
HANDLER(ssh_keys_list_own);
HANDLER(ssh_keys_list);
HANDLER(ssh_keys_post);
HANDLER(ssh_keys_delete_own);
HANDLER(ssh_keys_delete);

/* notifications.c */
HANDLER(sinks_list);
HANDLER(sinks_get);
HANDLER(sinks_post);
HANDLER(sinks_put);
HANDLER(sinks_delete);
HANDLER(sinks_secret);
HANDLER(sinks_test);
HANDLER(sinks_replay);
HANDLER(deliveries_list);
HANDLER(deliveries_get);
HANDLER(deliveries_replay);
extern const struct shape delivery_query_shape;

/* resources.c, resource_write.c */
HANDLER(resources_list);
HANDLER(resources_get);
HANDLER(resources_post);
HANDLER(resources_put);
HANDLER(resources_delete);
extern const struct shape resource_query_shape;
extern const struct shape resource_put_query_shape;
extern const struct shape resource_delete_shape;

/* connections.c, connection_write.c, connection_access.c */
HANDLER(connections_list);
HANDLER(connections_get);
HANDLER(connections_post);
HANDLER(connections_put);
HANDLER(connections_patch);
HANDLER(connection_host_key_put);
HANDLER(connections_delete);
HANDLER(connection_tags_list);
HANDLER(connection_access_get);
HANDLER(connection_access_put);
extern const struct shape connection_query_shape;
extern const struct shape terminal_query_shape;
extern const struct shape terminal_ask_shape;
extern const struct shape terminal_wait_shape;
extern const struct shape connection_access_shape;

/* connection_catalog.c */
HANDLER(connection_test);
HANDLER(connection_databases);
HANDLER(connection_controls);
HANDLER(connection_tables);
HANDLER(connection_columns);
extern const struct shape catalog_table_query_shape;
extern const struct shape catalog_column_query_shape;

/* credentials.c, sessions.c, session_control.c, session_recording.c, session_stream.c */
HANDLER(credentials_post);
HANDLER(credentials_get);
HANDLER(credentials_revoke);
HANDLER(credentials_list);
HANDLER(sessions_list);
HANDLER(sessions_get);
HANDLER(sessions_get_result);
HANDLER(sessions_get_page);
HANDLER(sessions_post);
HANDLER(sessions_exec);
HANDLER(sessions_kill);
HANDLER(sessions_patch_metadata);
HANDLER(sessions_download);
HANDLER(sessions_verify);
HANDLER(sessions_stream);
extern const struct shape session_query_shape;
extern const struct shape result_query_shape;
extern const struct shape execution_query_shape;
extern const struct shape session_get_shape;
extern const struct shape session_download_shape;

/* reviews.c, review_decide.c, access_rules.c */
HANDLER(reviews_list);
HANDLER(reviews_get);
HANDLER(reviews_get_script);
HANDLER(reviews_get_estimate);
HANDLER(reviews_get_sample);
HANDLER(reviews_open_link);
HANDLER(reviews_put);
HANDLER(reviews_comment);
HANDLER(access_rules_list);
HANDLER(access_rules_get);
HANDLER(access_rules_post);
HANDLER(access_rules_put);
HANDLER(access_rules_delete);
extern const struct shape review_query_shape;
extern const struct shape review_shape;
extern const struct shape review_estimate_shape;
extern const struct shape review_sample_shape;
extern const struct shape access_rule_query_shape;

/* datamasking_rules.c, datamasking_links.c, datamasking_trial.c, datamasking_types.c */
HANDLER(datamasking_rules_list);
HANDLER(datamasking_rules_get);
HANDLER(datamasking_rules_post);
HANDLER(datamasking_rules_put);
HANDLER(datamasking_rules_delete);
HANDLER(datamasking_links_get);
HANDLER(datamasking_links_put);
HANDLER(datamasking_types_list);
HANDLER(datamasking_rules_test);
extern const struct shape masking_type_shape;
extern const struct shape masking_trial_shape;

/* reports.c */
HANDLER(session_reports_get);
extern const struct shape session_report_query_shape;

/* attributes.c */
HANDLER(attributes_list);
HANDLER(attributes_get);
HANDLER(attributes_post);
HANDLER(attributes_put);
HANDLER(attributes_delete);
extern const struct shape attribute_query_shape;

/* guardrails.c, guardrail_trial.c, rulepacks.c */
HANDLER(guardrails_list);
HANDLER(guardrails_get);
HANDLER(guardrails_post);
HANDLER(guardrails_put);
HANDLER(guardrails_delete);
HANDLER(guardrails_test);
HANDLER(guardrails_try);
HANDLER(rulepacks_list);
HANDLER(rulepacks_get);
HANDLER(rulepacks_attach);
HANDLER(rulepacks_detach);
extern const struct shape guardrail_trial_shape;
extern const struct shape rulepack_shape;
extern const struct shape rulepack_request_shape;

/* audit_logs.c */
HANDLER(audit_logs_list);
HANDLER(audit_logs_export);
HANDLER(audit_logs_verify);
extern const struct shape audit_verify_query_shape;
extern const struct shape audit_query_shape;

/* agents.c, agent_link.c */
HANDLER(agents_list);
HANDLER(agents_get);
HANDLER(agents_post);
HANDLER(agents_delete);
HANDLER(agent_link_get);
extern const struct shape agent_query_shape;
/* node.c */
HANDLER(node_post);
extern const struct shape node_call_shape;
extern const struct shape agent_delete_shape;

/* users.c, groups.c */
HANDLER(users_list);
HANDLER(users_get);
HANDLER(users_post);
HANDLER(users_put);
HANDLER(users_patch);
HANDLER(users_delete);
HANDLER(users_invite);
HANDLER(users_uninvite);
HANDLER(userinfo_get);
HANDLER(groups_list);
HANDLER(groups_post);
HANDLER(groups_delete);
extern const struct shape group_shape;

/* api_keys.c */
HANDLER(api_keys_list);
HANDLER(api_keys_get);
HANDLER(api_keys_post);
HANDLER(api_keys_put);
HANDLER(api_keys_delete);
HANDLER(api_keys_reactivate);

/* service_accounts.c */
HANDLER(service_accounts_list);
HANDLER(service_accounts_get);
HANDLER(service_accounts_post);
HANDLER(service_accounts_put);
HANDLER(service_accounts_delete);

/* machine_identities.c */
HANDLER(machine_identities_list);
HANDLER(machine_identities_get);
HANDLER(machine_identities_post);
HANDLER(machine_identities_put);
HANDLER(machine_identities_delete);

/* machine_credentials.c */
HANDLER(machine_credentials_list);
HANDLER(machine_credentials_rotate);

/* operator.c */
HANDLER(operator_resources_post);
HANDLER(operator_resources_delete);
HANDLER(operator_machine_identities_post);
HANDLER(operator_machine_identities_delete);
HANDLER(operator_machine_credentials_list);
HANDLER(operator_guardrails_test);

/* invitations.c */
HANDLER(invitation_look);
HANDLER(invitation_accept);
extern const struct shape invitation_shape;
extern const struct shape acceptance_shape;

/* local_auth.c */
HANDLER(local_auth_register);
HANDLER(local_auth_login);
HANDLER(local_auth_sign_out);
HANDLER(local_password_put);
extern const struct shape password_change_shape;

/* second_factor.c */
HANDLER(second_factor_get);
HANDLER(second_factor_post);
HANDLER(second_factor_confirm);
HANDLER(second_factor_codes);
HANDLER(second_factor_remove);
HANDLER(second_factor_reset);
extern const struct shape second_factor_code_shape;

/* login.c, login_program.c, server_config.c */
HANDLER(login_get);
HANDLER(login_start);
HANDLER(login_consent);
HANDLER(login_callback);
HANDLER(server_config_get);
HANDLER(server_config_put);
extern const struct shape login_query_shape;
extern const struct shape login_start_query_shape;
extern const struct shape login_callback_query_shape;

/* apply.c */
HANDLER(apply_post);
extern const struct shape apply_shape;

/* device_login.c */
HANDLER(device_login_begin);
HANDLER(device_login_token);
HANDLER(device_login_get);
HANDLER(device_login_decide);
extern const struct shape device_query_shape;
extern const struct shape device_decision_shape;

/* client_tunnel.c */
HANDLER(client_tunnel_get);
HANDLER(terminal_get);
HANDLER(terminal_post);
extern const struct shape auth_config_shape;
extern const struct shape server_config_query_shape;
extern const struct shape register_shape;
extern const struct shape login_shape;
extern const struct shape sign_out_shape;

#undef HANDLER

#endif
