/* SPDX-License-Identifier: MIT */
/* Rows of a result, however many: only what is seen is in the page. One cell has the focus and the
 * arrows move it; with Shift they choose a block, which Ctrl+C copies. */
import { useVirtualizer, type VirtualItem, type Virtualizer } from "@tanstack/react-virtual";
import {
    type CSSProperties,
    type KeyboardEvent,
    memo,
    type MouseEvent,
    type PointerEvent,
    type ReactNode,
    useCallback,
    useEffect,
    useLayoutEffect,
    useMemo,
    useRef,
    useState,
} from "react";

import type { Column, Value } from "../api/types";
import { copyText } from "../copy";
import { type Cells, drawCells } from "./cells";
import { toTabs } from "./formats";
import {
    blockOf,
    type Cell,
    cut,
    isIn,
    isNumber,
    moved,
    WIDTH_MAX,
    WIDTH_MIN,
    widthsOf,
} from "./grid";
import "./grid.css";

const ROW_HEIGHT = 28;
const HEAD_HEIGHT = 44;
const RESIZE_STEP = 16;
const NO_VALUES: Value[] = [];

interface GridProps {
    label: string;
    columns: Column[];
    rows: Value[][];
    isMasked?: boolean; /* masking acts on it: what looks like its words is marked */
    open?: (column: Column, value: Value) => void;
}

function useWidths(
    columns: Column[],
    rows: Value[][],
): [number[], (column: number, width: number) => void] {
    const first = useMemo(() => widthsOf(columns, rows), [columns, rows.length > 0]);
    const [changed, setChanged] = useState<Record<number, number>>({});
    const widths = first.map((width, column) => changed[column] ?? width);
    const resize = useCallback(
        (column: number, width: number) =>
            setChanged((before) => ({
                ...before,
                [column]: Math.min(Math.max(width, WIDTH_MIN), 4 * WIDTH_MAX),
            })),
        [],
    );
    return [widths, resize];
}

/* Dragged, or moved by Alt and the arrows while the head has the focus. */
function Handle({ width, resize }: { width: number; resize: (width: number) => void }): ReactNode {
    const start = useRef<{ x: number; width: number } | null>(null);
    return (
        <span
            className="grid-handle"
            onPointerDown={(event: PointerEvent) => {
                event.stopPropagation();
                event.currentTarget.setPointerCapture(event.pointerId);
                start.current = { x: event.clientX, width };
            }}
            onPointerMove={(event) => {
                if (start.current !== null) {
                    resize(start.current.width + event.clientX - start.current.x);
                }
            }}
            onPointerUp={() => {
                start.current = null;
            }}
        />
    );
}

type Sizer = Virtualizer<HTMLDivElement, Element>;
const between = (at: { start: number; size: number }): CSSProperties => ({
    left: at.start,
    width: at.size,
});

interface LineProps extends Cells {
    top: number;
}

/* A row that stays in sight is not made again while others come and go: its properties are plain
 * values, or the same ones as before. What the pointer does is the grid's to take. */
const Line = memo(function Line(line: LineProps): ReactNode {
    const row = useRef<HTMLDivElement>(null);
    const drawn = useRef<Cells | null>(null);
    useLayoutEffect(() => {
        if (row.current !== null) {
            leaveFocus(row.current, line, drawn.current);
            drawCells(row.current, line, drawn.current);
            drawn.current = line;
        }
    });
    return (
        <div
            ref={row}
            role="row"
            aria-rowindex={line.index + 2}
            className="grid-row"
            style={{ top: line.top, height: ROW_HEIGHT }}
        />
    );
});

/* A cell that has the focus and becomes another one gives it to the grid, whose keys go on from where
 * it was. */
function leaveFocus(row: HTMLElement, now: Cells, before: Cells | null): void {
    const isOther = before !== null && (before.index !== now.index || before.seen !== now.seen);
    if (isOther && row.contains(document.activeElement)) {
        row.closest<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
    }
}

interface HeadProps {
    columns: Column[];
    seen: VirtualItem[];
    focused: number; /* -1: none here */
    resize: (column: number, width: number) => void;
    onFocus: (column: number) => void;
}

const Head = memo(function Head({
    columns,
    seen,
    focused,
    resize,
    onFocus,
}: HeadProps): ReactNode {
    return (
        <div className="grid-head" role="row" aria-rowindex={1} style={{ height: HEAD_HEIGHT }}>
            {seen.map((at) => (
                <div
                    key={at.index}
                    role="columnheader"
                    aria-colindex={at.index + 1}
                    className="grid-title"
                    data-cell={`-1:${at.index}`}
                    tabIndex={focused === at.index ? 0 : -1}
                    style={between(at)}
                    onFocus={() => onFocus(at.index)}
                >
                    <strong>{columns[at.index]?.name}</strong>
                    <small>{columns[at.index]?.type}</small>
                    <Handle width={at.size} resize={(width) => resize(at.index, width)} />
                </div>
            ))}
        </div>
    );
});

/* Of the row and the column under the pointer; null: of none, or of the head. */
function cellAt(event: MouseEvent): Cell | null {
    const cell = (event.target as Element).closest<HTMLElement>("[role=gridcell]");
    const [row, column] = (cell?.dataset["cell"] ?? "").split(":").map(Number);
    return row === undefined || column === undefined ? null : { row, column };
}

export function Grid({ label, columns, rows, isMasked = false, open }: GridProps): ReactNode {
    const frame = useRef<HTMLDivElement>(null);
    const [focus, setFocus] = useState<Cell>({ row: -1, column: 0 });
    const [anchor, setAnchor] = useState<Cell>(focus);
    const hasMoved = useRef(false);
    const [widths, resize] = useWidths(columns, rows);
    const down: Sizer = useVirtualizer({
        count: rows.length,
        getScrollElement: () => frame.current,
        estimateSize: () => ROW_HEIGHT,
        overscan: 8,
        useFlushSync: false, /* both ways move at once: one rendering for the two */
        scrollPaddingStart: HEAD_HEIGHT,
    });
    const across: Sizer = useVirtualizer({
        count: columns.length,
        horizontal: true,
        getScrollElement: () => frame.current,
        estimateSize: (column) => widths[column] ?? WIDTH_MIN,
        overscan: 2,
        useFlushSync: false,
    });
    const widthKey = widths.join();
    useEffect(() => across.measure(), [across, widthKey]);
    useEffect(() => {
        const cell = hasMoved.current
            ? frame.current?.querySelector<HTMLElement>(
                  `[data-cell="${focus.row}:${focus.column}"]`,
              )
            : null;
        if (cell) {
            /* else it comes with what is scrolled to */
            hasMoved.current = false;
            cell.focus({ preventScroll: true });
        }
    });

    const block = blockOf(anchor, focus);
    const go = (to: Cell, keepsAnchor: boolean): void => {
        hasMoved.current = true;
        setFocus(to);
        if (!keepsAnchor) {
            setAnchor(to);
        }
        if (to.row >= 0) {
            down.scrollToIndex(to.row);
        }
        across.scrollToIndex(to.column);
    };
    const onKey = (event: KeyboardEvent): void => {
        const isCommand = event.ctrlKey || event.metaKey;
        if (event.altKey && focus.row < 0 && /^Arrow(Left|Right)$/.test(event.key)) {
            event.preventDefault();
            const step = event.key === "ArrowLeft" ? -RESIZE_STEP : RESIZE_STEP;
            resize(focus.column, (widths[focus.column] ?? WIDTH_MIN) + step);
        } else if (isCommand && event.key === "c") {
            event.preventDefault();
            void copyText(toTabs(cut({ columns, rows }, block)));
        } else if (isCommand && event.key === "a") {
            event.preventDefault();
            setAnchor({ row: 0, column: 0 });
            go({ row: rows.length - 1, column: columns.length - 1 }, true);
        } else if (event.key === "Enter" && focus.row >= 0) {
            event.preventDefault();
            open?.(columns[focus.column] as Column, rows[focus.row]?.[focus.column] ?? null);
        } else {
            const page = Math.floor(
                ((frame.current?.clientHeight ?? 0) - HEAD_HEIGHT) / ROW_HEIGHT,
            );
            const to = moved(focus, event.key, isCommand, {
                rows: rows.length,
                columns: columns.length,
                page,
            });
            if (to !== null) {
                event.preventDefault();
                go(to, event.shiftKey);
            }
        }
    };
    const seen = across.getVirtualItems();
    const lines = down.getVirtualItems();
    const slots = useRef(1); /* rows that there are: one that goes becomes one that comes */
    slots.current = Math.max(slots.current, lines.length);
    const onHeadFocus = useCallback((column: number) => setFocus({ row: -1, column }), []);
    const areNumbers = useMemo(() => columns.map(({ type }) => isNumber(type)), [columns]);
    return (
        <div
            ref={frame}
            className="grid"
            role="grid"
            tabIndex={-1}
            aria-label={label}
            aria-rowcount={rows.length + 1}
            aria-colcount={columns.length}
            aria-multiselectable
            onKeyDown={onKey}
            onMouseDown={(event) => {
                const at = cellAt(event);
                if (at !== null) {
                    go(at, event.shiftKey);
                }
            }}
            onDoubleClick={(event) => {
                const at = cellAt(event);
                if (at !== null) {
                    open?.(columns[at.column] as Column, rows[at.row]?.[at.column] ?? null);
                }
            }}
        >
            <div
                className="grid-space"
                role="presentation"
                style={{ width: across.getTotalSize(), height: down.getTotalSize() + HEAD_HEIGHT }}
            >
                <Head
                    columns={columns}
                    seen={seen}
                    focused={focus.row < 0 ? focus.column : -1}
                    resize={resize}
                    onFocus={onHeadFocus}
                />
                {lines.map((line) => {
                    const isChosen = focus.row >= 0 && isIn(block, line.index, block.left);
                    return (
                        <Line
                            key={line.index % slots.current}
                            index={line.index}
                            top={line.start + HEAD_HEIGHT}
                            values={rows[line.index] ?? NO_VALUES}
                            seen={seen}
                            areNumbers={areNumbers}
                            isMasked={isMasked}
                            focused={focus.row === line.index ? focus.column : -1}
                            from={isChosen ? block.left : 0}
                            to={isChosen ? block.right : -1}
                        />
                    );
                })}
            </div>
        </div>
    );
}
