/* SPDX-License-Identifier: MIT */
/* Sessions, newest first; the filters stand in the address. */
import { Button, Group, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode } from "react";
import { Link, useSearchParams } from "wouter";

import { useMe } from "../../app/me";
import { get } from "../../shared/api/client";
import type { Session, SessionList } from "../../shared/api/types";
import { Empty, PageHead, Problem, Tag, Waiting, When } from "../../shared/parts";
import { count, duration } from "../../shared/words";
import { texts } from "./texts";

const PAGE_SIZE = 50;
const OFFSET_MAX = 10_000; /* the API passes over no more */
const FILTERS = ["connection", "user", "start_date", "end_date"] as const;
type Filter = (typeof FILTERS)[number];

function Line({ session }: { session: Session }): ReactNode {
    const end = session.end_date === null ? Date.now() : Date.parse(session.end_date);
    return (
        <Link
            href={`/sessions/${session.id}`}
            className="plain-link row-link session-line"
            data-session={session.id}
        >
            <span className="session-who">
                <Text span fw={600} className="anywhere">
                    {session.user || session.user_name}
                </Text>
                {session.identity_type === "machine" && <Tag>{texts.machine}</Tag>}
            </span>
            <span className="anywhere">{session.connection}</span>
            <Text span size="sm" c="dimmed">
                {session.verb === "exec" ? texts.exec : session.application_name || texts.connect}
            </Text>
            <Group gap={6}>
                {session.status === "open" && <Tag tone="good">{texts.open}</Tag>}
                {session.guardrails_count > 0 && (
                    <Tag tone="warn">{texts.hits(session.guardrails_count)}</Tag>
                )}
            </Group>
            <Text span size="sm" c="dimmed" className="session-when">
                <When at={session.start_date} /> ·{" "}
                {duration(Math.max(0, end - Date.parse(session.start_date)))}
            </Text>
        </Link>
    );
}

/* What a field of a browser says is in the reader's zone. */
function zoned(local: string | null): string | undefined {
    return local === null || local === "" || Number.isNaN(Date.parse(local))
        ? undefined
        : new Date(local).toISOString();
}

export default function SessionsPage(): ReactNode {
    const me = useMe();
    const [query, setQuery] = useSearchParams();
    const offset = Math.min(Number(query.get("offset") ?? 0) || 0, OFFSET_MAX);
    const set = useDebouncedCallback(
        (name: string, value: string) =>
            setQuery(
                (before) => {
                    before.delete("offset");
                    before.delete(name);
                    if (value !== "") {
                        before.set(name, value);
                    }
                    return before;
                },
                { replace: true },
            ),
        300,
    );
    const asked = {
        connection: query.get("connection") ?? undefined,
        user: query.get("user") ?? undefined,
        start_date: zoned(query.get("start_date")),
        end_date: zoned(query.get("end_date")),
    };
    const list = useQuery({
        queryKey: ["sessions", asked, offset],
        queryFn: ({ signal }) =>
            get<SessionList>("sessions", { ...asked, limit: PAGE_SIZE, offset }, signal),
        placeholderData: keepPreviousData,
        refetchInterval: 5000,
    });
    const isFiltered = FILTERS.some((name) => query.has(name));
    const field = (name: Filter, label: string, type: string): ReactNode => (
        <TextInput
            key={`${name}${isFiltered}`}
            label={label}
            type={type}
            size="sm"
            defaultValue={query.get(name) ?? ""}
            onChange={(event) => set(name, event.currentTarget.value)}
            flex="1 1 10rem"
        />
    );
    const turn = (to: number): void =>
        setQuery((before) => {
            before.set("offset", String(to));
            return before;
        });
    const seesAll = me.is_admin || me.role === "auditor";
    return (
        <>
            <PageHead title={texts.title} about={seesAll ? texts.about : texts.aboutMember} />
            <Group align="flex-end" mb="md" gap="sm">
                {field("connection", texts.connection, "search")}
                {seesAll && field("user", texts.user, "search")}
                {field("start_date", texts.from, "datetime-local")}
                {field("end_date", texts.until, "datetime-local")}
                {isFiltered && (
                    <Button variant="default" onClick={() => setQuery({})}>
                        {texts.clear}
                    </Button>
                )}
            </Group>
            {list.error !== null && (
                <Problem
                    error={list.error}
                    retry={() => {
                        void list.refetch();
                    }}
                />
            )}
            {list.isPending && <Waiting />}
            {list.data?.data.length === 0 && (
                <Empty title={texts.noneTitle}>
                    {isFiltered ? texts.noneFiltered : texts.none}
                </Empty>
            )}
            {list.data !== undefined && list.data.data.length > 0 && (
                <>
                    <div className="card rows" id="sessions">
                        {list.data.data.map((session) => (
                            <Line key={session.id} session={session} />
                        ))}
                    </div>
                    <Group justify="space-between" mt="md">
                        <Text size="sm" c="dimmed">
                            {texts.total(
                                count(list.data.total, "session"),
                                list.data.total_is_capped,
                            )}
                        </Text>
                        <Group gap="xs">
                            <Button
                                variant="default"
                                disabled={offset === 0}
                                onClick={() => turn(Math.max(0, offset - PAGE_SIZE))}
                            >
                                {texts.newer}
                            </Button>
                            <Button
                                variant="default"
                                disabled={!list.data.has_next_page || offset >= OFFSET_MAX}
                                onClick={() => turn(offset + PAGE_SIZE)}
                            >
                                {texts.older}
                            </Button>
                        </Group>
                    </Group>
                </>
            )}
        </>
    );
}
