/* SPDX-License-Identifier: MIT */
import type { AccessRequestRule as AccessRule } from "../../../shared/api/schema";
import type { Form } from "../../../shared/things/ThingForm";
import type { Kind } from "../../../shared/things/Things";
import { bound, words } from "./words";

const TYPES = {
    jit: "before connecting",
    command: "before a script runs",
    jit_command: "before connecting, and before a script runs",
};
const MINUTE = 60;

const minutes = (seconds: number | null): number | null =>
    seconds === null ? null : Math.max(1, Math.round(seconds / MINUTE));
const seconds = (value: unknown): number | null =>
    typeof value === "number" ? value * MINUTE : null;

function requestOf(form: Form): object {
    return {
        ...form,
        min_approvals: form["all_groups_must_approve"] === true ? null : form["min_approvals"],
        access_max_duration: seconds(form["access_max_duration"]),
        access_fixed_duration: seconds(form["access_fixed_duration"]),
    };
}

function whoDecides(rule: AccessRule): string {
    const groups = rule.reviewers_groups;
    return rule.all_groups_must_approve
        ? bound("One person of each decides:", groups)
        : bound(`${rule.min_approvals ?? 1} of these decide:`, groups);
}

export const access: Kind<AccessRule> = {
    path: "access-requests/rules",
    one: "access rule",
    ...words.access,
    keyOf: ({ name }) => name,
    nameOf: ({ name }) => name,
    isFixed: ({ managed_by }) => Boolean(managed_by),
    fields: [
        { name: "name", kind: "text", label: "Name", required: true, isFixed: true },
        { name: "description", kind: "text", label: "What it is for" },
        {
            name: "access_type",
            kind: "choice",
            label: "People ask",
            choices: Object.entries(TYPES).map(([value, label]) => ({ value, label })),
        },
        { name: "connection_names", kind: "connections", label: "On connections" },
        { name: "attributes", kind: "attributes", label: "And on all with an attribute" },
        {
            name: "reviewers_groups",
            kind: "groups",
            label: "Groups that decide",
            required: true,
        },
        { name: "min_approvals", kind: "number", label: "How many must approve", initial: 1 },
        {
            name: "all_groups_must_approve",
            kind: "yes",
            label: "One person of each of these groups must approve",
        },
        {
            name: "force_approval_groups",
            kind: "groups",
            label: "Groups whose members may approve alone",
            about: "With a reason, which is on record.",
        },
        {
            name: "approval_required_groups",
            kind: "groups",
            label: "Groups that must ask",
            about: "None: everybody, API keys and machines too.",
        },
        { name: "skip_review_groups", kind: "groups", label: "Groups that need not ask" },
        {
            name: "access_max_duration",
            kind: "number",
            label: "Access lasts at most (minutes)",
        },
        {
            name: "access_fixed_duration",
            kind: "number",
            label: "Or always exactly (minutes)",
        },
    ],
    formOf: (rule) => {
        const { name, description, access_type, connection_names, attributes } = rule;
        return {
            name,
            description,
            access_type,
            connection_names,
            attributes,
            reviewers_groups: rule.reviewers_groups,
            min_approvals: rule.min_approvals,
            all_groups_must_approve: rule.all_groups_must_approve,
            force_approval_groups: rule.force_approval_groups,
            approval_required_groups: rule.approval_required_groups,
            skip_review_groups: rule.skip_review_groups,
            access_max_duration: minutes(rule.access_max_duration),
            access_fixed_duration: minutes(rule.access_fixed_duration),
        };
    },
    requestOf,
    linesOf: (rule) => [
        rule.description,
        whoDecides(rule),
        bound("On", [...rule.connection_names, ...rule.attributes.map((name) => `#${name}`)]) ||
            "On no connection yet",
        bound("Asked of", rule.approval_required_groups),
        bound("Not of", rule.skip_review_groups),
    ],
    tagsOf: (rule) => [{ text: TYPES[rule.access_type] }],
};
