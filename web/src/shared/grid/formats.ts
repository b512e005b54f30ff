/* SPDX-License-Identifier: MIT */
/* Rows as other programs read them. NULL is told apart from empty text wherever the form can. */
import type { Column, Value } from "../api/types";

export interface Table {
    columns: Column[];
    rows: Value[][];
}

export function cellText(value: Value): string {
    return value === null ? "NULL" : String(value);
}

/* RFC 4180; NULL is nothing at all, empty text is "". */
function csvField(value: Value): string {
    if (value === null) {
        return "";
    }
    const text = String(value);
    return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv({ columns, rows }: Table): string {
    const lines = [
        columns.map((column) => csvField(column.name)),
        ...rows.map((row) => row.map(csvField)),
    ];
    return lines.map((line) => `${line.join(",")}\r\n`).join("");
}

/* An object a row; of columns with the same name the later ones are numbered. */
export function toJson({ columns, rows }: Table): string {
    const seen = new Map<string, number>();
    const names = columns.map(({ name }) => {
        const count = (seen.get(name) ?? 0) + 1;
        seen.set(name, count);
        return count === 1 ? name : `${name}_${count}`;
    });
    const objects = rows.map((row) =>
        Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])),
    );
    return `${JSON.stringify(objects, null, 1)}\n`;
}

function markdownField(text: string): string {
    return text
        .replaceAll("\\", "\\\\")
        .replaceAll("|", "\\|")
        .replace(/\r\n|\r|\n/g, "<br>");
}

export function toMarkdown({ columns, rows }: Table): string {
    const line = (fields: string[]): string => `| ${fields.join(" | ")} |\n`;
    return (
        line(columns.map((column) => markdownField(column.name))) +
        line(columns.map(() => "---")) +
        rows.map((row) => line(row.map((value) => markdownField(cellText(value))))).join("")
    );
}

/* As spreadsheets take it from the clipboard: tabs between, a line a row. */
export function toTabs({ rows }: Table): string {
    return rows
        .map((row) =>
            row
                .map((value) => {
                    const text = value === null ? "" : String(value);
                    return /[\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
                })
                .join("\t"),
        )
        .join("\n");
}
