/* SPDX-License-Identifier: MIT */
/* Sessions, newest first; the filters stand in the address, the list goes on by a cursor. */
import { Button, Group, NativeSelect, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode } from "react";
import { Link, useSearchParams } from "wouter";

import { useMe } from "../../app/me";
import { get } from "../../shared/api/client";
import type { Session, SessionList } from "../../shared/api/types";
import { Empty, Filters, PageHead, Problem, Tag, Waiting, When } from "../../shared/parts";
import { count, duration } from "../../shared/words";
import { texts } from "./texts";

const PAGE_SIZE = 50;
const FILTERS = [
    "search",
    "connection",
    "user",
    "status",
    "subtype",
    "has_hit",
    "rule",
    "start_date",
    "end_date",
] as const;
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

/* What the address asks for, as the API takes it. */
function askedOf(query: URLSearchParams): Record<string, string | undefined> {
    return {
        connection: query.get("connection") ?? undefined,
        user: query.get("user") ?? undefined,
        subtype: query.get("subtype") ?? undefined,
        status: query.get("status") ?? undefined,
        rule: query.get("rule") ?? undefined,
        has_hit: query.get("has_hit") ?? undefined,
        search: query.get("search") ?? undefined,
        start_date: zoned(query.get("start_date")),
        end_date: zoned(query.get("end_date")),
    };
}

function SessionFilters({ seesAll }: { seesAll: boolean }): ReactNode {
    const [query, setQuery] = useSearchParams();
    const isFiltered = FILTERS.some((name) => query.has(name));
    const put = (name: string, value: string): void =>
        setQuery(
            (before) => {
                before.delete(name);
                if (value !== "") {
                    before.set(name, value);
                }
                return before;
            },
            { replace: true },
        );
    const putLater = useDebouncedCallback(put, 300);
    const field = (name: Filter, label: string, type = "search"): ReactNode => (
        <TextInput
            key={`${name}${isFiltered}`}
            label={label}
            type={type}
            size="sm"
            defaultValue={query.get(name) ?? ""}
            onChange={(event) => putLater(name, event.currentTarget.value)}
            flex="1 1 10rem"
        />
    );
    const choice = (name: Filter, label: string, choices: [string, string][]): ReactNode => (
        <NativeSelect
            label={label}
            size="sm"
            flex="1 1 8rem"
            value={query.get(name) ?? ""}
            data={choices.map(([value, text]) => ({ value, label: text }))}
            onChange={(event) => put(name, event.currentTarget.value)}
        />
    );
    return (
        <Filters first={field("search", texts.search)}>
            {field("connection", texts.connection)}
            {seesAll && field("user", texts.user)}
            {choice("status", texts.status, texts.statuses)}
            {choice("subtype", texts.protocol, texts.protocols)}
            {choice("has_hit", texts.met, texts.metChoices)}
            {field("rule", texts.rule)}
            {field("start_date", texts.from, "datetime-local")}
            {field("end_date", texts.until, "datetime-local")}
            {isFiltered && (
                <Button variant="default" onClick={() => setQuery({})}>
                    {texts.clear}
                </Button>
            )}
        </Filters>
    );
}

export default function SessionsPage(): ReactNode {
    const me = useMe();
    const [query, setQuery] = useSearchParams();
    const asked = askedOf(query);
    const isFiltered = FILTERS.some((name) => query.has(name));
    const list = useInfiniteQuery({
        queryKey: ["sessions", asked],
        queryFn: ({ pageParam, signal }) =>
            get<SessionList>(
                "sessions",
                { ...asked, limit: PAGE_SIZE, cursor: pageParam },
                signal,
            ),
        initialPageParam: "",
        getNextPageParam: (last) => last.next_cursor ?? undefined,
        refetchInterval: (found) => ((found.state.data?.pages.length ?? 1) > 1 ? false : 5000),
    });
    const pages = list.data?.pages ?? [];
    const sessions = pages.flatMap((page) => page.data);
    const lookedTo = pages.at(-1)?.looked_back_to ?? null;
    const seesAll = me.is_admin || me.role === "auditor";
    return (
        <>
            <PageHead title={texts.title} about={seesAll ? texts.about : texts.aboutMember} />
            <SessionFilters seesAll={seesAll} />
            {list.error !== null && (
                <Problem
                    error={list.error}
                    retry={() => {
                        void list.refetch();
                    }}
                />
            )}
            {list.isPending && <Waiting />}
            {list.data !== undefined && sessions.length === 0 && !list.hasNextPage && (
                <Empty
                    title={texts.noneTitle}
                    action={
                        isFiltered ? (
                            <Button variant="default" onClick={() => setQuery({})}>
                                {texts.clearAll}
                            </Button>
                        ) : (
                            <Button component={Link} href="/">
                                {texts.begin}
                            </Button>
                        )
                    }
                >
                    {isFiltered ? texts.noneFiltered : texts.none}
                </Empty>
            )}
            <div className="card rows" id="sessions" hidden={sessions.length === 0}>
                {sessions.map((session) => (
                    <Line key={session.id} session={session} />
                ))}
            </div>
            {pages[0] !== undefined && (sessions.length > 0 || list.hasNextPage) && (
                <Group justify="space-between" mt="md">
                    <Text size="sm" c="dimmed" role="status">
                        {lookedTo === null ? (
                            texts.total(count(pages[0].total, "session"), pages[0].total_is_capped)
                        ) : (
                            <>
                                {texts.lookedTo} <When at={lookedTo} />
                            </>
                        )}
                    </Text>
                    {list.hasNextPage && (
                        <Button
                            variant="default"
                            loading={list.isFetchingNextPage}
                            onClick={() => {
                                void list.fetchNextPage();
                            }}
                        >
                            {lookedTo === null ? texts.older : texts.lookOn}
                        </Button>
                    )}
                </Group>
            )}
        </>
    );
}
