/* SPDX-License-Identifier: MIT */
/* PostgreSQL's plan of a statement (EXPLAIN in JSON), as a tree of steps with what each would cost. */
import type { Statement } from "../../shared/api/types";

export interface Step {
    title: string;
    about: string[];
    rows: number;
    cost: number; /* of it alone, without what is below */
    share: number; /* of the whole, 0 to 1 */
    steps: Step[];
}

type Raw = Record<string, unknown>;

const ABOUT = [
    "Index Cond",
    "Filter",
    "Join Filter",
    "Hash Cond",
    "Merge Cond",
    "Sort Key",
    "Group Key",
    "Recheck Cond",
];

function stepOf(raw: Raw, whole: number): Step {
    const below = ((raw["Plans"] as Raw[] | undefined) ?? []).map((one) => stepOf(one, whole));
    const of = (one: Raw): number => Number(one["Total Cost"] ?? 0);
    const others = ((raw["Plans"] as Raw[] | undefined) ?? []).reduce(
        (sum, one) => sum + of(one),
        0,
    );
    const cost = Math.max(0, of(raw) - others);
    const relation = [raw["Schema"], raw["Relation Name"]].filter(Boolean).join(".");
    const index = raw["Index Name"] ? ` by ${String(raw["Index Name"])}` : "";
    return {
        title: `${String(raw["Node Type"] ?? "Step")}${relation ? ` on ${relation}` : ""}${index}`,
        about: ABOUT.filter((name) => raw[name] !== undefined).map(
            (name) => `${name}: ${String(raw[name])}`,
        ),
        rows: Number(raw["Plan Rows"] ?? 0),
        cost,
        share: whole > 0 ? Math.min(1, cost / whole) : 0,
        steps: below,
    };
}

/* The plan, where the statement's result is one. */
export function planOf(statement: Statement): Step | null {
    if (statement.columns[0]?.name !== "QUERY PLAN" || statement.columns.length !== 1) {
        return null;
    }
    try {
        const value: unknown = statement.rows[0]?.[0];
        const parsed = (typeof value === "string" ? JSON.parse(value) : value) as [{ Plan: Raw }];
        const plan = parsed[0].Plan;
        return stepOf(plan, Number(plan["Total Cost"] ?? 0));
    } catch {
        return null; /* in words */
    }
}

/* The statement that shows the plan of this one, and runs nothing; null: it is more than one. */
export function explained(script: string, subtype: string): string | null {
    const statement = script.trim().replace(/;\s*$/, "");
    if (statement === "" || statement.includes(";") || /^explain\b/i.test(statement)) {
        return null;
    }
    return `${subtype === "postgres" ? "EXPLAIN (FORMAT JSON)" : "EXPLAIN"} ${statement}`;
}
