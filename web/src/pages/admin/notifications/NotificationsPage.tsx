/* SPDX-License-Identifier: MIT */
/* Sinks, and below them what was sent to them. */
import { Button, Group, NativeSelect, Text, Title } from "@mantine/core";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { useMe } from "../../../app/me";
import { get, part, post } from "../../../shared/api/client";
import type { NotificationDelivery as Delivery } from "../../../shared/api/schema";
import type { Page } from "../../../shared/api/types";
import { Empty, Problem, Tag, type Tone, Waiting, When } from "../../../shared/parts";
import { Things } from "../../../shared/things/Things";
import { sinks } from "./sinks";
import { texts } from "./texts";

const words = texts.deliveries;
const PAGE_SIZE = 20;
const TONES: Record<string, Tone> = { delivered: "good", dead: "bad" };

function Line({ delivery }: { delivery: Delivery }): ReactNode {
    const client = useQueryClient();
    const replay = useMutation({
        mutationFn: () => post(`notifications/deliveries/${part(delivery.id)}/replay`),
        onSettled: () => client.invalidateQueries(),
    });
    return (
        <div className="admin-line" data-delivery={delivery.id}>
            <div>
                <Text fw={600} className="anywhere">
                    {delivery.summary}
                </Text>
                <Text size="sm" className="anywhere">
                    {delivery.event} → {delivery.sink}
                </Text>
                <Text size="sm" c="dimmed" className="anywhere">
                    <When at={delivery.created_at} /> · {words.tries(delivery.tries)}
                    {delivery.next_try_at !== null && delivery.next_try_at !== undefined && (
                        <>
                            {" · "}
                            {words.next} <When at={delivery.next_try_at} />
                        </>
                    )}
                </Text>
                {Boolean(delivery.last_error) && (
                    <Text size="sm" className="anywhere">
                        {delivery.last_error}
                    </Text>
                )}
                {replay.error !== null && <Problem error={replay.error} />}
            </div>
            <Tag tone={TONES[delivery.state] ?? "calm"}>
                {words.words[delivery.state] ?? delivery.state}
            </Tag>
            {delivery.state === "dead" && (
                <Button
                    size="xs"
                    variant="default"
                    loading={replay.isPending}
                    aria-label={`${words.again}: ${delivery.summary}`}
                    onClick={() => replay.mutate()}
                >
                    {words.again}
                </Button>
            )}
        </div>
    );
}

function Deliveries(): ReactNode {
    const [state, setState] = useState("");
    const [page, setPage] = useState(1);
    const list = useQuery({
        queryKey: ["deliveries", state, page],
        queryFn: ({ signal }) =>
            get<Page<Delivery>>(
                "notifications/deliveries",
                { state: state === "" ? undefined : state, page, page_size: PAGE_SIZE },
                signal,
            ),
        placeholderData: keepPreviousData,
        refetchInterval: 5000,
    });
    const found = list.data?.data ?? [];
    const total = list.data?.pages.total ?? 0;
    return (
        <section aria-label={words.title}>
            <Group justify="space-between" align="flex-end" mt="xl" mb="sm">
                <div>
                    <Title order={2} size="h4">
                        {words.title}
                    </Title>
                    <Text size="sm" c="dimmed">
                        {words.about}
                    </Text>
                </div>
                <NativeSelect
                    label={words.state}
                    value={state}
                    data={words.states.map(([value, label]) => ({ value, label }))}
                    onChange={(event) => {
                        setState(event.currentTarget.value);
                        setPage(1);
                    }}
                />
            </Group>
            {list.error !== null && (
                <Problem
                    error={list.error}
                    retry={() => {
                        void list.refetch();
                    }}
                />
            )}
            {list.isPending && <Waiting lines={2} />}
            {list.data !== undefined && found.length === 0 && (
                <Empty
                    title={state === "" ? words.noneYet : words.none}
                    action={
                        state !== "" && (
                            <Button variant="default" onClick={() => setState("")}>
                                {words.anyState}
                            </Button>
                        )
                    }
                />
            )}
            <div className="card rows" id="deliveries" hidden={found.length === 0}>
                {found.map((delivery) => (
                    <Line key={delivery.id} delivery={delivery} />
                ))}
            </div>
            {total > PAGE_SIZE && (
                <Group justify="flex-end" gap="xs" mt="md">
                    <Button variant="default" disabled={page === 1} onClick={() => setPage(page - 1)}>
                        {words.newer}
                    </Button>
                    <Button
                        variant="default"
                        disabled={page * PAGE_SIZE >= total}
                        onClick={() => setPage(page + 1)}
                    >
                        {words.older}
                    </Button>
                </Group>
            )}
        </section>
    );
}

export function NotificationsPage(): ReactNode {
    const me = useMe();
    return (
        <>
            <Things kind={sinks} mayWrite={me.is_admin} />
            <Deliveries />
        </>
    );
}
