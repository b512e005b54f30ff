/* SPDX-License-Identifier: MIT */
/* What a masking rule looks for: kinds that the gateway knows, columns, and kinds of one's own. */
import {
    ActionIcon,
    Button,
    Checkbox,
    Group,
    NativeSelect,
    NumberInput,
    Stack,
    Text,
    TextInput,
    Title,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { get } from "../../../shared/api/client";
import { Icon } from "../../../shared/icons";
import { Problem } from "../../../shared/parts";
import { WordsField } from "../../../shared/pickers";
import type { FormPart } from "./MaskingEditor";
import type { Custom, Style } from "./rule";
import { texts } from "./texts";

const words = texts.editor;

interface Kind {
    name: string;
    description: string;
    is_checksum_verified: boolean;
}

export function Kinds({ form, set }: FormPart): ReactNode {
    const [text, setText] = useState("");
    const kinds = useQuery({
        queryKey: ["masking", "kinds"],
        queryFn: ({ signal }) => get<Kind[]>("datamasking-entity-types", {}, signal),
        staleTime: Infinity,
    });
    const search = text.trim().toLowerCase();
    const shown = (kinds.data ?? []).filter(({ name, description }) =>
        `${name} ${description}`.toLowerCase().includes(search),
    );
    const toggle = (name: string, isOn: boolean): void =>
        set({
            types: isOn ? [...form.types, name] : form.types.filter((type) => type !== name),
        });
    return (
        <section className="card rule-card" aria-label={words.types}>
            <Title order={2} size="h4">
                {words.types}
            </Title>
            <Text size="sm" c="dimmed" mb="sm">
                {words.typesAbout}
            </Text>
            {kinds.error !== null && <Problem error={kinds.error} />}
            <TextInput
                mb="sm"
                type="search"
                aria-label={words.find}
                placeholder={words.find}
                value={text}
                onChange={(event) => setText(event.currentTarget.value)}
            />
            <div className="kinds" tabIndex={0} role="group" aria-label={words.types}>
                {shown.map((kind) => (
                    <Checkbox
                        key={kind.name}
                        checked={form.types.includes(kind.name)}
                        label={kind.name}
                        description={kind.description}
                        data-kind={kind.name}
                        onChange={(event) => toggle(kind.name, event.currentTarget.checked)}
                    />
                ))}
                {kinds.isSuccess && shown.length === 0 && <Text size="sm">{words.noTypes}</Text>}
            </div>
        </section>
    );
}

export function Columns({ form, set }: FormPart): ReactNode {
    const columns = form.columns;
    return (
        <section className="card rule-card" aria-label={words.columns}>
            <Title order={2} size="h4">
                {words.columns}
            </Title>
            <Text size="sm" c="dimmed" mb="sm">
                {words.columnsAbout}
            </Text>
            <Stack gap="xs">
                {columns.map((column, index) => {
                    const change = (part: Partial<typeof column>): void =>
                        set({
                            columns: columns.map((one, at) =>
                                at === index ? { ...one, ...part } : one,
                            ),
                        });
                    return (
                        <Group key={index} align="flex-end" gap="xs">
                            <TextInput
                                flex="1 1 12rem"
                                label={words.column}
                                value={column.name}
                                autoComplete="off"
                                spellCheck={false}
                                onChange={(event) => change({ name: event.currentTarget.value })}
                            />
                            <NativeSelect
                                label={words.columnStyle}
                                value={column.strategy?.type ?? ""}
                                data={[
                                    { value: "", label: words.likeRule },
                                    ...Object.entries(words.styles).map(([value, label]) => ({
                                        value,
                                        label,
                                    })),
                                ]}
                                onChange={(event) => {
                                    const type = event.currentTarget.value as Style | "";
                                    change({ strategy: type === "" ? null : { type } });
                                }}
                            />
                            <ActionIcon
                                variant="subtle"
                                color="gray"
                                size="lg"
                                aria-label={words.removeColumn(column.name)}
                                onClick={() => set({ columns: columns.toSpliced(index, 1) })}
                            >
                                <Icon name="cross" />
                            </ActionIcon>
                        </Group>
                    );
                })}
                <Button
                    size="xs"
                    variant="subtle"
                    w="fit-content"
                    leftSection={<Icon name="plus" size={14} />}
                    onClick={() => set({ columns: [...columns, { name: "" }] })}
                >
                    {words.addColumn}
                </Button>
            </Stack>
        </section>
    );
}

function CustomFields({
    custom,
    change,
    remove,
}: {
    custom: Custom;
    change: (part: Partial<Custom>) => void;
    remove: () => void;
}): ReactNode {
    return (
        <Stack gap="xs">
            <Group align="flex-end" gap="xs">
                <TextInput
                    flex="1 1 8rem"
                    label={words.customName}
                    value={custom.name}
                    autoComplete="off"
                    onChange={(event) => change({ name: event.currentTarget.value })}
                />
                <NumberInput
                    label={words.score}
                    value={Math.round(custom.score * 100)}
                    min={1}
                    max={100}
                    hideControls
                    onChange={(value) => change({ score: (Number(value) || 1) / 100 })}
                />
                <ActionIcon
                    variant="subtle"
                    color="gray"
                    size="lg"
                    aria-label={words.removeCustom(custom.name)}
                    onClick={remove}
                >
                    <Icon name="cross" />
                </ActionIcon>
            </Group>
            <TextInput
                label={words.regex}
                className="code-field"
                value={custom.regex ?? ""}
                autoComplete="off"
                spellCheck={false}
                onChange={(event) => change({ regex: event.currentTarget.value })}
            />
            <WordsField
                label={words.words}
                value={custom.deny_list ?? []}
                set={(list) => change({ deny_list: list })}
            />
        </Stack>
    );
}

export function Customs({ form, set }: FormPart): ReactNode {
    const customs = form.customs;
    return (
        <section className="card rule-card" aria-label={words.customs}>
            <Title order={2} size="h4">
                {words.customs}
            </Title>
            <Text size="sm" c="dimmed" mb="sm">
                {words.customsAbout}
            </Text>
            <Stack gap="md">
                {customs.map((custom, index) => (
                    <CustomFields
                        key={index}
                        custom={custom}
                        change={(part) =>
                            set({
                                customs: customs.map((one, at) =>
                                    at === index ? { ...one, ...part } : one,
                                ),
                            })
                        }
                        remove={() => set({ customs: customs.toSpliced(index, 1) })}
                    />
                ))}
                <Button
                    size="xs"
                    variant="subtle"
                    w="fit-content"
                    leftSection={<Icon name="plus" size={14} />}
                    onClick={() => set({ customs: [...customs, { name: "", score: 0.8 }] })}
                >
                    {words.addCustom}
                </Button>
            </Stack>
        </section>
    );
}
