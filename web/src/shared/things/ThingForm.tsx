/* SPDX-License-Identifier: MIT */
/* The form of a thing: a field for each member, and behind it what is told once. */
import {
    Button,
    Checkbox,
    Drawer,
    Group,
    NativeSelect,
    NumberInput,
    Stack,
    Switch,
    Text,
    Textarea,
    TextInput,
} from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";

import { call, part } from "../api/client";
import { useFocusBack } from "../focus";
import { CopyBlock, Problem } from "../parts";
import { AttributesPicker, ConnectionsPicker, GroupsPicker, WordsField } from "../pickers";
import { useUnsaved } from "../unsaved";
import type { Kind } from "./Things";

export type Form = Record<string, unknown>;

export interface Field {
    name: string;
    label: string;
    kind:
        | "text"
        | "email"
        | "long"
        | "words"
        | "groups"
        | "connections"
        | "attributes"
        | "choice"
        | "several"
        | "yes"
        | "number"
        | "date";
    about?: string;
    required?: boolean;
    isFixed?: boolean; /* of one that is there already */
    isNewOnly?: boolean;
    isFor?: (form: Form) => boolean; /* else it means nothing, and is not shown */
    choices?: { value: string; label: string }[];
    initial?: unknown;
}

function initialOf(fields: Field[]): Form {
    const empty: Record<string, unknown> = {
        words: [],
        groups: [],
        connections: [],
        attributes: [],
        several: [],
        yes: false,
        number: null,
    };
    return Object.fromEntries(
        fields.map((field) => [
            field.name,
            field.initial ??
                (field.kind === "choice" ? field.choices?.[0]?.value : undefined) ??
                (field.kind in empty ? empty[field.kind] : ""),
        ]),
    );
}

/* Of a thing, the members that there are fields for. */
function plainForm(fields: Field[], thing: object): Form {
    const initial = initialOf(fields);
    const given = thing as Form;
    return Object.fromEntries(
        fields.map(({ name }) => [name, given[name] ?? initial[name]]),
    );
}

function Input({
    field,
    value,
    set,
    isFixed,
    isFirst,
}: {
    field: Field;
    value: unknown;
    set: (value: unknown) => void;
    isFixed: boolean;
    isFirst: boolean; /* where one begins to type */
}): ReactNode {
    const common = {
        label: field.label,
        description: field.about,
        required: field.required ?? false,
    };
    const picked = { label: field.label, about: field.about, value: value as string[], set };
    switch (field.kind) {
        case "groups":
            return <GroupsPicker {...picked} />;
        case "connections":
            return <ConnectionsPicker {...picked} by="name" />;
        case "attributes":
            return <AttributesPicker {...picked} />;
        case "words":
            return <WordsField {...picked} />;
        case "yes":
            return (
                <Switch
                    label={field.label}
                    description={field.about}
                    checked={value === true}
                    onChange={(event) => set(event.currentTarget.checked)}
                />
            );
        case "choice":
            return (
                <NativeSelect
                    {...common}
                    value={String(value)}
                    data={field.choices ?? []}
                    onChange={(event) => set(event.currentTarget.value)}
                />
            );
        case "several":
            return (
                <Checkbox.Group
                    label={field.label}
                    description={field.about}
                    value={value as string[]}
                    onChange={set}
                >
                    <Stack gap="xs" mt="xs">
                        {(field.choices ?? []).map((choice) => (
                            <Checkbox key={choice.value} {...choice} />
                        ))}
                    </Stack>
                </Checkbox.Group>
            );
        case "number":
            return (
                <NumberInput
                    {...common}
                    value={(value as number | null) ?? ""}
                    min={1}
                    hideControls
                    onChange={(number) => set(number === "" ? null : Number(number))}
                />
            );
        case "long":
            return (
                <Textarea
                    {...common}
                    autosize
                    minRows={2}
                    value={String(value)}
                    onChange={(event) => set(event.currentTarget.value)}
                />
            );
        default:
            return (
                <TextInput
                    {...common}
                    type={field.kind}
                    {...(isFirst && { "data-autofocus": true })}
                    readOnly={isFixed}
                    value={String(value)}
                    autoComplete="off"
                    spellCheck={false}
                    onChange={(event) => set(event.currentTarget.value)}
                />
            );
    }
}

export function ThingForm<T>({
    kind,
    thing,
    close,
}: {
    kind: Kind<T>;
    thing: T | null;
    close: () => void;
}): ReactNode {
    useFocusBack();
    const client = useQueryClient();
    const isNew = thing === null;
    const fields = kind.fields.filter((field) => isNew || field.isNewOnly !== true);
    const [initial] = useState<Form>(() =>
        thing === null
            ? initialOf(fields)
            : (kind.formOf?.(thing) ?? plainForm(fields, thing as object)),
    );
    const [form, setForm] = useState(initial);
    const [once, setOnce] = useState<{ label: string; text: string }[]>([]);
    const [isBusy, setBusy] = useState(false);
    const [error, setError] = useState<unknown>(null);
    const unsaved = useUnsaved(
        once.length === 0 && JSON.stringify(form) !== JSON.stringify(initial),
    );
    const save = async (event: FormEvent): Promise<void> => {
        event.preventDefault();
        setBusy(true);
        setError(null);
        const body = kind.requestOf?.(form, isNew) ?? form;
        try {
            const answer = isNew
                ? await call<T>("POST", kind.path, { body })
                : await call<T>(kind.method ?? "PUT", `${kind.path}/${part(kind.keyOf(thing))}`, {
                      body,
                  });
            const told = kind.onceOf?.(answer) ?? [];
            unsaved.release();
            await client.invalidateQueries();
            if (told.length === 0) {
                close();
            }
            setOnce(told);
        } catch (failure) {
            setError(failure);
        }
        setBusy(false);
    };
    if (once.length > 0) {
        return (
            <Drawer opened onClose={close} title={kind.title} size="lg">
                <Stack>
                    <Text size="sm">This is shown once. Take it with you now.</Text>
                    {once.map(({ label, text }) => (
                        <div key={label + text}>
                            <Text size="sm" fw={600} mb={4}>
                                {label}
                            </Text>
                            <CopyBlock label={label} text={text} />
                        </div>
                    ))}
                    <Group justify="flex-end">
                        <Button variant="default" onClick={close}>
                            Close
                        </Button>
                    </Group>
                </Stack>
            </Drawer>
        );
    }
    const shown = fields.filter((field) => field.isFor?.(form) ?? true);
    return (
        <>
            <Drawer
                opened
                onClose={close}
                title={thing === null ? kind.add : kind.nameOf(thing)}
                size="lg"
            >
                <form
                    id="thing"
                    onSubmit={(event) => {
                        void save(event);
                    }}
                >
                    <Stack>
                        {shown.map((field, index) => (
                            <Input
                                key={field.name}
                                isFirst={index === 0}
                                field={field}
                                value={form[field.name]}
                                isFixed={!isNew && field.isFixed === true}
                                set={(value) =>
                                    setForm((before) => ({ ...before, [field.name]: value }))
                                }
                            />
                        ))}
                        {error !== null && <Problem error={error} />}
                        <Group justify="flex-end">
                            <Button variant="default" onClick={close}>
                                Cancel
                            </Button>
                            <Button type="submit" loading={isBusy}>
                                {isNew ? "Create" : "Save"}
                            </Button>
                        </Group>
                    </Stack>
                </form>
            </Drawer>
            {unsaved.question}
        </>
    );
}
