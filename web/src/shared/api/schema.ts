/* SPDX-License-Identifier: MIT */
/* Made by api-types.mjs of /api/openapi.json; not to be changed by hand. */

export type AccessRequestRule = {
    id: string;
    name: string;
    description: string;
    /* jit: credentials for native clients; command: scripts that are executed */
    access_type: "jit" | "command" | "jit_command";
    /* who manages it, which makes it immutable */
    managed_by: string | null;
    /* the connections it is bound to */
    connection_names: string[];
    /* names of attributes: it is bound to the connections that carry one */
    attributes: string[];
    /* whose members must ask; none: everybody, API keys and machines, too */
    approval_required_groups: string[];
    /* of everybody, whose members need not ask */
    skip_review_groups: string[];
    /* whose members may approve and reject */
    reviewers_groups: string[];
    /* whose members may approve alone, with a reason */
    force_approval_groups: string[];
    /* one person of each group, none for two */
    all_groups_must_approve: boolean;
    /* how many people must approve; 1 when it is not given */
    min_approvals: number | null;
    /* seconds that access lasts at most */
    access_max_duration: number | null;
    /* seconds that access lasts, whatever is asked for */
    access_fixed_duration: number | null;
    created_at: string;
    updated_at: string;
};

export type AccessRequestRuleRequest = {
    name: string;
    description?: string | null;
    /* jit: credentials for native clients; command: scripts that are executed */
    access_type: "jit" | "command" | "jit_command";
    /* the connections it is bound to */
    connection_names?: string[] | null;
    /* more of them, by id */
    connection_ids?: string[] | null;
    /* names of attributes: it is bound to the connections that carry one */
    attributes?: string[] | null;
    /* whose members must ask; none: everybody, API keys and machines, too */
    approval_required_groups?: string[] | null;
    /* of everybody, whose members need not ask */
    skip_review_groups?: string[] | null;
    /* whose members may approve and reject */
    reviewers_groups: string[];
    /* whose members may approve alone, with a reason */
    force_approval_groups?: string[] | null;
    /* one person of each group, none for two */
    all_groups_must_approve?: boolean | null;
    /* how many people must approve; 1 when it is not given */
    min_approvals?: number | null;
    /* seconds that access lasts at most */
    access_max_duration?: number | null;
    /* seconds that access lasts, whatever is asked for */
    access_fixed_duration?: number | null;
};

export type Agent = {
    id: string;
    /* always empty: it is shown once, to who created the agent */
    token: string;
    /* immutable */
    name: string;
    /* standard: keeps a link to the gateway, the default; embedded: runs within something else */
    mode: "standard" | "embedded";
    status: "CONNECTED" | "DISCONNECTED";
    /* the machine that it runs on, as it says itself; for admins and auditors */
    metadata: AgentMetadata;
    /* deprecated: see 'metadata' */
    hostname: string;
    /* deprecated: see 'metadata' */
    machine_id: string;
    /* deprecated: see 'metadata' */
    kernel_version: string;
    /* deprecated: see 'metadata' */
    version: string;
    /* deprecated: see 'metadata' */
    goversion: string;
    /* deprecated: see 'metadata' */
    compiler: string;
    /* deprecated: see 'metadata' */
    platform: string;
    /* for admins and auditors */
    created_by: string;
    created_at: string;
    /* for admins and auditors */
    last_seen_at: string | null;
};

export type AgentMetadata = {
    hostname?: string;
    platform?: string;
    "machine-id"?: string;
    "kernel-version"?: string;
    version?: string;
    "go-version"?: string;
    compiler?: string;
};

export type AgentRequest = {
    /* immutable */
    name: string;
    /* standard: keeps a link to the gateway, the default; embedded: runs within something else */
    mode?: "standard" | "embedded" | "" | null;
};

export type AgentToken = {
    id: string;
    /* immutable */
    name: string;
    /* standard: keeps a link to the gateway, the default; embedded: runs within something else */
    mode: "standard" | "embedded";
    /* what the agent is started with; shown here alone */
    token: string;
};

export type ApiKey = {
    id: string;
    org_id: string;
    name: string;
    masked_key: string;
    status: "active" | "revoked" | "expired";
    groups: string[];
    created_by: string;
    deactivated_by?: string;
    created_at: string;
    deactivated_at?: string;
    last_used_at: string | null;
    expires_at: string | null;
    /* shown once, when it is created */
    key?: string;
};

export type ApiKeyRequest = {
    name: string;
    groups?: string[] | null;
    expires_at?: string | null;
};

export type ApplyOperationRequest = {
    method: "POST" | "PUT" | "PATCH" | "DELETE";
    /* as in a request of its own, percent-encoded, from '/api' on */
    path: string;
    /* of a request of its own: an object of JSON, as text */
    body?: string;
};

export type ApplyRequest = {
    /* done in this order */
    operations: ApplyOperationRequest[];
};

export type Attribute = {
    id: string;
    org_id: string;
    name: string;
    description: string | null;
    /* who manages it, which makes it immutable */
    managed_by: string | null;
    /* the connections that carry it */
    connection_names: string[];
    /* access request rules bound to it */
    access_request_rule_names: string[];
    /* guard rails bound to it */
    guardrail_rule_names: string[];
    /* masking rules bound to it */
    datamasking_rule_names: string[];
    /* groups that may use every connection that carries it */
    access_control_group_names: string[];
    created_at: string;
};

export type AttributeRequest = {
    name: string;
    description?: string | null;
    /* the connections that carry it */
    connection_names?: string[] | null;
    /* more of them, by id */
    connection_ids?: string[] | null;
    /* access request rules bound to it */
    access_request_rule_names?: string[] | null;
    /* guard rails bound to it */
    guardrail_rule_names?: string[] | null;
    /* masking rules bound to it */
    datamasking_rule_names?: string[] | null;
    /* groups that may use every connection that carries it */
    access_control_group_names?: string[] | null;
};

export type AuditEntry = {
    id: string;
    org_id: string;
    /* 1, 2, 3 … within the organization */
    number: number;
    /* empty: nobody was signed in */
    actor_subject: string;
    actor_email: string;
    actor_name: string;
    created_at: string;
    /* what was acted upon */
    resource_type: string;
    /* create, update, delete, revoke, disclose, sign_in, authenticate … */
    action: string;
    http_method: string;
    http_status: number;
    http_path: string;
    client_ip: string;
    /* the members of the request that may be shown */
    request_payload_redacted: Record<string, unknown> | null;
    /* whether it was done */
    outcome: boolean;
    error_message: string;
    /* the hash of the entry before */
    previous_hash: string;
    /* SHA-256 over all other members, in hexadecimal */
    hash: string;
};

export type AuthConfig = {
    auth_method: "local" | "oidc";
    oidc_config: OidcConfig | null;
    /* always null: SAML is not supported */
    saml_config: Record<string, unknown> | null;
    /* what the sign-in page calls it */
    provider_name: string;
    /* always active: people can be managed here whatever signs them in */
    webapp_users_management_status: string;
    /* the setting --admin-group; cannot be changed here */
    admin_role_name: string;
    /* the setting --auditor-group; cannot be changed here */
    auditor_role_name: string;
};

export type AuthConfigRequest = {
    auth_method: "local" | "oidc";
    oidc_config?: OidcConfigRequest | null;
    /* what the sign-in page calls it */
    provider_name?: string | null;
    /* the setting --admin-group; cannot be changed here */
    admin_role_name?: string | null;
    /* the setting --auditor-group; cannot be changed here */
    auditor_role_name?: string | null;
};

export type Connection = {
    id: string;
    /* immutable */
    name: string;
    /* the resource it belongs to; made when it does not exist */
    resource_name: string;
    /* database: database protocols; application: custom applications; custom: shell applications */
    type: "database" | "application" | "custom";
    /* the implementation: postgres, mysql, mongodb, mssql, oracledb, tcp, ssh, httpproxy, mcpproxy … */
    subtype: string;
    /* the agent; the resource's own when it is the same one */
    agent_id: string;
    /* online: its agent is connected and alive */
    status: "online" | "offline";
    /* the command of the connection */
    command: string[];
    /* texts are base64 or references; numbers and booleans stand for their text, arrays and objects for their JSON; null or "" keeps what is stored, but null in a PATCH removes it; inline values are never shown */
    secret: Record<string, string | null>;
    /* when an inline secret was last replaced */
    secrets_updated_at: string | null;
    /* the value of the secret DB */
    default_database: string;
    /* port forwarding and native clients */
    access_mode_connect: "enabled" | "disabled";
    /* ad-hoc executions */
    access_mode_exec: "enabled" | "disabled";
    /* runbooks */
    access_mode_runbooks: "enabled" | "disabled";
    /* the schema in the web application */
    access_schema: "enabled" | "disabled";
    /* seconds that a just-in-time session may last; 0: as long as anybody likes */
    access_max_duration: number;
    /* the fixed duration that a just-in-time rule sets */
    jit_access_duration_sec?: number;
    /* names of attributes; leaving out a managed one detaches it */
    attributes: string[];
    /* attributes that the service manages */
    managed_attributes: string[];
    /* who manages the connection, which is then immutable; else empty */
    managed_by: string;
    connection_tags: Record<string, string>;
    /* deprecated */
    tags: string[];
    /* ids of guard rail rules */
    guardrail_rules: string[];
    /* id of an issue template */
    jira_issue_template_id: string;
    /* metadata that every session must have */
    mandatory_metadata_fields: string[];
    /* approvals needed to execute; 0: one of each group of reviewers */
    min_review_approvals: number;
    /* groups that review */
    reviewers: string[];
    /* groups that can approve alone */
    force_approve_groups: string[];
    /* how long recordings of its sessions are kept; 0: for ever; null: as the gateway's setting says */
    recording_days?: number;
    /* bytes of result rows that are recorded of each statement, the others are counted; null: a mebibyte */
    recording_row_limit?: number;
    /* variables that whoever executes a script may set for the command: names, or their beginnings with a * behind; without them none */
    accepted_env_vars?: string[];
    /* whoever executes a script may add arguments to the command */
    accepts_client_args?: boolean;
    /* legacy: shown, not enforced */
    redact_enabled: boolean;
    /* information types to redact */
    redact_types: string[];
    /* a durable grant exists */
    mcp_oauth_granted: boolean;
    /* why the login of mcp_oauth_flow_id was not attached */
    mcp_oauth_warning?: string;
    /* null: not resolved */
    effective_features: EffectiveFeatures | null;
};

export type ConnectionAccess = {
    /* groups whose members may use the connection; empty: no rule */
    groups: string[];
};

export type ConnectionAccessRequest = {
    /* groups whose members may use the connection; empty: no rule */
    groups: string[];
};

export type ConnectionPatch = {
    /* immutable */
    name?: string;
    /* the resource it belongs to; made when it does not exist */
    resource_name?: string | null;
    /* database: database protocols; application: custom applications; custom: shell applications */
    type?: "database" | "application" | "custom";
    /* the implementation: postgres, mysql, mongodb, mssql, oracledb, tcp, ssh, httpproxy, mcpproxy … */
    subtype?: string | null;
    /* the agent; the resource's own when it is the same one */
    agent_id?: string;
    /* the command of the connection */
    command?: string[] | null;
    /* texts are base64 or references; numbers and booleans stand for their text, arrays and objects for their JSON; null or "" keeps what is stored, but null in a PATCH removes it; inline values are never shown */
    secret?: Record<string, string | number | boolean | unknown[] | Record<string, unknown> | null> | null;
    /* port forwarding and native clients */
    access_mode_connect?: "enabled" | "disabled";
    /* ad-hoc executions */
    access_mode_exec?: "enabled" | "disabled";
    /* runbooks */
    access_mode_runbooks?: "enabled" | "disabled";
    /* the schema in the web application */
    access_schema?: "enabled" | "disabled";
    /* seconds that a just-in-time session may last; 0: as long as anybody likes */
    access_max_duration?: number | null;
    /* names of attributes; leaving out a managed one detaches it */
    attributes?: string[] | null;
    connection_tags?: Record<string, string> | null;
    /* deprecated */
    tags?: string[] | null;
    /* ids of guard rail rules */
    guardrail_rules?: string[] | null;
    /* id of an issue template */
    jira_issue_template_id?: string | null;
    /* metadata that every session must have */
    mandatory_metadata_fields?: string[] | null;
    /* approvals needed to execute; 0: one of each group of reviewers */
    min_review_approvals?: number | null;
    /* groups that review */
    reviewers?: string[] | null;
    /* groups that can approve alone */
    force_approve_groups?: string[] | null;
    /* how long recordings of its sessions are kept; 0: for ever; null: as the gateway's setting says */
    recording_days?: number | null;
    /* bytes of result rows that are recorded of each statement, the others are counted; null: a mebibyte */
    recording_row_limit?: number | null;
    /* variables that whoever executes a script may set for the command: names, or their beginnings with a * behind; without them none */
    accepted_env_vars?: string[] | null;
    /* whoever executes a script may add arguments to the command */
    accepts_client_args?: boolean | null;
    /* legacy: shown, not enforced */
    redact_enabled?: boolean | null;
    /* information types to redact */
    redact_types?: string[] | null;
    /* for mcpproxy: the completed login to take over */
    mcp_oauth_flow_id?: string | null;
};

export type ConnectionRequest = {
    /* immutable */
    name: string;
    /* the resource it belongs to; made when it does not exist */
    resource_name?: string | null;
    /* database: database protocols; application: custom applications; custom: shell applications */
    type: "database" | "application" | "custom";
    /* the implementation: postgres, mysql, mongodb, mssql, oracledb, tcp, ssh, httpproxy, mcpproxy … */
    subtype?: string | null;
    /* the agent; the resource's own when it is the same one */
    agent_id: string;
    /* the command of the connection */
    command?: string[] | null;
    /* texts are base64 or references; numbers and booleans stand for their text, arrays and objects for their JSON; null or "" keeps what is stored, but null in a PATCH removes it; inline values are never shown */
    secret?: Record<string, string | number | boolean | unknown[] | Record<string, unknown> | null> | null;
    /* port forwarding and native clients */
    access_mode_connect: "enabled" | "disabled";
    /* ad-hoc executions */
    access_mode_exec: "enabled" | "disabled";
    /* runbooks */
    access_mode_runbooks: "enabled" | "disabled";
    /* the schema in the web application */
    access_schema: "enabled" | "disabled";
    /* seconds that a just-in-time session may last; 0: as long as anybody likes */
    access_max_duration?: number | null;
    /* names of attributes; leaving out a managed one detaches it */
    attributes?: string[] | null;
    connection_tags?: Record<string, string> | null;
    /* deprecated */
    tags?: string[] | null;
    /* ids of guard rail rules */
    guardrail_rules?: string[] | null;
    /* id of an issue template */
    jira_issue_template_id?: string | null;
    /* metadata that every session must have */
    mandatory_metadata_fields?: string[] | null;
    /* approvals needed to execute; 0: one of each group of reviewers */
    min_review_approvals?: number | null;
    /* groups that review */
    reviewers?: string[] | null;
    /* groups that can approve alone */
    force_approve_groups?: string[] | null;
    /* how long recordings of its sessions are kept; 0: for ever; null: as the gateway's setting says */
    recording_days?: number | null;
    /* bytes of result rows that are recorded of each statement, the others are counted; null: a mebibyte */
    recording_row_limit?: number | null;
    /* variables that whoever executes a script may set for the command: names, or their beginnings with a * behind; without them none */
    accepted_env_vars?: string[] | null;
    /* whoever executes a script may add arguments to the command */
    accepts_client_args?: boolean | null;
    /* legacy: shown, not enforced */
    redact_enabled?: boolean | null;
    /* information types to redact */
    redact_types?: string[] | null;
    /* for mcpproxy: the completed login to take over */
    mcp_oauth_flow_id?: string | null;
};

export type Credential = {
    id: string;
    connection_name: string;
    connection_type: string;
    connection_subtype: string;
    user_id: string;
    user_email: string;
    user_name: string;
    /* what to give to a client; left out of lists */
    connection_credentials?: CredentialAccess;
    /* of the review, by which it can be asked for; null: it needs none */
    session_id: string | null;
    /* whether others must approve it, or did */
    has_review: boolean;
    review_id: string | null;
    /* null: never */
    expire_at: string | null;
    created_at: string;
};

export type CredentialAccess = {
    /* where clients connect to */
    hostname?: string;
    /* the port there */
    port?: string;
    /* the name of the connection */
    username?: string;
    /* of a new credential, shown once */
    password?: string;
    /* the database to name */
    database_name?: string;
    /* all of it in one, of a new credential, shown once */
    connection_string?: string;
    /* of SSH: the line by which a client knows the gateway's host key */
    known_hosts?: string;
    /* of SSH: what a client's ssh_config says of the connection */
    ssh_config?: string;
};

export type CredentialRequest = {
    /* how long it is good; never longer than the connection's access_max_duration */
    access_duration_seconds?: number | null;
    /* those that one has for the connection stay good, and their sessions open */
    keep_others?: boolean | null;
    /* what it is for, shown to those who must approve it: 'reason', a ticket's number */
    metadata?: Record<string, string> | null;
};

export type CustomEntityType = {
    /* of the type, as it takes the place of what is found */
    name: string;
    /* of the PCRE syntax what can be matched in linear time: no back-references, no look-around */
    regex?: string;
    /* words that are masked wherever they stand, in any case of letters */
    deny_list?: string[];
    /* from 0 to 1, two decimals; what is below the threshold is never masked */
    score: number;
};

export type CustomEntityTypeRequest = {
    /* of the type, as it takes the place of what is found */
    name: string;
    /* of the PCRE syntax what can be matched in linear time: no back-references, no look-around */
    regex?: string | null;
    /* words that are masked wherever they stand, in any case of letters */
    deny_list?: string[] | null;
    /* from 0 to 1, two decimals; what is below the threshold is never masked */
    score: number;
};

export type DataMaskingEntityType = {
    /* as rules name it in entity_types */
    name: string;
    description: string;
    /* what fails the checksum is not found */
    is_checksum_verified: boolean;
};

export type DataMaskingLink = {
    id: string;
    rule_id: string;
    connection_id: string;
    /* inactive: the rule is not applied for this link; one of an attribute may apply it */
    status: "active" | "inactive";
    /* why nothing is masked though the link is active */
    warning?: string;
};

export type DataMaskingLinkRequest = {
    rule_id: string;
    /* inactive: the rule is not applied for this link; one of an attribute may apply it */
    status: "active" | "inactive";
};

export type DataMaskingRule = {
    id: string;
    /* who manages it, which makes it immutable */
    managed_by: string | null;
    /* immutable */
    name: string;
    description: string;
    /* the connections it reaches */
    connection_ids: string[];
    /* it reaches every connection that carries one of them */
    attributes: string[];
    /* what is looked for in text */
    supported_entity_types: SupportedEntityTypes[];
    /* how sure a finding must be, from 0 to 1, two decimals; null: 0.5 */
    score_threshold: number | null;
    /* what else is looked for */
    custom_entity_types: CustomEntityType[];
    /* what is masked by where it comes from */
    columns: MaskedColumn[];
    /* redact, when it is not given */
    strategy: MaskingStrategy | null;
    /* what cannot be examined (too large, of an unknown type) is masked whole, or the answer is refused; mask, when it is not given */
    on_unexaminable: "mask" | "refuse" | null;
    /* statements that compute with a masked column, or choose rows by it, are refused */
    refuse_predicates: boolean;
    updated_at: string;
    /* what is not masked though the rule reaches it; not in lists */
    warnings?: string[];
};

export type DataMaskingRuleRequest = {
    /* immutable */
    name: string;
    description?: string | null;
    /* the connections it reaches */
    connection_ids?: string[] | null;
    /* more of them, by name */
    connection_names?: string[] | null;
    /* it reaches every connection that carries one of them */
    attributes?: string[] | null;
    /* what is looked for in text */
    supported_entity_types?: SupportedEntityTypesRequest[] | null;
    /* how sure a finding must be, from 0 to 1, two decimals; null: 0.5 */
    score_threshold?: number | null;
    /* what else is looked for */
    custom_entity_types?: CustomEntityTypeRequest[] | null;
    /* what is masked by where it comes from */
    columns?: MaskedColumnRequest[] | null;
    /* redact, when it is not given */
    strategy?: MaskingStrategyRequest | null;
    /* what cannot be examined (too large, of an unknown type) is masked whole, or the answer is refused; mask, when it is not given */
    on_unexaminable?: "mask" | "refuse" | "" | null;
    /* statements that compute with a masked column, or choose rows by it, are refused */
    refuse_predicates?: boolean | null;
};

export type DataMaskingSampleRequest = {
    /* schema.table.column, table.column or column; what is found may depend on it */
    column?: string | null;
    value: string;
};

export type DataMaskingTrialRequest = {
    /* as it would be saved */
    rule: DataMaskingRuleRequest;
    /* values as text, each in the form that clients would get it in */
    samples: DataMaskingSampleRequest[];
};

export type DefaultAccess = {
    /* who may use connections that no access rule names: all members of the organization, or nobody but admins */
    default_access: "members" | "nobody";
};

export type DefaultAccessRequest = {
    /* who may use connections that no access rule names: all members of the organization, or nobody but admins */
    default_access: "members" | "nobody";
};

export type DeviceDecisionRequest = {
    /* as the program shows it; case and hyphens do not matter */
    user_code: string;
    /* false: it was not me */
    approve: boolean;
};

export type EffectiveAccessRequest = {
    /* a rule of type 'command' resolves */
    command: boolean;
    /* a rule of type 'jit' resolves */
    jit: boolean;
    /* reviewer groups are configured */
    legacy_reviewers: boolean;
};

export type EffectiveFeatures = {
    access_request: EffectiveAccessRequest;
    /* an analyzer rule resolves */
    ai_session_analyzer: boolean;
    /* a masking rule resolves and masking is active */
    data_masking: boolean;
    /* a guard rail rule resolves */
    guardrails: boolean;
    /* the connection has an issue template */
    jira_templates: boolean;
    /* metadata is required before a session starts */
    mandatory_metadata: boolean;
};

export type Error = {
    message: string;
};

export type EstimateStep = {
    depth: number;
    node: string;
    operation: string;
    relation: string;
    rows: number;
    cost: number;
};

export type ExecutionRequest = {
    /* statements of the connection's language, one after the other; 64 MiB at most */
    script: string;
    /* its name or id */
    connection: string;
    /* why it is executed; 2500 bytes at most */
    metadata?: Record<string, string> | null;
    /* when others must approve: run it as soon as they have; else POST /api/sessions/{id}/exec does */
    run_when_approved?: boolean | null;
    /* variables of the command, in base64: those that 'accepted_env_vars' of the connection names */
    env_vars?: Record<string, string> | null;
    /* arguments of the command, behind its own, where the connection has 'accepts_client_args' */
    client_args?: string[] | null;
    /* of programs, for the session: 2500 bytes at most */
    labels?: Record<string, string> | null;
    /* sessions that belong together have the same one */
    session_batch_id?: string | null;
    /* by which another system knows the session */
    correlation_id?: string | null;
    /* taken; does nothing so far */
    jira_fields?: Record<string, string> | null;
};

export type Group = {
    name: string;
};

export type GroupRequest = {
    name: string;
};

export type GuardRail = {
    id: string;
    name: string;
    description: string;
    /* true when it is not given; one that is not enabled stops, changes and tells nothing */
    enabled: boolean;
    /* who manages it, which makes it immutable */
    managed_by: string | null;
    /* the rulepack that it belongs to */
    rulepack: string | null;
    /* about what is sent to the target */
    input: GuardRailRuleList | null;
    /* about what comes back */
    output: GuardRailRuleList | null;
    /* the connections it is bound to */
    connection_ids: string[];
    /* names of attributes: it is bound to the connections that carry one */
    attributes: string[];
    created_at: string;
    updated_at: string;
};

export type GuardRailRelation = {
    /* a glob, as the database writes the name: 'schema.name', or 'name' in any schema; one with a schema also means a name without one, which may be it */
    name: string;
    /* any, when it is not given */
    access?: "read" | "write" | "any";
};

export type GuardRailRelationRequest = {
    /* a glob, as the database writes the name: 'schema.name', or 'name' in any schema; one with a schema also means a name without one, which may be it */
    name: string;
    /* any, when it is not given */
    access?: "read" | "write" | "any" | "" | null;
};

export type GuardRailRequest = {
    name: string;
    description?: string | null;
    /* true when it is not given; one that is not enabled stops, changes and tells nothing */
    enabled?: boolean;
    /* about what is sent to the target */
    input?: GuardRailRuleListRequest | null;
    /* about what comes back */
    output?: GuardRailRuleListRequest | null;
    /* the connections it is bound to */
    connection_ids?: string[] | null;
    /* more of them, by name */
    connection_names?: string[] | null;
    /* names of attributes: it is bound to the connections that carry one */
    attributes?: string[] | null;
};

export type GuardRailRuleEntry = {
    /* deny_words_list: any of 'words'; pattern_match: 'pattern_regex'; sql: what a statement would do, all members that are given, of input only; read_budget: how much may be read, 'rows' or 'bytes' or both, 'per' session or hour, of output only */
    type: "deny_words_list" | "pattern_match" | "sql" | "read_budget";
    name?: string;
    /* for the person whose statement it stops */
    message?: string;
    /* block, when it is not given; review: the statement is held until people have decided; rehearse: it runs, and is committed when people have approved what it did (PostgreSQL); both of input only; warn: a notice to the client and on record; observe: on record only */
    action?: "block" | "review" | "rehearse" | "warn" | "observe";
    /* whom it concerns: members of any of these groups; everybody when there are none */
    groups?: string[];
    /* whom it does not concern */
    except_groups?: string[];
    /* text that must not occur, anywhere */
    words?: string[];
    /* a regular expression without look-around and back-references */
    pattern_regex?: string;
    /* not given: no for words, yes for a pattern, which may say (?i) */
    case_sensitive?: boolean;
    /* what the statement does, at any depth of it: any of these */
    operations?: string[];
    /* an UPDATE or DELETE in it has no WHERE */
    without_where?: boolean;
    /* it reads or writes any of these */
    relations?: GuardRailRelation[];
    /* it calls any of these: globs, as those of relations */
    functions?: string[];
    /* it is one of several that came as one text */
    multi_statement?: boolean;
    /* it does more than read; and the target's server runs all of the session in READ ONLY transactions, which the client cannot leave */
    read_only?: boolean;
    /* what matches the other members may insert, update, delete or merge that many rows */
    max_rows?: number;
    /* whether what a statement does that is not understood is taken for what the rule is about; not given: block for rules about what writes, else allow */
    unknown?: "block" | "allow";
    /* globs: functions that do nothing the rule is about; what other functions do that are not the database's own is not known, if 'unknown' is block */
    safe_functions?: string[];
    /* that may be read */
    rows?: number;
    /* of rows, that may be read */
    bytes?: number;
    /* what a read budget is for: session, this one; hour, all sessions of the user on the connection in the last 60 minutes */
    per?: "session" | "hour";
};

export type GuardRailRuleEntryRequest = {
    /* deny_words_list: any of 'words'; pattern_match: 'pattern_regex'; sql: what a statement would do, all members that are given, of input only; read_budget: how much may be read, 'rows' or 'bytes' or both, 'per' session or hour, of output only */
    type: "deny_words_list" | "pattern_match" | "sql" | "read_budget";
    name?: string | null;
    /* for the person whose statement it stops */
    message?: string | null;
    /* block, when it is not given; review: the statement is held until people have decided; rehearse: it runs, and is committed when people have approved what it did (PostgreSQL); both of input only; warn: a notice to the client and on record; observe: on record only */
    action?: "block" | "review" | "rehearse" | "warn" | "observe" | "" | null;
    /* whom it concerns: members of any of these groups; everybody when there are none */
    groups?: string[] | null;
    /* whom it does not concern */
    except_groups?: string[] | null;
    /* text that must not occur, anywhere */
    words?: string[] | null;
    /* a regular expression without look-around and back-references */
    pattern_regex?: string | null;
    /* not given: no for words, yes for a pattern, which may say (?i) */
    case_sensitive?: boolean | null;
    /* what the statement does, at any depth of it: any of these */
    operations?: string[] | null;
    /* an UPDATE or DELETE in it has no WHERE */
    without_where?: boolean | null;
    /* it reads or writes any of these */
    relations?: GuardRailRelationRequest[] | null;
    /* it calls any of these: globs, as those of relations */
    functions?: string[] | null;
    /* it is one of several that came as one text */
    multi_statement?: boolean | null;
    /* it does more than read; and the target's server runs all of the session in READ ONLY transactions, which the client cannot leave */
    read_only?: boolean | null;
    /* what matches the other members may insert, update, delete or merge that many rows */
    max_rows?: number | null;
    /* whether what a statement does that is not understood is taken for what the rule is about; not given: block for rules about what writes, else allow */
    unknown?: "block" | "allow" | "" | null;
    /* globs: functions that do nothing the rule is about; what other functions do that are not the database's own is not known, if 'unknown' is block */
    safe_functions?: string[] | null;
    /* that may be read */
    rows?: number | null;
    /* of rows, that may be read */
    bytes?: number | null;
    /* what a read budget is for: session, this one; hour, all sessions of the user on the connection in the last 60 minutes */
    per?: "session" | "hour" | "" | null;
};

export type GuardRailRuleList = {
    rules: GuardRailRuleEntry[];
};

export type GuardRailRuleListRequest = {
    rules?: GuardRailRuleEntryRequest[] | null;
};

export type GuardRailTrialRequest = {
    /* how far back; 7 when it is left out */
    days?: number | null;
    /* to be tried in the place of what is stored */
    rule?: GuardRailRequest | null;
    /* this alone is judged, and nothing on record is read */
    statement?: string | null;
    /* of the statement; postgres when it is left out */
    dialect?: "postgres" | "mysql" | "" | null;
    /* of whoever sends the statement; none when it is left out */
    groups?: string[] | null;
};

export type HeldApproval = {
    database: string;
    backslash_escapes: boolean;
    /* which one: no other is like it */
    rehearsal?: string;
    dialect?: string;
    ansi_quotes?: boolean;
    parameters: HeldValue[];
};

export type HeldFinding = {
    guardrail: string;
    rule: string;
    message: string;
    why: string;
};

export type HeldFound = {
    /* the one that asked first */
    session: string;
    application_name: string;
    holds_locks: boolean;
    waits_until: string;
    rehearsal?: Rehearsal;
    findings: HeldFinding[];
};

export type HeldStatement = {
    /* beside the text */
    approved_for: HeldApproval;
    found: HeldFound;
    analysis: StatementAnalysis | null;
};

export type HeldValue = {
    /* the target's number for it */
    type?: number;
    value?: string | null;
    /* of a binary one */
    hex?: string;
};

export type HideRoleInfo = {
    hide_role_info: boolean;
};

export type HideRoleInfoRequest = {
    hide_role_info: boolean;
};

export type InvitationAcceptanceRequest = {
    /* behind 'token=' in the link */
    token: string;
    password: string;
    /* in the place of the one that the admin gave */
    name?: string | null;
};

export type InvitationRequest = {
    /* behind 'token=' in the link */
    token: string;
};

export type LoginRequest = {
    email: string;
    password: string;
    /* its name, when the same address is in several */
    organization?: string | null;
    /* of the authenticator app, or a recovery code; when the answer says that it is needed */
    code?: string | null;
};

export type MachineCredential = {
    id: string;
    /* what it reaches */
    connection_name?: string;
    /* its type */
    connection_type?: string;
    /* its subtype */
    connection_subtype?: string;
    /* of a new one, shown once: the secret itself */
    secret_key?: string;
    /* where clients connect to */
    hostname?: string;
    /* the port there */
    port?: string;
    /* the name of the connection */
    username?: string;
    /* the secret, for protocols that call it a password */
    password?: string;
    /* the database to name */
    database_name?: string;
    /* all of it in one, of a new credential, shown once */
    connection_string?: string;
    created_at: string;
    /* null: never; else the connection's access_max_duration says so */
    expire_at: string | null;
};

export type MachineIdentity = {
    id: string;
    name: string;
    description: string;
    /* the connections that it may use */
    connection_names: string[];
    /* it may also use every connection that carries one of them */
    attributes: string[];
    created_at: string;
    updated_at: string;
    /* of a new one, shown once */
    credentials?: MachineCredential[];
    /* those that a replacement added, shown once */
    new_credentials?: MachineCredential[];
};

export type MachineIdentityRequest = {
    name: string;
    description?: string | null;
    /* the connections that it may use */
    connection_names?: string[] | null;
    /* more of them, by id */
    connection_ids?: string[] | null;
    /* it may also use every connection that carries one of them */
    attributes?: string[] | null;
};

export type MaskedColumn = {
    /* schema.table.column, table.column or column; each part may have * and ?, a backslash takes a dot as it is; the case of letters does not count */
    name: string;
    /* the rule's, when it is not given */
    strategy?: MaskingStrategy;
};

export type MaskedColumnRequest = {
    /* schema.table.column, table.column or column; each part may have * and ?, a backslash takes a dot as it is; the case of letters does not count */
    name: string;
    /* the rule's, when it is not given */
    strategy?: MaskingStrategyRequest | null;
};

export type MaskingStrategy = {
    /* redact: the type in brackets; partial: stars but for the last characters; hash: the same for the same value, by the organization's key; null: NULL when it is the whole value, else redact */
    type: "redact" | "partial" | "hash" | "null";
    /* of partial: characters that stay, never more than half; 4 when it is not given */
    keep_last?: number;
    /* of redact: what takes the place of the value */
    replacement?: string;
};

export type MaskingStrategyRequest = {
    /* redact: the type in brackets; partial: stars but for the last characters; hash: the same for the same value, by the organization's key; null: NULL when it is the whole value, else redact */
    type: "redact" | "partial" | "hash" | "null";
    /* of partial: characters that stay, never more than half; 4 when it is not given */
    keep_last?: number | null;
    /* of redact: what takes the place of the value */
    replacement?: string | null;
};

export type McpOauthWarning = {
    name: string;
    warning: string;
};

export type NotificationDelivery = {
    /* the same however often it is sent: 'webhook-id' */
    id: string;
    event: string;
    sink: string;
    summary: string;
    state: "pending" | "delivered" | "dead";
    tries: number;
    /* what the receiver answered last */
    last_status: number | null;
    last_error: string | null;
    next_try_at: string | null;
    created_at: string;
    updated_at: string;
};

export type NotificationSink = {
    id: string;
    name: string;
    /* webhook: signed as Standard Webhooks says; slack, teams: incoming webhooks of these; email: through the operator's mail server */
    type: "webhook" | "slack" | "teams" | "email";
    /* of e-mail, and of that alone: who gets it; a replacement without it leaves it as it is */
    addresses?: string[];
    /* the URL as far as its host; of e-mail all addresses */
    address: string;
    /* what is told */
    events: string[];
    /* true when it is not given; one that is not enabled is told of nothing */
    enabled: boolean;
    /* how many bytes of the script or statement of a review stand in a message; 0, none, when it is not given */
    statement_size: number;
    /* of a webhook's signatures; shown when it is made, and never again */
    secret?: string;
    /* null: the last message was taken */
    failing_since: string | null;
    last_error: string | null;
    created_at: string;
    updated_at: string;
};

export type NotificationSinkRequest = {
    name: string;
    /* webhook: signed as Standard Webhooks says; slack, teams: incoming webhooks of these; email: through the operator's mail server */
    type: "webhook" | "slack" | "teams" | "email";
    /* where messages are sent to; kept sealed, and never shown; a replacement without it leaves it as it is; not of e-mail */
    url?: string;
    /* of e-mail, and of that alone: who gets it; a replacement without it leaves it as it is */
    addresses?: string[];
    /* what is told */
    events: string[];
    /* true when it is not given; one that is not enabled is told of nothing */
    enabled?: boolean | null;
    /* how many bytes of the script or statement of a review stand in a message; 0, none, when it is not given */
    statement_size?: number | null;
};

export type OidcConfig = {
    issuer_url: string;
    client_id: string;
    scopes: string[];
    /* of access tokens; empty: the client's id */
    audience: string;
    groups_claim: string;
    /* addresses are verified when the provider does not say ('email_verified') */
    trust_email: boolean;
};

export type OidcConfigRequest = {
    issuer_url: string;
    client_id: string;
    /* never shown; left out, it stays as it is while issuer and client stay */
    client_secret?: string | null;
    scopes?: string[] | null;
    /* of access tokens; empty: the client's id */
    audience?: string | null;
    groups_claim?: string | null;
    /* addresses are verified when the provider does not say ('email_verified') */
    trust_email?: boolean | null;
};

export type Pages = {
    page: number;
    size: number;
    total: number;
};

export type PasswordChangeRequest = {
    current_password: string;
    new_password: string;
};

export type ProviderRoles = {
    /* the identity provider's groups may make admins and auditors of this organization */
    trusts_provider_roles: boolean;
};

export type ProviderRolesRequest = {
    /* the identity provider's groups may make admins and auditors of this organization */
    trusts_provider_roles: boolean;
};

export type RegisterRequest = {
    email: string;
    password: string;
    name?: string | null;
    /* printed at the start, and by 'gatehouse setup-code' */
    setup_code?: string | null;
};

export type Rehearsal = {
    /* that the statement changed */
    rows: number;
    /* as the target says */
    effects: RehearsedEffects | null;
};

export type RehearsedConstraint = {
    table: string;
    name: string;
    kind: string;
};

export type RehearsedEffects = {
    /* rows, by cascades and triggers, too */
    tables: RehearsedTable[];
    /* of these tables */
    triggers: RehearsedTrigger[];
    /* of these tables */
    constraints: RehearsedConstraint[];
    locks: RehearsedLock[];
};

export type RehearsedLock = {
    relation: string;
    mode: string;
    count: number;
};

export type RehearsedTable = {
    table: string;
    inserted: number;
    updated: number;
    deleted: number;
};

export type RehearsedTrigger = {
    table: string;
    name: string;
    function: string;
};

export type Resource = {
    id: string;
    name: string;
    /* for example a database kind */
    type: string;
    /* the type, when it is not given */
    subtype: string;
    /* the organization's embedded agent, when it is not given */
    agent_id: string;
    /* variables that all roles inherit; with the prefix 'envvar:' or 'filesystem:' the value is base64 or a reference; "" keeps what is stored */
    env_vars: Record<string, string | null>;
    roles: Connection[];
    /* in the answer to a creation: the roles whose login was not attached */
    mcp_oauth_warnings?: McpOauthWarning[];
    created_at: string;
    updated_at: string;
};

export type ResourceRequest = {
    name: string;
    /* for example a database kind */
    type: string;
    /* variables that all roles inherit; with the prefix 'envvar:' or 'filesystem:' the value is base64 or a reference; "" keeps what is stored */
    env_vars: Record<string, unknown>;
    /* the organization's embedded agent, when it is not given */
    agent_id?: string | null;
    /* the type, when it is not given */
    subtype?: string | null;
    /* created, or updated by their name; others are left alone */
    roles?: RoleRequest[] | null;
};

export type Review = {
    id: string;
    /* by which whoever asked knows it */
    session: string;
    /* that ran it */
    run_session: string | null;
    type: "onetime" | "jit" | "held";
    status: "PENDING" | "APPROVED" | "PROCESSING" | "EXECUTED" | "REJECTED" | "EXPIRED" | "CANCELLED" | "REVOKED";
    connection: string;
    connection_id: string;
    requester: ReviewPerson;
    /* nanoseconds */
    access_duration: number;
    access_duration_sec: number;
    runs_when_approved: boolean;
    metadata: Record<string, string>;
    created_at: string;
    updated_at: string;
    /* of the request */
    expire_at: string;
    /* of the grant */
    revoke_at: string | null;
    /* emergency access */
    forced_review: boolean;
    reason: string;
    rejection_reason: string;
    /* the first */
    time_window: ReviewHours | null;
    /* all of which hold */
    time_windows: ReviewHours[];
    /* of each rule that acts */
    requirements: ReviewRequirement[];
    min_approvals: number;
    /* the first */
    access_request_rule_name: string | null;
    review_groups_data: ReviewGroup[];
    decisions: ReviewBallot[];
    /* bytes */
    script_size: number;
    /* false: only its start is there */
    script_kept: boolean;
    /* its start */
    script?: string;
    script_truncated?: boolean;
    /* of all of it */
    script_sha256?: string;
    comments?: ReviewComment[];
    /* of a script */
    analysis?: StatementAnalysis | null;
    held: HeldStatement | null;
    review_url: string;
};

export type ReviewBallot = {
    status: "APPROVED" | "REJECTED";
    reviewed_by: ReviewPerson;
    review_date: string;
    /* emergency access */
    forced_review: boolean;
    reason: string;
};

export type ReviewComment = {
    id: string;
    author: ReviewPerson;
    comment: string;
    created_at: string;
};

export type ReviewCommentRequest = {
    comment: string;
};

export type ReviewDecisionRequest = {
    /* APPROVED, REJECTED, REVOKED, or CANCELLED by whoever asked; in any case of letters */
    status: string;
    /* approve alone, for a member of a group that may, with a reason */
    force_review?: boolean | null;
    /* the same as 'reason' */
    rejection_reason?: string | null;
    /* why; must be given with 'force_review' */
    reason?: string | null;
    /* hours of the day in which what is approved may be used */
    time_window?: ReviewTimeWindowRequest | null;
};

export type ReviewEstimate = {
    review_id: string;
    is_available: boolean;
    why_not: string;
    writes?: boolean;
    /* that would be written, or else given */
    rows?: number;
    cost?: number;
    steps_truncated?: boolean;
    steps: EstimateStep[];
    asked_at: string;
};

export type ReviewGroup = {
    group: string;
    status: "PENDING" | "APPROVED" | "REJECTED";
    reviewed_by: ReviewPerson | null;
    review_date: string | null;
    forced_review: boolean;
};

export type ReviewHours = {
    type: "time_range";
    configuration: ReviewHoursRange;
};

export type ReviewHoursRange = {
    /* HH:MM */
    start_time: string;
    /* HH:MM; before 'start_time': on the day after */
    end_time: string;
    time_zone: string;
};

export type ReviewOpeningRequest = {
    /* what stands behind 'link=' in the address that a message has */
    link: string;
};

export type ReviewPerson = {
    id: string;
    name: string;
    email: string;
};

export type ReviewRequirement = {
    /* null: the connection's own */
    access_request_rule_name: string | null;
    reviewers_groups: string[];
    /* distinct people */
    min_approvals: number;
    all_groups_must_approve: boolean;
    force_approval_groups: string[];
};

export type ReviewSample = {
    review_id: string;
    is_available: boolean;
    why_not: string;
    /* the target did not answer; else empty */
    why_no_before: string;
    tables: SampleTable[];
    /* how many others were written */
    more_tables: number;
    asked_at: string;
};

export type ReviewTimeRangeRequest = {
    /* HH:MM */
    start_time?: string | null;
    /* HH:MM, to 24:00; before 'start_time': on the day after */
    end_time?: string | null;
    /* of the system's database, such as Europe/Berlin; UTC when it is left out */
    time_zone?: string | null;
};

export type ReviewTimeWindowRequest = {
    /* time_range */
    type?: string | null;
    configuration?: ReviewTimeRangeRequest | null;
};

export type RoleRequest = {
    /* immutable */
    name: string;
    /* database: database protocols; application: custom applications; custom: shell applications */
    type: "database" | "application" | "custom";
    /* the implementation: postgres, mysql, mongodb, mssql, oracledb, tcp, ssh, httpproxy, mcpproxy … */
    subtype?: string | null;
    /* the agent; the resource's own when it is the same one */
    agent_id?: string | null;
    /* names of attributes; leaving out a managed one detaches it */
    attributes?: string[] | null;
    /* the command of the connection */
    command?: string[] | null;
    /* texts are base64 or references; numbers and booleans stand for their text, arrays and objects for their JSON; null or "" keeps what is stored, but null in a PATCH removes it; inline values are never shown */
    secret?: Record<string, string | number | boolean | unknown[] | Record<string, unknown> | null> | null;
    /* for mcpproxy: the completed login to take over */
    mcp_oauth_flow_id?: string | null;
};

export type Rulepack = {
    name: string;
    title: string;
    description: string;
    /* the guard rail that it makes, as it would be sent */
    guardrail: Record<string, unknown> | null;
    /* the masking rule that it makes, as it would be sent */
    masking_rule: Record<string, unknown> | null;
    /* the connections that it is attached to */
    connection_ids: string[];
};

export type RulepackRequest = {
    /* connections by id */
    connection_ids?: string[] | null;
    /* connections by name; one of the two is needed */
    connection_names?: string[] | null;
};

export type SampleCell = {
    /* as clients get it */
    value: string | null;
    state: "shown" | "masked" | "too_long";
};

export type SampleRow = {
    /* write: it is not known whether the row was there before */
    change: "insert" | "update" | "delete" | "write";
    /* by column */
    before: SampleCell[] | null;
    /* by column */
    after: SampleCell[] | null;
};

export type SampleTable = {
    schema: string;
    table: string;
    /* its rows are not shown; else empty */
    why_not: string;
    /* rows before are missing; else empty */
    why_no_before: string;
    inserted: number;
    updated: number;
    deleted: number;
    /* how many are not shown, by their types or privileges */
    hidden_columns: number;
    columns: string[];
    /* 20 of a table at most */
    rows: SampleRow[];
};

export type SavedQuery = {
    id: string;
    /* one of each of its owner's on a connection */
    name: string;
    /* the connection it is for, by name or id */
    connection: string;
    /* its text */
    script: string;
    /* all who may use the connection see it */
    is_shared: boolean;
    /* it is the caller's */
    is_own: boolean;
    /* the address of who saved it; null: somebody who is gone */
    owner: string | null;
    created_at: string;
    updated_at: string;
};

export type SavedQueryRequest = {
    /* one of each of its owner's on a connection */
    name: string;
    /* the connection it is for, by name or id */
    connection: string;
    /* its text */
    script: string;
    /* all who may use the connection see it */
    is_shared?: boolean | null;
};

export type SecondFactorCodeRequest = {
    /* of the authenticator app; where one may have lost it, also a recovery code */
    code: string;
};

export type ServiceAccount = {
    id: string;
    org_id: string;
    /* what the identity provider calls it: the claim 'sub' of its tokens */
    subject: string;
    /* the identity provider whose tokens count: as it was, or the gateway's own now */
    issuer: string;
    name: string;
    status: "active" | "inactive";
    groups: string[];
    created_at: string;
    updated_at: string;
};

export type ServiceAccountRequest = {
    /* what the identity provider calls it: the claim 'sub' of its tokens */
    subject: string;
    /* the identity provider whose tokens count: as it was, or the gateway's own now */
    issuer?: string | null;
    name?: string | null;
    status: "active" | "inactive";
    groups?: string[] | null;
};

export type ServiceAccountUpdateRequest = {
    /* what the identity provider calls it: the claim 'sub' of its tokens */
    subject?: string | null;
    /* the identity provider whose tokens count: as it was, or the gateway's own now */
    issuer?: string | null;
    name?: string | null;
    status: "active" | "inactive";
    groups?: string[] | null;
};

export type Session = {
    id: string;
    org_id: string;
    credential_id: string;
    connection_id: string;
    connection: string;
    type: string;
    connection_subtype: string;
    resource_name: string;
    user_id: string;
    user: string;
    user_name: string;
    identity_type: "user" | "machine";
    verb: "connect" | "exec";
    status: "open" | "done";
    client_ip: string;
    /* the fingerprint of the person's key that its client signed in with */
    ssh_key?: string;
    application_name: string;
    /* what the client said about the session: an object of text */
    metadata?: Record<string, unknown>;
    /* what a program said that had it executed: an object of text */
    labels?: Record<string, unknown>;
    /* of sessions that belong together */
    session_batch_id?: string;
    /* by which another system knows it */
    correlation_id?: string;
    start_date: string;
    /* null: it goes on */
    end_date: string | null;
    end_reason: string;
    /* from the client */
    bytes_in: number;
    /* to the client */
    bytes_out: number;
    recording_head: string;
    /* of the file, once it is closed */
    recording_size: number;
    recording_error: string;
    /* null: it was not */
    recording_removed_at: string | null;
    /* data_masking: what was masked, by type: info_types, total_redact_count, transformed_bytes, err_count; null: no rule applied, or it goes on */
    metrics: Record<string, unknown> | null;
    /* the rules of guard rails that were met, the first of them */
    guardrails_info: SessionGuardrail[];
    /* how often rules were met, in all */
    guardrails_count: number;
};

export type SessionGuardrail = {
    rule_name: string;
    rule: SessionGuardrailRule;
    direction: "input" | "output";
    /* what was done about it */
    action: "block" | "review" | "rehearse" | "warn" | "observe";
    /* the rule's own words for people */
    message: string;
};

export type SessionGuardrailRule = {
    type: string;
};

export type SessionMetadataRequest = {
    /* in the place of all that there was; 2500 bytes at most */
    metadata: Record<string, string>;
};

export type SshAbout = {
    /* by which clients know the gateway */
    host_key: string;
    /* SHA256:… */
    host_key_fingerprint: string;
    /* the line for a client's file of that name; empty where the gateway does not listen */
    known_hosts: string;
    /* what signs certificates of people; the gateway trusts it */
    people_key: string;
    /* SHA256:… */
    people_fingerprint: string;
    /* what signs certificates for target servers: the line for 'TrustedUserCAKeys' */
    targets_key: string;
    /* SHA256:… */
    targets_fingerprint: string;
};

export type SshAuthority = {
    id: string;
    /* what it is called */
    name: string;
    /* the type and the key in base64 */
    public_key: string;
    /* SHA256:…, as 'ssh-keygen -l' shows it */
    fingerprint: string;
    created_at: string;
};

export type SshAuthorityRequest = {
    /* the line of the authority's '.pub' file */
    public_key: string;
    /* what it is called */
    name: string;
};

export type SshCertificate = {
    /* a line, for the '-cert.pub' file beside the key */
    certificate: string;
    /* whose it is */
    id: string;
    /* its number, in decimal */
    serial: string;
    /* of the key that is certified */
    fingerprint: string;
    connections: string[];
    /* when no session can be opened with it any more */
    expires_at: string;
};

export type SshCertificateRequest = {
    /* the line of a '.pub' file, whose secret half stays where it is */
    public_key: string;
    /* names of connections that it is good for: its principals */
    connections: string[];
    /* how long a session can be opened with it; 300 when it is not given */
    duration_seconds?: number | null;
    /* addresses and networks that it is good from, with commas between; any, when it is left out */
    source_address?: string | null;
};

export type SshKey = {
    id: string;
    /* whose it is */
    user_id: string;
    /* what it is called; its comment, where nobody said */
    name: string;
    /* as 'ssh-ed25519' */
    type: string;
    bits: number;
    /* what stood behind the key in its line */
    comment: string;
    /* SHA256:…, as 'ssh-keygen -l' shows it */
    fingerprint: string;
    /* the type and the key in base64 */
    public_key: string;
    created_at: string;
    /* when a session was last opened with it; null: never */
    last_used_at: string | null;
};

export type SshKeyRequest = {
    /* the line of a '.pub' file: a type, the key in base64, perhaps a comment */
    public_key: string;
    /* what it is called; the comment of its line, when it is left out */
    name?: string | null;
};

export type SshPinRequest = {
    /* of the server's key, as the test of the connection shows it and 'ssh-keygen -l' on the server */
    fingerprint: string;
};

export type StatementAnalysis = {
    statements: number;
    operations: string[];
    /* relations */
    reads: string[];
    /* relations */
    writes: string[];
    /* an UPDATE or DELETE of all rows */
    without_where: boolean;
    /* what it would do is not known by its text */
    is_unknown: boolean;
};

export type SupportedEntityTypes = {
    /* of the group */
    name: string;
    /* EMAIL_ADDRESS, CREDIT_CARD … */
    entity_types: string[];
};

export type SupportedEntityTypesRequest = {
    /* of the group */
    name: string;
    /* EMAIL_ADDRESS, CREDIT_CARD … */
    entity_types: string[];
};

export type TerminalRequest = {
    /* for how long others are asked */
    duration_seconds?: number | null;
    /* why it is to be opened */
    metadata?: Record<string, string> | null;
};

export type TerminalWait = {
    /* null: nobody has to approve it, or somebody has */
    review_id: string | null;
    /* of the request */
    session_id: string | null;
    /* where it is approved */
    review_url: string | null;
    /* what to do next */
    message: string | null;
};

export type User = {
    id: string;
    /* what the identity provider calls the person */
    subject: string;
    name: string;
    email: string;
    status: "active" | "inactive" | "invited";
    verified: boolean;
    role: "admin" | "auditor" | "standard";
    slack_id: string;
    picture: string;
    groups: string[];
    /* the link for an invited person, shown once: where a password is chosen, or the sign-in at the provider begins */
    invitation_url?: string;
    /* until when the link is good */
    invitation_expires_at?: string;
};

export type UserPatch = {
    name?: string | null;
    email?: string;
    status?: "active" | "inactive" | "invited" | "" | null;
    slack_id?: string | null;
    picture?: string | null;
    groups?: string[] | null;
    /* of a local account; never shown */
    password?: string | null;
};

export type UserRequest = {
    name?: string | null;
    email: string;
    status?: "active" | "inactive" | "invited" | "" | null;
    slack_id?: string | null;
    picture?: string | null;
    groups?: string[] | null;
    /* of a local account; never shown */
    password?: string | null;
};
