/* SPDX-License-Identifier: MIT */
/* Lines on a field of 20 by 20; they stand beside words, so that nobody needs to hear them. */
import type { ReactNode } from "react";

const SHAPES = {
    plug: "M7 2v4M13 2v4M5 6h10v4a5 5 0 0 1-10 0zM10 15v3",
    code: "M7 5 2.5 10 7 15M13 5l4.5 5-4.5 5",
    film: "M3 4h14v12H3zM3 8h14M7 4v4M13 4v4M8.5 10.5v3l3-1.5z",
    check: "M4 10.5 8 14.5 16 5.5",
    gear: "M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM10 2v2.5M10 15.5V18M2 10h2.5M15.5 10H18M4.3 4.3l1.8 1.8M13.9 13.9l1.8 1.8M15.7 4.3l-1.8 1.8M6.1 13.9l-1.8 1.8",
    search: "M9 3a6 6 0 1 0 0 12A6 6 0 0 0 9 3zM13.5 13.5 18 18",
    link: "M8.5 11.5l3-3M9 6l1.5-1.5a3.2 3.2 0 0 1 4.5 4.5L13.5 10.5M11 14l-1.5 1.5A3.2 3.2 0 0 1 5 11l1.5-1.5",
    copy: "M7 7h10v10H7zM4 13H3V3h10v1",
    sun: "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6 16 16M16 4l-1.4 1.4M5.4 14.6 4 16",
    moon: "M16.5 12.5A7 7 0 0 1 7.5 3.5 7 7 0 1 0 16.5 12.5z",
    person: "M10 3a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM3.5 17.5c.6-3.4 3.2-5 6.5-5s5.9 1.6 6.5 5",
    star: "M10 2.5 12.3 7.4 17.6 8 13.7 11.7 14.7 17 10 14.4 5.3 17 6.3 11.7 2.4 8 7.7 7.4z",
    play: "M6 4v12l10-6z",
    stop: "M5 5h10v10H5z",
    table: "M3 4h14v12H3zM3 8h14M3 12h14M9 8v8",
    eye: "M2 10c2-3.5 4.7-5.2 8-5.2s6 1.7 8 5.2c-2 3.5-4.7 5.2-8 5.2S4 13.5 2 10zM10 7.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
    shield: "M10 2.5 16 5v4.5c0 4-2.5 6.7-6 8-3.5-1.3-6-4-6-8V5z",
    down: "M10 3v10M6 9.5l4 4 4-4M4 17h12",
    plus: "M10 4v12M4 10h12",
    right: "M7.5 4.5 13 10l-5.5 5.5",
    warning: "M10 3 18 16.5H2zM10 8v4M10 14.2v.1",
    people: "M7 4a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM1.5 16.5c.5-3 2.7-4.5 5.5-4.5s5 1.5 5.5 4.5M13 4.5a3 3 0 0 1 0 5.5M14.5 12.2c2.2.4 3.6 1.8 4 4.3",
    server: "M3 3.5h14v5H3zM3 11.5h14v5H3zM6 6v.1M6 14v.1",
    book: "M4 3h9a3 3 0 0 1 3 3v11H7a3 3 0 0 1-3-3zM4 14a3 3 0 0 1 3-3h9",
    clock: "M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15zM10 6v4.5l3 1.5",
    tag: "M3 3h7l7 7-7 7-7-7zM6.5 6.5v.1",
    layers: "M10 3 17.5 7 10 11 2.5 7zM2.5 10.5 10 14.5l7.5-4M2.5 14 10 18l7.5-4",
    lock: "M5 9h10v8H5zM7 9V6.5a3 3 0 0 1 6 0V9M10 12.2v1.8",
    chip: "M6 6h8v8H6zM8.5 2.5V6M11.5 2.5V6M8.5 14v3.5M11.5 14v3.5M2.5 8.5H6M2.5 11.5H6M14 8.5h3.5M14 11.5h3.5",
    bell: "M5 14V9a5 5 0 0 1 10 0v5l1.5 1.5h-13zM8.3 15.5a1.8 1.8 0 0 0 3.4 0M10 2.5V4",
    cube: "M10 2.5 16.5 6v8L10 17.5 3.5 14V6zM3.5 6 10 9.5 16.5 6M10 9.5v8",
    key: "M7 8.5a4 4 0 1 0 0 6 4 4 0 0 0 0-6zM10.5 10.5 17 4M14 7l2.5 2.5",
    pulse: "M2 10h4l2.5-6 3.5 12 2.5-6H18",
    braces: "M7 3H6a2 2 0 0 0-2 2v3l-2 2 2 2v3a2 2 0 0 0 2 2h1M13 3h1a2 2 0 0 1 2 2v3l2 2-2 2v3a2 2 0 0 1-2 2h-1",
    cross: "M5 5l10 10M15 5 5 15",
    out: "M8 3H3v14h5M12 6l4 4-4 4M16 10H7",
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({
    name,
    size = 18,
    filled = false,
}: {
    name: IconName;
    size?: number;
    filled?: boolean;
}): ReactNode {
    return (
        <svg
            width={size}
            height={size}
            viewBox="0 0 20 20"
            aria-hidden="true"
            focusable="false"
            fill={filled ? "currentColor" : "none"}
            stroke="currentColor"
            strokeWidth="1.5"
            strokeLinecap="round"
            strokeLinejoin="round"
        >
            <path d={SHAPES[name]} />
        </svg>
    );
}

export function Mark({ size = 28 }: { size?: number }): ReactNode {
    return (
        <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
            <rect width="32" height="32" rx="8" fill="#1f3d36" />
            <path
                d="M8 25V14a8 8 0 0 1 16 0v11"
                fill="none"
                stroke="#e9f3ef"
                strokeWidth="2.6"
                strokeLinecap="round"
            />
            <path
                d="M13 25V15m6 10V15M8 20h16"
                fill="none"
                stroke="#7fd1b0"
                strokeWidth="2"
                strokeLinecap="round"
            />
        </svg>
    );
}
