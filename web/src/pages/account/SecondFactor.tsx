/* SPDX-License-Identifier: MIT */
/* A code of an app beside the password: begun, confirmed with a first code, and taken away again. */
import { Alert, Anchor, Button, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { get, post } from "../../shared/api/client";
import { Icon } from "../../shared/icons";
import { CopyBlock, Problem, Tag, Waiting } from "../../shared/parts";
import { count } from "../../shared/words";
import { QrCode } from "./QrCode";
import { texts } from "./texts";

const PATH = "localauth/second-factor";
const words = texts.second;

interface State {
    is_enabled: boolean;
    recovery_codes_left: number;
}
interface Begun {
    secret: string;
    uri: string;
}
interface Codes {
    recovery_codes: string[];
}

function useRefresh(): () => Promise<void> {
    const client = useQueryClient();
    return () => client.invalidateQueries({ queryKey: [PATH] });
}

function CodeForm({ label, action, isDanger = false, send }: {
    label: string;
    action: string;
    isDanger?: boolean;
    send: (code: string) => Promise<unknown>;
}): ReactNode {
    const [code, setCode] = useState("");
    const sent = useMutation({ mutationFn: () => send(code.trim()), onSettled: () => setCode("") });
    return (
        <form
            onSubmit={(event) => {
                event.preventDefault();
                sent.mutate();
            }}
        >
            <Stack gap="sm">
                <Group align="flex-end" gap="sm">
                    <TextInput
                        label={label}
                        required
                        inputMode="numeric"
                        autoComplete="one-time-code"
                        value={code}
                        onChange={(event) => setCode(event.currentTarget.value)}
                    />
                    <Button
                        type="submit"
                        loading={sent.isPending}
                        disabled={code.trim() === ""}
                        {...(isDanger && { color: "red", variant: "light" })}
                    >
                        {action}
                    </Button>
                </Group>
                {sent.error !== null && <Problem error={sent.error} />}
            </Stack>
        </form>
    );
}

/* Shown once. */
function Recovery({ codes }: { codes: string[] }): ReactNode {
    return (
        <Alert color="orange" icon={<Icon name="key" />} title={words.codes} id="recovery-codes">
            <Text size="sm" mb="xs">
                {words.codesAbout}
            </Text>
            <CopyBlock label={words.codes} text={codes.join("\n")} />
        </Alert>
    );
}

function Begin({ confirmed }: { confirmed: (codes: string[]) => void }): ReactNode {
    const begin = useMutation({ mutationFn: () => post<Begun>(PATH) });
    if (begin.data === undefined) {
        return (
            <>
                <Group>
                    <Button loading={begin.isPending} onClick={() => begin.mutate()} id="begin">
                        {words.begin}
                    </Button>
                </Group>
                {begin.error !== null && <Problem error={begin.error} />}
            </>
        );
    }
    return (
        <Stack gap="sm" id="second-begun">
            <Text size="sm">{words.secretAbout}</Text>
            <QrCode text={begin.data.uri} label={words.picture} />
            <Text size="sm">{words.byHand}</Text>
            <CopyBlock label={words.secret} text={begin.data.secret} />
            <Anchor size="sm" href={begin.data.uri}>
                {words.app}
            </Anchor>
            <CodeForm
                label={words.first}
                action={words.confirm}
                send={async (code) => {
                    const answer = await post<Codes>(`${PATH}/confirm`, { code });
                    confirmed(answer.recovery_codes);
                }}
            />
        </Stack>
    );
}

function Change({ renewed }: { renewed: (codes: string[]) => void }): ReactNode {
    const refresh = useRefresh();
    const [way, setWay] = useState<"renew" | "remove" | null>(null);
    if (way === null) {
        return (
            <Group>
                <Button variant="default" onClick={() => setWay("renew")}>
                    {words.renew}
                </Button>
                <Button variant="light" color="red" onClick={() => setWay("remove")}>
                    {words.remove}
                </Button>
            </Group>
        );
    }
    return (
        <CodeForm
            key={way}
            label={words.now}
            action={way === "renew" ? words.renew : words.remove}
            isDanger={way === "remove"}
            send={async (code) => {
                if (way === "renew") {
                    const answer = await post<Codes>(`${PATH}/recovery-codes`, { code });
                    renewed(answer.recovery_codes);
                } else {
                    await post(`${PATH}/remove`, { code });
                    renewed([]);
                }
                setWay(null);
                await refresh();
            }}
        />
    );
}

export function SecondFactor(): ReactNode {
    const refresh = useRefresh();
    const [codes, setCodes] = useState<string[]>([]);
    const state = useQuery({
        queryKey: [PATH],
        queryFn: ({ signal }) => get<State>(PATH, {}, signal),
    });
    return (
        <section className="card" aria-label={words.title} id="second-factor">
            <Stack p="md" maw={640}>
                <div>
                    <Group gap="sm">
                        <Title order={2} size="h4">
                            {words.title}
                        </Title>
                        {state.data !== undefined && (
                            <Tag tone={state.data.is_enabled ? "good" : "calm"}>
                                {state.data.is_enabled ? words.on : words.off}
                            </Tag>
                        )}
                    </Group>
                    <Text size="sm" c="dimmed">
                        {state.data?.is_enabled === true
                            ? words.left(count(state.data.recovery_codes_left, "recovery code"))
                            : words.about}
                    </Text>
                </div>
                {state.error !== null && (
                    <Problem
                        error={state.error}
                        retry={() => {
                            void state.refetch();
                        }}
                    />
                )}
                {state.isPending && <Waiting lines={1} />}
                {codes.length > 0 && <Recovery codes={codes} />}
                {state.data?.is_enabled === false && (
                    <Begin
                        confirmed={(made) => {
                            setCodes(made);
                            void refresh();
                        }}
                    />
                )}
                {state.data?.is_enabled === true && <Change renewed={setCodes} />}
            </Stack>
        </section>
    );
}
