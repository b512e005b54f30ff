/* SPDX-License-Identifier: MIT */
/* Rules of guard rails as effects: what a person picks, what a rule says in a sentence, and what
 * the API gets. */
import { texts } from "./texts";

export type Action = "block" | "review" | "warn" | "observe";
export type Direction = "input" | "output";
export type RuleType = "sql" | "deny_words_list" | "pattern_match" | "read_budget";

export interface Relation {
    name: string;
    access?: "read" | "write" | "any";
}

export interface Rule {
    type: RuleType;
    name?: string;
    message?: string;
    action?: Action;
    groups?: string[];
    except_groups?: string[];
    words?: string[];
    pattern_regex?: string;
    case_sensitive?: boolean;
    operations?: string[];
    without_where?: boolean;
    relations?: Relation[];
    functions?: string[];
    multi_statement?: boolean;
    read_only?: boolean;
    max_rows?: number;
    unknown?: "block" | "allow";
    safe_functions?: string[];
    rows?: number;
    bytes?: number;
    per?: "session" | "hour";
}

/* A rule in the editor: with the direction that it is for, and a key of its own. */
export interface Draft {
    key: number;
    direction: Direction;
    rule: Rule;
}

export interface Guardrail {
    id: string;
    name: string;
    description: string;
    managed_by?: string | null;
    rulepack?: string;
    connection_ids: string[];
    attributes: string[];
    enabled?: boolean;
    input: { rules: Rule[] } | null;
    output: { rules: Rule[] } | null;
}

export interface Effect {
    id: string;
    title: string;
    about: string;
    direction: Direction;
    rule: Rule;
}

const words = texts.effects;
const effect = (id: keyof typeof words, direction: Direction, rule: Rule): Effect => ({
    id,
    ...words[id],
    direction,
    rule,
});

export const effects: Effect[] = [
    effect("unbounded", "input", {
        type: "sql",
        operations: ["update", "delete"],
        without_where: true,
        name: "no WHERE",
    }),
    effect("kinds", "input", { type: "sql", operations: ["drop", "truncate"] }),
    effect("tables", "input", { type: "sql", relations: [{ name: "", access: "any" }] }),
    effect("readOnly", "input", { type: "sql", read_only: true }),
    effect("maxRows", "input", { type: "sql", max_rows: 1000 }),
    effect("functions", "input", { type: "sql", functions: [] }),
    effect("several", "input", { type: "sql", multi_statement: true }),
    effect("words", "input", { type: "deny_words_list", words: [] }),
    effect("pattern", "input", { type: "pattern_match", pattern_regex: "" }),
    effect("budget", "output", { type: "read_budget", rows: 100_000, per: "hour" }),
    effect("outWords", "output", { type: "deny_words_list", words: [] }),
    effect("outPattern", "output", { type: "pattern_match", pattern_regex: "" }),
];

const CHANGES =
    "insert update delete drop truncate alter create grant revoke".split(" ");

/* Where one begins who wants no more of such a statement: what it does by its first word, or the
 * table that it reads. It is looked at by a person, and tried, before it is saved. */
export function ruleOf(statement: string): Rule {
    const text = statement.replace(/--.*|\/\*[\s\S]*?\*\//g, " ").trim();
    const verb = (/^\w+/.exec(text)?.[0] ?? "").toLowerCase();
    if ((verb === "update" || verb === "delete") && !/\bwhere\b/i.test(text)) {
        return {
            type: "sql",
            operations: ["update", "delete"],
            without_where: true,
            name: "no WHERE",
        };
    }
    if (CHANGES.includes(verb)) {
        return { type: "sql", operations: [verb] };
    }
    const table = /\b(?:from|table)\s+([\w.]+)/i.exec(text)?.[1] ?? "";
    return { type: "sql", relations: [{ name: table, access: "any" }] };
}

/* Only "block" is for these. */
export function mayOnlyBlock(rule: Rule): boolean {
    return rule.read_only === true || rule.max_rows !== undefined;
}

export function actionsFor(direction: Direction, rule: Rule): Action[] {
    if (mayOnlyBlock(rule)) {
        return ["block"];
    }
    return direction === "input"
        ? ["block", "review", "warn", "observe"]
        : ["block", "warn", "observe"];
}

const NAMED = 5;

function list(items: string[], last = "or"): string {
    const shown =
        items.length > NAMED + 1
            ? [...items.slice(0, NAMED), `${items.length - NAMED} more`]
            : items;
    return shown.length < 2
        ? (shown[0] ?? "")
        : `${shown.slice(0, -1).join(", ")} ${last} ${shown[shown.length - 1]}`;
}

function conditionsOf(rule: Rule): string[] {
    const found: string[] = [];
    const operations = (rule.operations ?? []).map((operation) => operation.toUpperCase());
    if (rule.read_only) {
        found.push("everything that does more than read");
    }
    if (rule.max_rows !== undefined) {
        found.push(
            `${operations.length > 0 ? list(operations) : "writes"} of more than ${rule.max_rows.toLocaleString("en")} rows`,
        );
    } else if (operations.length > 0) {
        found.push(list(operations));
    } else if (!rule.read_only) {
        found.push("statements");
    }
    if (rule.without_where) {
        found.push("without WHERE");
    }
    for (const [access, verb] of [
        ["write", "that write"],
        ["read", "that read"],
        ["any", "that use"],
    ] as const) {
        const names = (rule.relations ?? [])
            .filter((relation) => (relation.access ?? "any") === access)
            .map(({ name }) => name || "…");
        if (names.length > 0) {
            found.push(`${verb} ${list(names)}`);
        }
    }
    if (rule.functions !== undefined) {
        found.push(`that call ${list(rule.functions) || "…"}`);
    }
    if (rule.multi_statement) {
        found.push("that come with others in one text");
    }
    return found;
}

function whatOf(direction: Direction, rule: Rule): string {
    const place = direction === "input" ? "text" : "results";
    switch (rule.type) {
        case "sql":
            return conditionsOf(rule).join(" ");
        case "deny_words_list":
            return `${place} with ${list((rule.words ?? []).map((word) => `“${word}”`)) || "…"}`;
        case "pattern_match":
            return `${place} like ${rule.pattern_regex || "…"}`;
        case "read_budget": {
            const amounts = [
                rule.rows === undefined ? "" : `${rule.rows.toLocaleString("en")} rows`,
                rule.bytes === undefined ? "" : `${rule.bytes.toLocaleString("en")} bytes`,
            ].filter(Boolean);
            return `reading more than ${list(amounts) || "…"} in ${rule.per === "session" ? "a session" : "an hour"}`;
        }
    }
}

const VERBS: Record<Action, string> = {
    block: "Stops",
    review: "Holds for review",
    warn: "Warns about",
    observe: "Notes",
};

/* "Stops UPDATE or DELETE without WHERE, for all but hr." */
export function sentenceOf(direction: Direction, rule: Rule): string {
    const only = (rule.groups ?? []).length > 0 ? `, for ${list(rule.groups ?? [], "and")}` : "";
    const except =
        (rule.except_groups ?? []).length > 0
            ? `, for all but ${list(rule.except_groups ?? [], "and")}`
            : "";
    return `${VERBS[rule.action ?? "block"]} ${whatOf(direction, rule)}${only}${except}.`;
}

/* What is empty is as good as not given. */
export function cleaned(rule: Rule): Rule {
    const entries = Object.entries(rule).filter(
        ([, value]) =>
            value !== undefined &&
            value !== "" &&
            value !== false &&
            !(Array.isArray(value) && value.length === 0),
    );
    const clean = Object.fromEntries(entries) as unknown as Rule;
    if (clean.relations !== undefined) {
        clean.relations = clean.relations.filter(({ name }) => name.trim() !== "");
    }
    if (rule.type !== "sql" && rule.case_sensitive === false && rule.type === "pattern_match") {
        clean.case_sensitive = false;
    }
    return clean;
}

export function draftsOf(guardrail: Guardrail): Draft[] {
    return (["input", "output"] as const)
        .flatMap((direction) =>
            (guardrail[direction]?.rules ?? []).map((rule) => ({ direction, rule })),
        )
        .map((draft, key) => ({ ...draft, key }));
}

export interface Form {
    name: string;
    description: string;
    connection_ids: string[];
    attributes: string[];
    drafts: Draft[];
}

export function requestOf(form: Form): object {
    const rules = (direction: Direction): { rules: Rule[] } => ({
        rules: form.drafts
            .filter((draft) => draft.direction === direction)
            .map((draft) => cleaned(draft.rule)),
    });
    return {
        name: form.name.trim(),
        description: form.description,
        connection_ids: form.connection_ids,
        attributes: form.attributes,
        input: rules("input"),
        output: rules("output"),
    };
}
