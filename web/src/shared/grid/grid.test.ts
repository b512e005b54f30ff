/* SPDX-License-Identifier: MIT */
import { describe, expect, it } from "vitest";

import { toCsv, toJson, toMarkdown, toTabs } from "./formats";
import {
    blockOf,
    cut,
    isIn,
    isNumber,
    maskOf,
    moved,
    WIDTH_MAX,
    WIDTH_MIN,
    widthsOf,
} from "./grid";

const size = { rows: 100, columns: 5, page: 10 };
const table = {
    columns: [
        { name: "id", type: "integer" },
        { name: "na|me", type: "text" },
        { name: "id", type: "text" },
    ],
    rows: [
        [1, 'say "hi", you', null],
        [2, "", "two\nlines"],
        [3, "[EMAIL_ADDRESS]", "tab\there"],
    ],
};

describe("the focus", () => {
    it("goes one further, and no further than there is", () => {
        expect(moved({ row: 3, column: 2 }, "ArrowDown", false, size)).toEqual({
            row: 4,
            column: 2,
        });
        expect(moved({ row: 99, column: 4 }, "ArrowDown", false, size)).toEqual({
            row: 99,
            column: 4,
        });
        expect(moved({ row: 99, column: 4 }, "ArrowRight", false, size)).toEqual({
            row: 99,
            column: 4,
        });
        expect(moved({ row: 0, column: 0 }, "ArrowLeft", false, size)).toEqual({
            row: 0,
            column: 0,
        });
    });
    it("reaches the head from the first row, and nothing above it", () => {
        expect(moved({ row: 0, column: 1 }, "ArrowUp", false, size)).toEqual({
            row: -1,
            column: 1,
        });
        expect(moved({ row: -1, column: 1 }, "ArrowUp", false, size)).toEqual({
            row: -1,
            column: 1,
        });
    });
    it("goes by pages, lines and to the ends", () => {
        expect(moved({ row: 95, column: 1 }, "PageDown", false, size)).toEqual({
            row: 99,
            column: 1,
        });
        expect(moved({ row: 5, column: 1 }, "PageUp", false, size)).toEqual({ row: 0, column: 1 });
        expect(moved({ row: 5, column: 3 }, "Home", false, size)).toEqual({ row: 5, column: 0 });
        expect(moved({ row: 5, column: 3 }, "End", true, size)).toEqual({ row: 99, column: 4 });
        expect(moved({ row: 5, column: 3 }, "Home", true, size)).toEqual({ row: 0, column: 0 });
    });
    it("stays in a grid without rows or columns", () => {
        const none = { rows: 0, columns: 0, page: 1 };
        expect(moved({ row: -1, column: 0 }, "ArrowDown", false, none)).toEqual({
            row: -1,
            column: 0,
        });
        expect(moved({ row: -1, column: 0 }, "End", true, none)).toEqual({ row: -1, column: 0 });
    });
    it("is not moved by other keys", () => {
        expect(moved({ row: 1, column: 1 }, "a", false, size)).toBeNull();
    });
});

describe("a block of cells", () => {
    it("is the same from either corner", () => {
        const block = { top: 1, bottom: 3, left: 0, right: 2 };
        expect(blockOf({ row: 1, column: 2 }, { row: 3, column: 0 })).toEqual(block);
        expect(blockOf({ row: 3, column: 0 }, { row: 1, column: 2 })).toEqual(block);
        expect(isIn(block, 2, 1)).toBe(true);
        expect(isIn(block, 4, 1)).toBe(false);
    });
    it("is cut out with its columns", () => {
        const part = cut(table, { top: 1, bottom: 2, left: 1, right: 1 });
        expect(part.rows).toEqual([[""], ["[EMAIL_ADDRESS]"]]);
        expect(part.columns.map(({ name }) => name)).toEqual(["na|me"]);
    });
});

describe("columns", () => {
    it("are as wide as what is in them, within bounds", () => {
        const [narrow, wide] = widthsOf(
            [
                { name: "a", type: "" },
                { name: "b", type: "" },
            ],
            [["x", "y".repeat(999)]],
        );
        expect(narrow).toBe(WIDTH_MIN);
        expect(wide).toBe(WIDTH_MAX);
    });
    it("know numbers by their type", () => {
        expect(["integer", "bigint", "numeric", "double precision", "int"].every(isNumber)).toBe(
            true,
        );
        expect(["text", "interval", "date", "point", "internal"].some(isNumber)).toBe(false);
    });
    it("know what masking put there", () => {
        expect(maskOf("[EMAIL_ADDRESS]")).toBe("EMAIL_ADDRESS");
        expect(["[x]", "[]", "a [EMAIL_ADDRESS]", null, 4].map(maskOf)).toEqual([
            null,
            null,
            null,
            null,
            null,
        ]);
    });
});

describe("rows for other programs", () => {
    it("are CSV in which NULL and empty text differ", () => {
        expect(toCsv(table)).toBe(
            'id,na|me,id\r\n1,"say ""hi"", you",\r\n2,"","two\nlines"\r\n3,[EMAIL_ADDRESS],tab\there\r\n',
        );
    });
    it("are JSON in which no column hides another", () => {
        expect(JSON.parse(toJson(table))[0]).toEqual({
            id: 1,
            "na|me": 'say "hi", you',
            id_2: null,
        });
    });
    it("are Markdown that keeps its table", () => {
        expect(toMarkdown(table).split("\n").slice(0, 4)).toEqual([
            "| id | na\\|me | id |",
            "| --- | --- | --- |",
            '| 1 | say "hi", you | NULL |',
            "| 2 |  | two<br>lines |",
        ]);
    });
    it("are what a spreadsheet takes", () => {
        expect(toTabs(table).split("\n")[0]).toBe('1\t"say ""hi"", you"\t');
    });
});
