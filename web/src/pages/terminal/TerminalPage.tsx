/* SPDX-License-Identifier: MIT */
/* A terminal on a connection's command. */
import { Alert, Button, Checkbox, Group, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { Link as PageLink } from "wouter";

import { get, part, post } from "../../shared/api/client";
import type { Connection } from "../../shared/api/types";
import { Icon } from "../../shared/icons";
import { PageHead, Problem, Tag, Waiting } from "../../shared/parts";
import { openScreen, type Screen as Shown } from "../../shared/terminal/screen";
import { type Ended, openLink } from "./link";
import { texts } from "./texts";
import { Waits } from "./Waits";
import "./terminal.css";

type Metadata = Record<string, string>;

/* What the connection wants to be told before anybody may use it. */
function Ask({ fields, go }: { fields: string[]; go: (metadata: Metadata) => void }): ReactNode {
    const [values, setValues] = useState<Metadata>({});
    return (
        <form
            onSubmit={(event: FormEvent) => {
                event.preventDefault();
                go(values);
            }}
        >
            <Stack maw={420}>
                <Text>{texts.metadata}</Text>
                {fields.map((name) => (
                    <TextInput
                        key={name}
                        label={name}
                        required
                        value={values[name] ?? ""}
                        onChange={(event) =>
                            setValues({ ...values, [name]: event.currentTarget.value })
                        }
                    />
                ))}
                <Button type="submit" w="fit-content">
                    {texts.open}
                </Button>
            </Stack>
        </form>
    );
}

function Over({ ended, session, again }: {
    ended: Ended;
    session: string;
    again: () => void;
}): ReactNode {
    return (
        <Alert
            color={ended.end === "exited" && ended.code === 0 ? "gray" : "orange"}
            title={texts.over}
            icon={<Icon name="out" />}
            role="status"
            data-ended={ended.end}
        >
            <Text size="sm" className="anywhere">
                {texts.ended[ended.end](ended.code)} {ended.message}
            </Text>
            <Group mt="xs">
                <Button size="xs" onClick={again}>
                    {texts.again}
                </Button>
                {session !== "" && (
                    <Button
                        size="xs"
                        variant="default"
                        component={PageLink}
                        href={`/sessions/${session}`}
                    >
                        {texts.record}
                    </Button>
                )}
            </Group>
        </Alert>
    );
}

function Screen({ name, metadata, again }: {
    name: string;
    metadata: Metadata;
    again: () => void;
}): ReactNode {
    const place = useRef<HTMLDivElement>(null);
    const shown = useRef<Shown | null>(null);
    const [isRead, setRead] = useState(false);
    const [session, setSession] = useState("");
    const [ended, setEnded] = useState<Ended | null>(null);
    useEffect(() => {
        const element = place.current;
        if (element === null) {
            return undefined;
        }
        shown.current = openScreen(element, { isReadOnly: false });
        const { terminal, fit } = shown.current;
        fit();
        const link = openLink(
            name,
            { columns: terminal.cols, rows: terminal.rows, metadata },
            {
                opened: setSession,
                shown: (bytes) => terminal.write(bytes),
                ended: (how) => {
                    terminal.options.disableStdin = true;
                    terminal.options.cursorBlink = false;
                    setEnded(how);
                },
            },
        );
        terminal.onData(link.type);
        terminal.onResize(({ cols, rows }) => link.resize(cols, rows));
        terminal.attachCustomKeyEventHandler((event) => {
            const isOurs = event.ctrlKey && event.shiftKey;
            if (isOurs && event.code === "KeyC" && event.type === "keydown") {
                void navigator.clipboard.writeText(terminal.getSelection());
                event.preventDefault();
                return false;
            }
            if (isOurs && event.code === "Escape") {
                document.getElementById("main")?.focus();
                return false;
            }
            return !(isOurs && event.code === "KeyV");
        });
        terminal.focus();
        const watch = new ResizeObserver(() => fit());
        watch.observe(element);
        return () => {
            watch.disconnect();
            link.close();
            terminal.dispose();
        };
    }, [name, metadata]);
    useEffect(() => {
        if (shown.current !== null) {
            shown.current.terminal.options.screenReaderMode = isRead;
        }
    }, [isRead]);
    return (
        <>
            <PageHead title={texts.title(name)} about={texts.about}>
                {ended === null && (
                    <Tag tone={session === "" ? "calm" : "good"}>
                        {session === "" ? texts.opening : texts.isOpen}
                    </Tag>
                )}
            </PageHead>
            <Stack gap="sm" data-session={session}>
                {ended !== null && <Over ended={ended} session={session} again={again} />}
                <div
                    ref={place}
                    className="terminal-place"
                    id="terminal"
                    role="region"
                    aria-label={texts.label(name)}
                />
                <Group justify="space-between">
                    <Text size="sm" c="dimmed" className="only-wide">
                        {texts.hint}
                    </Text>
                    <Checkbox
                        size="xs"
                        label={texts.readOut}
                        checked={isRead}
                        onChange={(event) => setRead(event.currentTarget.checked)}
                    />
                </Group>
            </Stack>
        </>
    );
}

type Asked = { step: "asking" | "open" } | { step: "waits"; review: string };

/* A page learns nothing of a WebSocket that is answered otherwise: whether it opens is asked before. */
function Opening({ name, metadata, again }: {
    name: string;
    metadata: Metadata;
    again: () => void;
}): ReactNode {
    const [asked, setAsked] = useState<Asked>({ step: "asking" });
    const [error, setError] = useState<unknown>(null);
    const ask = useCallback(() => {
        setError(null);
        post<{ review_id: string | null }>(`connections/${part(name)}/terminal`, { metadata }).then(
            ({ review_id: review }) =>
                setAsked(review === null ? { step: "open" } : { step: "waits", review }),
            setError,
        );
    }, [name, metadata]);
    useEffect(ask, [ask]);
    if (asked.step === "open") {
        return <Screen name={name} metadata={metadata} again={again} />;
    }
    return (
        <>
            <PageHead title={texts.title(name)} about={texts.about} />
            {error !== null && <Problem error={error} retry={ask} />}
            {error === null && asked.step === "asking" && <Waiting lines={1} />}
            {error === null && asked.step === "waits" && (
                <Waits id={asked.review} goOn={ask} again={ask} />
            )}
        </>
    );
}

export default function TerminalPage({ name }: { name: string }): ReactNode {
    const [metadata, setMetadata] = useState<Metadata | null>(null);
    const [round, setRound] = useState(0);
    const connection = useQuery({
        queryKey: ["connections", "one", name],
        queryFn: ({ signal }) => get<Connection>(`connections/${part(name)}`, {}, signal),
    });
    if (connection.error !== null) {
        return <Problem error={connection.error} />;
    }
    if (connection.data === undefined) {
        return <Waiting />;
    }
    const fields = connection.data.mandatory_metadata_fields;
    if (fields.length > 0 && metadata === null) {
        return (
            <>
                <PageHead title={texts.title(name)} about={texts.about} />
                <Ask fields={fields} go={setMetadata} />
            </>
        );
    }
    return (
        <Opening
            key={round}
            name={name}
            metadata={metadata ?? NOTHING}
            again={() => setRound(round + 1)}
        />
    );
}

const NOTHING: Metadata = {};
