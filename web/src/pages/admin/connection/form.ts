/* SPDX-License-Identifier: MIT */
/* A connection as its form has it, and what of it is sent: the members that were changed, so that
 * others' changes elsewhere stay. */
import type { Connection } from "../../../shared/api/types";
import { encoded } from "../target";

const MINUTE = 60;
const KIB = 1024;

/* One variable or file. What is stored is never shown, unless it refers to where it is kept. */
export interface Secret {
    key: string; /* envvar:NAME or filesystem:NAME */
    is: "kept" | "replaced" | "removed" | "added";
    reference: string; /* of one that is kept; empty: a value */
    value: string; /* of one that is replaced or added */
}

export interface Form {
    resource_name: string;
    agent_id: string;
    secrets: Secret[];
    command: string[];
    accepted_env_vars: string[];
    accepts_client_args: boolean;
    connects: boolean;
    executes: boolean;
    runs_runbooks: boolean;
    shows_schema: boolean;
    access_minutes: number | null;
    groups: string[];
    attributes: string[];
    guardrail_rules: string[];
    masking_rules: string[];
    reviewers: string[];
    min_review_approvals: number | null;
    force_approve_groups: string[];
    mandatory_metadata_fields: string[];
    recording_days: number | null;
    row_limit_kib: number | null;
    connection_tags: string[]; /* "env=prod" */
    tags: string[];
}

/* What a connection's form is made of: three documents of the API. */
export interface Stored {
    connection: Connection;
    groups: string[];
    links: MaskingLink[];
}

export interface MaskingLink {
    rule_id: string;
    status: "active" | "inactive";
}

export function formOf({ connection, groups, links }: Stored): Form {
    return {
        resource_name: connection.resource_name,
        agent_id: connection.agent_id,
        secrets: inOrder(Object.keys(connection.secret), connection.subtype).map((key) => ({
            key,
            is: "kept",
            reference: connection.secret[key] ?? "",
            value: "",
        })),
        command: connection.command,
        accepted_env_vars: connection.accepted_env_vars ?? [],
        accepts_client_args: connection.accepts_client_args === true,
        connects: connection.access_mode_connect === "enabled",
        executes: connection.access_mode_exec === "enabled",
        runs_runbooks: connection.access_mode_runbooks === "enabled",
        shows_schema: connection.access_schema === "enabled",
        access_minutes: orNull(connection.access_max_duration / MINUTE),
        groups,
        attributes: connection.attributes,
        guardrail_rules: connection.guardrail_rules,
        masking_rules: links
            .filter(({ status }) => status === "active")
            .map(({ rule_id: id }) => id),
        reviewers: connection.reviewers,
        min_review_approvals: orNull(connection.min_review_approvals),
        force_approve_groups: connection.force_approve_groups,
        mandatory_metadata_fields: connection.mandatory_metadata_fields,
        recording_days: connection.recording_days ?? null,
        row_limit_kib:
            connection.recording_row_limit == null ? null : connection.recording_row_limit / KIB,
        connection_tags: Object.entries(connection.connection_tags).map(
            ([name, value]) => `${name}=${value}`,
        ),
        tags: connection.tags,
    };
}

function orNull(number: number): number | null {
    return number === 0 ? null : number;
}

export function isSame(one: unknown, other: unknown): boolean {
    return JSON.stringify(one) === JSON.stringify(other);
}

export function changesOf(form: Form, stored: Form): (keyof Form)[] {
    return (Object.keys(form) as (keyof Form)[]).filter(
        (name) => !isSame(form[name], stored[name]),
    );
}

/* On what is stored by now, with the fields that are still to be saved. */
export function rebased(form: Form, mine: (keyof Form)[], now: Form): Form {
    return Object.fromEntries(
        (Object.keys(now) as (keyof Form)[]).map((name) => [
            name,
            mine.includes(name) ? form[name] : now[name],
        ]),
    ) as unknown as Form;
}

/* What stands in a PATCH of 'secret': null takes away, what is not named stays. */
function secretOf(secrets: Secret[]): Record<string, string | null> {
    return Object.fromEntries(
        secrets
            .filter(({ is }) => is !== "kept")
            .map(({ key, is, value }) => [key, is === "removed" ? null : encoded(value)]),
    );
}

function tagsOf(lines: string[]): Record<string, string> {
    return Object.fromEntries(
        lines.map((line) => {
            const at = line.indexOf("=");
            return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
        }),
    );
}

const mode = (is: boolean): string => (is ? "enabled" : "disabled");
const times = (number: number | null, by: number): number | null =>
    number === null ? null : Math.round(number * by);

/* The member of the API that a field is written as; null: by a call of its own. */
const MEMBERS: { [Name in keyof Form]: ((form: Form) => object) | null } = {
    resource_name: (form) => ({ resource_name: form.resource_name.trim() }),
    agent_id: (form) => ({ agent_id: form.agent_id }),
    secrets: (form) => ({ secret: secretOf(form.secrets) }),
    command: (form) => ({ command: form.command }),
    accepted_env_vars: (form) => ({ accepted_env_vars: form.accepted_env_vars }),
    accepts_client_args: (form) => ({ accepts_client_args: form.accepts_client_args }),
    connects: (form) => ({ access_mode_connect: mode(form.connects) }),
    executes: (form) => ({ access_mode_exec: mode(form.executes) }),
    runs_runbooks: (form) => ({ access_mode_runbooks: mode(form.runs_runbooks) }),
    shows_schema: (form) => ({ access_schema: mode(form.shows_schema) }),
    access_minutes: (form) => ({ access_max_duration: times(form.access_minutes, MINUTE) }),
    groups: null,
    attributes: (form) => ({ attributes: form.attributes }),
    guardrail_rules: (form) => ({ guardrail_rules: form.guardrail_rules }),
    masking_rules: null,
    reviewers: (form) => ({ reviewers: form.reviewers }),
    min_review_approvals: (form) => ({ min_review_approvals: form.min_review_approvals }),
    force_approve_groups: (form) => ({ force_approve_groups: form.force_approve_groups }),
    mandatory_metadata_fields: (form) => ({
        mandatory_metadata_fields: form.mandatory_metadata_fields,
    }),
    recording_days: (form) => ({ recording_days: form.recording_days }),
    row_limit_kib: (form) => ({ recording_row_limit: times(form.row_limit_kib, KIB) }),
    connection_tags: (form) => ({ connection_tags: tagsOf(form.connection_tags) }),
    tags: (form) => ({ tags: form.tags }),
};

/* Of a PATCH of the connection; null: nothing of it was changed. */
export function patchOf(form: Form, stored: Form): Record<string, unknown> | null {
    const parts = changesOf(form, stored).flatMap((name) => MEMBERS[name]?.(form) ?? []);
    return parts.length === 0 ? null : (Object.assign({}, ...parts) as Record<string, unknown>);
}

/* Links that are switched off stay so, unless they are picked. */
export function linksOf(form: Form, links: MaskingLink[]): MaskingLink[] {
    return [
        ...form.masking_rules.map((id) => ({ rule_id: id, status: "active" as const })),
        ...links
            .filter(({ rule_id: id, status }) => status === "inactive" && !form.masking_rules.includes(id))
            .map(({ rule_id: id }) => ({ rule_id: id, status: "inactive" as const })),
    ];
}

/* Names that a connection of a kind reads: docs/connections.md. */
const KNOWN: Record<string, string[]> = {
    postgres: [
        "envvar:HOST",
        "envvar:PORT",
        "envvar:USER",
        "envvar:PASS",
        "envvar:DB",
        "envvar:SSLMODE",
        "filesystem:SSLROOTCERT",
        "filesystem:SSLCERT",
        "filesystem:SSLKEY",
    ],
    ssh: [
        "envvar:HOST",
        "envvar:PORT",
        "envvar:USER",
        "envvar:PASS",
        "envvar:PRIVATE_KEY",
        "envvar:HOST_KEY",
        "envvar:LOGINS",
        "envvar:ACCEPT_ENV",
    ],
    tcp: ["envvar:HOST", "envvar:PORT"],
};

export function knownOf(subtype: string): string[] {
    return KNOWN[subtype === "mysql" ? "postgres" : subtype] ?? [];
}

/* As they are listed, the others behind by name: a value that is replaced stays in its place. */
function inOrder(keys: string[], subtype: string): string[] {
    const known = knownOf(subtype);
    const place = (key: string): number => (known.includes(key) ? known.indexOf(key) : known.length);
    return keys.toSorted((one, other) => place(one) - place(other) || one.localeCompare(other));
}

const PLAIN = ["HOST", "PORT", "USER", "DB", "SSLMODE", "HOST_KEY", "LOGINS", "ACCEPT_ENV"];

/* How a value is typed: many lines, one that may be seen, or one that may not. */
export function inputOf(key: string): "lines" | "plain" | "hidden" {
    const name = key.slice(key.indexOf(":") + 1);
    if (key.startsWith("filesystem:") || name === "PRIVATE_KEY") {
        return "lines";
    }
    return PLAIN.includes(name) ? "plain" : "hidden";
}
