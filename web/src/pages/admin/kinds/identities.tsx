/* SPDX-License-Identifier: MIT */
/* Who comes in: people, groups, keys, programs. */
import type {
    ApiKey,
    MachineCredential,
    MachineIdentity as Machine,
    ServiceAccount,
    User as Person,
} from "../../../shared/api/schema";
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { useMe } from "../../../app/me";
import { call, get, part } from "../../../shared/api/client";
import { useFocusBack } from "../../../shared/focus";
import { Confirm, CopyBlock, Problem, Tag } from "../../../shared/parts";
import type { Kind } from "../../../shared/things/Things";
import { relative } from "../../../shared/words";
import { bound, words } from "./words";

/* A button that makes one call; what it answers may be told once. With a 'warning' it asks first. */
function Act<T>({
    label,
    about,
    run,
    tell,
    isDangerous = false,
    warning,
}: {
    label: string;
    about: string;
    run: () => Promise<T>;
    tell?: (answer: T) => string;
    isDangerous?: boolean;
    warning?: string;
}): ReactNode {
    const client = useQueryClient();
    const [isAsking, setAsking] = useState(false);
    const act = useMutation({
        mutationFn: run,
        onSuccess: () => client.invalidateQueries(),
    });
    const told = act.data === undefined ? "" : (tell?.(act.data) ?? "");
    return (
        <>
            <Button
                size="xs"
                variant="subtle"
                {...(isDangerous && { color: "red" })}
                loading={act.isPending}
                aria-label={`${label}: ${about}`}
                onClick={() => (warning === undefined ? act.mutate() : setAsking(true))}
            >
                {label}
            </Button>
            {isAsking && warning !== undefined && (
                <Confirm
                    title={`${label}: ${about}`}
                    action={label}
                    name={about}
                    close={() => setAsking(false)}
                    run={() => act.mutateAsync()}
                >
                    {warning}
                </Confirm>
            )}
            <Modal
                opened={act.error !== null || told !== ""}
                onClose={() => act.reset()}
                title={label}
            >
                {act.error !== null && <Problem error={act.error} />}
                {told !== "" && (
                    <Stack>
                        <Text size="sm">It is shown once.</Text>
                        <CopyBlock label={about} text={told} />
                    </Stack>
                )}
            </Modal>
        </>
    );
}

/* People -------------------------------------------------------------------------------------- */

const TONES = { active: "good", invited: "warn", inactive: "bad" } as const;

function PersonActions({ person }: { person: Person }): ReactNode {
    const me = useMe();
    const path = `users/${part(person.id)}`;
    if (person.id === me.id) {
        return null;
    }
    if (person.status === "invited") {
        return (
            <Act
                label={words.people.newLink}
                about={person.email}
                run={() => call<Person>("POST", `${path}/invitation`)}
                tell={(answer) => answer.invitation_url ?? ""}
            />
        );
    }
    const isOut = person.status === "inactive";
    return (
        <>
            <Act
                label={isOut ? words.people.unlock : words.people.lock}
                about={person.email}
                isDangerous={!isOut}
                run={() => call("PATCH", path, { body: { status: isOut ? "active" : "inactive" } })}
            />
            <Act
                label={words.people.factor}
                about={person.email}
                isDangerous
                warning={words.people.factorAbout}
                run={() => call("DELETE", `${path}/second-factor`)}
            />
        </>
    );
}

export const people: Kind<Person> = {
    path: "users",
    one: "person",
    ...words.people,
    keyOf: ({ id }) => id,
    nameOf: ({ name, email }) => name || email,
    method: "PATCH",
    fields: [
        { name: "email", kind: "email", label: "E-mail address", required: true, isNewOnly: true },
        { name: "name", kind: "text", label: "Name" },
        {
            name: "groups",
            kind: "groups",
            label: "Groups",
            about: "Members of 'admin' administrate, of 'auditor' read everything.",
        },
    ],
    onceOf: ({ invitation_url }) =>
        invitation_url ? [{ label: words.people.link, text: invitation_url }] : [],
    linesOf: ({ name, email, groups }) => [name && email, bound("In", groups)],
    tagsOf: ({ status, role }) => [{ text: role }, { text: status, tone: TONES[status] }],
    actions: (person) => <PersonActions person={person} />,
};

/* Groups -------------------------------------------------------------------------------------- */

export const groups: Kind<{ name: string }> = {
    path: "users/groups",
    one: "group",
    ...words.groups,
    keyOf: ({ name }) => name,
    nameOf: ({ name }) => name,
    mayChange: false,
    fields: [{ name: "name", kind: "text", label: "Name", required: true }],
    linesOf: () => [],
    read: (answer) => (answer as string[]).map((name) => ({ name })),
};

/* Keys ---------------------------------------------------------------------------------------- */

export const keys: Kind<ApiKey> = {
    path: "api-keys",
    one: "API key",
    ...words.keys,
    keyOf: ({ id }) => id,
    nameOf: ({ name }) => name,
    mayRemove: ({ status }) => status === "active",
    fields: [
        { name: "name", kind: "text", label: "Name", required: true },
        { name: "groups", kind: "groups", label: "Groups whose rights it has" },
        { name: "expires_at", kind: "date", label: "Good until", about: "Empty: for ever" },
    ],
    formOf: (key) => ({
        name: key.name,
        groups: key.groups,
        expires_at: key.expires_at?.slice(0, 10) ?? "",
    }),
    requestOf: (form) => ({
        ...form,
        expires_at: form["expires_at"] ? `${String(form["expires_at"])}T00:00:00Z` : null,
    }),
    onceOf: ({ key }) => (key ? [{ label: "The key", text: key }] : []),
    linesOf: (key) => [
        key.masked_key,
        bound("With the rights of", key.groups),
        key.last_used_at === null
            ? "Never used"
            : `Last used ${relative(key.last_used_at)}, made by ${key.created_by}`,
    ],
    tagsOf: ({ status, expires_at }) => [
        ...(expires_at === null ? [] : [{ text: `until ${expires_at.slice(0, 10)}` }]),
        { text: status, tone: status === "active" ? "good" : "bad" },
    ],
    actions: (key) =>
        key.status === "revoked" && (
            <Act
                label={words.keys.again}
                about={key.name}
                run={() => call("POST", `api-keys/${part(key.id)}/reactivate`)}
            />
        ),
};

/* Programs ------------------------------------------------------------------------------------ */

export const services: Kind<ServiceAccount> = {
    path: "serviceaccounts",
    one: "service account",
    ...words.services,
    keyOf: ({ id }) => id,
    nameOf: ({ name, subject }) => name || subject,
    fields: [
        {
            name: "subject",
            kind: "text",
            label: "Subject",
            about: "What the identity provider calls it: the claim 'sub' of its tokens.",
            required: true,
            isFixed: true,
        },
        { name: "name", kind: "text", label: "Name" },
        { name: "groups", kind: "groups", label: "Groups whose rights it has" },
        {
            name: "status",
            kind: "choice",
            label: "It may come in",
            choices: [
                { value: "active", label: "yes" },
                { value: "inactive", label: "no" },
            ],
        },
    ],
    linesOf: ({ subject, issuer, groups: of }) => [
        subject,
        issuer && `Of ${issuer}`,
        bound("In", of),
    ],
    tagsOf: ({ status }) => [{ text: status, tone: status === "active" ? "good" : "bad" }],
};

function secretOf(credential: MachineCredential): string {
    return credential.connection_string ?? credential.password ?? credential.secret_key ?? "";
}

function Credentials({ machine, close }: { machine: Machine; close: () => void }): ReactNode {
    useFocusBack();
    const path = `machineidentities/${part(machine.id)}/credentials`;
    const list = useQuery({
        queryKey: ["things", path],
        queryFn: ({ signal }) => get<MachineCredential[]>(path, {}, signal),
    });
    return (
        <Modal opened onClose={close} title={`${words.machines.credentials}: ${machine.name}`}>
            {list.error !== null && <Problem error={list.error} />}
            <div className="card rows">
                {(list.data ?? []).map((credential) => (
                    <div key={credential.id} className="admin-line">
                        <div>
                            <Text fw={600} className="anywhere">
                                {credential.connection_name}
                            </Text>
                            <Text size="sm" c="dimmed">
                                made {relative(credential.created_at)}
                            </Text>
                        </div>
                        {credential.expire_at !== null && (
                            <Tag>ends {relative(credential.expire_at)}</Tag>
                        )}
                        <Act
                            label={words.machines.rotate}
                            about={credential.connection_name ?? ""}
                            warning={words.machines.rotateAbout}
                            run={() =>
                                call<MachineCredential>(
                                    "POST",
                                    `${path}/${part(credential.connection_name ?? "")}/rotate`,
                                )
                            }
                            tell={secretOf}
                        />
                    </div>
                ))}
            </div>
            {list.data?.length === 0 && <Text size="sm">It has none: give it a connection.</Text>}
        </Modal>
    );
}

function MachineActions({ machine }: { machine: Machine }): ReactNode {
    const [isOpen, setOpen] = useState(false);
    return (
        <Group>
            <Button
                size="xs"
                variant="subtle"
                aria-label={`${words.machines.credentials}: ${machine.name}`}
                onClick={() => setOpen(true)}
            >
                {words.machines.credentials}
            </Button>
            {isOpen && <Credentials machine={machine} close={() => setOpen(false)} />}
        </Group>
    );
}

export const machines: Kind<Machine> = {
    path: "machineidentities",
    one: "machine identity",
    ...words.machines,
    keyOf: ({ id }) => id,
    nameOf: ({ name }) => name,
    fields: [
        { name: "name", kind: "text", label: "Name", required: true },
        { name: "description", kind: "text", label: "What it does" },
        { name: "connection_names", kind: "connections", label: "Connections that it may use" },
        { name: "attributes", kind: "attributes", label: "And all with an attribute" },
    ],
    onceOf: ({ credentials, new_credentials }) =>
        [...(credentials ?? []), ...(new_credentials ?? [])].map((credential) => ({
            label: credential.connection_name ?? "Credential",
            text: secretOf(credential),
        })),
    linesOf: (machine) => [
        machine.description,
        bound("Uses", [
            ...machine.connection_names,
            ...machine.attributes.map((name) => `#${name}`),
        ]) || "Uses nothing yet",
    ],
    actions: (machine) => <MachineActions machine={machine} />,
};
