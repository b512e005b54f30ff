/* SPDX-License-Identifier: MIT */
/* What a reviewer is told of a statement that waits in somebody's session: which rule holds it,
 * with which values it comes, what it would do by its text, and, when it was rehearsed, what it
 * did. */
import { Alert, Code, Text } from "@mantine/core";
import { type ReactNode } from "react";

import type { Analysis, HeldStatement, Rehearsal } from "../../shared/api/types";
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

function Doings({ analysis }: { analysis: Analysis }): ReactNode {
    const does = [
        ...analysis.operations,
        ...(analysis.without_where ? [texts.withoutWhere] : []),
        ...(analysis.is_unknown ? [texts.doesUnknown] : []),
    ];
    return (
        <>
            <Fact name={texts.does} words={does} />
            <Fact name={texts.writes} words={analysis.writes} />
            <Fact name={texts.reads} words={analysis.reads} />
        </>
    );
}

/* Of a script, which nothing holds but its request. */
export function ScriptFacts({ analysis }: { analysis: Analysis }): ReactNode {
    return (
        <dl className="card facts" id="analysis">
            <Doings analysis={analysis} />
        </dl>
    );
}

function RehearsalFacts({ rehearsal }: { rehearsal: Rehearsal }): ReactNode {
    const effects = rehearsal.effects;
    return (
        <section aria-label={texts.rehearsed}>
            <Text size="sm" fw={600} mb="xs">
                {texts.rehearsed}
            </Text>
            <dl className="card facts" id="rehearsal">
                <Fact name={texts.rowsWritten} words={[String(rehearsal.rows)]} />
                {effects != null && (
                    <>
                        <Fact
                            name={texts.inTables}
                            words={effects.tables.map((one) =>
                                texts.tableCounts(one.table, one.inserted, one.updated, one.deleted),
                            )}
                        />
                        <Fact
                            name={texts.triggersThere}
                            words={effects.triggers.map((one) => `${one.name} (${one.table})`)}
                        />
                        <Fact
                            name={texts.constraintsThere}
                            words={effects.constraints.map((one) => `${one.name} (${one.kind})`)}
                        />
                        <Fact
                            name={texts.locksHeld}
                            words={effects.locks.map((one) => `${one.relation} (${one.mode})`)}
                        />
                    </>
                )}
            </dl>
        </section>
    );
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
                <Doings analysis={held.analysis} />
                <Fact name={texts.database} words={[held.approved_for.database]} />
            </dl>
            {held.found.rehearsal !== undefined && (
                <RehearsalFacts rehearsal={held.found.rehearsal} />
            )}
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
