/* SPDX-License-Identifier: MIT */
/* A terminal's screen, of xterm.js, under the page's policy: its style sheets get the nonce, and
 * what it would write into style attributes goes through the object model, which may. */
import "@xterm/xterm/css/xterm.css";

import { FitAddon } from "@xterm/addon-fit";
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

/* xterm.js makes its elements by the page's own document, whatever it is given; so this stands there
 * from the first terminal on. */
function create(name: string, options?: ElementCreationOptions): HTMLElement {
    const element = Document.prototype.createElement.call(document, name, options);
    if (name === "style") {
        element.nonce = nonce;
    } else if (name === "span") {
        element.setAttribute = setAttribute;
    }
    return element;
}

export interface Screen {
    terminal: Terminal;
    fit: () => void;
}

export function openScreen(
    place: HTMLElement,
    options: { isReadOnly: boolean; columns?: number; rows?: number },
): Screen {
    document.createElement = create as typeof document.createElement;
    const terminal = new Terminal({
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
    terminal.loadAddon(fit);
    terminal.open(place);
    return { terminal, fit: () => fit.fit() };
}
