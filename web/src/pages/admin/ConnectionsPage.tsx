/* SPDX-License-Identifier: MIT */
/* All connections: add one, test one, change one, take one away. */
import { Button, Group, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useSearchParams } from "wouter";

import { get, part, remove } from "../../shared/api/client";
import type { Connection, Page } from "../../shared/api/types";
import { Icon } from "../../shared/icons";
import { ClearSearch, Confirm, Empty, PageHead, Problem, Tag, Waiting } from "../../shared/parts";
import { count, kindName } from "../../shared/words";
import { AddDatabase } from "./AddDatabase";
import { ConnectionEditor } from "./connection/ConnectionEditor";
import { texts } from "./texts";

const words = texts.connections;

function Line({ connection, gone }: { connection: Connection; gone: () => void }): ReactNode {
    const test = useMutation({
        mutationFn: () => get<{ latency_ms: number }>(`connections/${part(connection.name)}/test`),
    });
    return (
        <div data-connection={connection.name}>
            <div className="admin-line">
                <div>
                    <Link
                        href={`/connect/${part(connection.name)}`}
                        className="plain-link anywhere"
                    >
                        <Text span fw={600}>
                            {connection.name}
                        </Text>
                    </Link>
                    <Text size="sm" c="dimmed" className="anywhere">
                        {kindName(connection.type, connection.subtype)} of{" "}
                        {connection.resource_name}
                    </Text>
                </div>
                <Tag tone={connection.status === "online" ? "good" : "bad"}>
                    {connection.status}
                </Tag>
                {test.data !== undefined && (
                    <Text size="sm" role="status">
                        {words.good(test.data.latency_ms)}
                    </Text>
                )}
                <Group gap="xs">
                    <Button
                        size="xs"
                        variant="default"
                        loading={test.isPending}
                        onClick={() => test.mutate()}
                        aria-label={`${words.test} ${connection.name}`}
                    >
                        {words.test}
                    </Button>
                    <Button
                        component={Link}
                        href={`/admin/connections?edit=${part(connection.name)}`}
                        size="xs"
                        variant="default"
                        aria-label={`${words.edit} ${connection.name}`}
                    >
                        {words.edit}
                    </Button>
                    <Button
                        size="xs"
                        variant="subtle"
                        color="red"
                        onClick={gone}
                        aria-label={`${words.remove} ${connection.name}`}
                    >
                        {words.remove}
                    </Button>
                </Group>
            </div>
            {test.error !== null && <Problem error={test.error} />}
        </div>
    );
}

export function ConnectionsPage(): ReactNode {
    const [query] = useSearchParams();
    const edited = query.get("edit");
    return edited === null ? (
        <ConnectionsList />
    ) : (
        <ConnectionEditor key={edited} name={edited} />
    );
}

function ConnectionsList(): ReactNode {
    const client = useQueryClient();
    const [query, setQuery] = useSearchParams();
    const [text, setText] = useState("");
    const [search] = useDebouncedValue(text.trim(), 200);
    const [page, setPage] = useState(1);
    const [going, setGoing] = useState<Connection | null>(null);
    const list = useQuery({
        queryKey: ["connections", "admin", search, page],
        queryFn: ({ signal }) =>
            get<Page<Connection>>("connections", { search, page, page_size: 50 }, signal),
        placeholderData: keepPreviousData,
    });
    const total = list.data?.pages.total ?? 0;
    const add = (
        <Button leftSection={<Icon name="plus" />} onClick={() => setQuery({ new: "" })}>
            {words.add}
        </Button>
    );
    return (
        <>
            <PageHead title={words.title} about={words.about}>
                {add}
            </PageHead>
            <TextInput
                mb="md"
                type="search"
                aria-label="Find"
                placeholder="Find"
                value={text}
                onChange={(event) => {
                    setText(event.currentTarget.value);
                    setPage(1);
                }}
            />
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
                <Empty
                    title={search === "" ? words.none : words.noneFound}
                    action={search === "" ? add : <ClearSearch run={() => setText("")} />}
                >
                    {search === "" && words.noneAbout}
                </Empty>
            )}
            <div className="card rows" hidden={total === 0}>
                {(list.data?.data ?? []).map((connection) => (
                    <Line
                        key={connection.id}
                        connection={connection}
                        gone={() => setGoing(connection)}
                    />
                ))}
            </div>
            <Group justify="space-between" mt="md">
                <Text size="sm" c="dimmed">
                    {count(total, "connection")}
                </Text>
                {total > 50 && (
                    <Group gap="xs">
                        <Button
                            variant="default"
                            disabled={page === 1}
                            onClick={() => setPage(page - 1)}
                        >
                            Before
                        </Button>
                        <Button
                            variant="default"
                            disabled={page * 50 >= total}
                            onClick={() => setPage(page + 1)}
                        >
                            After
                        </Button>
                    </Group>
                )}
            </Group>
            {query.has("new") && <AddDatabase close={() => setQuery({})} />}
            {going !== null && (
                <Confirm
                    title={words.removeTitle(going.name)}
                    action={words.remove}
                    name={going.name}
                    close={() => setGoing(null)}
                    run={async () => {
                        await remove(`connections/${part(going.name)}`);
                        await client.invalidateQueries({ queryKey: ["connections"] });
                    }}
                >
                    {words.removeAbout}
                </Confirm>
            )}
        </>
    );
}
