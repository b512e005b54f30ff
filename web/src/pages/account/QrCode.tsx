/* SPDX-License-Identifier: MIT */
/* A text as a code that a camera reads: dark on white in both themes, with the rim that readers need. */
import { type ReactNode, useMemo } from "react";

import { qrOf } from "./qr";

const RIM = 4;

export function QrCode({ text, label }: { text: string; label: string }): ReactNode {
    const dark = useMemo(() => qrOf(text), [text]);
    if (dark === null) {
        return null;
    }
    const size = dark.length + 2 * RIM;
    const path = dark
        .flatMap((line, row) =>
            line.map((one, column) => (one ? `M${column + RIM} ${row + RIM}h1v1h-1z` : "")),
        )
        .join("");
    return (
        <svg
            role="img"
            aria-label={label}
            viewBox={`0 0 ${size} ${size}`}
            width={4 * size}
            height={4 * size}
            shapeRendering="crispEdges"
            data-qr
        >
            <rect width={size} height={size} fill="#fff" />
            <path d={path} fill="#000" />
        </svg>
    );
}
