/* SPDX-License-Identifier: MIT */
/* The audit log, newest first; the filters stand in the address, the list goes on by a cursor. */
import type { AuditEntry as Entry } from "../../shared/api/schema";
import { Button, Code, Group, NativeSelect, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useSearchParams } from "wouter";

import { address, get } from "../../shared/api/client";
import type { Page } from "../../shared/api/types";
import { Icon } from "../../shared/icons";
import { Empty, Filters, PageHead, Problem, Tag, Waiting, When } from "../../shared/parts";
import { AuditChain } from "./AuditChain";
import { texts } from "./texts";

const words = texts.audit;
const PAGE_SIZE = 50;

interface AuditList extends Page<Entry> {
    next_cursor: string | null;
    total_is_capped: boolean;
    looked_back_to: string | null;
}

/* "create saved_queries" in words, as far as there are some. */
function doneOf({ action, resource_type: kind }: Entry): string {
    const one = `${words.actions[action] ?? action.replaceAll("_", " ")}`;
    return action === kind ? one : `${one} · ${words.kinds[kind] ?? kind.replaceAll("_", " ")}`;
}

/* The name of what it was done to, where the entry has one. */
function nameOf({ request_payload_redacted: payload }: Entry): string {
    const told = (payload ?? {}) as Record<string, unknown>;
    const name = ["name", "connection", "email", "subject"]
        .map((member) => told[member])
        .find((value) => typeof value === "string" && value !== "");
    return typeof name === "string" ? name : "";
}

function textOf(entry: Entry): string {
    return [
        `${entry.number}  ${entry.hash}`,
        `${entry.http_method} ${entry.http_path}`.trim(),
        entry.error_message,
        JSON.stringify(entry.request_payload_redacted, null, 2),
    ]
        .filter((line) => line !== "")
        .join("\n");
}

function Line({ entry }: { entry: Entry }): ReactNode {
    return (
        <details className="audit-entry">
            <summary className="admin-line">
                <span>
                    <Text span fw={600} className="anywhere">
                        {doneOf(entry)}
                    </Text>{" "}
                    <Text span className="anywhere">
                        {nameOf(entry)}
                    </Text>{" "}
                    <Text span size="sm" c="dimmed" className="anywhere">
                        {entry.actor_email || entry.actor_name}
                    </Text>
                </span>
                {!entry.outcome && <Tag tone="bad">{words.refused}</Tag>}
                <Text span size="sm" c="dimmed">
                    <When at={entry.created_at} />
                </Text>
            </summary>
            <Code block mx="md" mb="sm" tabIndex={0} className="audit-text">
                {textOf(entry)}
            </Code>
        </details>
    );
}

/* What a field of a browser says is in the reader's zone. */
function zoned(local: string | null): string | undefined {
    return local === null || local === "" || Number.isNaN(Date.parse(local))
        ? undefined
        : new Date(local).toISOString();
}

const FILTERS = [
    "actor",
    "action",
    "resource_type",
    "http_path",
    "outcome",
    "created_after",
    "created_before",
] as const;
type Filter = (typeof FILTERS)[number];

function AuditFilters(): ReactNode {
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
            flex="1 1 10rem"
            defaultValue={query.get(name) ?? ""}
            onChange={(event) => putLater(name, event.currentTarget.value)}
        />
    );
    const choice = (name: Filter, label: string, all: Record<string, string>): ReactNode => {
        const value = query.get(name) ?? "";
        const known = Object.entries(all).sort(([, a], [, b]) => a.localeCompare(b));
        return (
            <NativeSelect
                label={label}
                flex="1 1 9rem"
                value={value}
                data={[
                    { value: "", label: words.any },
                    ...(value === "" || value in all ? [] : [{ value, label: value }]),
                    ...known.map(([key, word]) => ({ value: key, label: word })),
                ]}
                onChange={(event) => put(name, event.currentTarget.value)}
            />
        );
    };
    return (
        <Filters first={field("actor", words.actor)}>
            {choice("action", words.action, words.actions)}
            {choice("resource_type", words.kind, words.kinds)}
            {field("http_path", words.object)}
            <NativeSelect
                label={words.outcome}
                flex="1 1 8rem"
                value={query.get("outcome") ?? ""}
                data={words.outcomes.map(([value, label]) => ({ value, label }))}
                onChange={(event) => put("outcome", event.currentTarget.value)}
            />
            {field("created_after", words.from, "datetime-local")}
            {field("created_before", words.until, "datetime-local")}
            {isFiltered && (
                <Button variant="default" onClick={() => setQuery({})}>
                    {words.clear}
                </Button>
            )}
        </Filters>
    );
}

export function AuditPage(): ReactNode {
    const [query, setQuery] = useSearchParams();
    const asked = {
        actor: query.get("actor") ?? undefined,
        action: query.get("action") ?? undefined,
        resource_type: query.get("resource_type") ?? undefined,
        http_path: query.get("http_path") ?? undefined,
        outcome: query.get("outcome") ?? undefined,
        created_after: zoned(query.get("created_after")),
        created_before: zoned(query.get("created_before")),
    };
    const list = useInfiniteQuery({
        queryKey: ["audit", asked],
        queryFn: ({ pageParam, signal }) =>
            get<AuditList>(
                "audit/logs",
                { ...asked, page_size: PAGE_SIZE, cursor: pageParam },
                signal,
            ),
        initialPageParam: "",
        getNextPageParam: (last) => last.next_cursor ?? undefined,
    });
    const pages = list.data?.pages ?? [];
    const entries = pages.flatMap((page) => page.data);
    const lookedTo = pages.at(-1)?.looked_back_to ?? null;
    return (
        <>
            <PageHead title={words.title} about={words.about}>
                <Button
                    component="a"
                    variant="default"
                    href={address("audit/logs/export").href}
                    download="audit.jsonl"
                    leftSection={<Icon name="down" />}
                >
                    {words.export}
                </Button>
            </PageHead>
            <AuditChain />
            <AuditFilters />
            {list.error !== null && (
                <Problem
                    error={list.error}
                    retry={() => {
                        void list.refetch();
                    }}
                />
            )}
            {list.isPending && <Waiting />}
            {list.data !== undefined && entries.length === 0 && !list.hasNextPage && (
                <Empty
                    title={words.none}
                    action={
                        <Button variant="default" onClick={() => setQuery({})}>
                            {words.clear}
                        </Button>
                    }
                />
            )}
            <div className="card rows" hidden={entries.length === 0} id="audit">
                {entries.map((entry) => (
                    <Line key={entry.id} entry={entry} />
                ))}
            </div>
            {pages[0] !== undefined && (entries.length > 0 || list.hasNextPage) && (
                <Group justify="space-between" mt="md">
                    <Text size="sm" c="dimmed" role="status">
                        {lookedTo === null ? (
                            words.entries(
                                pages[0].pages.total.toLocaleString(),
                                pages[0].total_is_capped,
                            )
                        ) : (
                            <>
                                {words.lookedTo} <When at={lookedTo} />
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
                            {lookedTo === null ? words.older : words.lookOn}
                        </Button>
                    )}
                </Group>
            )}
        </>
    );
}
