/* SPDX-License-Identifier: MIT */
/* Variables and files of a connection: written, replaced and taken away, never read. */
import {
    ActionIcon,
    Autocomplete,
    Button,
    Group,
    Stack,
    Text,
    Textarea,
    TextInput,
    type TextInputProps,
} from "@mantine/core";
import { type ReactNode, useState } from "react";

import { Icon } from "../../../shared/icons";
import { Tag } from "../../../shared/parts";
import { inputOf, knownOf, type Secret } from "./form";
import { texts } from "./texts";

const words = texts.secret;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

const nameOf = (key: string): string => key.slice(key.indexOf(":") + 1);

function Value({ secret, set }: {
    secret: Secret;
    set: (value: string) => void;
}): ReactNode {
    const common = {
        label: words.value(nameOf(secret.key)),
        description: words.valueAbout,
        value: secret.value,
        required: true,
        autoFocus: true,
        spellCheck: false,
        onChange: (event: { currentTarget: { value: string } }) =>
            set(event.currentTarget.value),
    };
    switch (inputOf(secret.key)) {
        case "lines":
            return <Textarea {...common} autosize minRows={3} maxRows={10} className="code-field" />;
        case "plain":
            return <TextInput {...common} autoComplete="off" />;
        default:
            return <Hidden {...common} />;
    }
}

/* Not the reader's own password: no browser is to offer to keep it. */
function Hidden(props: TextInputProps): ReactNode {
    const [isShown, setShown] = useState(false);
    return (
        <TextInput
            {...props}
            autoComplete="off"
            classNames={{ input: isShown ? "code" : "dotted" }}
            rightSection={
                <ActionIcon
                    variant="subtle"
                    aria-label={words.show}
                    aria-pressed={isShown}
                    onClick={() => setShown(!isShown)}
                >
                    <Icon name="eye" />
                </ActionIcon>
            }
        />
    );
}

function Line({ secret, set, drop }: {
    secret: Secret;
    set: (change: Partial<Secret>) => void;
    drop: () => void; /* of one that was never stored */
}): ReactNode {
    const name = nameOf(secret.key);
    const isFile = secret.key.startsWith("filesystem:");
    const isTyped = secret.is === "replaced" || secret.is === "added";
    return (
        <div className="secret-line" data-secret={secret.key} data-is={secret.is}>
            <Group justify="space-between" gap="xs">
                <Group gap="xs" miw={0}>
                    <Text span className="code anywhere" fw={600}>
                        {name}
                    </Text>
                    {isFile && <Tag>{words.file}</Tag>}
                    {!isTyped && (
                        <Text span size="sm" c="dimmed" className="anywhere">
                            {secret.is === "removed"
                                ? words.removed
                                : secret.reference || words.stored}
                        </Text>
                    )}
                </Group>
                <Group gap={4}>
                    {secret.is === "kept" && (
                        <Button
                            size="compact-sm"
                            variant="default"
                            aria-label={words.replaceOne(name)}
                            onClick={() => set({ is: "replaced", value: secret.reference })}
                        >
                            {words.replace}
                        </Button>
                    )}
                    {(secret.is === "kept" || secret.is === "added") && (
                        <Button
                            size="compact-sm"
                            variant="subtle"
                            color="red"
                            aria-label={words.removeOne(name)}
                            onClick={() => (secret.is === "added" ? drop() : set({ is: "removed" }))}
                        >
                            {words.remove}
                        </Button>
                    )}
                    {(secret.is === "replaced" || secret.is === "removed") && (
                        <Button
                            size="compact-sm"
                            variant="default"
                            aria-label={words.keepOne(name)}
                            onClick={() => set({ is: "kept", value: "" })}
                        >
                            {words.keep}
                        </Button>
                    )}
                </Group>
            </Group>
            {isTyped && <Value secret={secret} set={(value) => set({ value })} />}
        </div>
    );
}

function Add({ kind, subtype, taken, add, close }: {
    kind: "envvar" | "filesystem";
    subtype: string;
    taken: string[];
    add: (key: string) => void;
    close: () => void;
}): ReactNode {
    const [name, setName] = useState("");
    const [error, setError] = useState("");
    const known = knownOf(subtype)
        .filter((key) => key.startsWith(`${kind}:`) && !taken.includes(key))
        .map(nameOf);
    const submit = (): void => {
        const key = `${kind}:${name.trim()}`;
        if (!NAME.test(name.trim())) {
            setError(words.bad);
        } else if (taken.includes(key)) {
            setError(words.taken);
        } else {
            add(key);
        }
    };
    return (
        <Group align="flex-start" gap="xs">
            <Autocomplete
                label={words.name}
                value={name}
                data={known}
                error={error}
                autoFocus
                autoComplete="off"
                spellCheck={false}
                flex="1 1 12rem"
                onChange={(value) => {
                    setName(value);
                    setError("");
                }}
                onKeyDown={(event) => {
                    if (event.key === "Enter") {
                        event.preventDefault(); /* of the form around it */
                        submit();
                    }
                }}
            />
            <Button mt={25} onClick={submit}>
                {words.addIt}
            </Button>
            <Button mt={25} variant="default" onClick={close}>
                Cancel
            </Button>
        </Group>
    );
}

export function Secrets({ subtype, secrets, inherited, set }: {
    subtype: string;
    secrets: Secret[];
    inherited: string[]; /* keys that the resource has */
    set: (secrets: Secret[]) => void;
}): ReactNode {
    const [adding, setAdding] = useState<"envvar" | "filesystem" | null>(null);
    const taken = secrets.map(({ key }) => key);
    const others = inherited.filter((key) => !taken.includes(key));
    return (
        <Stack gap="xs" id="secrets">
            <Text size="sm" fw={600}>
                {texts.fields.secrets}
            </Text>
            {secrets.length > 0 && (
                <div className="secret-lines rows">
                    {secrets.map((secret) => (
                        <Line
                            key={secret.key}
                            secret={secret}
                            set={(change) =>
                                set(
                                    secrets.map((one) =>
                                        one.key === secret.key ? { ...one, ...change } : one,
                                    ),
                                )
                            }
                            drop={() => set(secrets.filter(({ key }) => key !== secret.key))}
                        />
                    ))}
                </div>
            )}
            {others.length > 0 && (
                <Text size="sm" c="dimmed" className="anywhere">
                    {words.inherited} {others.map(nameOf).join(", ")}.
                </Text>
            )}
            {adding === null ? (
                <Group gap="xs">
                    <Button
                        size="xs"
                        variant="default"
                        leftSection={<Icon name="plus" />}
                        onClick={() => setAdding("envvar")}
                    >
                        {words.add}
                    </Button>
                    <Button
                        size="xs"
                        variant="default"
                        leftSection={<Icon name="plus" />}
                        onClick={() => setAdding("filesystem")}
                    >
                        {words.addFile}
                    </Button>
                </Group>
            ) : (
                <Add
                    kind={adding}
                    subtype={subtype}
                    taken={taken}
                    close={() => setAdding(null)}
                    add={(key) => {
                        setAdding(null);
                        set([...secrets, { key, is: "added", reference: "", value: "" }]);
                    }}
                />
            )}
        </Stack>
    );
}
