/* SPDX-License-Identifier: MIT */
/* Guard rails as they are, and the presets, which are attached to connections with one click. */
import { Button, Group, Modal, MultiSelect, Stack, Text, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";

import { useMe } from "../../app/me";
import { get, part, post } from "../../shared/api/client";
import type { Connection, Page } from "../../shared/api/types";
import { Empty, PageHead, Problem, Tag, Waiting } from "../../shared/parts";
import { texts } from "./texts";

const words = texts.guardrails;

interface Guardrail {
    id: string;
    name: string;
    description: string;
    rulepack?: string;
    connection_ids: string[];
    attributes: string[];
    input: { rules: unknown[] } | null;
    output: { rules: unknown[] } | null;
}

interface Rulepack {
    name: string;
    title: string;
    description: string;
}

/* At most a hundred, as the API lists them; who has more attaches by an attribute. */
function useConnections() {
    return useQuery({
        queryKey: ["connections", "names"],
        queryFn: ({ signal }) => get<Page<Connection>>("connections", { page_size: 100 }, signal),
        select: (page) => page.data,
    });
}

function Attach({ pack, close }: { pack: Rulepack; close: () => void }): ReactNode {
    const client = useQueryClient();
    const connections = useConnections();
    const [names, setNames] = useState<string[]>([]);
    const [error, setError] = useState<unknown>(null);
    const run = async (action: "attach" | "detach"): Promise<void> => {
        setError(null);
        try {
            await post(`rulepacks/${part(pack.name)}/${action}`, { connection_names: names });
            await client.invalidateQueries();
            close();
        } catch (failure) {
            setError(failure);
        }
    };
    return (
        <Modal opened onClose={close} title={pack.title}>
            <form
                onSubmit={(event: FormEvent) => {
                    event.preventDefault();
                    void run("attach");
                }}
            >
                <Stack>
                    <Text size="sm">{pack.description}</Text>
                    <MultiSelect
                        label={words.to}
                        searchable
                        value={names}
                        onChange={setNames}
                        data-autofocus
                        data={(connections.data ?? []).map(({ name }) => name)}
                    />
                    {error !== null && <Problem error={error} />}
                    <Group justify="flex-end">
                        <Button
                            variant="default"
                            disabled={names.length === 0}
                            onClick={() => {
                                void run("detach");
                            }}
                        >
                            {words.detach}
                        </Button>
                        <Button type="submit" disabled={names.length === 0}>
                            {words.attach}
                        </Button>
                    </Group>
                </Stack>
            </form>
        </Modal>
    );
}

export function GuardrailsPage(): ReactNode {
    const me = useMe();
    const [pack, setPack] = useState<Rulepack | null>(null);
    const connections = useConnections();
    const list = useQuery({
        queryKey: ["guardrails"],
        queryFn: ({ signal }) => get<Guardrail[]>("guardrails", {}, signal),
    });
    const packs = useQuery({
        queryKey: ["rulepacks"],
        queryFn: ({ signal }) => get<Rulepack[]>("rulepacks", {}, signal),
    });
    const nameOf = (id: string): string =>
        connections.data?.find((connection) => connection.id === id)?.name ?? id;
    const where = (guardrail: Guardrail): string => {
        const names = [...guardrail.connection_ids.map(nameOf), ...guardrail.attributes];
        return names.length === 0 ? words.nowhere : words.on(names.join(", "));
    };
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
            <div className="card rows" hidden={(list.data ?? []).length === 0} id="guardrails">
                {(list.data ?? []).map((guardrail) => (
                    <div key={guardrail.id} className="admin-line">
                        <div>
                            <Text fw={600} className="anywhere">
                                {guardrail.name}
                            </Text>
                            <Text size="sm" c="dimmed" className="anywhere">
                                {guardrail.description}
                            </Text>
                            <Text size="sm" className="anywhere">
                                {where(guardrail)}
                            </Text>
                        </div>
                        <Tag>
                            {words.rules(
                                (guardrail.input?.rules.length ?? 0) +
                                    (guardrail.output?.rules.length ?? 0),
                            )}
                        </Tag>
                    </div>
                ))}
            </div>
            <Title order={2} size="h4" mt="xl" mb="sm">
                {words.presets}
            </Title>
            {packs.error !== null && (
                <Problem
                    error={packs.error}
                    retry={() => {
                        void packs.refetch();
                    }}
                />
            )}
            <div className="card rows">
                {(packs.data ?? []).map((one) => (
                    <div key={one.name} className="admin-line">
                        <div>
                            <Text fw={600} className="anywhere">
                                {one.title}
                            </Text>
                            <Text size="sm" c="dimmed" className="anywhere">
                                {one.description}
                            </Text>
                        </div>
                        {me.is_admin && (
                            <Button
                                size="xs"
                                variant="default"
                                onClick={() => setPack(one)}
                                aria-label={`${words.attach}: ${one.title}`}
                            >
                                {words.attach}
                            </Button>
                        )}
                    </div>
                ))}
            </div>
            {pack !== null && <Attach pack={pack} close={() => setPack(null)} />}
        </>
    );
}
