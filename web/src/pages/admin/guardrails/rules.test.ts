/* SPDX-License-Identifier: MIT */
import { describe, expect, it } from "vitest";

import { actionsFor, cleaned, draftsOf, effects, requestOf, ruleOf, sentenceOf } from "./rules";

describe("rules in words", () => {
    it("says what a rule stops, and for whom", () => {
        expect(
            sentenceOf("input", {
                type: "sql",
                operations: ["update", "delete"],
                without_where: true,
                except_groups: ["hr"],
            }),
        ).toBe("Stops UPDATE or DELETE without WHERE, for all but hr.");
        expect(
            sentenceOf("input", {
                type: "sql",
                action: "review",
                relations: [
                    { name: "hr.*", access: "write" },
                    { name: "pay", access: "write" },
                ],
            }),
        ).toBe("Holds for review statements that write hr.* or pay.");
        expect(sentenceOf("output", { type: "read_budget", rows: 1000, per: "session" })).toBe(
            "Stops reading more than 1,000 rows in a session.",
        );
    });

    it("has a sentence for every effect", () => {
        for (const { direction, rule } of effects) {
            expect(sentenceOf(direction, rule)).toMatch(/^Stops .+\.$/);
        }
    });

    it("offers what the API takes", () => {
        expect(actionsFor("input", { type: "sql", read_only: true })).toEqual(["block"]);
        expect(actionsFor("output", { type: "pattern_match" })).not.toContain("review");
    });
});

describe("rules as the API has them", () => {
    it("leaves out what is empty", () => {
        expect(
            cleaned({
                type: "sql",
                name: "",
                groups: [],
                without_where: false,
                relations: [{ name: " " }, { name: "a" }],
            }),
        ).toEqual({ type: "sql", relations: [{ name: "a" }] });
    });

    it("keeps a pattern's own word about letters", () => {
        const rule = { type: "pattern_match", pattern_regex: "a", case_sensitive: false } as const;
        expect(cleaned(rule)).toEqual(rule);
    });

    it("goes there and back", () => {
        const rails = {
            id: "1",
            name: "a",
            description: "b",
            connection_ids: ["c"],
            attributes: [],
            input: { rules: [{ type: "sql" as const, multi_statement: true }] },
            output: { rules: [{ type: "deny_words_list" as const, words: ["x"] }] },
        };
        const { id: _, ...sent } = rails;
        expect(requestOf({ ...rails, drafts: draftsOf(rails) })).toEqual(sent);
    });
});

describe("a rule of a statement on record", () => {
    it("begins with what the statement does", () => {
        const sentence = (text: string): string => sentenceOf("input", ruleOf(text));
        expect(sentence("-- all of them\nDELETE FROM orders")).toBe(
            "Stops UPDATE or DELETE without WHERE.",
        );
        expect(ruleOf("update orders set paid = true where id = 1")).toEqual({
            type: "sql",
            operations: ["update"],
        });
        expect(ruleOf("DROP TABLE orders")).toEqual({ type: "sql", operations: ["drop"] });
        expect(ruleOf("SELECT * FROM hr.salaries s").relations).toEqual([
            { name: "hr.salaries", access: "any" },
        ]);
    });
});
