/* SPDX-License-Identifier: MIT */
/* What the guard rail in the editor would do: to a statement, and to what was run in the last days.
 * Nothing of it is saved. */
import {
    Alert,
    Button,
    Code,
    Group,
    NativeSelect,
    Stack,
    Text,
    Textarea,
    Title,
} from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";

import { post } from "../../../shared/api/client";
import { Icon } from "../../../shared/icons";
import { Problem, Tag, type Tone } from "../../../shared/parts";
import { GroupsPicker } from "../../../shared/pickers";
import type { Seen } from "./GuardrailEditor";
import type { Action } from "./rules";
import { texts } from "./texts";

const words = texts.trial;
const DAYS = [1, 7, 30, 90];

interface Verdict {
    action: Action | "pass";
    findings: { action: Action; rule_name: string; message: string; why?: string }[];
    max_rows: number | null;
    is_read_only: boolean;
}
interface OnRecord {
    days: number;
    statements: number;
    matched: number;
    blocked: number;
    by: {
        user: string;
        connection: string;
        count: number;
        blocked: number;
        examples: {
            session_id: string;
            statement: string;
            rule_name: string;
            why?: string;
        }[];
    }[];
    is_complete: boolean;
    missed?: string;
}

const COLORS: Record<Verdict["action"], string> = {
    block: "red",
    review: "orange",
    warn: "orange",
    observe: "blue",
    pass: "gate",
};
const TONES: Record<string, Tone> = { true: "bad", false: "warn" };

function Judged({ verdict }: { verdict: Verdict }): ReactNode {
    return (
        <Alert
            color={COLORS[verdict.action]}
            title={words.verdicts[verdict.action]}
            icon={<Icon name={verdict.action === "pass" ? "check" : "shield"} />}
            role="status"
            data-verdict={verdict.action}
        >
            {verdict.findings.map((finding, index) => (
                <Text key={index} size="sm" className="anywhere">
                    {[finding.rule_name, finding.message, finding.why].filter(Boolean).join(": ")}
                </Text>
            ))}
            {verdict.max_rows !== null && (
                <Text size="sm">{words.maxRows(verdict.max_rows.toLocaleString())}</Text>
            )}
            {verdict.is_read_only && <Text size="sm">{words.readOnly}</Text>}
        </Alert>
    );
}

function Statement({ rule, seen }: { rule: () => object; seen: Seen | null }): ReactNode {
    const [statement, setStatement] = useState(seen?.statement ?? "");
    const [dialect, setDialect] = useState(seen?.dialect === "mysql" ? "mysql" : "postgres");
    const [groups, setGroups] = useState<string[]>([]);
    const tried = useMutation({
        mutationFn: () =>
            post<Verdict>("guardrail-trials", { rule: rule(), statement, dialect, groups }),
    });
    return (
        <Stack gap="sm">
            <Textarea
                label={words.statement}
                placeholder={words.placeholder}
                className="code-field"
                autosize
                minRows={3}
                maxRows={12}
                value={statement}
                spellCheck={false}
                id="trial-statement"
                onChange={(event) => setStatement(event.currentTarget.value)}
            />
            <Group align="flex-end" gap="sm">
                <NativeSelect
                    label={words.dialect}
                    value={dialect}
                    data={[
                        { value: "postgres", label: "PostgreSQL" },
                        { value: "mysql", label: "MySQL, MariaDB" },
                    ]}
                    onChange={(event) => setDialect(event.currentTarget.value)}
                />
                <div className="grows">
                    <GroupsPicker
                        label={words.groups}
                        placeholder={words.nobody}
                        value={groups}
                        set={setGroups}
                    />
                </div>
            </Group>
            <Button
                variant="default"
                w="fit-content"
                loading={tried.isPending}
                disabled={statement.trim() === ""}
                onClick={() => tried.mutate()}
            >
                {words.run}
            </Button>
            {tried.error !== null && <Problem error={tried.error} />}
            {tried.data !== undefined && <Judged verdict={tried.data} />}
        </Stack>
    );
}

function Found({ result }: { result: OnRecord }): ReactNode {
    return (
        <Stack gap="sm" id="trial-record">
            <Text size="sm" role="status">
                {words.statements(result.statements.toLocaleString())}{" "}
                {result.matched === 0
                    ? words.nothing
                    : words.met(result.matched.toLocaleString(), result.blocked.toLocaleString())}
            </Text>
            {result.missed !== undefined && (
                <Text size="sm" c="dimmed">
                    {words.incomplete(result.missed)}
                </Text>
            )}
            {result.by.map((tally) => (
                <div key={`${tally.user} ${tally.connection}`}>
                    <Group gap="xs" mb={4}>
                        <Text size="sm" className="anywhere">
                            <strong>{tally.user}</strong> {words.on} {tally.connection}
                        </Text>
                        <Tag tone={TONES[String(tally.blocked > 0)] ?? "calm"}>
                            {words.times(tally.count)}
                        </Tag>
                    </Group>
                    {tally.examples.map((example, index) => (
                        <Group key={index} gap="xs" wrap="nowrap" align="flex-start" mb={4}>
                            <Code className="anywhere" flex={1}>
                                {example.statement}
                            </Code>
                            <Link
                                href={`/sessions/${example.session_id}`}
                                className="small-link"
                            >
                                {words.session}
                            </Link>
                        </Group>
                    ))}
                </div>
            ))}
        </Stack>
    );
}

function Record({ rule }: { rule: () => object }): ReactNode {
    const [days, setDays] = useState(7);
    const tried = useMutation({
        mutationFn: () => post<OnRecord>("guardrail-trials", { rule: rule(), days }),
    });
    return (
        <Stack gap="sm">
            <div>
                <Title order={3} size="h5">
                    {words.record}
                </Title>
                <Text size="sm" c="dimmed">
                    {words.recordAbout}
                </Text>
            </div>
            <Group align="flex-end" gap="sm">
                <NativeSelect
                    label={words.days}
                    value={days}
                    data={DAYS.map((value) => ({
                        value: String(value),
                        label: words.dayCount(value),
                    }))}
                    onChange={(event) => setDays(Number(event.currentTarget.value))}
                />
                <Button variant="default" loading={tried.isPending} onClick={() => tried.mutate()}>
                    {words.runRecord}
                </Button>
            </Group>
            {tried.error !== null && <Problem error={tried.error} />}
            {tried.data !== undefined && <Found result={tried.data} />}
        </Stack>
    );
}

export function Trial({ rule, seen }: { rule: () => object; seen: Seen | null }): ReactNode {
    return (
        <section className="card rule-card" aria-label={words.title}>
            <Title order={2} size="h4" mb="sm">
                {words.title}
            </Title>
            <Stack gap="lg">
                <Statement rule={rule} seen={seen} />
                <Record rule={rule} />
            </Stack>
        </section>
    );
}
