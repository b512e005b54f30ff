/* SPDX-License-Identifier: MIT */
/* Who is signed in, what he signs in with: a second factor, the password,
 * keys of SSH. */
import { Button, Group, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { useMe } from "../../app/me";
import { call, get, put, root } from "../../shared/api/client";
import type { ServerInfo } from "../../shared/api/types";
import { forgetTyped } from "../../shared/kept";
import { PageHead, Problem, Tag } from "../../shared/parts";
import { SecondFactor } from "./SecondFactor";
import { SshKeys } from "./SshKeys";
import { texts } from "./texts";

function Password({ email }: { email: string }): ReactNode {
    const [current, setCurrent] = useState("");
    const [next, setNext] = useState("");
    const change = useMutation({
        mutationFn: () =>
            put("localauth/password", { current_password: current, new_password: next }),
        onSuccess: () => {
            setCurrent("");
            setNext("");
        },
    });
    return (
        <form
            className="card"
            onSubmit={(event) => {
                event.preventDefault();
                change.mutate();
            }}
        >
            <Stack p="md" maw={420}>
                <Title order={2} size="h4">
                    {texts.password}
                </Title>
                <input type="email" autoComplete="username" value={email} readOnly hidden />
                <PasswordInput
                    label={texts.current}
                    value={current}
                    autoComplete="current-password"
                    onChange={(event) => setCurrent(event.currentTarget.value)}
                />
                <PasswordInput
                    label={texts.next}
                    value={next}
                    autoComplete="new-password"
                    description={texts.nextAbout}
                    onChange={(event) => setNext(event.currentTarget.value)}
                />
                {change.error !== null && <Problem error={change.error} />}
                {change.isSuccess && (
                    <Text size="sm" role="status">
                        {texts.changed}
                    </Text>
                )}
                <Group>
                    <Button
                        type="submit"
                        loading={change.isPending}
                        disabled={current === "" || next === ""}
                    >
                        {texts.change}
                    </Button>
                </Group>
            </Stack>
        </form>
    );
}

export default function AccountPage(): ReactNode {
    const me = useMe();
    const info = useQuery({
        queryKey: ["serverinfo"],
        queryFn: ({ signal }) => get<ServerInfo>("serverinfo", {}, signal),
    });
    const leave = useMutation({
        mutationFn: () => call("POST", "logout", { query: { everywhere: true } }),
        onSuccess: () => {
            forgetTyped();
            location.replace(new URL("sign-in", root));
        },
    });
    const role = me.is_admin ? texts.admin : me.role === "auditor" ? texts.auditor : texts.member;
    return (
        <>
            <PageHead title={texts.title} about={`Gatehouse ${info.data?.version ?? ""}`} />
            <Stack>
                <Stack className="card" p="md" gap="xs" id="me">
                    <Title order={2} size="h4" className="anywhere" id="me-name">
                        {me.name || me.email}
                    </Title>
                    <Text className="anywhere">{me.email}</Text>
                    <Text size="sm" c="dimmed" id="me-role">
                        {role}, {texts.organization} {me.org_name}
                    </Text>
                    <Group gap={6} aria-label={texts.groups} role="group" id="me-groups">
                        {me.groups.map((group) => (
                            <Tag key={group}>{group}</Tag>
                        ))}
                    </Group>
                    <Group mt="xs">
                        <Button
                            variant="default"
                            loading={leave.isPending}
                            onClick={() => leave.mutate()}
                        >
                            {texts.everywhere}
                        </Button>
                        <Button
                            component="a"
                            variant="subtle"
                            href={new URL("api/openapi.json", root).href}
                        >
                            {texts.api}
                        </Button>
                    </Group>
                    {leave.error !== null && <Problem error={leave.error} />}
                </Stack>
                {info.data?.local_auth === true && (
                    <>
                        <SecondFactor />
                        <Password email={me.email} />
                    </>
                )}
                <SshKeys />
            </Stack>
        </>
    );
}
