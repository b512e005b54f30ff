/* SPDX-License-Identifier: MIT */
/* Whether a recording is what was written, with what proves it. */
import { Anchor, Popover, Stack, Text, UnstyledButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode } from "react";

import { address, get } from "../../shared/api/client";
import type { Session } from "../../shared/api/types";
import { CopyBlock, Tag } from "../../shared/parts";
import { bytes, count } from "../../shared/words";
import { texts } from "./texts";

interface Verification {
    recording_status: string;
    message: string;
    records: number;
    size: number;
    hash: string;
}

export function Proof({ session }: { session: Session }): ReactNode {
    const proof = useQuery({
        queryKey: ["verify", session.id, session.status],
        queryFn: ({ signal }) => get<Verification>(`sessions/${session.id}/verify`, {}, signal),
        enabled: session.recording_removed_at === null,
    });
    if (session.recording_removed_at !== null) {
        return <Tag>{texts.removed}</Tag>;
    }
    if (proof.data === undefined) {
        return null;
    }
    const { recording_status: status, message, records, size, hash } = proof.data;
    const tone = status === "whole" ? "good" : status === "open" ? "calm" : "bad";
    const word =
        status === "whole" ? texts.whole : status === "open" ? texts.writing : texts.notWhole;
    return (
        <Popover width={340} position="bottom-end" withArrow>
            <Popover.Target>
                <UnstyledButton data-proof={status} aria-label={`${word}: ${texts.proofShow}`}>
                    <Tag tone={tone}>{word}</Tag>
                </UnstyledButton>
            </Popover.Target>
            <Popover.Dropdown>
                <Stack gap="xs" id="proof">
                    <Text size="sm">{message || texts.wholeAbout}</Text>
                    <Text size="sm">
                        {texts.proofSize(count(records, "record"), bytes(size))}
                    </Text>
                    {hash !== "" && <CopyBlock label={texts.proofHash} text={hash} />}
                    <Text size="xs" c="dimmed">
                        {texts.proofAgain}
                    </Text>
                    <CopyBlock
                        label={texts.proofCommand}
                        text={`gatehouse sessions verify ${session.id}`}
                    />
                    <Anchor
                        size="sm"
                        href={address(`sessions/${session.id}/verify`).href}
                        download={`proof-${session.id}.json`}
                    >
                        {texts.proof}
                    </Anchor>
                </Stack>
            </Popover.Dropdown>
        </Popover>
    );
}
