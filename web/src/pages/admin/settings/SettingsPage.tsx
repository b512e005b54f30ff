/* SPDX-License-Identifier: MIT */
/* How people sign in, tried at the provider before it is saved; and the organization's defaults. */
import {
    Alert,
    Button,
    Code,
    Group,
    NativeSelect,
    PasswordInput,
    Stack,
    Switch,
    Text,
    TextInput,
    Title,
} from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";

import { address, ApiError, get, put } from "../../../shared/api/client";
import { Icon } from "../../../shared/icons";
import { PageHead, Problem, Waiting } from "../../../shared/parts";
import { WordsField } from "../../../shared/pickers";
import { texts } from "./texts";

interface Oidc {
    issuer_url: string;
    client_id: string;
    client_secret?: string;
    scopes: string[];
    audience: string;
    groups_claim: string;
    trust_email: boolean;
}
interface AuthConfig {
    auth_method: "local" | "oidc";
    oidc_config: Oidc | null;
    provider_name: string;
    admin_role_name: string;
    auditor_role_name: string;
}

const NEW_PROVIDER: Oidc = {
    issuer_url: "",
    client_id: "",
    client_secret: "",
    scopes: ["openid", "email", "profile"],
    audience: "",
    groups_claim: "groups",
    trust_email: false,
};

function Provider({ oidc, set }: {
    oidc: Oidc;
    set: (change: Partial<Oidc>) => void;
}): ReactNode {
    const field = (
        name: "issuer_url" | "client_id" | "audience" | "groups_claim",
        label: string,
        more: object = {},
    ): ReactNode => (
        <TextInput
            label={label}
            value={oidc[name]}
            autoComplete="off"
            spellCheck={false}
            {...more}
            onChange={(event) => set({ [name]: event.currentTarget.value })}
        />
    );
    return (
        <>
            {field("issuer_url", texts.issuer, {
                type: "url",
                required: true,
                description: texts.issuerAbout,
            })}
            {field("client_id", texts.client, { required: true })}
            <PasswordInput
                label={texts.secret}
                description={texts.secretAbout}
                autoComplete="new-password"
                value={oidc.client_secret ?? ""}
                onChange={(event) => set({ client_secret: event.currentTarget.value })}
            />
            <WordsField label={texts.scopes} value={oidc.scopes} set={(scopes) => set({ scopes })} />
            {field("audience", texts.audience, { description: texts.audienceAbout })}
            {field("groups_claim", texts.claim)}
            <Switch
                label={texts.trust}
                checked={oidc.trust_email}
                onChange={(event) => set({ trust_email: event.currentTarget.checked })}
            />
            <Text size="sm">
                {texts.callback}{" "}
                <Code className="anywhere">{address("callback").href}</Code>
            </Text>
        </>
    );
}

function SignIn({ config }: { config: AuthConfig }): ReactNode {
    const client = useQueryClient();
    const [method, setMethod] = useState(config.auth_method);
    const [name, setName] = useState(config.provider_name);
    const [oidc, setOidc] = useState<Oidc>({ ...NEW_PROVIDER, ...config.oidc_config });
    const send = (query: { dry_run?: boolean }): Promise<AuthConfig> => {
        const { client_secret: secret, ...rest } = oidc;
        const body = {
            auth_method: method,
            provider_name: name,
            oidc_config:
                method === "oidc" ? { ...rest, ...(secret && { client_secret: secret }) } : null,
        };
        return put<AuthConfig>("serverconfig/auth", body, query);
    };
    const saved = useMutation({
        mutationFn: () => send({}),
        onSuccess: () => client.invalidateQueries(),
    });
    const tested = useMutation({ mutationFn: () => send({ dry_run: true }) });
    const error = saved.error ?? tested.error;
    return (
        <form
            id="sign-in-settings"
            className="card rule-card"
            onSubmit={(event: FormEvent) => {
                event.preventDefault();
                tested.reset();
                saved.mutate();
            }}
        >
            <Stack maw={640}>
                <NativeSelect
                    label={texts.method}
                    value={method}
                    data={Object.entries(texts.methods).map(([value, label]) => ({
                        value,
                        label,
                    }))}
                    onChange={(event) => setMethod(event.currentTarget.value as typeof method)}
                />
                {method === "oidc" && (
                    <>
                        <TextInput
                            label={texts.name}
                            value={name}
                            autoComplete="off"
                            onChange={(event) => setName(event.currentTarget.value)}
                        />
                        <Provider
                            oidc={oidc}
                            set={(change) => setOidc((before) => ({ ...before, ...change }))}
                        />
                    </>
                )}
                <Text size="sm" c="dimmed">
                    {texts.admins(config.admin_role_name, config.auditor_role_name)}
                </Text>
                {error !== null && <Problem error={error} />}
                {tested.isSuccess && (
                    <Alert color="blue" icon={<Icon name="check" />} role="status" data-tested>
                        {texts.tested}
                    </Alert>
                )}
                {saved.isSuccess && (
                    <Alert color="gate" icon={<Icon name="check" />} role="status" data-saved>
                        {method === "oidc" ? texts.saved : texts.savedLocal}
                    </Alert>
                )}
                <Group>
                    <Button type="submit" loading={saved.isPending} disabled={tested.isPending}>
                        {method === "oidc" ? texts.save : texts.saveLocal}
                    </Button>
                    {method === "oidc" && (
                        <Button
                            variant="default"
                            loading={tested.isPending}
                            disabled={saved.isPending}
                            onClick={() => {
                                saved.reset();
                                tested.mutate();
                            }}
                        >
                            {texts.test}
                        </Button>
                    )}
                </Group>
            </Stack>
        </form>
    );
}

/* A setting of the organization that is one value at an address of its own. */
function useSetting<T extends object>(path: string) {
    const client = useQueryClient();
    const value = useQuery({
        queryKey: ["settings", path],
        queryFn: ({ signal }) => get<T>(path, {}, signal),
    });
    const change = useMutation({
        mutationFn: (next: T) => put<T>(path, next),
        onSettled: () => client.invalidateQueries({ queryKey: ["settings", path] }),
    });
    return { value: value.data, error: value.error ?? change.error, set: change.mutate };
}

function Defaults(): ReactNode {
    const access = useSetting<{ default_access: string }>("orgs/default-access");
    const roles = useSetting<{ trusts_provider_roles: boolean }>("orgs/provider-roles");
    const hide = useSetting<{ hide_role_info: boolean }>("orgs/hide-role-info");
    const error = access.error ?? roles.error ?? hide.error;
    return (
        <section className="card rule-card" aria-label={texts.defaults}>
            <Title order={2} size="h4" mb="sm">
                {texts.defaults}
            </Title>
            <Stack maw={640}>
                {access.value !== undefined && (
                    <NativeSelect
                        label={texts.access}
                        value={access.value.default_access}
                        data={Object.entries(texts.accesses).map(([value, label]) => ({
                            value,
                            label,
                        }))}
                        onChange={(event) =>
                            access.set({ default_access: event.currentTarget.value })
                        }
                    />
                )}
                {roles.value !== undefined && (
                    <Switch
                        label={texts.roles}
                        checked={roles.value.trusts_provider_roles}
                        onChange={(event) =>
                            roles.set({ trusts_provider_roles: event.currentTarget.checked })
                        }
                    />
                )}
                {hide.value !== undefined && (
                    <Switch
                        label={texts.hide}
                        checked={hide.value.hide_role_info}
                        onChange={(event) =>
                            hide.set({ hide_role_info: event.currentTarget.checked })
                        }
                    />
                )}
                {error !== null && <Problem error={error} />}
            </Stack>
        </section>
    );
}

export function SettingsPage(): ReactNode {
    const config = useQuery({
        queryKey: ["settings", "auth"],
        queryFn: ({ signal }) => get<AuthConfig>("serverconfig/auth", {}, signal),
    });
    const isOther = config.error instanceof ApiError && config.error.status === 403;
    return (
        <>
            <PageHead title={texts.title} about={texts.about} />
            <Stack>
                {config.isPending && <Waiting />}
                {isOther && <Text>{texts.notHere}</Text>}
                {config.error !== null && !isOther && (
                    <Problem
                        error={config.error}
                        retry={() => {
                            void config.refetch();
                        }}
                    />
                )}
                {config.data !== undefined && <SignIn config={config.data} />}
                <Defaults />
            </Stack>
        </>
    );
}
