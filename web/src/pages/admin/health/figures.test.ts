/* SPDX-License-Identifier: MIT */
import { expect, it } from "vitest";

import { figuresOf, pointsOf, valuesOf } from "./figures";

const TEXT = `# HELP a What it is.
# TYPE a counter
a{method="GET",status="200"} 3
a{method="PUT",status="200"} 4
b 1.5e3
`;

it("adds what labels tell apart", () => {
    expect([...figuresOf(TEXT)]).toEqual([
        ["a", 7],
        ["b", 1500],
    ]);
});

it("makes rates, averages and levels", () => {
    const looks = [0, 2000, 4000].map((at, index) => ({
        at,
        figures: new Map([
            ["n", [10, 30, 5][index] ?? 0],
            ["s", [1, 3, 3][index] ?? 0],
        ]),
    }));
    const plotted = { name: "n", title: "", unit: "", isRate: true };
    expect(valuesOf(looks, plotted)).toEqual([10, 0]);
    expect(valuesOf(looks, { ...plotted, isRate: false })).toEqual([10, 30, 5]);
    expect(valuesOf(looks, { ...plotted, name: "s", over: "n" })).toEqual([0.1, 0]);
});

it("ends a line at the right", () => {
    expect(pointsOf([0, 2], 119, 10)).toBe("118.0,10.0 119.0,0.0");
    expect(pointsOf([], 10, 10)).toBe("");
});
