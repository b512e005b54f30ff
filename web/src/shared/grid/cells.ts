/* SPDX-License-Identifier: MIT */
/* The cells of one row, made by hand: while a result scrolls, rows that have gone out of sight become
 * those that come in, and of a cell only what is another one now is written. React would make each
 * anew, which is what a frame cost most. */
import type { Value } from "../api/types";
import { cellText } from "./formats";
import { maskOf } from "./grid";

export interface At {
    index: number;
    start: number;
    size: number;
}

export interface Cells {
    index: number; /* of the row */
    values: Value[];
    seen: At[];
    areNumbers: boolean[];
    isMasked: boolean; /* what looks like words of masking is marked */
    focused: number; /* its column; -1: none here */
    from: number; /* chosen columns */
    to: number;
}

function newCell(): HTMLElement {
    const cell = document.createElement("div");
    cell.setAttribute("role", "gridcell");
    return cell;
}

function mark(className: string, text: string, title: string): HTMLElement {
    const made = document.createElement("span");
    made.className = className;
    made.textContent = text;
    if (title !== "") {
        made.title = title;
    }
    return made;
}

function writeValue(cell: HTMLElement, value: Value, isMasked: boolean): void {
    const mask = isMasked ? maskOf(value) : null;
    if (mask !== null) {
        cell.replaceChildren(mark("grid-mask", mask, `Masked as ${mask}`));
    } else if (value === null) {
        cell.replaceChildren(mark("grid-null", "NULL", ""));
    } else if (cell.firstChild instanceof Text && cell.childNodes.length === 1) {
        cell.firstChild.data = cellText(value);
    } else {
        cell.textContent = cellText(value);
    }
}

function place(cell: HTMLElement, at: At, isNumber: boolean): void {
    cell.style.left = `${at.start}px`;
    cell.style.width = `${at.size}px`;
    cell.className = isNumber ? "grid-cell grid-number" : "grid-cell";
    cell.setAttribute("aria-colindex", String(at.index + 1));
}

/* 'before' is what this row drew last; null: nothing. */
export function drawCells(row: HTMLElement, now: Cells, before: Cells | null): void {
    const hasMoved = before?.seen !== now.seen || before.areNumbers !== now.areNumbers;
    const isOther = hasMoved || before.index !== now.index;
    const isNew =
        isOther || before.values !== now.values || before.isMasked !== now.isMasked;
    while (row.childElementCount > now.seen.length) {
        row.lastElementChild?.remove();
    }
    let next = row.firstElementChild as HTMLElement | null;
    for (const at of now.seen) {
        const cell = next ?? row.appendChild(newCell());
        next = cell.nextElementSibling as HTMLElement | null;
        if (hasMoved) {
            place(cell, at, now.areNumbers[at.index] === true);
        }
        if (isOther) {
            cell.dataset["cell"] = `${now.index}:${at.index}`;
        }
        if (isNew) {
            writeValue(cell, now.values[at.index] ?? null, now.isMasked);
        }
        const isChosen = String(at.index >= now.from && at.index <= now.to);
        if (cell.ariaSelected !== isChosen) {
            cell.ariaSelected = isChosen;
        }
        const tab = now.focused === at.index ? 0 : -1;
        if (!cell.hasAttribute("tabindex") || cell.tabIndex !== tab) {
            cell.tabIndex = tab;
        }
    }
}
