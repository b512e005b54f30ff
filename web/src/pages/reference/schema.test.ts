/* SPDX-License-Identifier: MIT */
import { expect, it } from "vitest";

import { exampleOf, isFound, resolved, typeOf } from "./schema";

const operation = {
    operationId: "x",
    summary: "List connections",
    tags: ["connections"],
    security: [{}],
    parameters: [],
    responses: {},
};

it("says types as one writes them", () => {
    expect(typeOf({ type: ["string", "null"] })).toBe("string | null");
    expect(typeOf({ type: "array", items: { $ref: "#/components/schemas/Agent" } })).toBe("Agent[]");
    expect(typeOf({ enum: ["a", "b"] })).toBe('"a" | "b"');
});

it("resolves what stands elsewhere", () => {
    const all = { A: { properties: { a: { type: "string" } }, required: ["a"] } };
    const both = { allOf: [{ $ref: "#/components/schemas/A" }], properties: { b: {} } };
    expect(Object.keys(resolved(both, all).properties ?? {})).toEqual(["a", "b"]);
    expect(resolved({ $ref: "#/x/gone" }, all)).toEqual({});
});

it("finds calls by all words, and shows how to make one", () => {
    const call = { method: "GET", path: "/connections", operation };
    expect(isFound(call, "list conn")).toBe(true);
    expect(isFound(call, "post conn")).toBe(false);
    expect(exampleOf(call, "http://a/api")).toBe(
        'curl -H "Authorization: Bearer $TOKEN" http://a/api/connections',
    );
});
