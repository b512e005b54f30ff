/* SPDX-License-Identifier: MIT */
/* Sinks as named things; beside each, a test and a second chance for what is dead. */
import { Button, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { part, post } from "../../../shared/api/client";
import type { NotificationSink } from "../../../shared/api/schema";
import { Problem } from "../../../shared/parts";
import type { Form } from "../../../shared/things/ThingForm";
import type { Kind } from "../../../shared/things/Things";
import { texts } from "./texts";

const words = texts.sinks;

interface Tested {
    delivered: boolean;
    error?: string | null;
    status?: number | null;
}

function Actions({ sink }: { sink: NotificationSink }): ReactNode {
    const client = useQueryClient();
    const path = `notifications/sinks/${part(sink.name)}`;
    const again = (): Promise<void> => client.invalidateQueries();
    const test = useMutation({ mutationFn: () => post<Tested>(`${path}/test`), onSettled: again });
    const replay = useMutation({
        mutationFn: () => post<{ count: number }>(`${path}/replay`),
        onSettled: again,
    });
    return (
        <>
            <Button
                size="xs"
                variant="default"
                loading={test.isPending}
                aria-label={`${words.test} ${sink.name}`}
                onClick={() => test.mutate()}
            >
                {words.test}
            </Button>
            <Button
                size="xs"
                variant="default"
                loading={replay.isPending}
                aria-label={`${words.replay}: ${sink.name}`}
                onClick={() => replay.mutate()}
            >
                {words.replay}
            </Button>
            {test.data !== undefined && (
                <Text size="sm" role="status" className="anywhere">
                    {test.data.delivered
                        ? words.tested
                        : words.refused(test.data.error ?? String(test.data.status ?? ""))}
                </Text>
            )}
            {replay.data !== undefined && (
                <Text size="sm" role="status">
                    {words.replayed(replay.data.count)}
                </Text>
            )}
            {(test.error ?? replay.error) !== null && <Problem error={test.error ?? replay.error} />}
        </>
    );
}

const isEmail = (form: Form): boolean => form["type"] === "email";

/* What was left empty is not sent: the address stays as it is. What is of another kind is not sent
 * either. */
function requestOf(form: Form): object {
    const { url, addresses, statement_size, ...rest } = form;
    return {
        ...rest,
        ...(isEmail(form) || url === "" || url === undefined ? {} : { url }),
        ...(isEmail(form) ? { addresses } : {}),
        ...(statement_size === null || statement_size === "" ? {} : { statement_size }),
    };
}

export const sinks: Kind<NotificationSink> = {
    path: "notifications/sinks",
    ...words,
    keyOf: ({ name }) => name,
    nameOf: ({ name }) => name,
    fields: [
        { name: "name", kind: "text", label: words.name, required: true },
        { name: "type", kind: "choice", label: words.type, choices: words.types },
        {
            name: "url",
            kind: "text",
            label: words.url,
            about: words.urlAbout,
            isFor: (form) => !isEmail(form),
        },
        {
            name: "addresses",
            kind: "words",
            label: words.mail,
            about: words.mailAbout,
            isFor: isEmail,
        },
        {
            name: "events",
            kind: "several",
            label: words.events,
            choices: words.eventsKnown,
            initial: ["review.requested", "review.decided"],
        },
        { name: "enabled", kind: "yes", label: words.enabled, initial: true },
        { name: "statement_size", kind: "number", label: words.size, about: words.sizeAbout },
    ],
    requestOf,
    onceOf: ({ secret }) => (secret ? [{ label: words.secret, text: secret }] : []),
    linesOf: (sink) => [
        `${sink.type} · ${sink.address ?? ""}`,
        (sink.events ?? []).join(", "),
        sink.last_error ? words.since(sink.last_error) : "",
    ],
    tagsOf: (sink) => [
        ...(sink.enabled === false ? [{ text: words.off, tone: "warn" as const }] : []),
        ...(sink.failing_since ? [{ text: words.failing, tone: "bad" as const }] : []),
    ],
    actions: (sink) => <Actions sink={sink} />,
};
