/* SPDX-License-Identifier: MIT */
/* Rows that a rehearsed statement wrote, before and after, masked as whoever looks would read them.
 * They are fetched when somebody wants to see them: each time is a query at the target, and an entry
 * of the audit log. */
import { Button, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode } from "react";

import { get } from "../../shared/api/client";
import type { ReviewSample, SampleCell, SampleTable } from "../../shared/api/schema";
import { Problem } from "../../shared/parts";
import { texts } from "./texts";

function Cell({ cell }: { cell: SampleCell | undefined }): ReactNode {
    if (cell === undefined) {
        return null;
    }
    if (cell.state === "too_long") {
        return <em>{texts.sampleLong}</em>;
    }
    const value = cell.value === null ? <em>NULL</em> : cell.value;
    return cell.state === "masked" ? <span title={texts.sampleMasked}>{value}</span> : value;
}

type Side = { name: string; cells: SampleCell[] | null };

function Rows({ table }: { table: SampleTable }): ReactNode {
    return (
        <Table.ScrollContainer minWidth={300}>
            <Table>
                <Table.Thead>
                    <Table.Tr>
                        <Table.Th>{texts.sampleChange}</Table.Th>
                        {table.columns.map((column) => (
                            <Table.Th key={column}>{column}</Table.Th>
                        ))}
                    </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                    {table.rows.flatMap((row, index) => {
                        const sides: Side[] = [
                            { name: texts.sampleBefore, cells: row.before },
                            { name: texts.sampleAfter, cells: row.after },
                        ];
                        return sides
                            .filter((side) => side.cells !== null)
                            .map((side) => (
                                <Table.Tr key={`${index} ${side.name}`}>
                                    <Table.Th scope="row">{`${row.change}, ${side.name}`}</Table.Th>
                                    {table.columns.map((column, at) => (
                                        <Table.Td key={column} className="anywhere">
                                            <Cell cell={side.cells?.[at]} />
                                        </Table.Td>
                                    ))}
                                </Table.Tr>
                            ));
                    })}
                </Table.Tbody>
            </Table>
        </Table.ScrollContainer>
    );
}

function Sample({ sample }: { sample: ReviewSample }): ReactNode {
    if (!sample.is_available) {
        return <Text size="sm">{texts.sampleNot(sample.why_not)}</Text>;
    }
    return (
        <Stack gap="sm">
            {sample.tables.length === 0 && <Text size="sm">{texts.sampleNone}</Text>}
            {sample.tables.map((table) => (
                <section key={`${table.schema}.${table.table}`}>
                    <Text size="sm" fw={600}>{`${table.schema}.${table.table}`}</Text>
                    {[table.why_not, table.why_no_before]
                        .filter((why) => why !== "")
                        .map((why) => (
                            <Text size="sm" key={why}>
                                {why}
                            </Text>
                        ))}
                    {table.rows.length > 0 && <Rows table={table} />}
                    {table.hidden_columns > 0 && (
                        <Text size="xs">{texts.sampleHidden(table.hidden_columns)}</Text>
                    )}
                </section>
            ))}
            {sample.why_no_before !== "" && <Text size="sm">{sample.why_no_before}</Text>}
            {sample.more_tables > 0 && (
                <Text size="xs">{texts.sampleMore(sample.more_tables)}</Text>
            )}
        </Stack>
    );
}

export function SampleFacts({ review }: { review: string }): ReactNode {
    const asked = useMutation({
        mutationFn: () => get<ReviewSample>(`reviews/${review}/sample`),
    });
    return (
        <Stack className="card" p="md" gap="sm" component="section" aria-label={texts.sample}>
            <Group justify="space-between">
                <Title order={2} size="h4">
                    {texts.sample}
                </Title>
                <Button
                    variant="default"
                    loading={asked.isPending}
                    onClick={() => asked.mutate()}
                    id="ask-sample"
                >
                    {asked.data === undefined ? texts.sampleAsk : texts.sampleAgain}
                </Button>
            </Group>
            <div role="status" id="sample">
                {asked.data === undefined ? (
                    <Text size="sm" c="dimmed">
                        {texts.sampleAbout}
                    </Text>
                ) : (
                    <Sample sample={asked.data} />
                )}
            </div>
            {asked.error !== null && <Problem error={asked.error} />}
        </Stack>
    );
}
