/* SPDX-License-Identifier: MIT */
/* The keys by which one signs in over SSH. */
import { Button, Group, Stack, Text, Textarea, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { get, part, post, remove } from "../../shared/api/client";
import type { SshKey } from "../../shared/api/schema";
import { Confirm, Problem, Waiting, When } from "../../shared/parts";
import { texts } from "./texts";

const PATH = "users/me/ssh-keys";
const words = texts.keys;

function Add(): ReactNode {
    const client = useQueryClient();
    const [line, setLine] = useState("");
    const [name, setName] = useState("");
    const add = useMutation({
        mutationFn: () =>
            post<SshKey>(PATH, { public_key: line.trim(), ...(name !== "" && { name }) }),
        onSuccess: () => {
            setLine("");
            setName("");
            return client.invalidateQueries({ queryKey: [PATH] });
        },
    });
    return (
        <form
            id="add-ssh-key"
            onSubmit={(event) => {
                event.preventDefault();
                add.mutate();
            }}
        >
            <Stack gap="sm">
                <Textarea
                    label={words.line}
                    description={words.lineAbout}
                    placeholder="ssh-ed25519 AAAA… you@laptop"
                    autosize
                    minRows={2}
                    required
                    spellCheck={false}
                    value={line}
                    onChange={(event) => setLine(event.currentTarget.value)}
                />
                <TextInput
                    label={words.name}
                    description={words.nameAbout}
                    maxLength={254}
                    autoComplete="off"
                    value={name}
                    onChange={(event) => setName(event.currentTarget.value)}
                />
                {add.error !== null && <Problem error={add.error} />}
                <Group>
                    <Button type="submit" loading={add.isPending} disabled={line.trim() === ""}>
                        {words.add}
                    </Button>
                </Group>
            </Stack>
        </form>
    );
}

export function SshKeys(): ReactNode {
    const client = useQueryClient();
    const [going, setGoing] = useState<SshKey | null>(null);
    const keys = useQuery({
        queryKey: [PATH],
        queryFn: ({ signal }) => get<SshKey[]>(PATH, {}, signal),
    });
    return (
        <section className="card" aria-label={words.title} id="ssh-keys">
            <Stack p="md" maw={640}>
                <div>
                    <Title order={2} size="h4">
                        {words.title}
                    </Title>
                    <Text size="sm" c="dimmed">
                        {words.about}
                    </Text>
                </div>
                {keys.error !== null && (
                    <Problem
                        error={keys.error}
                        retry={() => {
                            void keys.refetch();
                        }}
                    />
                )}
                {keys.isPending && <Waiting lines={1} />}
                {(keys.data ?? []).map((key) => (
                    <Group
                        key={key.id}
                        justify="space-between"
                        align="flex-start"
                        data-ssh-key={key.name}
                    >
                        <div className="grow">
                            <Text fw={600} className="anywhere">
                                {key.name}
                            </Text>
                            <Text size="xs" c="dimmed" className="code anywhere">
                                {key.type} {key.fingerprint}
                            </Text>
                            <Text size="sm" component="div">
                                {words.added} <When at={key.created_at} /> ·{" "}
                                {key.last_used_at === null ? (
                                    words.unused
                                ) : (
                                    <>
                                        {words.used} <When at={key.last_used_at} />
                                    </>
                                )}
                            </Text>
                        </div>
                        <Button
                            size="xs"
                            variant="subtle"
                            color="red"
                            aria-label={`${words.remove} ${key.name}`}
                            onClick={() => setGoing(key)}
                        >
                            {words.remove}
                        </Button>
                    </Group>
                ))}
                <Add />
            </Stack>
            {going !== null && (
                <Confirm
                    title={words.removeTitle(going.name)}
                    action={words.remove}
                    name={going.name}
                    close={() => setGoing(null)}
                    run={async () => {
                        await remove(`${PATH}/${part(going.id)}`);
                        await client.invalidateQueries({ queryKey: [PATH] });
                    }}
                >
                    {words.removeAbout}
                </Confirm>
            )}
        </section>
    );
}
