/* SPDX-License-Identifier: MIT */
/* Masking rules as they are: what they look for, and where. */
import { Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { get } from "../../shared/api/client";
import { Empty, PageHead, Problem, Tag, Waiting } from "../../shared/parts";
import { texts } from "./texts";

const words = texts.masking;
const KINDS_SHOWN = 8;

interface MaskingRule {
    id: string;
    name: string;
    description: string;
    supported_entity_types: { name: string; entity_types: string[] }[] | null;
    connection_ids: string[];
    attributes: string[];
}

function Kinds({ rule }: { rule: MaskingRule }): ReactNode {
    const kinds = (rule.supported_entity_types ?? []).flatMap((group) => group.entity_types);
    return (
        <Group gap={6}>
            {kinds.slice(0, KINDS_SHOWN).map((kind) => (
                <Tag key={kind}>{kind}</Tag>
            ))}
            {kinds.length > KINDS_SHOWN && (
                <Text size="sm">and {kinds.length - KINDS_SHOWN} more</Text>
            )}
        </Group>
    );
}

export function MaskingPage(): ReactNode {
    const list = useQuery({
        queryKey: ["masking"],
        queryFn: ({ signal }) => get<MaskingRule[]>("datamasking-rules", {}, signal),
    });
    return (
        <>
            <PageHead title={words.title} about={words.about} />
            {list.error !== null && (
                <Problem
                    error={list.error}
                    retry={() => {
                        void list.refetch();
                    }}
                />
            )}
            {list.isPending && <Waiting lines={2} />}
            {list.data?.length === 0 && <Empty title={words.none}>{words.noneAbout}</Empty>}
            <div className="card rows" hidden={(list.data ?? []).length === 0}>
                {(list.data ?? []).map((rule) => (
                    <div key={rule.id} className="admin-line">
                        <div>
                            <Text fw={600} className="anywhere">
                                {rule.name}
                            </Text>
                            <Text size="sm" c="dimmed" mb={6} className="anywhere">
                                {rule.description}
                            </Text>
                            <Kinds rule={rule} />
                        </div>
                        <Text size="sm">
                            {words.where(rule.connection_ids.length, rule.attributes.length)}
                        </Text>
                    </div>
                ))}
            </div>
        </>
    );
}
