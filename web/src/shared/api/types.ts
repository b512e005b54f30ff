/* SPDX-License-Identifier: MIT */
/* What the API answers, as far as pages use it. The names are those of /api/openapi.json. */

export interface Me {
    id: string;
    name: string;
    email: string;
    role: string;
    groups: string[];
    is_admin: boolean;
    org_name: string;
}

export interface ServerInfo {
    version: string;
    auth_method: string;
    local_auth: boolean;
    provider_name?: string;
    idp_provider_name?: string;
}

export interface Page<T> {
    data: T[];
    pages: { page: number; size: number; total: number };
}

export interface EffectiveFeatures {
    access_request: { command: boolean; jit: boolean; legacy_reviewers: boolean };
    data_masking: boolean;
    guardrails: boolean;
    mandatory_metadata: boolean;
}

export interface Connection {
    id: string;
    name: string;
    resource_name: string;
    type: string;
    subtype: string;
    agent_id: string;
    status: "online" | "offline";
    default_database?: string;
    attributes: string[];
    guardrail_rules: string[];
    effective_features: EffectiveFeatures | null;
    secret: Record<string, string | null>; /* null: written down here, and never shown */
    command: string[];
    access_mode_connect: Mode;
    access_mode_exec: Mode;
    access_mode_runbooks: Mode;
    access_schema: Mode;
    access_max_duration: number;
    connection_tags: Record<string, string>;
    tags: string[];
    mandatory_metadata_fields: string[];
    min_review_approvals: number;
    reviewers: string[];
    force_approve_groups: string[];
    recording_days?: number | null;
    recording_row_limit?: number | null;
    accepted_env_vars?: string[];
    accepts_client_args?: boolean;
    managed_by: string;
    secrets_updated_at: string | null;
}

export type Mode = "enabled" | "disabled";

export type Control = "enforced" | "observed" | "impossible";

export interface Approval {
    access_request_rule_name: string;
    reviewers_groups: string[];
    min_approvals: number;
    all_groups_must_approve: boolean;
    force_approval_groups: string[];
}

export interface Controls {
    guardrails: { structural: Control; text: Control; read_only: Control };
    row_limits: Control;
    read_budgets: Control;
    masking: Control;
    recording: Control;
    terminal: { input: Control; recording: Control } | null;
    review: Control;
    access_requests: { jit: Approval[]; command: Approval[] };
}

export interface CredentialValues {
    hostname: string;
    port: string;
    username: string;
    password?: string;
    database_name?: string;
    connection_string?: string;
}

export interface Credential {
    id: string;
    connection_name: string;
    connection_type: string;
    connection_subtype: string;
    user_id: string;
    user_email: string;
    user_name: string;
    connection_credentials?: CredentialValues;
    has_review: boolean;
    review_id: string | null;
    session_id: string | null;
    expire_at: string | null;
    created_at: string;
}

export interface SessionGuardrail {
    rule_name: string;
    rule: { type: string; name?: string };
    direction: "input" | "output";
    action: "block" | "warn" | "observe";
    message: string;
}

export interface Session {
    id: string;
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
    application_name: string;
    metadata?: Record<string, string>;
    start_date: string;
    end_date: string | null;
    end_reason: string;
    bytes_in: number;
    bytes_out: number;
    recording_size: number;
    recording_error: string;
    recording_removed_at: string | null;
    guardrails_info: SessionGuardrail[];
    guardrails_count: number;
    metrics: { data_masking?: { total_redact_count: number } } | null;
}

export interface SessionList {
    data: Session[];
    total: number;
    total_is_capped: boolean;
    has_next_page: boolean;
    next_cursor: string | null; /* with a cursor, as all callers here have one */
    looked_back_to: string | null;
}

export type Value = string | number | boolean | null;

export interface Column {
    name: string;
    type: string;
}

export interface StatementError {
    code: string;
    message: string;
    detail?: string;
    hint?: string;
    position?: number | null;
}

export interface Statement {
    command: string;
    rows_affected: number | null;
    columns: Column[];
    rows: Value[][];
    text: string;
    notices: (string | { message: string })[];
    error: StatementError | null;
    truncated: boolean;
    continued?: boolean;
}

export interface Execution {
    session_id: string;
    has_review: boolean;
    review_id?: string;
    output: string;
    statements?: Statement[];
    output_status: "success" | "failed" | "blocked" | "running" | "pending";
    truncated: boolean;
    execution_time: number;
    exit_code: number;
    next?: string | null;
}

export interface TableList {
    schemas: {
        name: string;
        tables: string[];
        relations: { name: string; type: string }[];
    }[];
    has_more: boolean;
}

export interface TableColumn {
    name: string;
    type: string;
    nullable: boolean;
    is_primary_key: boolean;
}

export type ReviewStatus =
    | "PENDING"
    | "APPROVED"
    | "REJECTED"
    | "REVOKED"
    | "PROCESSING"
    | "EXECUTED"
    | "EXPIRED"
    | "CANCELLED";

/* A statement that waits in an open session: what it is approved for, and what is known of it. */
export interface HeldStatement {
    approved_for: {
        database: string;
        parameters: { value?: string | null; hex?: string }[];
    };
    found: {
        session: string;
        application_name: string;
        holds_locks: boolean;
        waits_until: string;
        findings: { guardrail: string; rule: string; message: string; why: string }[];
        rehearsal?: Rehearsal;
    };
    analysis: Analysis;
}

/* What a statement or script would do by its text. */
export interface Analysis {
    operations: string[];
    reads: string[];
    writes: string[];
    without_where: boolean;
    is_unknown: boolean;
}

/* What a statement did that is not committed yet. */
export interface Rehearsal {
    rows: number;
    effects?: {
        tables: { table: string; inserted: number; updated: number; deleted: number }[];
        triggers: { table: string; name: string; function: string }[];
        constraints: { table: string; name: string; kind: string }[];
        locks: { relation: string; mode: string; count: number }[];
    } | null;
}

/* What the planner of the target expects. */
export interface Estimate {
    is_available: boolean;
    why_not: string;
    writes?: boolean;
    rows?: number;
    cost?: number;
    steps_truncated?: boolean;
    steps: { depth: number; node: string; operation: string; relation: string; rows: number }[];
}

export interface TimeWindow {
    type: "time_range";
    configuration: { start_time: string; end_time: string; time_zone: string };
}

export interface Review {
    id: string;
    session: string;
    run_session: string | null;
    type: "jit" | "onetime" | "held";
    status: ReviewStatus;
    connection: string;
    requester: { id: string; name: string; email: string };
    access_duration_sec: number;
    runs_when_approved: boolean;
    metadata: Record<string, string>;
    created_at: string;
    expire_at: string | null;
    revoke_at: string | null;
    reason: string;
    requirements: Approval[];
    decisions: ReviewDecision[];
    script_size: number;
    script?: string;
    script_truncated?: boolean;
    script_sha256?: string;
    comments?: ReviewComment[];
    held: HeldStatement | null;
    analysis?: Analysis | null;
    time_windows: TimeWindow[];
}

export interface ReviewDecision {
    status: string;
    reason?: string;
    forced_review?: boolean;
    reviewed_by?: { name: string; email: string } | null;
    created_at?: string;
    review_date?: string;
}

export interface ReviewComment {
    comment: string;
    created_at: string;
    author?: { name: string; email: string };
}
