/* SPDX-License-Identifier: MIT */
import { expect, it } from "vitest";

import { castOf, clock, findIn, indexAt, withoutPauses } from "./cast";

const TEXT = [
    '{"version":2,"width":100,"height":30}',
    '[0.5,"o","$ "]',
    '[1.0,"i","ls\\r"]',
    '[1.1,"o","\\u001b[31msec"]',
    '[60.0,"o","ret.txt\\u001b[0m\\r\\n$ "]',
    '[61.0,"r","120x40"]',
    '[61.5,"o"',
].join("\n");

it("reads a record, and leaves out a line that was cut off", () => {
    const cast = castOf(TEXT);
    expect([cast.width, cast.height, cast.events.length, cast.seconds]).toEqual([100, 30, 5, 61]);
});

it("knows where it is at a time", () => {
    const cast = castOf(TEXT);
    expect([0, 0.5, 1.05, 59, 61, 99].map((at) => indexAt(cast, at))).toEqual([0, 1, 2, 3, 5, 5]);
});

it("leaves pauses out", () => {
    const cast = withoutPauses(castOf(TEXT));
    expect(cast.seconds).toBeCloseTo(1.1 + 2 + 1);
    expect(cast.events.map(({ at }) => at)).toEqual(
        [...cast.events.map(({ at }) => at)].sort((a, b) => a - b),
    );
});

it("finds words that came in pieces and in colours", () => {
    const cast = castOf(TEXT);
    expect(findIn(cast, "Secret")).toEqual([{ at: 60, text: "$ secret.txt" }]);
    expect(findIn(cast, "ls")).toEqual([{ at: 1, text: "ls" }]);
    expect(findIn(cast, " ")).toEqual([]);
});

it("writes times", () => {
    expect([0, 61.9, 3661].map(clock)).toEqual(["00:00", "01:01", "1:01:01"]);
});
