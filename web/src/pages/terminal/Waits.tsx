/* SPDX-License-Identifier: MIT */
/* A terminal that others must approve: where they do, and what they have decided. It goes on by itself. */
import { Alert, Button, Group, Loader, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";

import { get, root } from "../../shared/api/client";
import type { Review } from "../../shared/api/types";
import { Icon } from "../../shared/icons";
import { CopyButton, Problem } from "../../shared/parts";
import { texts } from "./texts";

const ASK_MS = 1500;
const words = texts.waits;

/* As one to whom the link is sent opens it. */
const linkOf = (id: string): string => new URL(`reviews/${id}`, root).href;

export function Waits({ id, goOn, again }: {
    id: string;
    goOn: () => void;
    again: () => void; /* asks anew */
}): ReactNode {
    const review = useQuery({
        queryKey: ["review", id],
        queryFn: ({ signal }) => get<Review>(`reviews/${id}`, {}, signal),
        refetchInterval: ASK_MS,
        refetchIntervalInBackground: true, /* it goes on while one reads elsewhere */
    });
    const status = review.data?.status ?? "PENDING";
    useEffect(() => {
        if (status === "APPROVED") {
            goOn();
        }
    }, [status, goOn]);
    const isOver = status !== "PENDING" && status !== "APPROVED";
    const reason = review.data?.decisions.findLast(({ reason: why }) => Boolean(why))?.reason;
    return (
        <Alert
            color={isOver ? "red" : "blue"}
            title={isOver ? words.over(status) : words.title}
            icon={isOver ? <Icon name="cross" /> : <Loader size={18} aria-hidden />}
            role="status"
            data-review={id}
            data-status={status}
        >
            <Stack gap="xs" align="flex-start">
                <Text size="sm" className="anywhere">
                    {isOver ? (reason ?? words.overAbout) : words.about}
                </Text>
                {review.error !== null && <Problem error={review.error} />}
                <Group gap="xs">
                    <Button size="xs" component={Link} href={`/reviews/${id}`} variant="default">
                        {words.link}
                    </Button>
                    {!isOver && <CopyButton text={linkOf(id)} label={words.copy} icon="link" />}
                    {isOver && (
                        <Button size="xs" onClick={again}>
                            {words.again}
                        </Button>
                    )}
                </Group>
            </Stack>
        </Alert>
    );
}
