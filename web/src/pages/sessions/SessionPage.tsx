/* SPDX-License-Identifier: MIT */
/* One session: who, what was done statement by statement, and its record to take away. */
import {
    ActionIcon,
    Button,
    Checkbox,
    Group,
    Menu,
    Stack,
    Text,
    TextInput,
    Title,
    Tooltip,
} from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";

import { useMe } from "../../app/me";
import { address, ApiError, get, post } from "../../shared/api/client";
import type { Session } from "../../shared/api/types";
import { Grid } from "../../shared/grid/Grid";
import { Icon } from "../../shared/icons";
import {
    Confirm,
    CopyButton,
    Empty,
    PageHead,
    Problem,
    Tag,
    Waiting,
    When,
} from "../../shared/parts";
import { SqlText } from "../../shared/SqlText";
import { bytes, count, duration, time } from "../../shared/words";
import { Proof } from "./Proof";
import { texts } from "./texts";
import { type Entry, ROWS_KEPT, timelineOf } from "./timeline";
import "./sessions.css";

const Player = lazy(() => import("./Player"));

const READ_MAX = 4 * 1024 * 1024;
const REFRESH_MS = 3000;
const READ_AGAIN_MS = 10_000; /* each time is an entry in the audit log */

interface Lines {
    entries: Entry[];
    isCut: boolean;
    isTerminal: boolean;
}

function linesOf(text: string, isCut: boolean): Lines {
    return { entries: timelineOf(text), isCut, isTerminal: text.includes('"type":"terminal"') };
}

/* The first megabytes: a recording can be larger than a page should be. */
async function readLines(
    id: string,
    signal: AbortSignal,
): Promise<Lines> {
    const response = await fetch(address(`sessions/${id}/download`, { extension: "jsonl" }), {
        signal,
        cache: "no-store",
        credentials: "same-origin",
    });
    if (!response.ok || response.body === null) {
        const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
        throw new ApiError(response.status, answer);
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
        const { done, value } = await reader.read();
        if (done) {
            return linesOf(text, false);
        }
        text += value;
        if (text.length > READ_MAX) {
            await reader.cancel();
            return linesOf(text, true);
        }
    }
}

function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
    return (
        <div>
            <dt>{name}</dt>
            <dd className="anywhere">{children}</dd>
        </div>
    );
}

function Facts({ session }: { session: Session }): ReactNode {
    const words = texts.facts;
    const metadata = Object.entries(session.metadata ?? {});
    const lasted =
        (session.end_date === null ? Date.now() : Date.parse(session.end_date)) -
        Date.parse(session.start_date);
    return (
        <dl className="card facts">
            <Fact name={words.who}>
                {session.user_name || session.user}{" "}
                {session.user !== "" && session.user_name !== "" && `(${session.user})`}
            </Fact>
            <Fact name={words.verb}>
                {session.verb === "exec" ? texts.exec : session.application_name || texts.connect}
            </Fact>
            <Fact name={words.from}>{session.client_ip}</Fact>
            <Fact name={words.began}>
                <When at={session.start_date} />
            </Fact>
            <Fact name={words.lasted}>{duration(Math.max(0, lasted))}</Fact>
            <Fact name={words.traffic}>
                {bytes(session.bytes_in)} in, {bytes(session.bytes_out)} out
            </Fact>
            {session.end_reason !== "" && <Fact name={words.ended}>{session.end_reason}</Fact>}
            {metadata.length > 0 && (
                <Fact name={words.metadata}>
                    {metadata.map(([name, value]) => `${name}: ${value}`).join(", ")}
                </Fact>
            )}
        </dl>
    );
}

function EntryLine({
    entry,
    number,
    isMasked,
    subtype,
    guard,
}: {
    entry: Entry;
    number: number;
    isMasked: boolean;
    subtype: string;
    guard: ((statement: string) => void) | null; /* who may, makes a guard rail of it */
}): ReactNode {
    const [isOpen, setOpen] = useState(false);
    const place = useRef<HTMLLIElement>(null);
    const isAsked = location.hash === `#${entry.key}`;
    useEffect(() => {
        if (isAsked) {
            place.current?.scrollIntoView({ block: "center" });
        }
    }, [isAsked]);
    const tone =
        entry.rule?.action === "block" ? "stopped" : entry.error !== null ? "failed" : "fine";
    return (
        <li
            className="entry"
            id={entry.key}
            ref={place}
            data-tone={tone}
            {...(isAsked && { "aria-current": "true" as const })}
        >
            <Group gap="xs" mb={4}>
                <Text size="xs" c="dimmed">
                    <time dateTime={entry.at} title={`${entry.at} UTC`}>
                        {time(entry.at)}
                    </time>
                </Text>
                {entry.milliseconds !== null && (
                    <Text size="xs" c="dimmed">
                        {duration(entry.milliseconds)}
                    </Text>
                )}
                {entry.rule !== null && (
                    <Tag tone="warn">{`${entry.rule.action === "block" ? texts.stopped : texts.noticed}: ${entry.rule.name}`}</Tag>
                )}
                {entry.error !== null && entry.rule?.action !== "block" && (
                    <Tag tone="bad">{texts.failed}</Tag>
                )}
                {entry.columns.length > 0 && (
                    <Button
                        size="compact-xs"
                        variant="subtle"
                        aria-expanded={isOpen}
                        onClick={() => setOpen(!isOpen)}
                    >
                        {count(entry.rowCount, "row")}
                    </Button>
                )}
                {entry.columns.length === 0 && entry.tag !== "" && <Tag>{entry.tag}</Tag>}
                <Group gap={0} ml="auto" wrap="nowrap">
                    <CopyButton text={entry.text} label={texts.copy(number)} />
                    <CopyButton
                        text={new URL(`#${entry.key}`, location.href).href}
                        label={texts.link(number)}
                        icon="link"
                    />
                    {guard !== null && (
                        <Tooltip label={texts.guard(number)}>
                            <ActionIcon
                                variant="subtle"
                                aria-label={texts.guard(number)}
                                onClick={() => guard(entry.text)}
                            >
                                <Icon name="shield" />
                            </ActionIcon>
                        </Tooltip>
                    )}
                </Group>
            </Group>
            <SqlText className="entry-text" text={entry.text} subtype={subtype} />
            {entry.error !== null && (
                <Text size="sm" mt={4} className="anywhere">
                    {entry.error.message}
                </Text>
            )}
            {isOpen && (
                <Stack gap={4} mt="xs">
                    <div className="entry-grid">
                        <Grid
                            label={`${texts.rows} ${number}`}
                            columns={entry.columns}
                            rows={entry.rows}
                            isMasked={isMasked}
                        />
                    </div>
                    {entry.rowCount > ROWS_KEPT && (
                        <Text size="xs" c="dimmed">
                            {texts.shown(entry.rows.length, entry.rowCount)}
                        </Text>
                    )}
                </Stack>
            )}
        </li>
    );
}

function Timeline({ session }: { session: Session }): ReactNode {
    const me = useMe();
    const [, go] = useLocation();
    const { connection, connection_subtype: dialect } = session;
    const guard = (statement: string): void =>
        go("/admin/guardrails?new", { state: { statement, dialect, connection } });
    const [text, setText] = useState("");
    const [isBadOnly, setBadOnly] = useState(false);
    const lines = useQuery({
        queryKey: ["timeline", session.id, session.status],
        queryFn: ({ signal }) => readLines(session.id, signal),
        refetchInterval: session.status === "open" ? READ_AGAIN_MS : false,
        enabled: session.recording_removed_at === null,
    });
    const words = text.trim().toLowerCase();
    const shown = (lines.data?.entries ?? []).filter(
        (entry) =>
            entry.text.toLowerCase().includes(words) &&
            (!isBadOnly || entry.error !== null || entry.rule !== null),
    );
    if (lines.data?.isTerminal === true) {
        return (
            <Suspense fallback={<Waiting />}>
                <Player session={session} />
            </Suspense>
        );
    }
    return (
        <section aria-label={texts.timeline}>
            <Group justify="space-between" mb="sm" align="flex-end">
                <Title order={2} size="h4">
                    {texts.timeline}
                </Title>
                <Group gap="sm">
                    <Checkbox
                        size="sm"
                        label={texts.onlyErrors}
                        checked={isBadOnly}
                        onChange={(event) => setBadOnly(event.currentTarget.checked)}
                    />
                    <TextInput
                        size="xs"
                        type="search"
                        placeholder={texts.find}
                        aria-label={texts.find}
                        value={text}
                        onChange={(event) => setText(event.currentTarget.value)}
                    />
                </Group>
            </Group>
            {lines.error !== null && (
                <Problem
                    error={lines.error}
                    retry={() => {
                        void lines.refetch();
                    }}
                />
            )}
            {lines.isLoading && <Waiting lines={2} />}
            {lines.data?.isCut === true && (
                <Text size="sm" mb="sm">
                    {texts.cut}
                </Text>
            )}
            {lines.data !== undefined && shown.length === 0 && <Empty title={texts.timelineNone} />}
            <ol className="timeline" id="timeline">
                {shown.map((entry, index) => (
                    <EntryLine
                        key={entry.key}
                        entry={entry}
                        number={index + 1}
                        isMasked={(session.metrics?.data_masking?.total_redact_count ?? 0) > 0}
                        subtype={session.connection_subtype}
                        guard={me.is_admin ? guard : null}
                    />
                ))}
            </ol>
        </section>
    );
}

export default function SessionPage({ id }: { id: string }): ReactNode {
    const client = useQueryClient();
    const [isKilling, setKilling] = useState(false);
    const session = useQuery({
        queryKey: ["session", id],
        queryFn: ({ signal }) => get<Session>(`sessions/${encodeURIComponent(id)}`, {}, signal),
        refetchInterval: (query) => (query.state.data?.status === "open" ? REFRESH_MS : false),
    });
    if (session.error !== null) {
        return (
            <Problem
                error={session.error}
                retry={() => {
                    void session.refetch();
                }}
            />
        );
    }
    if (session.data === undefined) {
        return <Waiting />;
    }
    const { data } = session;
    return (
        <>
            <PageHead
                title={texts.session(data.connection)}
                about={`${data.resource_name} · ${time(data.start_date)}`}
            >
                {data.status === "open" && <Tag tone="good">{texts.open}</Tag>}
                <Proof session={data} />
                {data.status === "open" && (
                    <Button
                        color="red"
                        variant="light"
                        size="sm"
                        id="kill"
                        onClick={() => setKilling(true)}
                    >
                        {texts.kill}
                    </Button>
                )}
                <Menu position="bottom-end">
                    <Menu.Target>
                        <Button
                            variant="default"
                            size="sm"
                            leftSection={<Icon name="down" />}
                            disabled={data.recording_removed_at !== null}
                        >
                            {texts.record}
                        </Button>
                    </Menu.Target>
                    <Menu.Dropdown>
                        {Object.entries(texts.forms).map(([extension, word]) => (
                            <Menu.Item
                                key={extension}
                                component="a"
                                href={address(`sessions/${id}/download`, { extension }).href}
                                download
                            >
                                {word}
                            </Menu.Item>
                        ))}
                        <Menu.Divider />
                        <Menu.Item
                            component="a"
                            href={address(`sessions/${id}/verify`).href}
                            download={`proof-${id}.json`}
                        >
                            {texts.proof}
                        </Menu.Item>
                    </Menu.Dropdown>
                </Menu>
            </PageHead>
            <Stack gap="lg" id="session">
                <Facts session={data} />
                <Timeline session={data} />
            </Stack>
            {isKilling && (
                <Confirm
                    title={texts.killTitle}
                    action={texts.kill}
                    name={data.connection}
                    close={() => setKilling(false)}
                    run={async () => {
                        await post(`sessions/${id}/kill`);
                        await client.invalidateQueries({ queryKey: ["session", id] });
                    }}
                >
                    {texts.killAbout}
                </Confirm>
            )}
        </>
    );
}
