/* SPDX-License-Identifier: MIT */
/* A masking rule in the editor, what the API gets of it, and samples to try it on. */
export type Style = "redact" | "partial" | "hash" | "null";

export interface Strategy {
    type: Style;
    keep_last?: number;
    replacement?: string;
}

export interface Custom {
    name: string;
    regex?: string;
    deny_list?: string[];
    score: number;
}

export interface Column {
    name: string;
    strategy?: Strategy | null;
}

export interface MaskingRule {
    id: string;
    name: string;
    description: string;
    managed_by: string | null;
    connection_ids: string[];
    attributes: string[];
    supported_entity_types: { name: string; entity_types: string[] }[];
    custom_entity_types: Custom[];
    columns: Column[];
    score_threshold: number | null;
    strategy: Strategy | null;
    on_unexaminable: "mask" | "refuse" | null;
    refuse_predicates: boolean;
    warnings?: string[];
}

export interface Form {
    name: string;
    description: string;
    connection_ids: string[];
    attributes: string[];
    types: string[];
    customs: Custom[];
    columns: Column[];
    threshold: number; /* percent */
    strategy: Strategy;
    unexaminable: "mask" | "refuse";
    refuse_predicates: boolean;
}

const THRESHOLD = 50;

export function formOf(rule: MaskingRule | null): Form {
    return {
        name: rule?.name ?? "",
        description: rule?.description ?? "",
        connection_ids: rule?.connection_ids ?? [],
        attributes: rule?.attributes ?? [],
        types: (rule?.supported_entity_types ?? []).flatMap((group) => group.entity_types),
        customs: rule?.custom_entity_types ?? [],
        columns: rule?.columns ?? [],
        threshold:
            rule?.score_threshold == null ? THRESHOLD : Math.round(rule.score_threshold * 100),
        strategy: rule?.strategy ?? { type: "redact" },
        unexaminable: rule?.on_unexaminable ?? "mask",
        refuse_predicates: rule?.refuse_predicates ?? false,
    };
}

/* Only the members that belong to a style are sent. */
export function strategyOf(strategy: Strategy): Strategy {
    switch (strategy.type) {
        case "redact":
            return strategy.replacement
                ? { type: "redact", replacement: strategy.replacement }
                : { type: "redact" };
        case "partial":
            return { type: "partial", keep_last: strategy.keep_last ?? 4 };
        default:
            return { type: strategy.type };
    }
}

export function requestOf(form: Form): object {
    return {
        name: form.name.trim(),
        description: form.description,
        connection_ids: form.connection_ids,
        attributes: form.attributes,
        supported_entity_types:
            form.types.length === 0 ? [] : [{ name: "CHOSEN", entity_types: form.types }],
        custom_entity_types: form.customs.map((custom) => ({
            name: custom.name.trim(),
            score: custom.score,
            ...(custom.regex && { regex: custom.regex }),
            ...((custom.deny_list ?? []).length > 0 && { deny_list: custom.deny_list }),
        })),
        columns: form.columns
            .filter(({ name }) => name.trim() !== "")
            .map(({ name, strategy }) => ({
                name: name.trim(),
                ...(strategy != null && { strategy: strategyOf(strategy) }),
            })),
        score_threshold: form.threshold / 100,
        strategy: strategyOf(form.strategy),
        on_unexaminable: form.unexaminable,
        refuse_predicates: form.refuse_predicates,
    };
}

export interface Sample {
    column: string;
    value: string;
}

/* "email: grace@example.com" speaks of a column; other lines do not. */
export function samplesOf(text: string): Sample[] {
    return text
        .split("\n")
        .filter((line) => line.trim() !== "")
        .map((line) => {
            const named = /^\s*([\w.]+):\s+(.+)$/.exec(line);
            return named === null
                ? { column: "", value: line }
                : { column: named[1] ?? "", value: named[2] ?? "" };
        });
}
