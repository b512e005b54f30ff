/* SPDX-License-Identifier: MIT */
/* Home: all that one may reach, by resource; the panel of one connection beside it. */
import { ActionIcon, Button, Group, Stack, Text, TextInput, Title, Tooltip } from "@mantine/core";
import { useDebouncedValue, useInViewport } from "@mantine/hooks";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";

import { useMe } from "../../app/me";
import { get, part } from "../../shared/api/client";
import type { Connection, Page } from "../../shared/api/types";
import { Icon } from "../../shared/icons";
import { useKept } from "../../shared/kept";
import { ClearSearch, CopyBlock, Empty, PageHead, Problem, Tag, Waiting } from "../../shared/parts";
import { count, kindName } from "../../shared/words";
import { ConnectPanel } from "./ConnectPanel";
import { useControls, useDetails } from "./details";
import { type Effect, effectsOf } from "./effects";
import { texts } from "./texts";

const PAGE_SIZE = 50;
const NONE: string[] = [];

export function Effects({ effects }: { effects: Effect[] }): ReactNode {
    return effects.map((effect) => (
        <Tooltip
            key={effect.word}
            label={effect.about}
            multiline
            maw={280}
            events={{ hover: true, focus: true, touch: true }}
        >
            <span tabIndex={0}>
                <Tag tone={effect.tone}>{effect.word}</Tag>
            </span>
        </Tooltip>
    ));
}

function Line({
    connection,
    isFavourite,
    toggle,
}: {
    connection: Connection;
    isFavourite: boolean;
    toggle: () => void;
}): ReactNode {
    const { ref, inViewport } = useInViewport<HTMLDivElement>();
    const details = useDetails(connection.name, inViewport);
    const controls = useControls(connection.name, inViewport);
    const tags = [
        ...connection.tags,
        ...Object.entries(connection.connection_tags).map(([name, value]) => `${name}: ${value}`),
    ];
    return (
        <Group
            ref={ref}
            px="md"
            py="sm"
            gap="sm"
            wrap="nowrap"
            align="flex-start"
            className="connection"
            data-connection={connection.name}
        >
            <Tooltip label={isFavourite ? "Not a favourite any more" : "Make it a favourite"}>
                <ActionIcon
                    variant="subtle"
                    color={isFavourite ? "orange" : "gray"}
                    aria-pressed={isFavourite}
                    aria-label={`Favourite: ${connection.name}`}
                    onClick={toggle}
                >
                    <Icon name="star" filled={isFavourite} />
                </ActionIcon>
            </Tooltip>
            <Stack gap={6} flex={1} miw={0}>
                <Group gap="xs">
                    <Link
                        href={`/connect/${part(connection.name)}`}
                        className="plain-link anywhere"
                    >
                        <Text span fw={600}>
                            {connection.name}
                        </Text>
                    </Link>
                    <Tag tone={connection.status === "online" ? "good" : "bad"}>
                        {connection.status}
                    </Tag>
                    <Text span size="sm" c="dimmed">
                        {kindName(connection.type, connection.subtype)}
                    </Text>
                    {tags.map((tag) => (
                        <Tag key={tag}>{tag}</Tag>
                    ))}
                </Group>
                {/* They come later: their place is kept, so that nothing moves under a pointer. */}
                <Group gap={6} mih={20}>
                    {details !== undefined && <Effects effects={effectsOf(details, controls)} />}
                </Group>
            </Stack>
            <Group gap="xs" className="connection-ways" wrap="nowrap">
                {connection.access_mode_exec === "enabled" && connection.type === "database" && (
                    <Button
                        component={Link}
                        href={`/sql/${part(connection.name)}`}
                        variant="default"
                        size="xs"
                        aria-label={`${texts.query} ${connection.name}`}
                    >
                        {texts.query}
                    </Button>
                )}
                <Button
                    component={Link}
                    href={`/connect/${part(connection.name)}`}
                    size="xs"
                    aria-label={`${texts.connect} ${connection.name}`}
                >
                    {texts.connect}
                </Button>
            </Group>
        </Group>
    );
}

function byResource(connections: Connection[]): [string, Connection[]][] {
    const groups = new Map<string, Connection[]>();
    for (const connection of connections) {
        const group = groups.get(connection.resource_name);
        if (group === undefined) {
            groups.set(connection.resource_name, [connection]);
        } else {
            group.push(connection);
        }
    }
    return [...groups];
}

function Nothing({ search, clear }: { search: string; clear: () => void }): ReactNode {
    const me = useMe();
    if (search !== "") {
        return (
            <Empty title={texts.noMatch} action={<ClearSearch run={clear} />}>
                {texts.noMatchAbout}
            </Empty>
        );
    }
    return (
        <Empty
            title={texts.noneTitle}
            action={
                me.is_admin && (
                    <Button component={Link} href="/admin/connections?new">
                        {texts.add}
                    </Button>
                )
            }
        >
            {me.is_admin ? texts.noneAdmin : texts.noneMember}
            {me.is_admin && (
                <>
                    <Text span display="block" mt="md">
                        {texts.demo}
                    </Text>
                    <CopyBlock label={texts.demoLine} text="./dev demo start" />
                </>
            )}
        </Empty>
    );
}

/* Favourites first, then what was used last: as far as they are still there. */
function useQuick(isShown: boolean): {
    quick: Connection[];
    favourites: string[];
    toggle: (name: string) => void;
} {
    const [favourites, setFavourites] = useKept<string[]>("favourites", NONE);
    const [recent] = useKept<string[]>("recent", NONE);
    const names = [...new Set([...favourites, ...recent])].slice(0, 12);
    const found = useQuery({
        queryKey: ["connections", "quick", names],
        queryFn: ({ signal }) =>
            Promise.all(
                names.map((name) =>
                    get<Page<Connection>>("connections", { name, page_size: 1 }, signal),
                ),
            ),
        enabled: isShown && names.length > 0,
        placeholderData: keepPreviousData,
    });
    const quick = names.length === 0 ? [] : (found.data ?? []).flatMap((page) => page.data);
    const toggle = (name: string): void =>
        setFavourites(
            favourites.includes(name)
                ? favourites.filter((other) => other !== name)
                : [...favourites, name],
        );
    return { quick, favourites, toggle };
}

export function ConnectPage({ opened }: { opened?: string }): ReactNode {
    const [, go] = useLocation();
    const [text, setText] = useState("");
    const [search] = useDebouncedValue(text.trim(), 200);
    const list = useInfiniteQuery({
        queryKey: ["connections", "list", search],
        queryFn: ({ pageParam, signal }) =>
            get<Page<Connection>>(
                "connections",
                { search, page: pageParam, page_size: PAGE_SIZE },
                signal,
            ),
        initialPageParam: 1,
        getNextPageParam: ({ pages }) =>
            pages.page * pages.size < pages.total ? pages.page + 1 : undefined,
        placeholderData: keepPreviousData,
    });
    const { quick, favourites, toggle } = useQuick(search === "");
    const connections = list.data?.pages.flatMap((page) => page.data) ?? [];
    const total = list.data?.pages[0]?.pages.total ?? 0;
    const line = (connection: Connection): ReactNode => (
        <Line
            key={connection.id}
            connection={connection}
            toggle={() => toggle(connection.name)}
            isFavourite={favourites.includes(connection.name)}
        />
    );
    return (
        <>
            <PageHead title={texts.title} about={texts.about} />
            <TextInput
                mb="lg"
                size="md"
                type="search"
                placeholder={texts.search}
                aria-label={texts.search}
                value={text}
                onChange={(event) => setText(event.currentTarget.value)}
                id="search"
                leftSection={<Icon name="search" />}
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
            {list.data !== undefined && connections.length === 0 && (
                <Nothing search={search} clear={() => setText("")} />
            )}
            {search === "" && quick.length > 0 && total > 6 && (
                <section aria-label={texts.favourites}>
                    <Title order={2} size="h5" mb="xs">
                        {texts.favourites}
                    </Title>
                    <div className="card rows quick">{quick.map(line)}</div>
                </section>
            )}
            <Stack gap="lg" id="resources" aria-busy={list.isFetching}>
                {byResource(connections).map(([resource, of]) => (
                    <section key={resource} aria-label={`Resource ${resource}`}>
                        <Title order={2} size="h5" mb="xs" className="anywhere">
                            {resource}
                        </Title>
                        <div className="card rows">{of.map(line)}</div>
                    </section>
                ))}
            </Stack>
            {connections.length > 0 && (
                <Group justify="space-between" mt="md">
                    <Text size="sm" c="dimmed" id="count">
                        {connections.length < total
                            ? `${connections.length} of ${count(total, "connection")}`
                            : count(total, "connection")}
                    </Text>
                    {list.hasNextPage && (
                        <Button
                            variant="default"
                            id="more"
                            loading={list.isFetchingNextPage}
                            onClick={() => {
                                void list.fetchNextPage();
                            }}
                        >
                            {texts.more}
                        </Button>
                    )}
                </Group>
            )}
            {opened !== undefined && (
                <ConnectPanel key={opened} name={opened} close={() => go("/")} />
            )}
        </>
    );
}
