/* SPDX-License-Identifier: MIT */
/* Is everything well: the gateway and its store, agents, and figures while one looks on. */
import type { Agent } from "../../../shared/api/schema";
import { SimpleGrid, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";

import { address, ApiError, get } from "../../../shared/api/client";
import type { ServerInfo } from "../../../shared/api/types";
import { PageHead, Problem, Tag } from "../../../shared/parts";
import { count } from "../../../shared/words";
import { type Figures, figuresOf, type Look, LOOKS_MAX, pointsOf, valuesOf } from "./figures";
import { plots, texts } from "./texts";

const EVERY_MS = 2000;
const WIDTH = 320;
const HEIGHT = 80;

interface Report {
    items: { resource: string; info_type: string; redact_total: number }[];
    total_redact_count: number;
}

async function look(signal: AbortSignal): Promise<Figures> {
    const response = await fetch(address("metrics"), {
        signal,
        cache: "no-store",
        credentials: "same-origin",
    });
    if (!response.ok) {
        throw new ApiError(response.status, (await response.json()) as Record<string, unknown>);
    }
    return figuresOf(await response.text());
}

function useLooks(): { looks: Look[]; error: Error | null } {
    const [looks, setLooks] = useState<Look[]>([]);
    const figures = useQuery({
        queryKey: ["figures"],
        queryFn: ({ signal }) => look(signal),
        refetchInterval: (query) => (query.state.error === null ? EVERY_MS : false),
        staleTime: 0,
        structuralSharing: false,
    });
    useEffect(() => {
        const now = figures.data;
        if (now !== undefined) {
            setLooks((before) =>
                [...before, { at: Date.now(), figures: now }].slice(-LOOKS_MAX),
            );
        }
    }, [figures.data]);
    return { looks, error: figures.error };
}

function Plot({ looks, plot }: { looks: Look[]; plot: (typeof plots)[number] }): ReactNode {
    const values = valuesOf(looks, plot);
    const last = values.at(-1) ?? 0;
    const shown = (value: number): string =>
        `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 2 : 0 })}${plot.unit}`;
    return (
        <figure className="card plot" data-plot={plot.name}>
            <figcaption>
                <Text size="sm" c="dimmed">
                    {plot.title}
                </Text>
                <Text fw={650} size="lg">
                    {shown(last)}
                </Text>
            </figcaption>
            <svg
                viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
                role="img"
                aria-label={texts.plot(plot.title, shown(last), shown(Math.max(0, ...values)))}
                preserveAspectRatio="none"
            >
                <polyline points={pointsOf(values, WIDTH, HEIGHT)} className="plot-line" />
            </svg>
            <Text size="xs" c="dimmed">
                {texts.most(shown(Math.max(0, ...values)))}
            </Text>
        </figure>
    );
}

function Masked(): ReactNode {
    const report = useQuery({
        queryKey: ["reports"],
        queryFn: ({ signal }) =>
            get<Report>("reports/sessions", { group_by: "connection" }, signal),
    });
    const items = report.data?.items ?? [];
    return (
        items.length > 0 && (
            <section className="card rule-card" aria-label={texts.masked}>
                <Title order={2} size="h4" mb="sm">
                    {texts.masked}
                </Title>
                <Table fz="sm">
                    <Table.Thead>
                        <Table.Tr>
                            <Table.Th>{texts.connection}</Table.Th>
                            <Table.Th>{texts.kind}</Table.Th>
                            <Table.Th ta="right">{texts.times}</Table.Th>
                        </Table.Tr>
                    </Table.Thead>
                    <Table.Tbody>
                        {items.slice(0, 20).map((item) => (
                            <Table.Tr key={`${item.resource} ${item.info_type}`}>
                                <Table.Td className="anywhere">{item.resource}</Table.Td>
                                <Table.Td className="anywhere">{item.info_type}</Table.Td>
                                <Table.Td ta="right">{item.redact_total.toLocaleString()}</Table.Td>
                            </Table.Tr>
                        ))}
                    </Table.Tbody>
                </Table>
            </section>
        )
    );
}

export function HealthPage(): ReactNode {
    const { looks, error } = useLooks();
    const health = useQuery({
        queryKey: ["healthz"],
        queryFn: ({ signal }) => get<{ liveness: string }>("healthz", {}, signal),
        refetchInterval: 10_000,
    });
    const info = useQuery({
        queryKey: ["serverinfo"],
        queryFn: ({ signal }) => get<ServerInfo>("serverinfo", {}, signal),
    });
    const agents = useQuery({
        queryKey: ["agents"],
        queryFn: ({ signal }) => get<Agent[]>("agents", {}, signal),
    });
    const gone = (agents.data ?? []).filter(({ status }) => status !== "CONNECTED").length;
    return (
        <>
            <PageHead title={texts.title} about={texts.about(info.data?.version ?? "…")}>
                {health.data !== undefined && (
                    <Tag tone={health.data.liveness === "OK" ? "good" : "bad"}>
                        {health.data.liveness === "OK" ? texts.well : texts.unwell}
                    </Tag>
                )}
                {agents.data !== undefined && (
                    <Tag tone={gone === 0 ? "good" : "warn"}>
                        {gone === 0
                            ? count(agents.data.length, "agent")
                            : texts.gone(gone, agents.data.length)}
                    </Tag>
                )}
            </PageHead>
            {health.error !== null && <Problem error={health.error} />}
            {error !== null && <Problem error={error} />}
            <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} mb="lg" id="plots">
                {error === null && plots.map((plot) => <Plot key={plot.name} looks={looks} plot={plot} />)}
            </SimpleGrid>
            <Masked />
        </>
    );
}
