/* SPDX-License-Identifier: MIT */
/* The whole of one connection in a form: what is changed is sent, then the target is asked. */
import { Alert, Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { Link } from "wouter";

import { ApiError, get, getTagged, part, patch, put } from "../../../shared/api/client";
import type { Resource } from "../../../shared/api/schema";
import type { Connection } from "../../../shared/api/types";
import { Icon } from "../../../shared/icons";
import { PageHead, Problem, Tag, Waiting } from "../../../shared/parts";
import { useUnsaved } from "../../../shared/unsaved";
import { kindName } from "../../../shared/words";
import { Sections } from "./Sections";
import {
    changesOf,
    type Form,
    formOf,
    linksOf,
    type MaskingLink,
    patchOf,
    rebased,
    type Stored,
} from "./form";
import { texts } from "./texts";

interface Loaded extends Stored {
    tag: string;
    inherited: string[];
}

interface Tested {
    latency_ms: number;
    server_version?: string;
}

type State =
    | { step: "asking" | "busy" }
    | { step: "tested"; isSaved: boolean; tested?: Tested; error?: unknown }
    | { step: "failed"; error: unknown; half?: string }
    | { step: "stale"; mine: string };

async function load(name: string, signal?: AbortSignal): Promise<Loaded> {
    const path = `connections/${part(name)}`;
    const [{ value: connection, tag }, { groups }, links] = await Promise.all([
        getTagged<Connection>(path, signal),
        get<{ groups: string[] }>(`${path}/access`, {}, signal),
        get<MaskingLink[]>(`${path}/datamasking-rules`, {}, signal),
    ]);
    const resource = await get<Resource>(
        `resources/${part(connection.resource_name)}`,
        {},
        signal,
    );
    return { connection, tag, groups, links, inherited: Object.keys(resource.env_vars) };
}

const OWN_CALLS: (keyof Form)[] = ["groups", "masking_rules"];

const named = (names: (keyof Form)[]): string =>
    names.map((name) => texts.fields[name]).join(", ");

/* Each document by its call; 'sent' is told what went through before a later one failed. */
async function send(
    form: Form,
    loaded: Loaded,
    changes: (keyof Form)[],
    sent: (names: (keyof Form)[]) => void,
): Promise<void> {
    const body = patchOf(form, formOf(loaded));
    const path = `connections/${part(loaded.connection.name)}`;
    if (body !== null) {
        await patch(path, body, loaded.tag);
        sent(changes.filter((name) => !OWN_CALLS.includes(name)));
    }
    if (changes.includes("groups")) {
        await put(`${path}/access`, { groups: form.groups });
        sent(["groups"]);
    }
    if (changes.includes("masking_rules")) {
        await put(`${path}/datamasking-rules`, linksOf(form, loaded.links));
    }
}

/* A kind of target that cannot be asked is no failure of the connection. */
async function tested(name: string): Promise<{ tested?: Tested; error?: unknown }> {
    try {
        return { tested: await get<Tested>(`connections/${part(name)}/test`) };
    } catch (error) {
        const isAsked = !(error instanceof ApiError && error.json["category"] === "unsupported");
        return isAsked ? { error } : {};
    }
}

function Outcome({ state }: { state: State }): ReactNode {
    switch (state.step) {
        case "stale":
            return (
                <Alert color="orange" role="alert" icon={<Icon name="warning" />} data-stale>
                    {texts.stale(state.mine)}
                </Alert>
            );
        case "failed":
            return (
                <Stack gap="xs">
                    {state.half !== undefined && <Text size="sm">{texts.half(state.half)}</Text>}
                    <Problem error={state.error} />
                </Stack>
            );
        case "tested":
            return state.error !== undefined ? (
                <Stack gap="xs">
                    <Problem error={state.error} />
                    {state.isSaved && <Text size="sm">{texts.badTest}</Text>}
                </Stack>
            ) : (
                <Alert color="gate" role="status" icon={<Icon name="check" />} data-saved>
                    {state.isSaved && texts.saved}{" "}
                    {state.tested !== undefined &&
                        texts.answered(state.tested.latency_ms, state.tested.server_version ?? "")}
                </Alert>
            );
        default:
            return null;
    }
}

function Editor({ loaded, reload }: {
    loaded: Loaded;
    reload: () => Promise<Loaded>;
}): ReactNode {
    const client = useQueryClient();
    const { connection } = loaded;
    const [base, setBase] = useState(loaded);
    const [form, setForm] = useState(() => formOf(loaded));
    const [state, setState] = useState<State>({ step: "asking" });
    const stored = formOf(base);
    const changes = changesOf(form, stored);
    const isDirty = changes.length > 0;
    const isFixed = connection.managed_by !== "";
    const unsaved = useUnsaved(isDirty);

    const takeStored = async (mine: (keyof Form)[]): Promise<void> => {
        const now = await reload();
        setBase(now);
        setForm(rebased(form, mine, formOf(now)));
    };
    const failed = async (error: unknown, left: (keyof Form)[]): Promise<void> => {
        const isStale = error instanceof ApiError && error.status === 412;
        if (isStale || left.length < changes.length) {
            await takeStored(left);
        }
        setState(
            isStale
                ? { step: "stale", mine: named(left) }
                : {
                      step: "failed",
                      error,
                      ...(left.length < changes.length && { half: named(left) }),
                  },
        );
    };
    const save = async (event: FormEvent): Promise<void> => {
        event.preventDefault();
        let left = changes;
        setState({ step: "busy" });
        try {
            if (isDirty) {
                await send(form, base, changes, (names) => {
                    left = left.filter((name) => !names.includes(name));
                });
                await takeStored([]);
                void client.invalidateQueries();
            }
            setState({ step: "tested", isSaved: isDirty, ...(await tested(connection.name)) });
        } catch (error) {
            await failed(error, left).catch((worse: unknown) =>
                setState({ step: "failed", error: worse }),
            );
        }
    };
    return (
        <>
            <PageHead
                title={connection.name}
                about={kindName(connection.type, connection.subtype)}
            >
                <Tag tone={connection.status === "online" ? "good" : "bad"}>{connection.status}</Tag>
                <Button component={Link} href="/admin/connections" variant="default">
                    {texts.back}
                </Button>
            </PageHead>
            {isFixed && (
                <Alert color="blue" mb="md" icon={<Icon name="warning" />}>
                    {texts.managed(connection.managed_by)}
                </Alert>
            )}
            <form
                id="connection"
                onSubmit={(event) => {
                    void save(event);
                }}
            >
                <fieldset className="bare" disabled={isFixed || state.step === "busy"}>
                    <Sections
                        connection={connection}
                        inherited={base.inherited}
                        form={form}
                        set={(change) => setForm((before) => ({ ...before, ...change }))}
                    />
                </fieldset>
                <div className="save-bar" data-dirty={isDirty || undefined}>
                    <Outcome state={state} />
                    <Group justify="flex-end" gap="xs">
                        {isDirty && (
                            <Text size="sm" flex="1 1 12rem" miw={0} className="anywhere">
                                <strong>{texts.changed}</strong> {named(changes)}
                            </Text>
                        )}
                        {isDirty && (
                            <Button
                                variant="default"
                                onClick={() => {
                                    setForm(stored);
                                    setState({ step: "asking" });
                                }}
                            >
                                {texts.discard}
                            </Button>
                        )}
                        <Button
                            type="submit"
                            variant={isDirty ? "filled" : "default"}
                            loading={state.step === "busy"}
                            disabled={isFixed}
                        >
                            {isDirty ? texts.saveAndTest : texts.test}
                        </Button>
                    </Group>
                </div>
            </form>
            {unsaved.question}
        </>
    );
}

export function ConnectionEditor({ name }: { name: string }): ReactNode {
    const stored = useQuery({
        queryKey: ["connections", "edit", name],
        queryFn: ({ signal }) => load(name, signal),
        staleTime: Infinity, /* what is typed stands on it */
        gcTime: 0,
    });
    if (stored.data === undefined && stored.error !== null) {
        return (
            <Stack>
                <PageHead title={name} />
                <Problem
                    error={stored.error}
                    retry={() => {
                        void stored.refetch();
                    }}
                />
                <Anchor component={Link} href="/admin/connections">
                    {texts.back}
                </Anchor>
            </Stack>
        );
    }
    return stored.data === undefined ? (
        <Waiting />
    ) : (
        <Editor
            loaded={stored.data}
            reload={() => load(name)}
        />
    );
}
