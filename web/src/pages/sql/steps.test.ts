/* SPDX-License-Identifier: MIT */
import { expect, it } from "vitest";

import type { Statement } from "../../shared/api/types";
import { explained, planOf } from "./steps";

const statement = (text: string): Statement => ({
    command: "EXPLAIN",
    rows_affected: null,
    columns: [{ name: "QUERY PLAN", type: "json" }],
    rows: [[text]],
    text: "",
    notices: [],
    error: null,
    truncated: false,
});

it("reads a plan, and says of each step what it alone costs", () => {
    const plan = planOf(
        statement(
            JSON.stringify([
                {
                    Plan: {
                        "Node Type": "Sort",
                        "Total Cost": 100,
                        "Plan Rows": 5,
                        "Sort Key": ["id"],
                        Plans: [
                            {
                                "Node Type": "Seq Scan",
                                "Relation Name": "orders",
                                "Total Cost": 80,
                                "Plan Rows": 5,
                                Filter: "(id > 1)",
                            },
                        ],
                    },
                },
            ]),
        ),
    );
    expect(plan).toMatchObject({ title: "Sort", share: 0.2, about: ["Sort Key: id"] });
    expect(plan?.steps[0]).toMatchObject({
        title: "Seq Scan on orders",
        share: 0.8,
        about: ["Filter: (id > 1)"],
    });
    expect(planOf(statement("Seq Scan on orders"))).toBeNull();
});

it("explains one statement, and never runs a second", () => {
    expect(explained(" SELECT 1; ", "postgres")).toBe("EXPLAIN (FORMAT JSON) SELECT 1");
    expect(explained("SELECT 1", "mysql")).toBe("EXPLAIN SELECT 1");
    expect(explained("SELECT 1; DELETE FROM a", "postgres")).toBeNull();
    expect(explained("", "postgres")).toBeNull();
});
