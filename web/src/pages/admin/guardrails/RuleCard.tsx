/* SPDX-License-Identifier: MIT */
/* One rule as fields about its effect; what it says stands above them as a sentence. */
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
} from "@mantine/core";
import type { ReactNode } from "react";

import { Icon } from "../../../shared/icons";
import { GroupsPicker, WordsField } from "../../../shared/pickers";
import { actionsFor, type Action, type Draft, type Relation, type Rule, sentenceOf } from "./rules";
import { texts } from "./texts";

const words = texts.editor;

const OPERATIONS =
    "select insert update delete merge truncate create alter drop rename comment grant revoke copy call do set reset show explain prepare execute deallocate declare fetch close listen notify lock vacuum analyze reindex cluster refresh import reassign load discard checkpoint begin commit rollback savepoint server_file code foreign other".split(
        " ",
    );

interface Part {
    rule: Rule;
    change: (change: Partial<Rule>) => void;
}

function asNumber(value: string | number): number | undefined {
    return value === "" ? undefined : Number(value);
}

function Tables({ rule, change }: Part): ReactNode {
    const relations = rule.relations ?? [];
    const set = (index: number, relation: Relation): void =>
        change({ relations: relations.map((one, at) => (at === index ? relation : one)) });
    return (
        <Stack gap="xs">
            {relations.map((relation, index) => (
                <Group key={index} align="flex-end" gap="xs">
                    <TextInput
                        flex="1 1 12rem"
                        label={words.table}
                        description={index === 0 ? words.tableAbout : undefined}
                        value={relation.name}
                        autoComplete="off"
                        spellCheck={false}
                        onChange={(event) =>
                            set(index, { ...relation, name: event.currentTarget.value })
                        }
                    />
                    <NativeSelect
                        label={words.access}
                        value={relation.access ?? "any"}
                        data={Object.entries(words.accesses).map(([value, label]) => ({
                            value,
                            label,
                        }))}
                        onChange={(event) =>
                            set(index, {
                                ...relation,
                                access: event.currentTarget.value as NonNullable<
                                    Relation["access"]
                                >,
                            })
                        }
                    />
                    <ActionIcon
                        variant="subtle"
                        color="gray"
                        size="lg"
                        aria-label={words.removeTable(relation.name)}
                        disabled={relations.length === 1}
                        onClick={() => change({ relations: relations.toSpliced(index, 1) })}
                    >
                        <Icon name="cross" />
                    </ActionIcon>
                </Group>
            ))}
            <Button
                size="xs"
                variant="subtle"
                w="fit-content"
                leftSection={<Icon name="plus" size={14} />}
                onClick={() => change({ relations: [...relations, { name: "", access: "any" }] })}
            >
                {words.addTable}
            </Button>
        </Stack>
    );
}

function Structure({ rule, change }: Part): ReactNode {
    return (
        <>
            {rule.max_rows !== undefined && (
                <NumberInput
                    label={words.maxRows}
                    value={rule.max_rows}
                    min={1}
                    maw={200}
                    hideControls
                    thousandSeparator=","
                    onChange={(value) => change({ max_rows: Math.max(1, asNumber(value) ?? 1) })}
                />
            )}
            {!rule.read_only && (
                <WordsField
                    label={words.operations}
                    placeholder={words.anyOperation}
                    value={rule.operations ?? []}
                    names={OPERATIONS}
                    set={(operations) =>
                        change({ operations: operations.map((one) => one.toLowerCase()) })
                    }
                />
            )}
            {rule.relations !== undefined && <Tables rule={rule} change={change} />}
            {rule.functions !== undefined && (
                <WordsField
                    label={words.functions}
                    about={words.functionsAbout}
                    value={rule.functions}
                    set={(functions) => change({ functions })}
                />
            )}
            {!rule.read_only && (
                <Group>
                    <Checkbox
                        label={words.withoutWhere}
                        checked={rule.without_where ?? false}
                        onChange={(event) =>
                            change({ without_where: event.currentTarget.checked })
                        }
                    />
                    <Checkbox
                        label={words.severalOnly}
                        checked={rule.multi_statement ?? false}
                        onChange={(event) =>
                            change({ multi_statement: event.currentTarget.checked })
                        }
                    />
                </Group>
            )}
            <NativeSelect
                label={words.unknown}
                maw={320}
                value={rule.unknown ?? ""}
                data={Object.entries(words.unknowns).map(([value, label]) => ({ value, label }))}
                onChange={(event) => {
                    const value = event.currentTarget.value as "" | "block" | "allow";
                    change({ unknown: value === "" ? undefined : value } as Partial<Rule>);
                }}
            />
        </>
    );
}

function Body({ rule, change }: Part): ReactNode {
    switch (rule.type) {
        case "sql":
            return <Structure rule={rule} change={change} />;
        case "deny_words_list":
            return (
                <WordsField
                    label={words.wordsField}
                    about={words.wordsAbout}
                    value={rule.words ?? []}
                    set={(list) => change({ words: list })}
                />
            );
        case "pattern_match":
            return (
                <>
                    <TextInput
                        label={words.pattern}
                        description={words.patternAbout}
                        className="code-field"
                        value={rule.pattern_regex ?? ""}
                        autoComplete="off"
                        spellCheck={false}
                        onChange={(event) => change({ pattern_regex: event.currentTarget.value })}
                    />
                    <Checkbox
                        label={words.anyCase}
                        checked={rule.case_sensitive === false}
                        onChange={(event) =>
                            change({ case_sensitive: !event.currentTarget.checked })
                        }
                    />
                </>
            );
        case "read_budget":
            return (
                <Group align="flex-end">
                    {(["rows", "bytes"] as const).map((name) => (
                        <NumberInput
                            key={name}
                            label={words[name]}
                            value={rule[name] ?? ""}
                            min={1}
                            maw={180}
                            hideControls
                            thousandSeparator=","
                            onChange={(value) =>
                                change({ [name]: asNumber(value) } as Partial<Rule>)
                            }
                        />
                    ))}
                    <NativeSelect
                        label={words.per}
                        value={rule.per ?? "hour"}
                        data={Object.entries(words.pers).map(([value, label]) => ({
                            value,
                            label,
                        }))}
                        onChange={(event) =>
                            change({ per: event.currentTarget.value as "hour" | "session" })
                        }
                    />
                </Group>
            );
    }
}

function About({ rule, change }: Part): ReactNode {
    return (
        <details className="more">
            <summary>{words.more}</summary>
            <Stack gap="sm" mt="sm">
                <TextInput
                    label={words.ruleName}
                    value={rule.name ?? ""}
                    autoComplete="off"
                    onChange={(event) => change({ name: event.currentTarget.value })}
                />
                <TextInput
                    label={words.message}
                    placeholder={words.messagePlaceholder}
                    value={rule.message ?? ""}
                    autoComplete="off"
                    onChange={(event) => change({ message: event.currentTarget.value })}
                />
                <GroupsPicker
                    label={words.groups}
                    placeholder={words.everybody}
                    value={rule.groups ?? []}
                    set={(groups) => change({ groups })}
                />
                <GroupsPicker
                    label={words.except}
                    value={rule.except_groups ?? []}
                    set={(groups) => change({ except_groups: groups })}
                />
            </Stack>
        </details>
    );
}

export function RuleCard({
    draft,
    set,
    remove,
}: {
    draft: Draft;
    set: (draft: Draft) => void;
    remove: () => void;
}): ReactNode {
    const { rule, direction } = draft;
    const change = (part: Partial<Rule>): void => set({ ...draft, rule: { ...rule, ...part } });
    return (
        <section className="card rule-card" aria-label={sentenceOf(direction, rule)}>
            <Group justify="space-between" wrap="nowrap" align="flex-start" mb="sm">
                <Text fw={600} className="anywhere" data-sentence>
                    {sentenceOf(direction, rule)}
                </Text>
                <ActionIcon
                    variant="subtle"
                    color="gray"
                    aria-label={words.removeRule}
                    onClick={remove}
                >
                    <Icon name="cross" />
                </ActionIcon>
            </Group>
            <Stack gap="sm">
                <Body rule={rule} change={change} />
                <NativeSelect
                    label={words.action}
                    maw={320}
                    value={rule.action ?? "block"}
                    data={actionsFor(direction, rule).map((action) => ({
                        value: action,
                        label: words.actions[action],
                    }))}
                    onChange={(event) => change({ action: event.currentTarget.value as Action })}
                />
                <About rule={rule} change={change} />
            </Stack>
        </section>
    );
}
