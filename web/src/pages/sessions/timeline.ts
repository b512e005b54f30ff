/* SPDX-License-Identifier: MIT */
/* A recording's lines (JSON, one an event) as statements: when, how long, what came of each. */
import type { Column, Value } from "../../shared/api/types";

export const ROWS_KEPT = 100;

interface Line {
    time: string;
    type: string;
    statement?: number;
    text?: string;
    columns?: string[];
    types?: string[];
    values?: Value[];
    rows?: number;
    tag?: string;
    code?: string;
    message?: string;
    note?: { event?: string; action?: string; guardrail?: string; rule?: string; message?: string };
}

export interface Entry {
    key: string;
    at: string;
    text: string;
    milliseconds: number | null; /* null: it goes on, or nothing tells */
    columns: Column[];
    rows: Value[][];
    rowCount: number;
    tag: string;
    error: { code: string; message: string } | null;
    rule: { name: string; action: string; message: string } | null;
}

function newEntry(line: Line): Entry {
    return {
        key: `s${line.statement ?? line.time}`,
        at: line.time,
        text: line.text ?? "",
        milliseconds: null,
        columns: [],
        rows: [],
        rowCount: 0,
        tag: "",
        error: null,
        rule: null,
    };
}

/* Times have microseconds, of which Date keeps none. */
export function between(from: string, to: string): number {
    const fraction = (time: string): number =>
        Number(/\.(\d+)/.exec(time)?.[1]?.padEnd(6, "0").slice(0, 6) ?? 0);
    const seconds = (time: string): number => Date.parse(time.replace(/\.\d+/, ""));
    return seconds(to) - seconds(from) + (fraction(to) - fraction(from)) / 1000;
}

function apply(entry: Entry, line: Line): void {
    switch (line.type) {
        case "columns":
            entry.columns = (line.columns ?? []).map((name, index) => ({
                name,
                type: line.types?.[index] ?? "",
            }));
            break;
        case "row":
            entry.rowCount += 1;
            if (entry.rows.length < ROWS_KEPT) {
                entry.rows.push(line.values ?? []);
            }
            break;
        case "count":
            entry.rowCount = Math.max(entry.rowCount, line.rows ?? 0);
            break;
        case "done":
            entry.tag = line.tag ?? "";
            entry.milliseconds = between(entry.at, line.time);
            break;
        case "error":
            entry.error = { code: line.code ?? "", message: line.message ?? "" };
            entry.milliseconds = between(entry.at, line.time);
            break;
        default:
    }
}

export function timelineOf(text: string): Entry[] {
    const entries: Entry[] = [];
    const byNumber = new Map<number, Entry>();
    let last: Entry | undefined;
    for (const raw of text.split("\n")) {
        let line: Line;
        try {
            line = JSON.parse(raw) as Line;
        } catch {
            continue; /* the end of what was cut off */
        }
        if (line.type === "statement") {
            last = newEntry(line);
            last.key = `${last.key}-${entries.length}`;
            entries.push(last);
            if (line.statement !== undefined) {
                byNumber.set(line.statement, last);
            }
        } else if (line.type === "note" && line.note?.event === "guarded" && last !== undefined) {
            last.rule = {
                name: line.note.guardrail ?? "",
                action: line.note.action ?? "",
                message: line.note.message ?? "",
            };
        } else {
            const entry = line.statement === undefined ? undefined : byNumber.get(line.statement);
            if (entry !== undefined) {
                apply(entry, line);
            }
        }
    }
    return entries;
}
