/* SPDX-License-Identifier: MIT */
/* One connection: what acts on it, a credential of one's own, and lines for each client. */
import { Alert, Button, Drawer, Group, NativeSelect, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";

import { useMe } from "../../app/me";
import { get, part, post, root } from "../../shared/api/client";
import type { Connection, Credential } from "../../shared/api/types";
import { useFocusBack } from "../../shared/focus";
import { Icon } from "../../shared/icons";
import { noteRecent } from "../../shared/kept";
import { Confirm, CopyBlock, Problem, Tag, useNow, Waiting, When } from "../../shared/parts";
import { kindName, left } from "../../shared/words";
import { Effects } from "./ConnectPage";
import { useControls } from "./details";
import { effectsOf } from "./effects";
import { linesOf } from "./lines";
import { texts } from "./texts";

const words = texts.panel;
const HOUR = 3600;
const DURATIONS = [
    { seconds: HOUR / 4, label: "15 minutes" },
    { seconds: HOUR, label: "1 hour" },
    { seconds: 8 * HOUR, label: "8 hours" },
    { seconds: 24 * HOUR, label: "1 day" },
    { seconds: 7 * 24 * HOUR, label: "7 days" },
];
const USUAL_DURATION = 8 * HOUR;

function TimeLeft({ until }: { until: string | null }): ReactNode {
    const now = useNow();
    if (until === null) {
        return words.forever;
    }
    const seconds = (Date.parse(until) - now) / 1000;
    return seconds <= 0 ? words.over : words.left(left(seconds));
}

function Lines({
    connection,
    credential,
}: {
    connection: Connection;
    credential: Credential;
}): ReactNode {
    const lines = linesOf(
        connection.name,
        connection.subtype,
        credential.connection_credentials ?? { hostname: "", port: "", username: "" },
        root.href,
    );
    const [chosen, setChosen] = useState(lines[0]?.name ?? "");
    const line = lines.find((other) => other.name === chosen) ?? lines[0];
    const groups = [...new Set(lines.map((other) => other.group))].map((group) => ({
        group,
        items: lines.filter((other) => other.group === group).map((other) => other.name),
    }));
    return (
        <Stack gap="sm" id="lines">
            <Alert color="orange" icon={<Icon name="warning" />}>
                {words.once}
            </Alert>
            <NativeSelect
                label={words.client}
                value={chosen}
                data={groups}
                onChange={(event) => setChosen(event.currentTarget.value)}
            />
            {line !== undefined && <CopyBlock text={line.text} label={line.name} />}
            <Group gap="xs">
                <CopyBlock
                    text={credential.connection_credentials?.password ?? ""}
                    label="password"
                />
            </Group>
            <Text size="sm" c="dimmed">
                <TimeLeft until={credential.expire_at} />
            </Text>
        </Stack>
    );
}

function Asking({ connection }: { connection: Connection }): ReactNode {
    const max = connection.access_max_duration;
    const choices = DURATIONS.filter(({ seconds }) => max === 0 || seconds <= max);
    const [duration, setDuration] = useState(
        choices.some(({ seconds }) => seconds === USUAL_DURATION)
            ? USUAL_DURATION
            : (choices.at(-1)?.seconds ?? max),
    );
    const client = useQueryClient();
    const asked = useMutation({
        mutationFn: () =>
            post<Credential>(`connections/${part(connection.name)}/credentials`, {
                access_duration_seconds: duration,
                keep_others: true,
            }),
        onSuccess: () => {
            noteRecent(connection.name);
            void client.invalidateQueries({ queryKey: ["credentials"] });
        },
    });
    if (connection.access_mode_connect !== "enabled") {
        return <Alert color="gray">{words.disabled}</Alert>;
    }
    const { data } = asked;
    const mustWait =
        data?.has_review === true && data.connection_credentials?.password === undefined;
    return (
        <Stack>
            {connection.status !== "online" && (
                <Alert color="orange" icon={<Icon name="warning" />}>
                    {words.offline}
                </Alert>
            )}
            <Group align="flex-end">
                <NativeSelect
                    label={words.duration}
                    value={String(duration)}
                    flex={1}
                    data={choices.map(({ seconds, label }) => ({ value: String(seconds), label }))}
                    onChange={(event) => setDuration(Number(event.currentTarget.value))}
                />
                <Button
                    onClick={() => asked.mutate()}
                    loading={asked.isPending}
                    id="ask"
                    variant={data === undefined ? "filled" : "default"}
                >
                    {data === undefined ? words.ask : words.again}
                </Button>
            </Group>
            {asked.error !== null && <Problem error={asked.error} />}
            {mustWait && (
                <Alert color="orange" title={words.review} icon={<Icon name="clock" />}>
                    <Stack gap="xs">
                        {words.reviewAbout}
                        <Link href={`/reviews/${data.review_id ?? ""}`}>{words.reviewLink}</Link>
                    </Stack>
                </Alert>
            )}
            {data !== undefined && !mustWait && (
                <Lines key={data.id} connection={connection} credential={data} />
            )}
        </Stack>
    );
}

function Yours({ connection }: { connection: Connection }): ReactNode {
    const me = useMe();
    const client = useQueryClient();
    const [revoked, revoke] = useState<Credential | null>(null);
    const list = useQuery({
        queryKey: ["credentials"],
        queryFn: ({ signal }) => get<Credential[]>("connection-credentials", {}, signal),
    });
    const mine = (list.data ?? []).filter(
        (credential) =>
            credential.user_id === me.id && credential.connection_name === connection.name,
    );
    if (list.error !== null) {
        return (
            <Problem
                error={list.error}
                retry={() => {
                    void list.refetch();
                }}
            />
        );
    }
    return (
        mine.length > 0 && (
            <section aria-label={words.yours}>
                <Title order={3} size="h5" mb="xs">
                    {words.yours}
                </Title>
                <div className="card rows">
                    {mine.map((credential) => (
                        <Group key={credential.id} px="md" py="xs" justify="space-between">
                            <Text size="sm">
                                Made <When at={credential.created_at} /> ·{" "}
                                <TimeLeft until={credential.expire_at} />
                            </Text>
                            <Button
                                size="xs"
                                variant="subtle"
                                color="red"
                                onClick={() => revoke(credential)}
                            >
                                {words.revoke}
                            </Button>
                        </Group>
                    ))}
                </div>
                {revoked !== null && (
                    <Confirm
                        title={words.revokeTitle}
                        action={words.revoke}
                        close={() => revoke(null)}
                        run={async () => {
                            await post(
                                `connections/${part(connection.name)}/credentials/${revoked.id}/revoke`,
                            );
                            await client.invalidateQueries({ queryKey: ["credentials"] });
                        }}
                    >
                        {words.revokeAbout}
                    </Confirm>
                )}
            </section>
        )
    );
}

function Test({ connection }: { connection: Connection }): ReactNode {
    const test = useMutation({
        mutationFn: () => get<{ latency_ms: number }>(`connections/${part(connection.name)}/test`),
    });
    return (
        <Stack gap="xs" align="flex-start">
            <Button
                variant="default"
                size="xs"
                loading={test.isPending}
                onClick={() => test.mutate()}
            >
                {words.test}
            </Button>
            {test.data !== undefined && (
                <Text size="sm" role="status">
                    {words.testGood(test.data.latency_ms)}
                </Text>
            )}
            {test.error !== null && <Problem error={test.error} />}
        </Stack>
    );
}

export function ConnectPanel({ name, close }: { name: string; close: () => void }): ReactNode {
    useFocusBack();
    const me = useMe();
    const connection = useQuery({
        queryKey: ["connection", name],
        queryFn: ({ signal }) => get<Connection>(`connections/${part(name)}`, {}, signal),
    });
    const controls = useControls(name, true);
    return (
        <Drawer
            opened
            onClose={close}
            size="lg"
            title={
                <Text fw={650} className="anywhere">
                    {name}
                </Text>
            }
        >
            {connection.error !== null && (
                <Problem
                    error={connection.error}
                    retry={() => {
                        void connection.refetch();
                    }}
                />
            )}
            {connection.isPending && <Waiting />}
            {connection.data !== undefined && (
                <Stack gap="lg" id="panel">
                    <Group gap={6}>
                        <Tag tone={connection.data.status === "online" ? "good" : "bad"}>
                            {connection.data.status}
                        </Tag>
                        <Tag>{kindName(connection.data.type, connection.data.subtype)}</Tag>
                        <Effects effects={effectsOf(connection.data, controls)} />
                    </Group>
                    <Asking connection={connection.data} />
                    <Yours connection={connection.data} />
                    <Group gap="xs">
                        {connection.data.access_mode_exec === "enabled" && (
                            <Button
                                component={Link}
                                href={`/sql/${part(name)}`}
                                variant="default"
                                size="xs"
                            >
                                {texts.query}
                            </Button>
                        )}
                        {controls?.terminal != null && (
                            <Button
                                component={Link}
                                href={`/terminal/${part(name)}`}
                                size="xs"
                                id="open-terminal"
                            >
                                {texts.terminal}
                            </Button>
                        )}
                        {me.is_admin && (
                            <Button
                                component={Link}
                                href={`/admin/connections?edit=${part(name)}`}
                                variant="default"
                                size="xs"
                            >
                                {words.edit}
                            </Button>
                        )}
                        {me.is_admin && <Test connection={connection.data} />}
                    </Group>
                </Stack>
            )}
        </Drawer>
    );
}
