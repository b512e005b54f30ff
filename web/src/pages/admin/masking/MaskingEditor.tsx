/* SPDX-License-Identifier: MIT */
/* A masking rule, new or old: what it hides, how, where; and a place to try it before it is saved. */
import {
    Button,
    Checkbox,
    Group,
    NativeSelect,
    NumberInput,
    SimpleGrid,
    Stack,
    Text,
    TextInput,
    Title,
} from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { useSearchParams } from "wouter";

import { part, post, put } from "../../../shared/api/client";
import { PageHead, Problem } from "../../../shared/parts";
import { AttributesPicker, ConnectionsPicker } from "../../../shared/pickers";
import { useUnsaved } from "../../../shared/unsaved";
import { type Form, formOf, type MaskingRule, requestOf, type Strategy } from "./rule";
import { Columns, Customs, Kinds } from "./Sought";
import { texts } from "./texts";
import { Trial } from "./Trial";

const words = texts.editor;

export interface FormPart {
    form: Form;
    set: (change: Partial<Form>) => void;
}

function How({ form, set }: FormPart): ReactNode {
    const change = (strategy: Partial<Strategy>): void =>
        set({ strategy: { ...form.strategy, ...strategy } });
    return (
        <section className="card rule-card" aria-label={words.how}>
            <Title order={2} size="h4" mb="sm">
                {words.how}
            </Title>
            <Stack gap="sm">
                <Group align="flex-end" gap="sm">
                    <NativeSelect
                        label={words.style}
                        value={form.strategy.type}
                        data={Object.entries(words.styles).map(([value, label]) => ({
                            value,
                            label,
                        }))}
                        onChange={(event) =>
                            change({ type: event.currentTarget.value as Strategy["type"] })
                        }
                    />
                    {form.strategy.type === "redact" && (
                        <TextInput
                            label={words.replacement}
                            value={form.strategy.replacement ?? ""}
                            autoComplete="off"
                            onChange={(event) => change({ replacement: event.currentTarget.value })}
                        />
                    )}
                    {form.strategy.type === "partial" && (
                        <NumberInput
                            label={words.keepLast}
                            value={form.strategy.keep_last ?? 4}
                            min={0}
                            max={64}
                            hideControls
                            onChange={(value) => change({ keep_last: Number(value) || 0 })}
                        />
                    )}
                </Group>
                <details className="more">
                    <summary>{words.more}</summary>
                    <Stack gap="sm" mt="sm">
                        <NumberInput
                            label={words.threshold}
                            description={words.thresholdAbout}
                            value={form.threshold}
                            min={0}
                            max={100}
                            maw={320}
                            hideControls
                            onChange={(value) => set({ threshold: Number(value) || 0 })}
                        />
                        <NativeSelect
                            label={words.unexaminable}
                            maw={320}
                            value={form.unexaminable}
                            data={Object.entries(words.unexaminables).map(([value, label]) => ({
                                value,
                                label,
                            }))}
                            onChange={(event) =>
                                set({
                                    unexaminable: event.currentTarget.value as "mask" | "refuse",
                                })
                            }
                        />
                        <Checkbox
                            label={words.predicates}
                            checked={form.refuse_predicates}
                            onChange={(event) =>
                                set({ refuse_predicates: event.currentTarget.checked })
                            }
                        />
                    </Stack>
                </details>
            </Stack>
        </section>
    );
}

function Basics({ form, set, isNew }: FormPart & { isNew: boolean }): ReactNode {
    return (
        <>
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
                <TextInput
                    label={words.name}
                    required
                    id="masking-name"
                    value={form.name}
                    readOnly={!isNew}
                    title={isNew ? undefined : words.nameFixed}
                    autoComplete="off"
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

export function MaskingEditor({ rule }: { rule: MaskingRule | null }): ReactNode {
    const client = useQueryClient();
    const [, setQuery] = useSearchParams();
    const [isBusy, setBusy] = useState(false);
    const [error, setError] = useState<unknown>(null);
    const [initial] = useState<Form>(() => formOf(rule));
    const [form, setForm] = useState(initial);
    const unsaved = useUnsaved(JSON.stringify(form) !== JSON.stringify(initial));
    const set = (change: Partial<Form>): void => setForm((before) => ({ ...before, ...change }));
    const save = async (event: FormEvent): Promise<void> => {
        event.preventDefault();
        setBusy(true);
        setError(null);
        try {
            await (rule === null
                ? post("datamasking-rules", requestOf(form))
                : put(`datamasking-rules/${part(rule.id)}`, requestOf(form)));
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
                id="masking-rule"
                onSubmit={(event) => {
                    void save(event);
                }}
            >
                <PageHead title={rule?.name ?? words.isNew}>
                    <Button variant="default" onClick={() => setQuery({})}>
                        {words.cancel}
                    </Button>
                    <Button type="submit" loading={isBusy}>
                        {words.save}
                    </Button>
                </PageHead>
                <Stack>
                    {error !== null && <Problem error={error} />}
                    <Basics form={form} set={set} isNew={rule === null} />
                    <Kinds form={form} set={set} />
                    <Columns form={form} set={set} />
                    <Customs form={form} set={set} />
                    <How form={form} set={set} />
                    <Trial rule={() => requestOf({ ...form, name: form.name || "trial" })} />
                </Stack>
            </form>
            {unsaved.question}
        </>
    );
}
