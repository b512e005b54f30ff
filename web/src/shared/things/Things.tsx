/* SPDX-License-Identifier: MIT */
/* A page of named things with a form: a list that can be searched, a form for a new one and to change
 * one, what is shown once when it was made, and a question before it goes. What they are is told by a
 * Kind; the address says which form is open. */
import { Button, Group, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "wouter";

import { get, part, remove } from "../api/client";
import type { Page } from "../api/types";
import { Icon } from "../icons";
import { ClearSearch, Confirm, Empty, PageHead, Problem, Tag, type Tone, Waiting } from "../parts";
import { count } from "../words";
import { type Field, type Form, ThingForm } from "./ThingForm";

const PAGE_SIZE = 50;

export interface Kind<T> {
    path: string; /* of the API */
    title: string;
    about: string;
    add: string;
    none: string;
    noneAbout: string;
    one: string; /* "attribute", of which there are many */
    removeWord?: string;
    removeAbout: string;
    removeQuery?: Record<string, boolean>;
    mayRemove?: (thing: T) => boolean;
    keyOf: (thing: T) => string; /* in the path */
    nameOf: (thing: T) => string;
    isFixed?: (thing: T) => boolean; /* somebody else keeps it */
    /* In the form; no fields that can be changed: none of them can. */
    fields: Field[];
    mayChange?: boolean;
    method?: "PUT" | "PATCH";
    formOf?: (thing: T) => Form;
    requestOf?: (form: Form, isNew: boolean) => object;
    /* What is told of a new one, and never again. */
    onceOf?: (answer: T) => { label: string; text: string }[];
    linesOf: (thing: T) => string[];
    tagsOf?: (thing: T) => { text: string; tone?: Tone }[];
    actions?: (thing: T) => ReactNode;
    /* When the API answers with something else than things. */
    read?: (answer: unknown) => T[];
}

interface Read<T> {
    things: T[];
    total: number;
    isPaged: boolean;
}

function readThings<T>(kind: Kind<T>, answer: unknown): Read<T> {
    if (kind.read !== undefined || Array.isArray(answer)) {
        const things = kind.read?.(answer) ?? (answer as T[]);
        return { things, total: things.length, isPaged: false };
    }
    const page = answer as Page<T>;
    return { things: page.data, total: page.pages.total, isPaged: true };
}

function Line<T>({
    kind,
    mayWrite,
    thing,
    edit,
    gone,
}: {
    kind: Kind<T>;
    mayWrite: boolean;
    thing: T;
    edit: () => void;
    gone: () => void;
}): ReactNode {
    const name = kind.nameOf(thing);
    const isFixed = kind.isFixed?.(thing) ?? false;
    return (
        <div className="admin-line" data-thing={name}>
            <div>
                <Text fw={600} className="anywhere">
                    {name}
                </Text>
                {kind
                    .linesOf(thing)
                    .filter((line) => line !== "")
                    .map((line, index) => (
                        <Text
                            key={index}
                            size="sm"
                            c={index === 0 ? undefined : "dimmed"}
                            className="anywhere"
                        >
                            {line}
                        </Text>
                    ))}
            </div>
            <Group gap={6}>
                {(kind.tagsOf?.(thing) ?? []).map(({ text, tone }, index) => (
                    <Tag key={index} tone={tone ?? "calm"}>
                        {text}
                    </Tag>
                ))}
                {isFixed && <Tag>kept by the gateway</Tag>}
            </Group>
            {mayWrite && !isFixed && (
                <Group gap="xs">
                    {kind.actions?.(thing)}
                    {kind.mayChange !== false && (
                        <Button
                            size="xs"
                            variant="default"
                            aria-label={`Edit ${name}`}
                            onClick={edit}
                        >
                            Edit
                        </Button>
                    )}
                    {(kind.mayRemove?.(thing) ?? true) && (
                        <Button
                            size="xs"
                            variant="subtle"
                            color="red"
                            aria-label={`${kind.removeWord ?? "Delete"} ${name}`}
                            onClick={gone}
                        >
                            {kind.removeWord ?? "Delete"}
                        </Button>
                    )}
                </Group>
            )}
        </div>
    );
}

function Turn({ page, total, set }: {
    page: number;
    total: number;
    set: (page: number) => void;
}): ReactNode {
    return (
        <Group gap="xs">
            <Button variant="default" disabled={page === 1} onClick={() => set(page - 1)}>
                Before
            </Button>
            <Button
                variant="default"
                disabled={page * PAGE_SIZE >= total}
                onClick={() => set(page + 1)}
            >
                After
            </Button>
        </Group>
    );
}

export function Things<T>({ kind, mayWrite }: { kind: Kind<T>; mayWrite: boolean }): ReactNode {
    const client = useQueryClient();
    const [query, setQuery] = useSearchParams();
    const [text, setText] = useState("");
    const [search] = useDebouncedValue(text.trim(), 200);
    const [page, setPage] = useState(1);
    const [going, setGoing] = useState<T | null>(null);
    const list = useQuery({
        queryKey: ["things", kind.path, search, page],
        queryFn: ({ signal }) =>
            get<unknown>(kind.path, page === 1 && search === "" ? {} : { search, page }, signal),
        select: (answer) => readThings(kind, answer),
        placeholderData: keepPreviousData,
    });
    const words = search.toLowerCase();
    const isPaged = list.data?.isPaged ?? false;
    const things = (list.data?.things ?? []).filter((thing) =>
        `${kind.nameOf(thing)} ${kind.linesOf(thing).join(" ")}`.toLowerCase().includes(words),
    );
    const total = isPaged ? (list.data?.total ?? 0) : things.length;
    const edited = query.get("edit");
    const found = things.find((thing) => kind.keyOf(thing) === edited);
    const add = (
        <Button leftSection={<Icon name="plus" />} onClick={() => setQuery({ new: "" })}>
            {kind.add}
        </Button>
    );
    const isOpen = mayWrite && (query.has("new") || found !== undefined);
    return (
        <>
            <PageHead title={kind.title} about={kind.about}>
                {mayWrite && add}
            </PageHead>
            {(total > 8 || search !== "") && (
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
            {list.isSuccess && things.length === 0 && (
                <Empty
                    title={search === "" ? kind.none : "Nothing has such a name"}
                    action={search === "" ? mayWrite && add : <ClearSearch run={() => setText("")} />}
                >
                    {search === "" && kind.noneAbout}
                </Empty>
            )}
            <div className="card rows" hidden={things.length === 0} id="things">
                {things.map((thing) => (
                    <Line
                        key={kind.keyOf(thing)}
                        kind={kind}
                        mayWrite={mayWrite}
                        thing={thing}
                        edit={() => setQuery({ edit: kind.keyOf(thing) })}
                        gone={() => setGoing(thing)}
                    />
                ))}
            </div>
            {list.isSuccess && total > 0 && (
                <Group justify="space-between" mt="md">
                    <Text size="sm" c="dimmed">
                        {count(total, kind.one)}
                    </Text>
                    {isPaged && total > PAGE_SIZE && (
                        <Turn page={page} total={total} set={setPage} />
                    )}
                </Group>
            )}
            {isOpen && (
                <ThingForm
                    key={found === undefined ? "" : kind.keyOf(found)}
                    kind={kind}
                    thing={found ?? null}
                    close={() => setQuery({})}
                />
            )}
            {going !== null && (
                <Confirm
                    title={`${kind.removeWord ?? "Delete"} ${kind.nameOf(going)}?`}
                    action={kind.removeWord ?? "Delete"}
                    name={kind.nameOf(going)}
                    close={() => setGoing(null)}
                    run={async () => {
                        await remove(`${kind.path}/${part(kind.keyOf(going))}`, kind.removeQuery);
                        await client.invalidateQueries();
                    }}
                >
                    {kind.removeAbout}
                </Confirm>
            )}
        </>
    );
}
