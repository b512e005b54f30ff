/* SPDX-License-Identifier: MIT */
/* The editor of one connection: tables, the text, and what it brought. */
import {
    Button,
    Drawer,
    Group,
    Menu,
    NativeSelect,
    Skeleton,
    Text,
    TextInput,
} from "@mantine/core";
import { useDebouncedValue, useDisclosure, useDocumentTitle } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";

import { useMe } from "../../app/me";
import { get, part } from "../../shared/api/client";
import type { Connection, Page } from "../../shared/api/types";
import { Icon } from "../../shared/icons";
import { keep, kept, noteRecent, useKept } from "../../shared/kept";
import { Empty, PageHead, Problem, useNow, Waiting } from "../../shared/parts";
import { duration } from "../../shared/words";
import type { EditorHandle } from "./Editor";
import { Results } from "./Results";
import { explained } from "./steps";
import { Saved } from "./Saved";
import { execute, kill, nothing, type Run } from "./run";
import { SchemaTree, useCompletion } from "./SchemaTree";
import { texts } from "./texts";
import "./sql.css";

const Editor = lazy(() => import("./Editor"));
const HISTORY_MAX = 50;
const NONE: string[] = [];

function useDatabases() {
    return useQuery({
        queryKey: ["connections", "databases"],
        queryFn: ({ signal }) =>
            get<Page<Connection>>("connections", { type: "database", page_size: 100 }, signal),
        select: (page) =>
            page.data.filter((connection) => connection.access_mode_exec === "enabled"),
    });
}

/* One run at a time. The first answer comes with the session, which can be ended from then on. */
function useRun(connection: string) {
    const [run, setRun] = useState<Run | null>(null);
    const [error, setError] = useState<unknown>(null);
    const [startedAt, setStartedAt] = useState<number | null>(null);
    const current = useRef<{ abort: AbortController; sessionId: string } | null>(null);

    const start = useCallback(
        async (script: string, metadata: Record<string, string>) => {
            if (current.current !== null || script.trim() === "") {
                return;
            }
            const mine = { abort: new AbortController(), sessionId: "" };
            current.current = mine;
            const begin = Date.now();
            setRun(nothing);
            setError(null);
            setStartedAt(begin);
            try {
                await execute({ connection, script, metadata }, mine.abort.signal, (next) => {
                    mine.sessionId = next.sessionId;
                    setRun(next);
                    if (mine.abort.signal.aborted) {
                        void kill(next.sessionId).catch(() => {});
                    }
                });
            } catch (failure) {
                if (!mine.abort.signal.aborted) {
                    setError(failure);
                }
            }
            if (mine.abort.signal.aborted) {
                setRun(
                    (before) =>
                        before && {
                            ...before,
                            state: "cancelled",
                            milliseconds: Date.now() - begin,
                        },
                );
            }
            current.current = null;
            setStartedAt(null);
        },
        [connection],
    );

    const cancel = useCallback(() => {
        current.current?.abort.abort();
        if (current.current && current.current.sessionId !== "") {
            void kill(current.current.sessionId).catch(setError);
        }
    }, []);
    useEffect(() => cancel, [cancel]); /* who leaves the page waits for nothing */
    return { run, error, startedAt, start, cancel };
}

function Elapsed({ since }: { since: number }): ReactNode {
    const now = useNow(100);
    return (
        <Text size="sm" c="dimmed" role="timer">
            {texts.running(duration(Math.max(1, now - since)))}
        </Text>
    );
}

function History({ take }: { take: (text: string) => void }): ReactNode {
    const [entries] = useKept<string[]>("history", NONE);
    return (
        <Menu position="bottom-start" width={420}>
            <Menu.Target>
                <Button size="xs" variant="default" leftSection={<Icon name="clock" size={14} />}>
                    {texts.history}
                </Button>
            </Menu.Target>
            <Menu.Dropdown mah={360} className="history">
                {entries.length === 0 && <Menu.Label>{texts.noHistory}</Menu.Label>}
                {entries.map((entry) => (
                    <Menu.Item key={entry} onClick={() => take(entry)}>
                        <span className="code history-line">
                            {entry.replace(/\s+/g, " ").slice(0, 120)}
                        </span>
                    </Menu.Item>
                ))}
            </Menu.Dropdown>
        </Menu>
    );
}

function Metadata({
    fields,
    values,
    change,
}: {
    fields: string[];
    values: Record<string, string>;
    change: (values: Record<string, string>) => void;
}): ReactNode {
    return (
        fields.length > 0 && (
            <Group px="sm" pb="xs" gap="sm" align="flex-end">
                {fields.map((field) => (
                    <TextInput
                        key={field}
                        size="xs"
                        label={field}
                        required
                        value={values[field] ?? ""}
                        onChange={(event) =>
                            change({ ...values, [field]: event.currentTarget.value })
                        }
                    />
                ))}
                <Text size="xs" c="dimmed">
                    {texts.metadata}
                </Text>
            </Group>
        )
    );
}

function Workbench({
    connection,
    databases,
}: {
    connection: Connection;
    databases: Connection[];
}): ReactNode {
    const [, go] = useLocation();
    const draft = `draft:${connection.name}`;
    const [text, setText] = useState(() => kept(draft, ""));
    const [named] = useDebouncedValue(text, 400);
    const [metadata, setMetadata] = useState<Record<string, string>>({});
    const [isTreeOpen, tree] = useDisclosure(false);
    const editor = useRef<EditorHandle | null>(null);
    const [isEditing, setEditing] = useState(false);
    const take = useCallback((entry: string) => editor.current?.replace(entry), []);
    const schema = useCompletion(connection.name, named);
    const { run, error, startedAt, start, cancel } = useRun(connection.name);
    useDocumentTitle(`${connection.name} · ${texts.title} · Gatehouse`);
    useEffect(() => {
        noteRecent(connection.name);
    }, [connection.name]);

    const runNow = (): void => {
        const script = editor.current?.script() ?? "";
        if (script.trim() !== "") {
            const before = kept<string[]>("history", NONE).filter((entry) => entry !== script);
            keep("history", [script, ...before].slice(0, HISTORY_MAX));
        }
        void start(script, metadata);
    };
    const [isOneAsked, setOneAsked] = useState(false);
    const explainNow = (): void => {
        const script = explained(editor.current?.script() ?? "", connection.subtype);
        setOneAsked(script === null);
        if (script !== null) {
            void start(script, metadata);
        }
    };
    const change = (next: string): void => {
        setText(next);
        keep(draft, next);
    };
    const names = [...new Set([connection.name, ...databases.map(({ name }) => name)])];
    const tables = (
        <SchemaTree connection={connection.name} insert={(name) => editor.current?.insert(name)} />
    );
    return (
        <div className="sql">
            <h1 className="unseen">
                {texts.title}: {connection.name}
            </h1>
            {connection.access_schema === "enabled" && (
                <aside className="sql-side only-wide">{tables}</aside>
            )}
            <div className="sql-main">
                <Group p="sm" gap="sm" className="sql-bar">
                    <NativeSelect
                        size="xs"
                        aria-label={texts.choose}
                        value={connection.name}
                        data={names}
                        onChange={(event) => go(`/sql/${part(event.currentTarget.value)}`)}
                    />
                    {startedAt === null ? (
                        <Button
                            size="xs"
                            onClick={runNow}
                            leftSection={<Icon name="play" size={14} filled />}
                            title={texts.runAbout}
                            id="run"
                        >
                            {texts.run}
                        </Button>
                    ) : (
                        <Button
                            size="xs"
                            color="red"
                            onClick={cancel}
                            leftSection={<Icon name="stop" size={14} filled />}
                            id="cancel"
                        >
                            {texts.cancel}
                        </Button>
                    )}
                    <Button
                        size="xs"
                        variant="default"
                        onClick={explainNow}
                        disabled={startedAt !== null}
                        title={texts.explainAbout}
                        id="explain"
                    >
                        {texts.explain}
                    </Button>
                    <Saved
                        connection={connection.name}
                        isReady={isEditing}
                        take={take}
                        script={() => editor.current?.script() ?? ""}
                    />
                    <History take={take} />
                    <Button size="xs" variant="default" className="only-narrow" onClick={tree.open}>
                        {texts.schema}
                    </Button>
                    {startedAt !== null && <Elapsed since={startedAt} />}
                    {isOneAsked && (
                        <Text size="sm" role="alert">
                            {texts.explainOne}
                        </Text>
                    )}
                </Group>
                <Metadata
                    fields={connection.mandatory_metadata_fields}
                    values={metadata}
                    change={setMetadata}
                />
                <div className="sql-text">
                    <Suspense fallback={<Skeleton h="100%" />}>
                        <Editor
                            handle={editor}
                            ready={setEditing}
                            initial={text}
                            subtype={connection.subtype}
                            schema={schema}
                            change={change}
                            run={runNow}
                        />
                    </Suspense>
                </div>
                <section
                    className="sql-results"
                    aria-label="Results"
                    aria-busy={startedAt !== null}
                >
                    {error !== null && <Problem error={error} />}
                    {run === null && error === null && (
                        <Text c="dimmed" size="sm" p="md">
                            {texts.resultsEmpty}
                        </Text>
                    )}
                    {run !== null && (
                        <Results
                            run={run}
                            isMasked={connection.effective_features?.data_masking === true}
                        />
                    )}
                </section>
            </div>
            <Drawer opened={isTreeOpen} onClose={tree.close} title={texts.schema}>
                {tables}
            </Drawer>
        </div>
    );
}

function Choose({ databases }: { databases: Connection[] }): ReactNode {
    const me = useMe();
    const [, go] = useLocation();
    const recent = kept<string[]>("recent", NONE);
    const last = recent.find((name) => databases.some((connection) => connection.name === name));
    useEffect(() => {
        const only = last ?? (databases.length === 1 ? databases[0]?.name : undefined);
        if (only !== undefined) {
            go(`/sql/${part(only)}`, { replace: true });
        }
    }, [databases, last, go]);
    return (
        <>
            <PageHead title={texts.title} about={texts.chooseAbout} />
            {databases.length === 0 ? (
                <Empty
                    title={texts.none}
                    action={
                        me.is_admin && (
                            <Button component={Link} href="/admin/connections?new">
                                {texts.addOne}
                            </Button>
                        )
                    }
                >
                    {me.is_admin ? texts.noneAdmin : texts.noneMember}
                </Empty>
            ) : (
                <NativeSelect
                    label={texts.chooseTitle}
                    data={["", ...databases.map(({ name }) => name)]}
                    maw={420}
                    onChange={(event) => go(`/sql/${part(event.currentTarget.value)}`)}
                />
            )}
        </>
    );
}

export default function SqlPage({ connection }: { connection?: string }): ReactNode {
    const databases = useDatabases();
    const chosen = useQuery({
        queryKey: ["connection", connection],
        queryFn: ({ signal }) =>
            get<Connection>(`connections/${part(connection ?? "")}`, {}, signal),
        enabled: connection !== undefined,
    });
    const failed = connection === undefined ? databases : chosen;
    if (failed.error !== null) {
        return (
            <Problem
                error={failed.error}
                retry={() => {
                    void failed.refetch();
                }}
            />
        );
    }
    if (connection === undefined) {
        return databases.data === undefined ? <Waiting /> : <Choose databases={databases.data} />;
    }
    return chosen.data === undefined ? (
        <Waiting />
    ) : (
        <Workbench key={chosen.data.id} connection={chosen.data} databases={databases.data ?? []} />
    );
}
