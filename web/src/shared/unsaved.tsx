/* SPDX-License-Identifier: MIT */
/* A form that would lose what was typed asks first: before another page of the app, the browser's
 * own 'back', and the end of the tab. One form at a time holds the page. */
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import type { AroundNavHandler } from "wouter";

import { Confirm } from "./parts";

type Leave = () => void;

let ask: ((leave: Leave) => void) | null = null;
let onBack: ((event: PopStateEvent) => void) | null = null;

/* Before the router has one of its own: listeners of a window are called in the order they came. */
addEventListener("popstate", (event) => onBack?.(event));

/* For the app's router. */
export const holdNavigation: AroundNavHandler = (navigate, to, options) => {
    const go = (): void => navigate(to, options);
    if (ask === null) {
        go();
    } else {
        ask(go);
    }
};

export interface Unsaved {
    question: ReactNode; /* beside the form, not in it */
    release: () => void; /* before a form that has saved leaves by itself */
}

export function useUnsaved(isDirty: boolean): Unsaved {
    const [leave, setLeave] = useState<{ go: Leave } | null>(null);
    const drop = useRef<Leave>(() => undefined);
    const release = useCallback(() => drop.current(), []);
    useEffect(() => {
        if (!isDirty) {
            return undefined;
        }
        const here = location.href;
        const state: unknown = history.state;
        const hold = (go: Leave): void => setLeave({ go });
        const onUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
        /* The browser is there already: the form's own address comes behind where it went. */
        const stay = (event: PopStateEvent): void => {
            event.stopImmediatePropagation();
            history.pushState(state, "", here);
            hold(() => history.back());
        };
        ask = hold;
        onBack = stay;
        addEventListener("beforeunload", onUnload);
        drop.current = () => {
            ask = ask === hold ? null : ask;
            onBack = onBack === stay ? null : onBack;
            removeEventListener("beforeunload", onUnload);
        };
        return () => drop.current();
    }, [isDirty]);
    return {
        release,
        question: leave !== null && (
            <Confirm
                title="Leave without saving?"
                action="Leave"
                keep="Go on editing"
                close={() => setLeave(null)}
                run={async () => {
                    release();
                    leave.go();
                }}
            >
                What was changed here is lost then.
            </Confirm>
        ),
    };
}
