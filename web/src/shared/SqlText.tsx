/* SPDX-License-Identifier: MIT */
/* A statement as it was written, in the editor's colours; plain until they are there. */
import { Code } from "@mantine/core";
import { lazy, type ReactNode, Suspense } from "react";

import "./sqltext.css";

const Colored = lazy(() => import("./SqlColors"));
const COLORED_MAX = 20_000; /* above it, it is read as well without */

export function SqlText({ text, subtype = "", ...more }: {
    text: string;
    subtype?: string;
    className?: string;
    id?: string;
    "aria-label"?: string;
}): ReactNode {
    return (
        <Code block tabIndex={0} {...more}>
            {text.length > COLORED_MAX ? (
                text
            ) : (
                <Suspense fallback={text}>
                    <Colored text={text} subtype={subtype} />
                </Suspense>
            )}
        </Code>
    );
}
