/* SPDX-License-Identifier: MIT */
/* Every call of the API, made of its own description. */
import { Button, Code, Stack, Table, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { address, get } from "../../shared/api/client";
import { Icon } from "../../shared/icons";
import {
    ClearSearch,
    CopyBlock,
    Empty,
    PageHead,
    Problem,
    Tag,
    type Tone,
    Waiting,
} from "../../shared/parts";
import {
    type Call,
    callsOf,
    type Description,
    exampleOf,
    isFound,
    nameOf,
    type Parameter,
    resolved,
    type Schema,
    typeOf,
} from "./schema";
import { texts } from "./texts";
import "./reference.css";

type Schemas = Record<string, Schema>;
const TONES: Record<string, Tone> = { GET: "info", DELETE: "bad", POST: "good" };
const DEPTH_MAX = 4;

function Members({ schema, all, depth }: {
    schema: Schema;
    all: Schemas;
    depth: number;
}): ReactNode {
    const whole = resolved(schema.items ?? schema, all);
    const required = new Set(whole.required ?? []);
    return (
        <ul className="members">
            {Object.entries(whole.properties ?? {}).map(([name, member]) => {
                const inner = resolved(
                    member.items ?? member.anyOf?.find((one) => nameOf(one) !== "") ?? member,
                    all,
                );
                const hasMore = inner.properties !== undefined && depth < DEPTH_MAX;
                return (
                    <li key={name}>
                        <Text size="sm" className="anywhere">
                            <code>{name}</code> <span className="dimmed">{typeOf(member)}</span>
                            {required.has(name) && <span> · {texts.required}</span>}
                        </Text>
                        {member.description !== undefined && (
                            <Text size="xs" c="dimmed">
                                {member.description}
                            </Text>
                        )}
                        {hasMore && (
                            <details>
                                <summary>{texts.inner}</summary>
                                <Members schema={inner} all={all} depth={depth + 1} />
                            </details>
                        )}
                    </li>
                );
            })}
        </ul>
    );
}

function Parameters({ list }: { list: Parameter[] }): ReactNode {
    return (
        list.length > 0 && (
            <section>
                <Text fw={600} size="sm">
                    {texts.parameters}
                </Text>
                <Table.ScrollContainer minWidth={360} type="native" scrollAreaProps={{ tabIndex: 0 }}>
                    <Table fz="sm" verticalSpacing={4}>
                        <Table.Tbody>
                            {list.map((parameter) => (
                                <Table.Tr key={parameter.in + parameter.name}>
                                    <Table.Td>
                                        <code>{parameter.name}</code>
                                    </Table.Td>
                                    <Table.Td>
                                        {parameter.in}, {typeOf(parameter.schema)}
                                    </Table.Td>
                                    <Table.Td>{parameter.description}</Table.Td>
                                </Table.Tr>
                            ))}
                        </Table.Tbody>
                    </Table>
                </Table.ScrollContainer>
            </section>
        )
    );
}

function Body({ title, schema, all }: {
    title: string;
    schema: Schema | undefined;
    all: Schemas;
}): ReactNode {
    return (
        schema !== undefined && (
            <section>
                <Text fw={600} size="sm">
                    {title} <Code>{typeOf(schema)}</Code>
                </Text>
                <Members schema={schema} all={all} depth={0} />
            </section>
        )
    );
}

function CallLine({ call, all }: { call: Call; all: Schemas }): ReactNode {
    const [isOpen, setOpen] = useState(false);
    const { operation } = call;
    const [status, answer] = Object.entries(operation.responses)[0] ?? ["", {}];
    const refused = Object.keys(operation.responses).filter((one) => one >= "400");
    return (
        <details
            className="call"
            id={operation.operationId}
            onToggle={(event) => setOpen(event.currentTarget.open)}
        >
            <summary>
                <Tag tone={TONES[call.method] ?? "warn"}>{call.method}</Tag>
                <code className="anywhere">{call.path}</code>
                <span className="dimmed">{operation.summary}</span>
            </summary>
            {isOpen && (
                <Stack gap="sm" p="md" pt={0}>
                    <CopyBlock
                        label={texts.example}
                        text={exampleOf(call, address("").href.replace(/\/$/, ""))}
                    />
                    <Parameters list={operation.parameters} />
                    <Body
                        title={texts.request}
                        all={all}
                        schema={Object.values(operation.requestBody?.content ?? {})[0]?.schema}
                    />
                    <Body
                        title={`${texts.answer} ${status}`}
                        all={all}
                        schema={Object.values(answer.content ?? {})[0]?.schema}
                    />
                    <Text size="sm" c="dimmed">
                        {texts.refused(refused.join(", "))}
                    </Text>
                </Stack>
            )}
        </details>
    );
}

export default function ReferencePage(): ReactNode {
    const [text, setText] = useState("");
    const description = useQuery({
        queryKey: ["openapi"],
        queryFn: ({ signal }) => get<Description>("openapi.json", {}, signal),
        staleTime: Infinity,
    });
    const calls =
        description.data === undefined
            ? []
            : callsOf(description.data).filter((call) => isFound(call, text.trim()));
    const tags = [...new Set(calls.flatMap((call) => call.operation.tags))];
    return (
        <>
            <PageHead title={texts.title} about={texts.about}>
                <Button
                    component="a"
                    variant="default"
                    href={address("openapi.json").href}
                    download="openapi.json"
                    leftSection={<Icon name="down" />}
                >
                    openapi.json
                </Button>
            </PageHead>
            <TextInput
                mb="md"
                type="search"
                id="find-call"
                aria-label={texts.find}
                placeholder={texts.find}
                value={text}
                onChange={(event) => setText(event.currentTarget.value)}
            />
            {description.error !== null && (
                <Problem
                    error={description.error}
                    retry={() => {
                        void description.refetch();
                    }}
                />
            )}
            {description.isPending && <Waiting />}
            {description.isSuccess && calls.length === 0 && (
                <Empty title={texts.none} action={<ClearSearch run={() => setText("")} />} />
            )}
            {tags.map((tag) => (
                <section key={tag} aria-label={tag}>
                    <Title order={2} size="h4" mt="lg" mb="xs" className="reference-tag">
                        {tag.replaceAll("_", " ")}
                    </Title>
                    <div className="card rows">
                        {calls
                            .filter((call) => call.operation.tags.includes(tag))
                            .map((call) => (
                                <CallLine
                                    key={call.operation.operationId}
                                    call={call}
                                    all={description.data?.components.schemas ?? {}}
                                />
                            ))}
                    </div>
                </section>
            ))}
        </>
    );
}
