/* SPDX-License-Identifier: MIT */
/* The chain of the audit log, walked from its first entry to its last; a log may be long. */
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";

import { get } from "../../shared/api/client";
import { Icon } from "../../shared/icons";
import { CopyBlock, Problem } from "../../shared/parts";
import { texts } from "./texts";

const words = texts.chain;

interface Walked {
    chain_status: "whole" | "whole_so_far" | "broken";
    checked: number;
    hash: string;
    broken_at?: number;
    message?: string;
    next: number | null;
}

export function AuditChain(): ReactNode {
    const [checked, setChecked] = useState(0);
    const [last, setLast] = useState<Walked | null>(null);
    const [error, setError] = useState<unknown>(null);
    const walk = useRef<AbortController | null>(null);
    useEffect(() => () => walk.current?.abort(), []);
    const isWalking = last?.next != null && error === null;

    const begin = async (): Promise<void> => {
        walk.current?.abort();
        const mine = new AbortController();
        walk.current = mine;
        setError(null);
        let count = 0;
        try {
            for (let from: number | null = 1; from !== null; ) {
                const part: Walked = await get<Walked>(
                    "audit/logs/verify",
                    { from },
                    mine.signal,
                );
                count += part.checked;
                setChecked(count);
                setLast(part);
                from = part.next;
            }
        } catch (failure) {
            if (!mine.signal.aborted) {
                setError(failure);
            }
        }
    };
    const number = checked.toLocaleString();
    return (
        <Stack gap="sm" mb="md" id="chain">
            <Group gap="sm">
                <Button
                    size="xs"
                    variant="default"
                    leftSection={<Icon name="link" size={14} />}
                    loading={isWalking}
                    onClick={() => {
                        void begin();
                    }}
                >
                    {words.check}
                </Button>
                {isWalking && (
                    <Text size="sm" role="status">
                        {words.soFar(number)}
                    </Text>
                )}
            </Group>
            {error !== null && (
                <Problem
                    error={error}
                    retry={() => {
                        void begin();
                    }}
                />
            )}
            {last !== null && last.next === null && error === null && (
                <Alert
                    color={last.chain_status === "broken" ? "red" : "gate"}
                    icon={<Icon name={last.chain_status === "broken" ? "warning" : "check"} />}
                    title={last.chain_status === "broken" ? words.broken : words.whole(number)}
                    role="status"
                    data-chain={last.chain_status}
                >
                    {last.chain_status === "broken" ? (
                        words.brokenAt((last.broken_at ?? 0).toLocaleString(), last.message ?? "")
                    ) : (
                        <CopyBlock label={words.hash} text={last.hash} />
                    )}
                </Alert>
            )}
        </Stack>
    );
}
