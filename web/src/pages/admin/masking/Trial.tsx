/* SPDX-License-Identifier: MIT */
/* What the rule in the editor would make of values: some that are typed in, or a table's first rows.
 * Nothing of it is saved. */
import { Button, Group, Stack, Table, Text, Textarea, TextInput, Title } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { post } from "../../../shared/api/client";
import { Problem, Tag } from "../../../shared/parts";
import { ConnectionsPicker } from "../../../shared/pickers";
import { execute, nothing, type Run } from "../../sql/run";
import { type Sample, samplesOf } from "./rule";
import { texts } from "./texts";

const words = texts.trial;
const ROWS = 5;
const SAMPLES_MAX = 1000;

interface Masked {
    outcome: "same" | "changed" | "null" | "refused";
    value: string | null;
    found: string[];
}
interface Tried {
    samples: Sample[];
    masked: Masked[];
}

async function tryOn(rule: object, samples: Sample[]): Promise<Tried> {
    const sent = samples.slice(0, SAMPLES_MAX);
    const answer = await post<{ samples: Masked[] }>("datamasking-trials", {
        rule,
        samples: sent,
    });
    return { samples: sent, masked: answer.samples };
}

/* NULL is masked by nothing, and left out. */
async function firstRows(connection: string, table: string): Promise<Sample[]> {
    let run: Run = nothing;
    const script = `SELECT * FROM ${table} LIMIT ${ROWS}`;
    await execute({ connection, script, metadata: {} }, new AbortController().signal, (now) => {
        run = now;
    });
    const statement = run.statements[0];
    if (statement === undefined || statement.error !== null || run.state !== "success") {
        throw new Error(statement?.error?.message ?? words.failed);
    }
    const samples = statement.rows.flatMap((row) =>
        row.map((value, index) => ({
            column: `${table}.${statement.columns[index]?.name ?? ""}`.slice(-190),
            value,
        })),
    );
    const given = samples.flatMap(({ column, value }) =>
        value === null ? [] : [{ column, value: String(value) }],
    );
    if (given.length === 0) {
        throw new Error(words.noRows);
    }
    return given;
}

function Shown({ tried }: { tried: Tried }): ReactNode {
    const hidden = tried.masked.filter(({ outcome }) => outcome !== "same").length;
    return (
        <div data-tried={hidden}>
            <Text size="sm" mb="xs" role="status">
                {hidden === 0 ? words.nothing : words.hidden(hidden)}
            </Text>
            <Table.ScrollContainer minWidth={420} scrollAreaProps={{ tabIndex: 0 }} type="native">
                <Table withTableBorder verticalSpacing={6} fz="sm">
                    <Table.Thead>
                        <Table.Tr>
                            <Table.Th>{words.column}</Table.Th>
                            <Table.Th>{words.before}</Table.Th>
                            <Table.Th>{words.after}</Table.Th>
                        </Table.Tr>
                    </Table.Thead>
                    <Table.Tbody>
                        {tried.samples.map((sample, index) => {
                            const masked = tried.masked[index];
                            return (
                                <Table.Tr key={index}>
                                    <Table.Td className="anywhere">
                                        {sample.column.split(".").at(-1)}
                                    </Table.Td>
                                    <Table.Td className="anywhere">{sample.value}</Table.Td>
                                    <Table.Td className="anywhere">
                                        {masked?.outcome === "refused"
                                            ? words.refused
                                            : (masked?.value ?? <em>NULL</em>)}{" "}
                                        {(masked?.found ?? []).map((kind) => (
                                            <Tag key={kind} tone="warn">
                                                {kind}
                                            </Tag>
                                        ))}
                                    </Table.Td>
                                </Table.Tr>
                            );
                        })}
                    </Table.Tbody>
                </Table>
            </Table.ScrollContainer>
        </div>
    );
}

export function Trial({ rule }: { rule: () => object }): ReactNode {
    const [text, setText] = useState<string>(words.example);
    const [connection, setConnection] = useState<string[]>([]);
    const [table, setTable] = useState("");
    const tried = useMutation({
        mutationFn: async (where: "text" | "table") =>
            tryOn(
                rule(),
                where === "text"
                    ? samplesOf(text)
                    : await firstRows(connection[0] ?? "", table.trim()),
            ),
    });
    return (
        <section className="card rule-card" aria-label={words.title} id="masking-trial">
            <Title order={2} size="h4" mb="sm">
                {words.title}
            </Title>
            <Stack gap="sm">
                <Textarea
                    label={words.samples}
                    description={words.samplesAbout}
                    className="code-field"
                    autosize
                    minRows={3}
                    maxRows={12}
                    value={text}
                    spellCheck={false}
                    onChange={(event) => setText(event.currentTarget.value)}
                />
                <Button
                    variant="default"
                    w="fit-content"
                    id="try-text"
                    loading={tried.isPending && tried.variables === "text"}
                    disabled={text.trim() === ""}
                    onClick={() => tried.mutate("text")}
                >
                    {words.run}
                </Button>
                <div>
                    <Title order={3} size="h5">
                        {words.table}
                    </Title>
                    <Text size="sm" c="dimmed">
                        {words.tableAbout}
                    </Text>
                </div>
                <Group align="flex-end" gap="sm">
                    <div className="grows">
                        <ConnectionsPicker
                            by="name"
                            label={words.connection}
                            value={connection}
                            set={(names) => setConnection(names.slice(-1))}
                        />
                    </div>
                    <TextInput
                        label={words.tableName}
                        flex="1 1 10rem"
                        value={table}
                        autoComplete="off"
                        spellCheck={false}
                        id="trial-table"
                        onChange={(event) => setTable(event.currentTarget.value)}
                    />
                    <Button
                        variant="default"
                        loading={tried.isPending && tried.variables === "table"}
                        disabled={connection.length === 0 || table.trim() === ""}
                        onClick={() => tried.mutate("table")}
                    >
                        {words.read}
                    </Button>
                </Group>
                {tried.error !== null && <Problem error={tried.error} />}
                {tried.data !== undefined && <Shown tried={tried.data} />}
            </Stack>
        </section>
    );
}
