/* SPDX-License-Identifier: MIT */
/* A database in one form: saved, then tried at once; what is wrong is mended in the same place. */
import type { Agent } from "../../shared/api/schema";
import {
    Alert,
    Button,
    Checkbox,
    Drawer,
    Group,
    NativeSelect,
    PasswordInput,
    Stack,
    Text,
    TextInput,
} from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { Link } from "wouter";

import { get, part, post, put } from "../../shared/api/client";
import { useFocusBack } from "../../shared/focus";
import { Icon } from "../../shared/icons";
import { Problem } from "../../shared/parts";
import { useUnsaved } from "../../shared/unsaved";
import { secretOf, type Target } from "./target";
import { texts } from "./texts";

const words = texts.add;
const KINDS = [
    { value: "postgres", label: "PostgreSQL", port: "5432" },
    { value: "mysql", label: "MySQL, MariaDB", port: "3306" },
];
const TLS = ["prefer", "disable", "require", "verify-ca", "verify-full"];
const NEW: Target = {
    kind: "postgres",
    name: "",
    host: "",
    port: "5432",
    user: "",
    password: "",
    database: "",
    tls: "prefer",
    agent: "",
};
const PROTECTION = ["no-unbounded-write", "personal-data"];

interface Tested {
    latency_ms: number;
    server_version?: string;
}
type State = { step: "asking" | "busy" } | { step: "saved"; tested?: Tested; error?: unknown };

export function AddDatabase({ close }: { close: () => void }): ReactNode {
    useFocusBack();
    const client = useQueryClient();
    const [target, setTarget] = useState(NEW);
    const [presets, setPresets] = useState<string[]>([]);
    const [state, setState] = useState<State>({ step: "asking" });
    const [saved, setSaved] = useState<string | null>(null);
    const [error, setError] = useState<unknown>(null);
    const unsaved = useUnsaved(saved === null && JSON.stringify(target) !== JSON.stringify(NEW));
    const agents = useQuery({
        queryKey: ["agents"],
        queryFn: ({ signal }) => get<Agent[]>("agents", {}, signal),
    });
    const set = (change: Partial<Target>): void =>
        setTarget((before) => ({ ...before, ...change }));

    const test = async (name: string): Promise<void> => {
        try {
            setState({
                step: "saved",
                tested: await get<Tested>(`connections/${part(name)}/test`),
            });
        } catch (failure) {
            setState({ step: "saved", error: failure });
        }
    };
    const save = async (event: FormEvent): Promise<void> => {
        event.preventDefault();
        setState({ step: "busy" });
        setError(null);
        const role = {
            name: target.name,
            type: "database",
            subtype: target.kind,
            secret: secretOf(target),
        };
        const body = {
            name: target.name,
            type: "database",
            subtype: target.kind,
            env_vars: {},
            roles: [role],
            ...(target.agent !== "" && { agent_id: target.agent }),
        };
        try {
            await (saved === null
                ? post("resources", body)
                : put(`resources/${part(saved)}`, body));
            setSaved(target.name);
            for (const preset of presets) {
                await post(`rulepacks/${preset}/attach`, { connection_names: [target.name] });
            }
            await test(target.name);
            await client.invalidateQueries();
        } catch (failure) {
            setError(failure);
            setState({ step: "asking" });
        }
    };
    const field = (name: keyof Target, label: string, more: object = {}): ReactNode => (
        <TextInput
            label={label}
            value={target[name]}
            autoComplete="off"
            spellCheck={false}
            flex={1}
            {...more}
            onChange={(event) => set({ [name]: event.currentTarget.value })}
        />
    );
    const isGood = state.step === "saved" && state.tested !== undefined;
    return (
        <>
            <Drawer opened onClose={close} title={words.title} size="lg">
                <form
                    onSubmit={(event) => {
                        void save(event);
                    }}
                    id="add-database"
                >
                    <Stack>
                        <NativeSelect
                            label={words.kind}
                            value={target.kind}
                            data={KINDS}
                            onChange={(event) =>
                                set({
                                    kind: event.currentTarget.value,
                                    port:
                                        KINDS.find(({ value }) => value === event.currentTarget.value)
                                            ?.port ?? "",
                                })
                            }
                        />
                        {field("name", words.name, {
                            description: words.nameAbout,
                            required: true,
                            disabled: saved !== null,
                            "data-autofocus": true,
                        })}
                        <Group align="flex-end">
                            {field("host", words.host, { required: true })}
                            {field("port", words.port, { inputMode: "numeric", flex: "0 1 6rem" })}
                        </Group>
                        {field("user", words.user, { required: true })}
                        <PasswordInput
                            label={words.password}
                            description={words.passwordAbout}
                            value={target.password}
                            autoComplete="new-password"
                            onChange={(event) => set({ password: event.currentTarget.value })}
                        />
                        {field("database", words.database, { description: words.databaseAbout })}
                        <Group grow>
                            <NativeSelect
                                label={words.tls}
                                value={target.tls}
                                data={TLS}
                                onChange={(event) => set({ tls: event.currentTarget.value })}
                            />
                            <NativeSelect
                                label={words.agent}
                                value={target.agent}
                                onChange={(event) => set({ agent: event.currentTarget.value })}
                                data={[
                                    { value: "", label: "local" },
                                    ...(agents.data ?? [])
                                        .filter(({ name }) => name !== "local")
                                        .map(({ id, name }) => ({ value: id, label: name })),
                                ]}
                            />
                        </Group>
                        {target.kind === "postgres" && saved === null && (
                            <Checkbox.Group
                                label={words.protect}
                                description={words.protectAbout}
                                value={presets}
                                onChange={setPresets}
                            >
                                <Group mt="xs">
                                    {PROTECTION.map((preset) => (
                                        <Checkbox key={preset} value={preset} label={preset} />
                                    ))}
                                </Group>
                            </Checkbox.Group>
                        )}
                        {error !== null && <Problem error={error} />}
                        {state.step === "saved" && state.error !== undefined && (
                            <Stack gap="xs">
                                <Problem error={state.error} />
                                <Text size="sm">{words.bad}</Text>
                            </Stack>
                        )}
                        {isGood && (
                            <Alert
                                color="gate"
                                title={words.saved(target.name)}
                                icon={<Icon name="check" />}
                                role="status"
                                data-tested
                            >
                                <Stack gap="xs">
                                    {words.good(
                                        state.tested?.latency_ms ?? 0,
                                        state.tested?.server_version ?? "",
                                    )}
                                    <Group>
                                        <Button
                                            component={Link}
                                            href={`/sql/${part(target.name)}`}
                                            size="xs"
                                        >
                                            {words.query}
                                        </Button>
                                        <Button
                                            component={Link}
                                            href={`/connect/${part(target.name)}`}
                                            size="xs"
                                            variant="default"
                                        >
                                            {words.use}
                                        </Button>
                                    </Group>
                                </Stack>
                            </Alert>
                        )}
                        <Group justify="flex-end">
                            <Button variant="default" onClick={close}>
                                {words.cancel}
                            </Button>
                            {!isGood && (
                                <Button type="submit" loading={state.step === "busy"}>
                                    {saved === null ? words.save : words.update}
                                </Button>
                            )}
                        </Group>
                    </Stack>
                </form>
            </Drawer>
            {unsaved.question}
        </>
    );
}
