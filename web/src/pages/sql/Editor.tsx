/* SPDX-License-Identifier: MIT */
/* CodeMirror, which comes with this page alone. It holds the text; the page is told of changes. */
import {
    autocompletion,
    closeBrackets,
    closeCompletion,
    completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { sql, type SQLNamespace } from "@codemirror/lang-sql";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import {
    drawSelection,
    EditorView,
    highlightActiveLine,
    keymap,
    lineNumbers,
    placeholder,
} from "@codemirror/view";
import { type ReactNode, type RefObject, useEffect, useRef } from "react";

import { nonce } from "../../app/trusted";
import { colors, dialectOf } from "../../shared/SqlColors";
import "../../shared/sqltext.css";
import { texts } from "./texts";

export interface EditorHandle {
    /* What is selected, or else all, about to be run: what is offered to go on typing goes away. */
    script: () => string;
    insert: (text: string) => void;
    replace: (text: string) => void;
    focus: () => void;
}

interface EditorProps {
    handle: RefObject<EditorHandle | null>;
    ready: (is: boolean) => void; /* the handle is there, or is no more */
    initial: string;
    subtype: string;
    schema: SQLNamespace;
    change: (text: string) => void;
    run: () => void;
}

function languageOf(subtype: string, schema: SQLNamespace): ReturnType<typeof sql> {
    return sql({ dialect: dialectOf(subtype), schema, upperCaseKeywords: true });
}

export default function Editor(props: EditorProps): ReactNode {
    const place = useRef<HTMLDivElement>(null);
    const view = useRef<EditorView | null>(null);
    const language = useRef(new Compartment());
    const latest = useRef(props);
    latest.current = props;

    useEffect(() => {
        const runs = (): boolean => {
            latest.current.run();
            return true;
        };
        const made = new EditorView({
            parent: place.current as HTMLElement,
            state: EditorState.create({
                doc: latest.current.initial,
                extensions: [
                    EditorView.cspNonce.of(nonce),
                    Prec.highest(keymap.of([{ key: "Mod-Enter", run: runs }])),
                    lineNumbers(),
                    history(),
                    drawSelection(),
                    bracketMatching(),
                    closeBrackets(),
                    autocompletion(),
                    highlightActiveLine(),
                    highlightSelectionMatches(),
                    EditorState.allowMultipleSelections.of(true),
                    EditorView.lineWrapping,
                    syntaxHighlighting(colors),
                    placeholder(texts.placeholder),
                    language.current.of(languageOf(latest.current.subtype, latest.current.schema)),
                    keymap.of([
                        ...completionKeymap,
                        ...historyKeymap,
                        ...searchKeymap,
                        ...defaultKeymap,
                        indentWithTab,
                    ]),
                    EditorView.contentAttributes.of({ "aria-label": texts.editor }),
                    EditorView.updateListener.of((update) => {
                        if (update.docChanged) {
                            latest.current.change(update.state.doc.toString());
                        }
                    }),
                ],
            }),
        });
        view.current = made;
        const put = (text: string, from: number, to: number): void => {
            made.dispatch({
                changes: { from, to, insert: text },
                selection: { anchor: from + text.length },
            });
            made.focus();
        };
        latest.current.handle.current = {
            script: () => {
                closeCompletion(made);
                const { from, to } = made.state.selection.main;
                return from === to ? made.state.doc.toString() : made.state.sliceDoc(from, to);
            },
            insert: (text) =>
                put(text, made.state.selection.main.from, made.state.selection.main.to),
            replace: (text) => put(text, 0, made.state.doc.length),
            focus: () => made.focus(),
        };
        made.focus();
        latest.current.ready(true);
        return () => {
            latest.current.ready(false);
            latest.current.handle.current = null;
            made.destroy();
        };
    }, []);

    useEffect(() => {
        view.current?.dispatch({
            effects: language.current.reconfigure(languageOf(props.subtype, props.schema)),
        });
    }, [props.subtype, props.schema]);

    return <div ref={place} className="sql-editor" />;
}
