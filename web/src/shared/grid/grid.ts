/* SPDX-License-Identifier: MIT */
/* What the grid computes: where the focus goes, which cells are chosen, how wide columns are. */
import type { Column, Value } from "../api/types";
import { cellText, type Table } from "./formats";

/* Row -1 is the head. */
export interface Cell {
    row: number;
    column: number;
}

export interface Size {
    rows: number;
    columns: number;
    page: number;
}

const clamp = (value: number, low: number, high: number): number =>
    Math.min(Math.max(value, low), high);

/* Where a key leads from a cell, as the grid pattern of WAI-ARIA has it; null: it is none. */
export function moved(from: Cell, key: string, isFar: boolean, size: Size): Cell | null {
    const last = { row: size.rows - 1, column: size.columns - 1 };
    const to = (row: number, column: number): Cell => ({
        row: clamp(row, -1, last.row),
        column: clamp(column, 0, Math.max(0, last.column)),
    });
    switch (key) {
        case "ArrowUp":
            return to(isFar ? -1 : from.row - 1, from.column);
        case "ArrowDown":
            return to(isFar ? last.row : from.row + 1, from.column);
        case "ArrowLeft":
            return to(from.row, isFar ? 0 : from.column - 1);
        case "ArrowRight":
            return to(from.row, isFar ? last.column : from.column + 1);
        case "PageUp":
            return to(Math.max(0, from.row - size.page), from.column);
        case "PageDown":
            return to(from.row + size.page, from.column);
        case "Home":
            return to(isFar ? 0 : from.row, 0);
        case "End":
            return to(isFar ? last.row : from.row, last.column);
        default:
            return null;
    }
}

export interface Block {
    top: number;
    bottom: number;
    left: number;
    right: number;
}

/* The cells between two, whichever comes first; the head counts as the first row. */
export function blockOf(anchor: Cell, focus: Cell): Block {
    return {
        top: Math.max(0, Math.min(anchor.row, focus.row)),
        bottom: Math.max(0, anchor.row, focus.row),
        left: Math.min(anchor.column, focus.column),
        right: Math.max(anchor.column, focus.column),
    };
}

export function isIn(block: Block, row: number, column: number): boolean {
    return row >= block.top && row <= block.bottom && column >= block.left && column <= block.right;
}

export function cut(table: Table, block: Block): Table {
    return {
        columns: table.columns.slice(block.left, block.right + 1),
        rows: table.rows
            .slice(block.top, block.bottom + 1)
            .map((row) => row.slice(block.left, block.right + 1)),
    };
}

const CHARACTER_WIDTH = 7.4;
const CELL_PADDING = 22;
const SAMPLE = 200;
export const WIDTH_MIN = 56;
export const WIDTH_MAX = 420;

/* By the head and the first rows: looking at all of a hundred thousand would be felt. */
export function widthsOf(columns: Column[], rows: Value[][]): number[] {
    return columns.map((column, index) => {
        let longest = Math.max(column.name.length, column.type.length * 0.85);
        for (const row of rows.slice(0, SAMPLE)) {
            longest = Math.max(longest, Math.min(cellText(row[index] ?? null).length, 80));
        }
        return clamp(Math.round(longest * CHARACTER_WIDTH + CELL_PADDING), WIDTH_MIN, WIDTH_MAX);
    });
}

/* Numbers stand to the right, as they are compared. */
export function isNumber(type: string): boolean {
    return /^(small|big|tiny|medium)?int(eger)?\b|^(numeric|decimal|real|double|float|money|oid|serial)/i.test(
        type,
    );
}

/* A masking rule puts such a word in a value's place: [EMAIL_ADDRESS]. */
export function maskOf(value: Value): string | null {
    return typeof value === "string" ? (/^\[([A-Z][A-Z0-9_]+)\]$/.exec(value)?.[1] ?? null) : null;
}
