/* SPDX-License-Identifier: MIT */
/* What the planner of the target expects of a statement or script. It is asked when somebody wants to
 * know: each time is a query at the target, and an entry of the audit log. */
import { Button, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode } from "react";

import { get } from "../../shared/api/client";
import type { Estimate } from "../../shared/api/types";
import { Problem } from "../../shared/parts";
import { texts } from "./texts";

const count = new Intl.NumberFormat();

function Plan({ estimate }: { estimate: Estimate }): ReactNode {
    if (!estimate.is_available) {
        return <Text size="sm">{texts.plannerNot(estimate.why_not)}</Text>;
    }
    const rows = count.format(estimate.rows ?? 0);
    return (
        <>
            <Text fw={600}>
                {estimate.writes === true ? texts.plannerWrites(rows) : texts.plannerReads(rows)}
            </Text>
            <Table>
                <Table.Thead>
                    <Table.Tr>
                        <Table.Th>{texts.step}</Table.Th>
                        <Table.Th>{texts.table}</Table.Th>
                        <Table.Th ta="right">{texts.rows}</Table.Th>
                    </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                    {estimate.steps.map((step, index) => (
                        <Table.Tr key={index}>
                            <Table.Td pl={`calc(${step.depth} * 1rem + var(--mantine-spacing-xs))`}>
                                {[step.node, step.operation].filter((one) => one !== "").join(" ")}
                            </Table.Td>
                            <Table.Td className="anywhere">{step.relation}</Table.Td>
                            <Table.Td ta="right">{count.format(step.rows)}</Table.Td>
                        </Table.Tr>
                    ))}
                </Table.Tbody>
            </Table>
            {estimate.steps_truncated === true && <Text size="xs">{texts.plannerCut}</Text>}
        </>
    );
}

export function PlannerFacts({ review }: { review: string }): ReactNode {
    const asked = useMutation({
        mutationFn: () => get<Estimate>(`reviews/${review}/estimate`),
    });
    return (
        <Stack className="card" p="md" gap="sm" component="section" aria-label={texts.planner}>
            <Group justify="space-between">
                <Title order={2} size="h4">
                    {texts.planner}
                </Title>
                <Button
                    variant="default"
                    loading={asked.isPending}
                    onClick={() => asked.mutate()}
                    id="ask-planner"
                >
                    {asked.data === undefined ? texts.plannerAsk : texts.plannerAgain}
                </Button>
            </Group>
            <div role="status" id="plan">
                {asked.data === undefined ? (
                    <Text size="sm" c="dimmed">
                        {texts.plannerAbout}
                    </Text>
                ) : (
                    <Plan estimate={asked.data} />
                )}
            </div>
            {asked.error !== null && <Problem error={asked.error} />}
        </Stack>
    );
}
