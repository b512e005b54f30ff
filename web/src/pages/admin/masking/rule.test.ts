/* SPDX-License-Identifier: MIT */
import { expect, it } from "vitest";

import { formOf, requestOf, samplesOf, strategyOf } from "./rule";

it("reads samples with and without a column", () => {
    expect(samplesOf("email: a@b.c\n\nhttp://x:1/ y\n shop.people.ssn:  1\n")).toEqual([
        { column: "email", value: "a@b.c" },
        { column: "", value: "http://x:1/ y" },
        { column: "shop.people.ssn", value: "1" },
    ]);
});

it("sends of a style what belongs to it", () => {
    expect(strategyOf({ type: "hash", keep_last: 4, replacement: "x" })).toEqual({ type: "hash" });
    expect(strategyOf({ type: "partial" })).toEqual({ type: "partial", keep_last: 4 });
    expect(strategyOf({ type: "redact", replacement: "" })).toEqual({ type: "redact" });
});

it("goes there and back", () => {
    const rule = {
        name: "a",
        description: "b",
        connection_ids: ["c"],
        attributes: ["d"],
        supported_entity_types: [{ name: "CHOSEN", entity_types: ["EMAIL_ADDRESS"] }],
        custom_entity_types: [{ name: "ORDER", regex: "o[0-9]+", score: 0.9 }],
        columns: [{ name: "people.ssn", strategy: { type: "null" as const } }, { name: "x" }],
        score_threshold: 0.6,
        strategy: { type: "partial" as const, keep_last: 2 },
        on_unexaminable: "refuse" as const,
        refuse_predicates: true,
    };
    expect(requestOf(formOf({ ...rule, id: "1", managed_by: null }))).toEqual(rule);
});
