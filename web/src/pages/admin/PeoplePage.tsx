/* SPDX-License-Identifier: MIT */
/* People: invite somebody, lock somebody out. */
import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";

import { useMe } from "../../app/me";
import { get, part, patch, post } from "../../shared/api/client";
import { Icon } from "../../shared/icons";
import { CopyBlock, PageHead, Problem, Tag, Waiting } from "../../shared/parts";
import { texts } from "./texts";

const words = texts.people;

interface Person {
    id: string;
    name: string;
    email: string;
    status: "active" | "inactive" | "invited";
    role: string;
    groups: string[];
    invitation_url?: string;
}

function Invite({ close }: { close: () => void }): ReactNode {
    const client = useQueryClient();
    const [email, setEmail] = useState("");
    const [name, setName] = useState("");
    const [groups, setGroups] = useState("");
    const invited = useMutation({
        mutationFn: () =>
            post<Person>("users", {
                email,
                name,
                groups: groups
                    .split(",")
                    .map((group) => group.trim())
                    .filter(Boolean),
            }),
        onSuccess: () => client.invalidateQueries({ queryKey: ["users"] }),
    });
    return (
        <Modal opened onClose={close} title={words.add}>
            {invited.data === undefined ? (
                <form
                    onSubmit={(event: FormEvent) => {
                        event.preventDefault();
                        invited.mutate();
                    }}
                >
                    <Stack>
                        <TextInput
                            type="email"
                            label={words.email}
                            required
                            value={email}
                            autoComplete="off"
                            data-autofocus
                            onChange={(event) => setEmail(event.currentTarget.value)}
                        />
                        <TextInput
                            label={words.name}
                            value={name}
                            autoComplete="off"
                            onChange={(event) => setName(event.currentTarget.value)}
                        />
                        <TextInput
                            label={words.groups}
                            value={groups}
                            autoComplete="off"
                            onChange={(event) => setGroups(event.currentTarget.value)}
                        />
                        {invited.error !== null && <Problem error={invited.error} />}
                        <Group justify="flex-end">
                            <Button type="submit" loading={invited.isPending}>
                                {words.invite}
                            </Button>
                        </Group>
                    </Stack>
                </form>
            ) : (
                <Stack>
                    <Text size="sm">
                        {words.link}. {words.linkAbout}
                    </Text>
                    <CopyBlock label={words.link} text={invited.data.invitation_url ?? ""} />
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

function Line({ person }: { person: Person }): ReactNode {
    const me = useMe();
    const client = useQueryClient();
    const isOut = person.status === "inactive";
    const change = useMutation({
        mutationFn: () =>
            patch(`users/${part(person.id)}`, { status: isOut ? "active" : "inactive" }),
        onSuccess: () => client.invalidateQueries({ queryKey: ["users"] }),
    });
    return (
        <div data-person-line={person.email}>
            <div className="admin-line">
                <div>
                    <Text fw={600} className="anywhere">
                        {person.name || person.email}
                    </Text>
                    <Text size="sm" c="dimmed" className="anywhere">
                        {person.email}
                    </Text>
                </div>
                <Group gap={6}>
                    {person.groups.map((group) => (
                        <Tag key={group}>{group}</Tag>
                    ))}
                </Group>
                <Tag
                    tone={
                        person.status === "active"
                            ? "good"
                            : person.status === "invited"
                              ? "warn"
                              : "bad"
                    }
                >
                    {person.status}
                </Tag>
                {person.id !== me.id && person.status !== "invited" && (
                    <Button
                        size="xs"
                        variant="subtle"
                        color={isOut ? undefined : "red"}
                        loading={change.isPending}
                        onClick={() => change.mutate()}
                        aria-label={`${isOut ? words.unlock : words.lock}: ${person.email}`}
                    >
                        {isOut ? words.unlock : words.lock}
                    </Button>
                )}
            </div>
            {change.error !== null && <Problem error={change.error} />}
        </div>
    );
}

export function PeoplePage(): ReactNode {
    const [isInviting, setInviting] = useState(false);
    const list = useQuery({
        queryKey: ["users"],
        queryFn: ({ signal }) => get<Person[]>("users", {}, signal),
    });
    return (
        <>
            <PageHead title={words.title} about={words.about}>
                <Button leftSection={<Icon name="plus" />} onClick={() => setInviting(true)}>
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
                {(list.data ?? []).map((person) => (
                    <Line key={person.id} person={person} />
                ))}
            </div>
            {isInviting && <Invite close={() => setInviting(false)} />}
        </>
    );
}
