/* SPDX-License-Identifier: MIT */
/* A terminal's screen, of xterm.js, under the page's policy: its style sheets get the nonce, and
 * what it would write into style attributes goes through the object model, which may. */
import "@xterm/xterm/css/xterm.css";

import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { type ITheme, Terminal } from "@xterm/xterm";

import { nonce } from "../../app/trusted";

const THEME: ITheme = {
    background: "#0c1210",
    foreground: "#e6ece9",
    cursor: "#7fd1b0",
    selectionBackground: "#2f5d4d",
};

function setAttribute(this: HTMLElement, name: string, value: string): void {
    if (name === "style") {
        this.style.cssText = value;
    } else {
        Element.prototype.setAttribute.call(this, name, value);
    }
}

function create(name: string, options?: ElementCreationOptions): HTMLElement {
    const element = Document.prototype.createElement.call(document, name, options);
    if (name === "style") {
        element.nonce = nonce;
    } else if (name === "span") {
        element.setAttribute = setAttribute;
    }
    return element;
}

/* The page's document, but for how elements are made. */
const styled = new Proxy(document, {
    get: (target, key) => {
        const value: unknown = key === "createElement" ? create : Reflect.get(target, key, target);
        return typeof value === "function" && key !== "createElement"
            ? (value as (...parts: unknown[]) => unknown).bind(target)
            : value;
    },
});

export interface Screen {
    terminal: Terminal;
    search: SearchAddon;
    fit: () => void;
}

export function openScreen(
    place: HTMLElement,
    options: { isReadOnly: boolean; columns?: number; rows?: number },
): Screen {
    const terminal = new Terminal({
        documentOverride: styled,
        allowProposedApi: true, /* what a search has found is marked */
        disableStdin: options.isReadOnly,
        cursorBlink: !options.isReadOnly,
        fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "Noto Sans Mono", monospace',
        fontSize: 13,
        scrollback: 5000,
        screenReaderMode: options.isReadOnly, /* it takes no input methods then */
        theme: THEME,
        ...(options.columns !== undefined && { cols: options.columns }),
        ...(options.rows !== undefined && { rows: options.rows }),
    });
    const fit = new FitAddon();
    const search = new SearchAddon();
    terminal.loadAddon(fit);
    terminal.loadAddon(search);
    /* One of its style sheets is made of the real document, while it opens. */
    document.createElement = create as typeof document.createElement;
    try {
        terminal.open(place);
    } finally {
        delete (document as { createElement?: unknown }).createElement;
    }
    return { terminal, search, fit: () => fit.fit() };
}
