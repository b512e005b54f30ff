/* SPDX-License-Identifier: MIT */
/* Masking rules as they are: what they look for, and where; the editor stands in the address. */
import { Button, Group, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "wouter";

import { useMe } from "../../../app/me";
import { get, part, remove } from "../../../shared/api/client";
import { Icon } from "../../../shared/icons";
import { Confirm, Empty, PageHead, Problem, Tag, Waiting } from "../../../shared/parts";
import { Where } from "../guardrails/GuardrailsPage";
import { MaskingEditor } from "./MaskingEditor";
import type { MaskingRule } from "./rule";
import { texts } from "./texts";

const words = texts.list;
const KINDS_SHOWN = 8;

function Kinds({ rule }: { rule: MaskingRule }): ReactNode {
    const kinds = [
        ...rule.supported_entity_types.flatMap((group) => group.entity_types),
        ...rule.custom_entity_types.map(({ name }) => name),
        ...rule.columns.map(({ name }) => name),
    ];
    return (
        <Group gap={6} my={4}>
            {kinds.slice(0, KINDS_SHOWN).map((kind, index) => (
                <Tag key={index}>{kind}</Tag>
            ))}
            {kinds.length > KINDS_SHOWN && (
                <Text size="sm">{words.more(kinds.length - KINDS_SHOWN)}</Text>
            )}
        </Group>
    );
}

function Line({ rule, gone }: { rule: MaskingRule; gone: () => void }): ReactNode {
    const me = useMe();
    const [, setQuery] = useSearchParams();
    return (
        <div className="admin-line" data-masking={rule.name}>
            <div>
                <Text fw={600} className="anywhere">
                    {rule.name}
                </Text>
                <Text size="sm" className="anywhere">
                    {rule.description}
                </Text>
                <Kinds rule={rule} />
                <Where ids={rule.connection_ids} attributes={rule.attributes} />
                {(rule.warnings ?? []).map((warning) => (
                    <Text key={warning} size="sm" c="dimmed" className="anywhere">
                        {warning}
                    </Text>
                ))}
            </div>
            {rule.managed_by ? (
                <Tag>{words.managed}</Tag>
            ) : (
                me.is_admin && (
                    <Group gap="xs">
                        <Button
                            size="xs"
                            variant="default"
                            aria-label={`${words.edit} ${rule.name}`}
                            onClick={() => setQuery({ edit: rule.id })}
                        >
                            {words.edit}
                        </Button>
                        <Button
                            size="xs"
                            variant="subtle"
                            color="red"
                            aria-label={`${words.remove} ${rule.name}`}
                            onClick={gone}
                        >
                            {words.remove}
                        </Button>
                    </Group>
                )
            )}
        </div>
    );
}

export function MaskingPage(): ReactNode {
    const me = useMe();
    const client = useQueryClient();
    const [query, setQuery] = useSearchParams();
    const [going, setGoing] = useState<MaskingRule | null>(null);
    const list = useQuery({
        queryKey: ["masking"],
        queryFn: ({ signal }) => get<MaskingRule[]>("datamasking-rules", {}, signal),
    });
    const edited = list.data?.find(({ id, name }) => [id, name].includes(query.get("edit") ?? ""));
    if (query.has("new") || edited !== undefined) {
        return <MaskingEditor key={edited?.id ?? ""} rule={edited ?? null} />;
    }
    const add = me.is_admin && (
        <Button leftSection={<Icon name="plus" />} onClick={() => setQuery({ new: "" })}>
            {words.add}
        </Button>
    );
    return (
        <>
            <PageHead title={words.title} about={words.about}>
                {add}
            </PageHead>
            {list.error !== null && (
                <Problem
                    error={list.error}
                    retry={() => {
                        void list.refetch();
                    }}
                />
            )}
            {list.isPending && <Waiting lines={2} />}
            {list.data?.length === 0 && (
                <Empty title={words.none} action={add}>
                    {words.noneAbout}
                </Empty>
            )}
            <div className="card rows" hidden={(list.data ?? []).length === 0} id="masking-rules">
                {(list.data ?? []).map((rule) => (
                    <Line key={rule.id} rule={rule} gone={() => setGoing(rule)} />
                ))}
            </div>
            {going !== null && (
                <Confirm
                    title={words.removeTitle(going.name)}
                    action={words.remove}
                    name={going.name}
                    close={() => setGoing(null)}
                    run={async () => {
                        await remove(`datamasking-rules/${part(going.id)}`);
                        await client.invalidateQueries();
                    }}
                >
                    {words.removeAbout}
                </Confirm>
            )}
        </>
    );
}
