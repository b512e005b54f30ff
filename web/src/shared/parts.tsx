/* SPDX-License-Identifier: MIT */
/* Small parts that every page uses: its head, what failed, what is empty, times, things to copy. */
import {
    ActionIcon,
    Alert,
    Badge,
    Box,
    Button,
    Code,
    Group,
    Modal,
    Skeleton,
    Stack,
    Text,
    TextInput,
    Title,
    Tooltip,
} from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { type ReactNode, useEffect, useRef, useState } from "react";

import { copyText } from "./copy";
import { useFocusBack } from "./focus";
import { Icon, type IconName } from "./icons";
import { relative, time } from "./words";

export function PageHead({
    title,
    about,
    children,
}: {
    title: string;
    about?: ReactNode;
    children?: ReactNode;
}): ReactNode {
    useDocumentTitle(`${title} · Gatehouse`);
    return (
        <Group justify="space-between" align="flex-start" mb="lg" gap="sm">
            <Box flex="1 1 16rem" miw={0}>
                <Title order={1} size="h2">
                    {title}
                </Title>
                {about !== undefined && (
                    <Text c="dimmed" size="sm" mt={2}>
                        {about}
                    </Text>
                )}
            </Box>
            {children !== undefined && <Group gap="xs">{children}</Group>}
        </Group>
    );
}

/* The API's own words, and a way to try again where there is one. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }): ReactNode {
    const words = error instanceof Error ? error.message : String(error);
    return (
        <Alert color="red" role="alert" title="That did not work" icon={<Icon name="warning" />}>
            <Stack gap="xs" align="flex-start">
                <Text size="sm" className="anywhere">
                    {words}
                </Text>
                {retry !== undefined && (
                    <Button size="xs" variant="default" onClick={retry}>
                        Try again
                    </Button>
                )}
            </Stack>
        </Alert>
    );
}

export function Empty({
    title,
    isPage = false,
    children,
    action,
}: {
    title: string;
    isPage?: boolean; /* nothing stands above it */
    children?: ReactNode;
    action?: ReactNode;
}): ReactNode {
    return (
        <Stack align="center" gap="xs" py={48} px="md" className="card" ta="center" data-empty>
            <Title order={isPage ? 1 : 2} size="h4">
                {title}
            </Title>
            {Boolean(children) && (
                <Text c="dimmed" maw="34rem" component="div" className="balanced">
                    {children}
                </Text>
            )}
            {Boolean(action) && (
                <Box mt="xs" data-action>
                    {action}
                </Box>
            )}
        </Stack>
    );
}

/* The next thing to do where a search finds nothing. */
export function ClearSearch({ run }: { run: () => void }): ReactNode {
    return (
        <Button variant="default" onClick={run}>
            Clear the search
        </Button>
    );
}

/* Filters of a list. On a narrow screen those behind the first are folded away: the list is what one
 * came for. */
export function Filters({ first, children }: { first: ReactNode; children: ReactNode }): ReactNode {
    const [isOpen, setOpen] = useState(false);
    return (
        <Group align="flex-end" mb="md" gap="sm">
            {first}
            <Button
                hiddenFrom="sm"
                variant="default"
                aria-expanded={isOpen}
                onClick={() => setOpen(!isOpen)}
            >
                {isOpen ? "Fewer filters" : "More filters"}
            </Button>
            <div className="more-filters" data-open={isOpen || undefined}>
                {children}
            </div>
        </Group>
    );
}

/* The place of what is on its way. */
export function Waiting({ lines = 4 }: { lines?: number }): ReactNode {
    return (
        <Stack gap="xs" role="status" aria-label="Loading">
            {Array.from({ length: lines }, (_, index) => (
                <Skeleton key={index} h={56} radius="md" />
            ))}
        </Stack>
    );
}

/* As long ago; the reader's own time and UTC when the pointer or the focus rests on it. */
export function When({ at }: { at: string }): ReactNode {
    const utc = new Date(at).toISOString().replace("T", " ").slice(0, 19);
    return (
        <Tooltip
            label={`${time(at)}, ${utc} UTC`}
            events={{ hover: true, focus: true, touch: true }}
        >
            <time dateTime={at} tabIndex={0}>
                {relative(at)}
            </time>
        </Tooltip>
    );
}

/* The time by the second, so that what it renders counts. */
export function useNow(everyMs = 1000): number {
    const [now, setNow] = useState(() => Date.now());
    useEffect(() => {
        const timer = setInterval(() => setNow(Date.now()), everyMs);
        return () => clearInterval(timer);
    }, [everyMs]);
    return now;
}

export function CopyButton({ text, label, icon = "copy" }: {
    text: string;
    label: string;
    icon?: IconName;
}): ReactNode {
    const [isCopied, setCopied] = useState(false);
    useEffect(() => {
        if (!isCopied) {
            return undefined;
        }
        const timer = setTimeout(() => setCopied(false), 2000);
        return () => clearTimeout(timer);
    }, [isCopied]);
    const words = isCopied ? "Copied" : label;
    return (
        <Tooltip label={words}>
            <ActionIcon
                variant="subtle"
                aria-label={words}
                onClick={() => {
                    void copyText(text).then(setCopied);
                }}
            >
                <Icon name={isCopied ? "check" : icon} />
            </ActionIcon>
        </Tooltip>
    );
}

/* A line or some to be taken elsewhere. */
export function CopyBlock({
    text,
    label,
    shown = text,
}: {
    text: string;
    label: string;
    shown?: string;
}): ReactNode {
    return (
        <Group gap={4} align="flex-start" wrap="nowrap" className="copy-block">
            <Code block flex={1} miw={0} className="anywhere" tabIndex={0} aria-label={label}>
                {shown}
            </Code>
            <CopyButton text={text} label={`Copy: ${label}`} />
        </Group>
    );
}

export type Tone = "good" | "bad" | "warn" | "calm" | "info";
const COLORS: Record<Tone, string> = {
    good: "gate",
    bad: "red",
    warn: "orange",
    calm: "gray",
    info: "blue",
};

export function Tag({ tone = "calm", children }: { tone?: Tone; children: ReactNode }): ReactNode {
    return (
        <Badge variant="light" color={COLORS[tone]} radius="sm" tt="none" fw={550} className="tag">
            {children}
        </Badge>
    );
}

/* Asks before something is destroyed; what has a name is destroyed once its name was typed. The button
 * can be pressed before: it says what is missing, which a button that is off tells nobody. */
export function Confirm({
    title,
    children,
    action,
    keep = "Keep it",
    name,
    close,
    run,
}: {
    title: string;
    children: ReactNode;
    action: string;
    keep?: string;
    name?: string;
    close: () => void;
    run: () => Promise<unknown>;
}): ReactNode {
    const [typed, setTyped] = useState("");
    const [isWrong, setWrong] = useState(false);
    const [isBusy, setBusy] = useState(false);
    const [error, setError] = useState<unknown>(null);
    const field = useRef<HTMLInputElement>(null);
    useFocusBack();
    const submit = async (): Promise<void> => {
        if (name !== undefined && typed.trim() !== name.trim()) {
            setWrong(true);
            field.current?.focus();
            return;
        }
        setBusy(true);
        setError(null);
        try {
            await run();
            close();
        } catch (failure) {
            setError(failure);
            setBusy(false);
        }
    };
    return (
        <Modal opened onClose={close} title={title}>
            <form
                noValidate
                onSubmit={(event) => {
                    event.preventDefault();
                    void submit();
                }}
            >
                <Stack>
                    <Text size="sm" component="div">
                        {children}
                    </Text>
                    {name !== undefined && (
                        <TextInput
                            ref={field}
                            label={
                                <span className="anywhere">
                                    Type <strong>{name}</strong> to go on
                                </span>
                            }
                            value={typed}
                            autoComplete="off"
                            autoCapitalize="off"
                            spellCheck={false}
                            data-autofocus
                            error={isWrong && "This is not its name."}
                            onChange={(event) => {
                                setTyped(event.currentTarget.value);
                                setWrong(false);
                            }}
                        />
                    )}
                    {error !== null && <Problem error={error} />}
                    <Group justify="flex-end">
                        <Button
                            variant="default"
                            onClick={close}
                            {...(name === undefined && { "data-autofocus": true })}
                        >
                            {keep}
                        </Button>
                        <Button color="red" type="submit" loading={isBusy}>
                            {action}
                        </Button>
                    </Group>
                </Stack>
            </form>
        </Modal>
    );
}
