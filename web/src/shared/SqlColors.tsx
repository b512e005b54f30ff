/* SPDX-License-Identifier: MIT */
/* Which words of a statement have which colour: CodeMirror's grammar, without an editor. */
import { MySQL, PostgreSQL, StandardSQL } from "@codemirror/lang-sql";
import { HighlightStyle } from "@codemirror/language";
import { highlightTree, tags } from "@lezer/highlight";
import { type ReactNode, useMemo } from "react";

export const colors = HighlightStyle.define([
    { tag: tags.keyword, class: "sql-keyword" },
    { tag: [tags.string, tags.special(tags.string)], class: "sql-string" },
    { tag: [tags.number, tags.bool, tags.null], class: "sql-number" },
    { tag: tags.comment, class: "sql-comment" },
    { tag: tags.typeName, class: "sql-type" },
]);

export function dialectOf(subtype: string): typeof StandardSQL {
    return { postgres: PostgreSQL, mysql: MySQL }[subtype] ?? StandardSQL;
}

export default function SqlColors({ text, subtype }: { text: string; subtype: string }): ReactNode {
    return useMemo(() => {
        const parts: ReactNode[] = [];
        let end = 0;
        highlightTree(dialectOf(subtype).language.parser.parse(text), colors, (from, to, name) => {
            parts.push(text.slice(end, from));
            parts.push(
                <span key={from} className={name}>
                    {text.slice(from, to)}
                </span>,
            );
            end = to;
        });
        parts.push(text.slice(end));
        return parts;
    }, [text, subtype]);
}
