/* SPDX-License-Identifier: MIT */
/* The audit log, newest first; the filters stand in the address. */
import type { AuditEntry as Entry } from "../../shared/api/schema";
import { Button, Code, Group, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useSearchParams } from "wouter";

import { address, get } from "../../shared/api/client";
import type { Page } from "../../shared/api/types";
import { Icon } from "../../shared/icons";
import { Empty, PageHead, Problem, Tag, Waiting, When } from "../../shared/parts";
import { texts } from "./texts";

const words = texts.audit;
const PAGE_SIZE = 50;

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
                        {entry.action} {entry.resource_type}
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

export function AuditPage(): ReactNode {
    const [query, setQuery] = useSearchParams();
    const page = Math.max(1, Number(query.get("page") ?? 1) || 1);
    const set = useDebouncedCallback(
        (name: string, value: string) =>
            setQuery(
                (before) => {
                    before.delete("page");
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
        actor_email: query.get("actor_email") ?? undefined,
        action: query.get("action") ?? undefined,
        resource_type: query.get("resource_type") ?? undefined,
    };
    const list = useQuery({
        queryKey: ["audit", asked, page],
        queryFn: ({ signal }) =>
            get<Page<Entry>>("audit/logs", { ...asked, page, page_size: PAGE_SIZE }, signal),
        placeholderData: keepPreviousData,
    });
    const total = list.data?.pages.total ?? 0;
    const turn = (to: number): void =>
        setQuery((before) => {
            before.set("page", String(to));
            return before;
        });
    const field = (name: keyof typeof asked, label: string): ReactNode => (
        <TextInput
            label={label}
            type="search"
            flex="1 1 10rem"
            defaultValue={query.get(name) ?? ""}
            onChange={(event) => set(name, event.currentTarget.value)}
        />
    );
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
            <Group mb="md" gap="sm">
                {field("actor_email", words.actor)}
                {field("action", words.action)}
                {field("resource_type", words.kind)}
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
            {list.data?.data.length === 0 && <Empty title={words.none} />}
            <div className="card rows" hidden={total === 0} id="audit">
                {(list.data?.data ?? []).map((entry) => (
                    <Line key={entry.id} entry={entry} />
                ))}
            </div>
            <Group justify="space-between" mt="md">
                <Text size="sm" c="dimmed">
                    {words.entries(total.toLocaleString())}
                </Text>
                <Group gap="xs">
                    <Button variant="default" disabled={page === 1} onClick={() => turn(page - 1)}>
                        {words.newer}
                    </Button>
                    <Button
                        variant="default"
                        disabled={page * PAGE_SIZE >= total}
                        onClick={() => turn(page + 1)}
                    >
                        {words.older}
                    </Button>
                </Group>
            </Group>
        </>
    );
}
