/* SPDX-License-Identifier: MIT */
/* Queries with a name: one's own, and those that others share with all who may use the connection.
 * ?query=ID in the address opens one. */
import { Button, Code, Drawer, Group, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useSearchParams } from "wouter";

import { useMe } from "../../app/me";
import { get, part, post, put, remove, root } from "../../shared/api/client";
import type { SavedQuery } from "../../shared/api/schema";
import type { Page } from "../../shared/api/types";
import { Icon } from "../../shared/icons";
import { Confirm, CopyButton, Empty, Problem, Tag, Waiting } from "../../shared/parts";
import { texts } from "./texts";

const KEY = "saved-queries";
const SHOWN = 100;

const words = texts.savedQueries;

function useSaved(connection: string, search: string, isOpen: boolean) {
    return useQuery({
        queryKey: [KEY, connection, search],
        queryFn: ({ signal }) =>
            get<Page<SavedQuery>>(KEY, { connection, search, page_size: SHOWN }, signal),
        placeholderData: keepPreviousData,
        enabled: isOpen,
    });
}

function bodyOf(query: SavedQuery, change: Partial<SavedQuery>): object {
    const { name, connection, script, is_shared } = { ...query, ...change };
    return { name, connection, script, is_shared };
}

/* One's own of this name, if there is one, is replaced. */
function SaveForm({ connection, script }: {
    connection: string;
    script: string;
}): ReactNode {
    const client = useQueryClient();
    const [name, setName] = useState("");
    const [isShared, setShared] = useState(false);
    const save = useMutation({
        mutationFn: async () => {
            const same = await get<Page<SavedQuery>>(KEY, { connection, search: name });
            const own = same.data.find((query) => query.is_own && query.name === name);
            const body = { name, connection, script, is_shared: isShared };
            return own === undefined ? post(KEY, body) : put(`${KEY}/${own.id}`, body);
        },
        onSuccess: () => {
            setName("");
            return client.invalidateQueries({ queryKey: [KEY] });
        },
    });
    return (
        <form
            id="save-query"
            className="card rule-card"
            onSubmit={(event) => {
                event.preventDefault();
                save.mutate();
            }}
        >
            <Stack gap="sm">
                <Code block className="saved-script" tabIndex={0} aria-label={words.text}>
                    {script.trim() === "" ? words.nothing : script}
                </Code>
                <TextInput
                    label={words.name}
                    required
                    maxLength={120}
                    autoComplete="off"
                    value={name}
                    onChange={(event) => setName(event.currentTarget.value)}
                />
                <Switch
                    label={words.share(connection)}
                    checked={isShared}
                    onChange={(event) => setShared(event.currentTarget.checked)}
                />
                {save.error !== null && <Problem error={save.error} />}
                <Group>
                    <Button type="submit" loading={save.isPending} disabled={script.trim() === ""}>
                        {words.save}
                    </Button>
                    {save.isSuccess && name === "" && (
                        <Text size="sm" role="status">
                            {words.isSaved}
                        </Text>
                    )}
                </Group>
            </Stack>
        </form>
    );
}

function Line({ query, take, drop }: {
    query: SavedQuery;
    take: () => void;
    drop: () => void;
}): ReactNode {
    const me = useMe();
    const client = useQueryClient();
    const share = useMutation({
        mutationFn: () =>
            put(`${KEY}/${query.id}`, bodyOf(query, { is_shared: !query.is_shared })),
        onSuccess: () => client.invalidateQueries({ queryKey: [KEY] }),
    });
    const link = new URL(`sql/${part(query.connection)}?query=${query.id}`, root).href;
    return (
        <li className="saved-line" data-query={query.name}>
            <Group gap={6} wrap="nowrap" justify="space-between" align="flex-start">
                <Text fw={600} className="anywhere">
                    {query.name}
                </Text>
                {query.is_shared && (
                    <Tag tone="info">
                        {query.is_own ? words.shared : words.sharedBy(query.owner ?? words.gone)}
                    </Tag>
                )}
            </Group>
            <Text size="xs" c="dimmed" className="code saved-first">
                {query.script.replace(/\s+/g, " ").slice(0, 200)}
            </Text>
            {share.error !== null && <Problem error={share.error} />}
            <Group gap={4}>
                <Button size="compact-sm" onClick={take} aria-label={words.openOf(query.name)}>
                    {words.open}
                </Button>
                {query.is_own && (
                    <Button
                        size="compact-sm"
                        variant="subtle"
                        loading={share.isPending}
                        aria-label={`${query.is_shared ? words.unshare : words.shareNow}: ${query.name}`}
                        onClick={() => share.mutate()}
                    >
                        {query.is_shared ? words.unshare : words.shareNow}
                    </Button>
                )}
                {(query.is_own || me.is_admin) && (
                    <Button
                        size="compact-sm"
                        variant="subtle"
                        color="red"
                        aria-label={`${words.remove}: ${query.name}`}
                        onClick={drop}
                    >
                        {words.remove}
                    </Button>
                )}
                {query.is_shared && <CopyButton text={link} label={words.link(query.name)} />}
            </Group>
        </li>
    );
}

function List({ connection, take }: {
    connection: string;
    take: (query: SavedQuery) => void;
}): ReactNode {
    const client = useQueryClient();
    const [text, setText] = useState("");
    const [search] = useDebouncedValue(text.trim(), 150);
    const [going, setGoing] = useState<SavedQuery | null>(null);
    const list = useSaved(connection, search, true);
    const found = list.data?.data ?? [];
    return (
        <Stack gap="sm">
            {(found.length > 5 || text !== "") && (
                <TextInput
                    type="search"
                    aria-label={words.find}
                    placeholder={words.find}
                    value={text}
                    onChange={(event) => setText(event.currentTarget.value)}
                />
            )}
            {list.error !== null && (
                <Problem
                    error={list.error}
                    retry={() => {
                        void list.refetch();
                    }}
                />
            )}
            {list.isPending && <Waiting lines={2} />}
            {list.isSuccess && found.length === 0 && (
                <Empty title={search === "" ? words.none : words.noneFound}>
                    {search === "" && words.noneAbout}
                </Empty>
            )}
            <ul className="saved-list" hidden={found.length === 0}>
                {found.map((query) => (
                    <Line
                        key={query.id}
                        query={query}
                        take={() => take(query)}
                        drop={() => setGoing(query)}
                    />
                ))}
            </ul>
            {list.data !== undefined && list.data.pages.total > SHOWN && (
                <Text size="sm">{words.more}</Text>
            )}
            {going !== null && (
                <Confirm
                    title={words.removeTitle(going.name)}
                    action={words.remove}
                    name={going.name}
                    close={() => setGoing(null)}
                    run={async () => {
                        await remove(`${KEY}/${going.id}`);
                        await client.invalidateQueries({ queryKey: [KEY] });
                    }}
                >
                    {going.is_shared ? words.removeShared : words.removeOwn}
                </Confirm>
            )}
        </Stack>
    );
}

/* What the address asks for is put into the editor once, where it can be undone. */
function useAsked(isReady: boolean, take: (text: string) => void): unknown {
    const [address] = useSearchParams();
    const id = address.get("query") ?? "";
    const taken = useRef("");
    const asked = useQuery({
        queryKey: [KEY, "one", id],
        queryFn: ({ signal }) => get<SavedQuery>(`${KEY}/${part(id)}`, {}, signal),
        enabled: id !== "",
    });
    const script = asked.data?.script;
    useEffect(() => {
        if (isReady && script !== undefined && taken.current !== id) {
            taken.current = id;
            take(script);
        }
    }, [isReady, id, script, take]);
    return asked.error;
}

export function Saved({ connection, isReady, take, script }: {
    connection: string;
    isReady: boolean; /* the editor is there */
    take: (text: string) => void;
    script: () => string;
}): ReactNode {
    const [isOpen, drawer] = useDisclosure(false);
    const error = useAsked(isReady, take);
    return (
        <>
            <Button
                size="xs"
                variant="default"
                leftSection={<Icon name="star" size={14} />}
                onClick={drawer.open}
                id="saved"
            >
                {texts.saved}
            </Button>
            {error !== null && <Problem error={error} />}
            <Drawer opened={isOpen} onClose={drawer.close} title={words.title(connection)}>
                <Stack id="saved-queries">
                    <List
                        connection={connection}
                        take={(query) => {
                            take(query.script);
                            drawer.close();
                        }}
                    />
                    {isOpen && <SaveForm connection={connection} script={script()} />}
                </Stack>
            </Drawer>
        </>
    );
}
