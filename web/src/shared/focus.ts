/* SPDX-License-Identifier: MIT */
/* Where the keyboard goes on when a dialog has closed. Mantine gives the focus back where a dialog is
 * hidden; ours go away whole. */
import { useEffect, useState } from "react";

const SETTLED_MS = 400; /* what was listed is listed anew */

function focusOn(element: Element | null): void {
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (isLost && element instanceof HTMLElement && element.isConnected) {
        element.focus();
    }
}

/* For the component of a dialog: back to what opened it, or, where that has gone with what the dialog
 * was about, to the page's head. */
export function useFocusBack(): void {
    const [opener] = useState(() => document.activeElement);
    useEffect(
        () => () => {
            setTimeout(() => focusOn(opener));
            setTimeout(() => {
                const head = document.querySelector("main h1");
                head?.setAttribute("tabindex", "-1");
                focusOn(head);
            }, SETTLED_MS);
        },
        [opener],
    );
}
