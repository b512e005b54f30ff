/* SPDX-License-Identifier: MIT */
import { describe, expect, it } from "vitest";

import { between, ROWS_KEPT, timelineOf } from "./timeline";

const line = (members: object): string => JSON.stringify(members);
const at = (micros: string): string => `2026-01-02T03:04:05.${micros}Z`;

describe("a timeline", () => {
    it("has a statement's time, rows and end", () => {
        const [entry] = timelineOf(
            [
                line({ time: at("000100"), type: "statement", statement: 1, text: "select 1" }),
                line({
                    time: at("000200"),
                    type: "columns",
                    statement: 1,
                    columns: ["a"],
                    types: ["integer"],
                }),
                line({ time: at("000200"), type: "row", statement: 1, values: ["1"] }),
                line({ time: at("000600"), type: "done", statement: 1, tag: "SELECT 1" }),
            ].join("\n"),
        );
        expect(entry).toMatchObject({
            text: "select 1",
            rowCount: 1,
            tag: "SELECT 1",
            rows: [["1"]],
        });
        expect(entry?.milliseconds).toBeCloseTo(0.5);
    });
    it("keeps the first rows of many, and counts all", () => {
        const rows = Array.from({ length: 250 }, () =>
            line({ type: "row", statement: 1, values: ["x"] }),
        );
        const [entry] = timelineOf(
            [line({ time: at("0"), type: "statement", statement: 1, text: "" }), ...rows].join(
                "\n",
            ),
        );
        expect([entry?.rows.length, entry?.rowCount]).toEqual([ROWS_KEPT, 250]);
    });
    it("knows what was stopped, and by which guard rail", () => {
        const [entry] = timelineOf(
            [
                line({ time: at("1"), type: "statement", statement: 4, text: "delete from a" }),
                line({
                    time: at("1"),
                    type: "note",
                    note: { event: "guarded", action: "block", guardrail: "g" },
                }),
                line({
                    time: at("2"),
                    type: "error",
                    statement: 4,
                    code: "42501",
                    message: "blocked",
                }),
            ].join("\n"),
        );
        expect(entry?.rule).toMatchObject({ name: "g", action: "block" });
        expect(entry?.error?.code).toBe("42501");
    });
    it("passes over a line that was cut off, and what belongs to no statement", () => {
        expect(timelineOf('{"type":"open"}\n{"type":"row","statement":9}\n{"type":"stat')).toEqual(
            [],
        );
    });
    it("counts over the end of a second", () => {
        expect(between("2026-01-02T03:04:05.999000Z", "2026-01-02T03:04:06.001Z")).toBeCloseTo(2);
    });
});
