/* SPDX-License-Identifier: MIT */
/* What a reviewer is told of a statement that waits in somebody's session: which rule holds it,
 * with which values it comes, and what it would do by its text. */
import { Alert, Code } from "@mantine/core";
import { type ReactNode } from "react";

import type { HeldStatement } from "../../shared/api/types";
import { texts } from "./texts";

function Fact({ name, words }: { name: string; words: string[] }): ReactNode {
    if (words.length === 0) {
        return null;
    }
    return (
        <div>
            <dt>{name}</dt>
            <dd className="anywhere">{words.join(", ")}</dd>
        </div>
    );
}

function doings({ analysis }: HeldStatement): string[] {
    return [
        ...analysis.operations,
        ...(analysis.without_where ? [texts.withoutWhere] : []),
        ...(analysis.is_unknown ? [texts.doesUnknown] : []),
    ];
}

export function HeldFacts({ held }: { held: HeldStatement }): ReactNode {
    const rules = held.found.findings.map((one) =>
        [one.guardrail, one.rule, one.message].filter((text) => text !== "").join(": "),
    );
    const values = held.approved_for.parameters.map((one) => one.value ?? one.hex ?? texts.noValue);
    return (
        <>
            {held.found.holds_locks && (
                <Alert color="orange" variant="light">
                    {texts.locks}
                </Alert>
            )}
            <dl className="card facts" id="held">
                <Fact name={texts.heldBy} words={rules} />
                <Fact name={texts.does} words={doings(held)} />
                <Fact name={texts.writes} words={held.analysis.writes} />
                <Fact name={texts.reads} words={held.analysis.reads} />
                <Fact name={texts.database} words={[held.approved_for.database]} />
            </dl>
            {values.length > 0 && (
                <section aria-label={texts.parameters}>
                    <Code block className="entry-text" tabIndex={0} id="values">
                        {values.map((value, i) => `$${i + 1} = ${value}`).join("\n")}
                    </Code>
                </section>
            )}
        </>
    );
}
