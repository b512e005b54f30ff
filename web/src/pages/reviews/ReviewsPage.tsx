/* SPDX-License-Identifier: MIT */
/* The inbox: what one is asked to decide, what one asked for, and all that one may see. */
import { Button, Group, SegmentedControl, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode } from "react";
import { Link, useSearchParams } from "wouter";

import { useMe } from "../../app/me";
import { get } from "../../shared/api/client";
import type { Page, Review, ReviewStatus } from "../../shared/api/types";
import { Empty, PageHead, Problem, Tag, type Tone, Waiting, When } from "../../shared/parts";
import { left } from "../../shared/words";
import { texts } from "./texts";

const PAGE_SIZE = 30;
const REFRESH_MS = 4000;
type View = keyof typeof texts.views;

export const tones: Record<ReviewStatus, Tone> = {
    PENDING: "warn",
    APPROVED: "good",
    PROCESSING: "info",
    EXECUTED: "calm",
    REJECTED: "bad",
    REVOKED: "bad",
    EXPIRED: "calm",
    CANCELLED: "calm",
};

export function whatFor(review: Review): string {
    if (review.type === "jit") {
        return texts.access(left(review.access_duration_sec));
    }
    return review.type === "held" ? texts.held : texts.script;
}

export default function ReviewsPage(): ReactNode {
    const me = useMe();
    const [query, setQuery] = useSearchParams();
    const asked = query.get("view");
    const view: View = asked !== null && asked in texts.views ? (asked as View) : "to_decide";
    const page = Math.max(1, Number(query.get("page") ?? 1) || 1);
    const list = useQuery({
        queryKey: ["reviews", view, page],
        queryFn: ({ signal }) =>
            get<Page<Review>>(
                "reviews",
                {
                    page,
                    page_size: PAGE_SIZE,
                    ...(view !== "all" && { [view]: true }),
                },
                signal,
            ),
        refetchInterval: REFRESH_MS,
        placeholderData: keepPreviousData,
    });
    const total = list.data?.pages.total ?? 0;
    return (
        <>
            <PageHead title={texts.title} about={texts.about} />
            <SegmentedControl
                mb="md"
                value={view}
                aria-label={texts.title}
                onChange={(value) => setQuery({ view: value })}
                data={Object.entries(texts.views).map(([value, label]) => ({ value, label }))}
            />
            {list.error !== null && (
                <Problem
                    error={list.error}
                    retry={() => {
                        void list.refetch();
                    }}
                />
            )}
            {list.isPending && <Waiting />}
            {list.data?.data.length === 0 && (
                <Empty
                    title={texts.noneTitle[view]}
                    action={
                        view === "mine" ? (
                            <Button component={Link} href="/">
                                {texts.ask}
                            </Button>
                        ) : (
                            me.is_admin && (
                                <Button component={Link} href="/admin/access?new" variant="default">
                                    {texts.addRule}
                                </Button>
                            )
                        )
                    }
                >
                    {texts.none[view]}
                </Empty>
            )}
            <div className="card rows" id="reviews" hidden={total === 0}>
                {(list.data?.data ?? []).map((review) => (
                    <Link
                        key={review.id}
                        href={`/reviews/${review.id}`}
                        className="plain-link row-link"
                    >
                        <Group px="md" py="sm" justify="space-between" data-review={review.id}>
                            <div>
                                <Text fw={600}>
                                    {whatFor(review)} · {review.connection}
                                </Text>
                                <Text size="sm" c="dimmed">
                                    {review.requester.name || review.requester.email} ·{" "}
                                    <When at={review.created_at} />
                                </Text>
                            </div>
                            <Tag tone={tones[review.status]}>{texts.states[review.status]}</Tag>
                        </Group>
                    </Link>
                ))}
            </div>
            {total > PAGE_SIZE && (
                <Group justify="flex-end" mt="md" gap="xs">
                    <Button
                        variant="default"
                        disabled={page === 1}
                        onClick={() => setQuery({ view, page: String(page - 1) })}
                    >
                        Newer
                    </Button>
                    <Button
                        variant="default"
                        disabled={page * PAGE_SIZE >= total}
                        onClick={() => setQuery({ view, page: String(page + 1) })}
                    >
                        Older
                    </Button>
                </Group>
            )}
        </>
    );
}
