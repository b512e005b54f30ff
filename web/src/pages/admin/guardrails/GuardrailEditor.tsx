/* SPDX-License-Identifier: MIT */
/* A guard rail, new or old: where it is, what it does, and a place to try it before it is saved. */
import { Button, Group, Menu, SimpleGrid, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { useSearchParams } from "wouter";
import { useHistoryState } from "wouter/use-browser-location";

import { get, part, post, put } from "../../../shared/api/client";
import type { Connection } from "../../../shared/api/types";
import { Icon } from "../../../shared/icons";
import { PageHead, Problem } from "../../../shared/parts";
import { AttributesPicker, ConnectionsPicker } from "../../../shared/pickers";
import { useUnsaved } from "../../../shared/unsaved";
import { RuleCard } from "./RuleCard";
import { draftsOf, type Effect, effects, type Form, type Guardrail, requestOf, ruleOf } from "./rules";
import { texts } from "./texts";
import { Trial } from "./Trial";

const words = texts.editor;

function AddRule({ add }: { add: (effect: Effect) => void }): ReactNode {
    return (
        <Menu position="bottom-start" width={320}>
            <Menu.Target>
                <Button
                    variant="default"
                    w="fit-content"
                    leftSection={<Icon name="plus" />}
                >
                    {words.add}
                </Button>
            </Menu.Target>
            <Menu.Dropdown mah={420} className="scrolls">
                {effects.map((effect) => (
                    <Menu.Item
                        key={effect.id}
                        onClick={() => add(effect)}
                        data-effect={effect.id}
                    >
                        <Text size="sm" fw={600}>
                            {effect.title}
                        </Text>
                        <Text size="xs" c="dimmed">
                            {effect.about}
                        </Text>
                    </Menu.Item>
                ))}
            </Menu.Dropdown>
        </Menu>
    );
}

function Basics({ form, set }: { form: Form; set: (change: Partial<Form>) => void }): ReactNode {
    return (
        <>
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
                <TextInput
                    label={words.name}
                    required
                    value={form.name}
                    autoComplete="off"
                    id="guardrail-name"
                    onChange={(event) => set({ name: event.currentTarget.value })}
                />
                <TextInput
                    label={words.description}
                    value={form.description}
                    autoComplete="off"
                    onChange={(event) => set({ description: event.currentTarget.value })}
                />
                <ConnectionsPicker
                    label={words.connections}
                    value={form.connection_ids}
                    set={(ids) => set({ connection_ids: ids })}
                />
                <AttributesPicker
                    label={words.attributes}
                    value={form.attributes}
                    set={(attributes) => set({ attributes })}
                />
            </SimpleGrid>
            {form.connection_ids.length + form.attributes.length === 0 && (
                <Text size="sm" c="dimmed">
                    {words.nowhere}
                </Text>
            )}
        </>
    );
}

/* A statement on record that somebody wants no more of. */
export interface Seen {
    statement: string;
    dialect: string;
    connection: string;
}

export function GuardrailEditor({ guardrail }: { guardrail: Guardrail | null }): ReactNode {
    const client = useQueryClient();
    const [, setQuery] = useSearchParams();
    const [isBusy, setBusy] = useState(false);
    const [error, setError] = useState<unknown>(null);
    const seen = useHistoryState<Seen | null>() ?? null; /* in a session: the start of a new one */
    const [initial] = useState<Form>({
        name: guardrail?.name ?? "",
        description: guardrail?.description ?? "",
        connection_ids: guardrail?.connection_ids ?? [],
        attributes: guardrail?.attributes ?? [],
        drafts:
            guardrail !== null
                ? draftsOf(guardrail)
                : seen === null
                  ? []
                  : [{ key: 0, direction: "input", rule: ruleOf(seen.statement) }],
    });
    const [form, setForm] = useState(initial);
    const unsaved = useUnsaved(JSON.stringify(form) !== JSON.stringify(initial));
    const place = useQuery({
        queryKey: ["connection", seen?.connection],
        queryFn: ({ signal }) =>
            get<Connection>(`connections/${part(seen?.connection ?? "")}`, {}, signal),
        enabled: seen !== null,
    });
    const placeId = place.data?.id;
    useEffect(() => {
        if (placeId !== undefined) {
            setForm((before) => ({ ...before, connection_ids: [placeId] }));
        }
    }, [placeId]);
    const set = (change: Partial<Form>): void => setForm((before) => ({ ...before, ...change }));
    const add = (effect: Effect): void =>
        setForm((before) => ({
            ...before,
            drafts: [
                ...before.drafts,
                {
                    key: 1 + Math.max(-1, ...before.drafts.map(({ key }) => key)),
                    direction: effect.direction,
                    rule: structuredClone(effect.rule),
                },
            ],
        }));
    const save = async (event: FormEvent): Promise<void> => {
        event.preventDefault();
        setBusy(true);
        setError(null);
        try {
            await (guardrail === null
                ? post("guardrails", requestOf(form))
                : put(`guardrails/${part(guardrail.id)}`, {
                      ...requestOf(form),
                      enabled: guardrail.enabled !== false,
                  }));
            await client.invalidateQueries();
            unsaved.release();
            setQuery({});
        } catch (failure) {
            setError(failure);
            setBusy(false);
        }
    };
    return (
        <>
            <form
                id="guardrail"
                onSubmit={(event) => {
                    void save(event);
                }}
            >
                <PageHead title={guardrail?.name ?? words.isNew}>
                    <Button variant="default" onClick={() => setQuery({})}>
                        {words.cancel}
                    </Button>
                    <Button type="submit" loading={isBusy}>
                        {words.save}
                    </Button>
                </PageHead>
                <Stack>
                    {error !== null && <Problem error={error} />}
                    <Basics form={form} set={set} />
                    <Title order={2} size="h4" mt="sm">
                        {words.rules}
                    </Title>
                    {form.drafts.length === 0 && (
                        <Text size="sm" c="dimmed">
                            {words.noRules}
                        </Text>
                    )}
                    {form.drafts.map((draft) => (
                        <RuleCard
                            key={draft.key}
                            draft={draft}
                            set={(changed) =>
                                set({
                                    drafts: form.drafts.map((one) =>
                                        one.key === draft.key ? changed : one,
                                    ),
                                })
                            }
                            remove={() =>
                                set({ drafts: form.drafts.filter(({ key }) => key !== draft.key) })
                            }
                        />
                    ))}
                    <Group>
                        <AddRule add={add} />
                    </Group>
                    <Trial
                        seen={seen}
                        rule={() => ({ ...requestOf({ ...form, name: form.name || "trial" }) })}
                    />
                </Stack>
            </form>
            {unsaved.question}
        </>
    );
}
