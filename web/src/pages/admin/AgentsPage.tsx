/* SPDX-License-Identifier: MIT */
/* Agents: made here, started elsewhere with one line, watched until they have linked. */
import { Alert, Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";

import { get, part, post, remove } from "../../shared/api/client";
import { useFocusBack } from "../../shared/focus";
import { Icon } from "../../shared/icons";
import { Confirm, CopyBlock, PageHead, Problem, Tag, Waiting, When } from "../../shared/parts";
import { texts } from "./texts";

const words = texts.agents;
const WATCH_MS = 2000;

interface Agent {
    id: string;
    name: string;
    mode: "standard" | "embedded";
    status: string;
    metadata: { hostname?: string; version?: string; platform?: string };
    last_seen_at: string | null;
}

function Add({ agents, close }: { agents: Agent[]; close: () => void }): ReactNode {
    useFocusBack();
    const client = useQueryClient();
    const [name, setName] = useState("");
    const [token, setToken] = useState<string | null>(null);
    const [error, setError] = useState<unknown>(null);
    const isLinked = agents.some((agent) => agent.name === name && agent.status === "CONNECTED");
    const create = async (event: FormEvent): Promise<void> => {
        event.preventDefault();
        setError(null);
        try {
            setToken((await post<{ token: string }>("agents", { name })).token);
            await client.invalidateQueries({ queryKey: ["agents"] });
        } catch (failure) {
            setError(failure);
        }
    };
    return (
        <Modal opened onClose={close} title={words.add} size="lg">
            {token === null ? (
                <form
                    onSubmit={(event) => {
                        void create(event);
                    }}
                >
                    <Stack>
                        <TextInput
                            label={words.name}
                            required
                            value={name}
                            autoComplete="off"
                            data-autofocus
                            onChange={(event) => setName(event.currentTarget.value)}
                        />
                        {error !== null && <Problem error={error} />}
                        <Group justify="flex-end">
                            <Button type="submit">{words.create}</Button>
                        </Group>
                    </Stack>
                </form>
            ) : (
                <Stack>
                    <Text size="sm">{words.line}:</Text>
                    <CopyBlock
                        label={words.line}
                        text={`GATEHOUSE_TOKEN='${token}' gatehouse agent`}
                    />
                    <Alert color="orange" icon={<Icon name="warning" />}>
                        {words.once}
                    </Alert>
                    <Text size="sm" role="status">
                        {isLinked ? words.linked : words.waits}
                    </Text>
                    <Group justify="flex-end">
                        <Button variant="default" onClick={close}>
                            {words.close}
                        </Button>
                    </Group>
                </Stack>
            )}
        </Modal>
    );
}

export function AgentsPage(): ReactNode {
    const client = useQueryClient();
    const [isAdding, setAdding] = useState(false);
    const [going, setGoing] = useState<Agent | null>(null);
    const list = useQuery({
        queryKey: ["agents"],
        queryFn: ({ signal }) => get<Agent[]>("agents", {}, signal),
        refetchInterval: WATCH_MS,
    });
    return (
        <>
            <PageHead title={words.title} about={words.about}>
                <Button leftSection={<Icon name="plus" />} onClick={() => setAdding(true)}>
                    {words.add}
                </Button>
            </PageHead>
            {list.error !== null && (
                <Problem
                    error={list.error}
                    retry={() => {
                        void list.refetch();
                    }}
                />
            )}
            {list.isPending && <Waiting />}
            <div className="card rows">
                {(list.data ?? []).map((agent) => (
                    <div key={agent.id} className="admin-line" data-agent={agent.name}>
                        <div>
                            <Text fw={600} className="anywhere">
                                {agent.name}
                            </Text>
                            <Text size="sm" c="dimmed" className="anywhere">
                                {agent.mode === "embedded"
                                    ? words.embedded
                                    : [
                                          agent.metadata.hostname,
                                          agent.metadata.platform,
                                          agent.metadata.version,
                                      ]
                                          .filter(Boolean)
                                          .join(" · ")}
                            </Text>
                        </div>
                        {agent.last_seen_at !== null && agent.status !== "CONNECTED" && (
                            <Text size="sm" c="dimmed">
                                {words.seen} <When at={agent.last_seen_at} />
                            </Text>
                        )}
                        <Tag tone={agent.status === "CONNECTED" ? "good" : "bad"}>
                            {agent.status === "CONNECTED" ? words.connected : words.gone}
                        </Tag>
                        {agent.mode !== "embedded" && (
                            <Button
                                size="xs"
                                variant="subtle"
                                color="red"
                                onClick={() => setGoing(agent)}
                                aria-label={`${words.remove} ${agent.name}`}
                            >
                                {words.remove}
                            </Button>
                        )}
                    </div>
                ))}
            </div>
            {isAdding && <Add agents={list.data ?? []} close={() => setAdding(false)} />}
            {going !== null && (
                <Confirm
                    title={words.removeTitle(going.name)}
                    action={words.remove}
                    name={going.name}
                    close={() => setGoing(null)}
                    run={async () => {
                        await remove(`agents/${part(going.name)}`, { force: true });
                        await client.invalidateQueries({ queryKey: ["agents"] });
                    }}
                >
                    {words.removeAbout}
                </Confirm>
            )}
        </>
    );
}
