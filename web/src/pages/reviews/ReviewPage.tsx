/* SPDX-License-Identifier: MIT */
/* One request: who, what exactly, who must agree, and the decision. It keeps itself up to date. */
import { Anchor, Button, Group, Stack, Text, Textarea, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { Link } from "wouter";

import { useMe } from "../../app/me";
import { address, get, part, post, put } from "../../shared/api/client";
import type { Execution, Review } from "../../shared/api/types";
import { PageHead, Problem, Tag, Waiting, When } from "../../shared/parts";
import { SqlText } from "../../shared/SqlText";
import "../sessions/sessions.css";
import { HeldFacts, ScriptFacts } from "./HeldFacts";
import { ANY_HOUR, HoursField, hoursWords, windowOf } from "./Hours";
import { PlannerFacts } from "./PlannerFacts";
import { SampleFacts } from "./SampleFacts";
import { texts } from "./texts";
import { tones, whatFor } from "./ReviewsPage";

const REFRESH_MS = 3000;

function Decide({ review }: { review: Review }): ReactNode {
    const me = useMe();
    const client = useQueryClient();
    const [reason, setReason] = useState("");
    const [hours, setHours] = useState(ANY_HOUR);
    const decision = useMutation({
        mutationFn: ({ status, isForced = false }: { status: string; isForced?: boolean }) =>
            put(`reviews/${review.id}`, {
                status,
                ...(reason !== "" && { reason }),
                ...(isForced && { force_review: true }),
                ...(status === "APPROVED" && windowOf(hours)),
            }),
        onSuccess: () => client.invalidateQueries({ queryKey: ["review"] }),
    });
    const run = useMutation({
        mutationFn: () => post<Execution>(`sessions/${review.session}/exec`),
        onSettled: () => client.invalidateQueries({ queryKey: ["review"] }),
    });
    const isMine = review.requester.id === me.id;
    const groups = new Set(review.requirements.flatMap((need) => need.reviewers_groups));
    const mayDecide = !isMine && (me.is_admin || me.groups.some((group) => groups.has(group)));
    const mayApprove = !isMine && me.groups.some((group) => groups.has(group));
    const mayForce =
        !isMine &&
        review.requirements.some((need) =>
            need.force_approval_groups.some((group) => me.groups.includes(group)),
        );
    const waits = review.status === "PENDING";
    const isUsed = review.status === "APPROVED" || review.status === "PROCESSING";
    const button = (status: string, word: string, color?: string): ReactNode => (
        <Button
            key={status}
            color={color}
            variant={status === "APPROVED" ? "filled" : "light"}
            loading={decision.isPending}
            onClick={() => decision.mutate({ status })}
            data-decide={status}
        >
            {word}
        </Button>
    );
    const ways = [
        waits && mayApprove && button("APPROVED", texts.approve),
        waits && mayDecide && button("REJECTED", texts.reject, "red"),
        isUsed && mayDecide && button("REVOKED", texts.revoke, "red"),
        (waits || isUsed) && isMine && button("CANCELLED", texts.cancel, "red"),
    ].filter(Boolean);
    return (
        <Stack gap="sm">
            {isMine &&
                review.status === "APPROVED" &&
                review.type === "onetime" &&
                !review.runs_when_approved && (
                    <Group>
                        <Button loading={run.isPending} onClick={() => run.mutate()} id="run">
                            {texts.run}
                        </Button>
                    </Group>
                )}
            {isMine && isUsed && review.type === "jit" && (
                <Group>
                    <Button component={Link} href={`/connect/${part(review.connection)}`}>
                        {texts.get}
                    </Button>
                </Group>
            )}
            {run.data !== undefined && (
                <Text size="sm" role="status">
                    {texts.ran(run.data.output_status)}
                </Text>
            )}
            {run.error !== null && <Problem error={run.error} />}
            {(ways.length > 0 || (waits && mayForce)) && (
                <Stack className="card" p="md" gap="sm">
                    <Textarea
                        label={texts.reason}
                        description={texts.reasonAbout}
                        autosize
                        minRows={2}
                        value={reason}
                        onChange={(event) => setReason(event.currentTarget.value)}
                    />
                    {waits && (mayApprove || mayForce) && review.type !== "held" && (
                        <HoursField hours={hours} set={setHours} />
                    )}
                    <Group>{ways}</Group>
                    {waits && mayForce && (
                        <>
                            <Text size="sm" c="dimmed">
                                {texts.forceAbout}
                            </Text>
                            <Group>
                                <Button
                                    color="orange"
                                    variant="light"
                                    disabled={reason.trim() === ""}
                                    loading={decision.isPending}
                                    onClick={() =>
                                        decision.mutate({ status: "APPROVED", isForced: true })
                                    }
                                    data-decide="FORCED"
                                >
                                    {texts.force}
                                </Button>
                            </Group>
                        </>
                    )}
                </Stack>
            )}
            {decision.error !== null && <Problem error={decision.error} />}
        </Stack>
    );
}

function History({ review }: { review: Review }): ReactNode {
    const client = useQueryClient();
    const [comment, setComment] = useState("");
    const sent = useMutation({
        mutationFn: () => post(`reviews/${review.id}/comments`, { comment }),
        onSuccess: () => {
            setComment("");
            return client.invalidateQueries({ queryKey: ["review"] });
        },
    });
    const person = (who?: { name: string; email: string } | null): string =>
        who?.name || who?.email || "";
    return (
        <section aria-label={texts.history}>
            <Title order={2} size="h4" mb="sm">
                {texts.history}
            </Title>
            <Stack gap="sm">
                {review.decisions.map((decision, index) => (
                    <div key={index} className="card history-entry">
                        <Text size="sm" fw={600}>
                            {person(decision.reviewed_by)} · {decision.status.toLowerCase()}
                        </Text>
                        {decision.reason && (
                            <Text size="sm" className="anywhere">
                                {decision.reason}
                            </Text>
                        )}
                    </div>
                ))}
                {(review.comments ?? []).map((one, index) => (
                    <div key={`c${index}`} className="card history-entry">
                        <Text size="sm" fw={600}>
                            {person(one.author)} {texts.commented} <When at={one.created_at} />
                        </Text>
                        <Text size="sm" className="anywhere">
                            {one.comment}
                        </Text>
                    </div>
                ))}
                <form
                    onSubmit={(event) => {
                        event.preventDefault();
                        sent.mutate();
                    }}
                >
                    <Group align="flex-end">
                        <Textarea
                            label={texts.comment}
                            autosize
                            flex={1}
                            value={comment}
                            onChange={(event) => setComment(event.currentTarget.value)}
                        />
                        <Button
                            type="submit"
                            variant="default"
                            disabled={comment.trim() === ""}
                            loading={sent.isPending}
                        >
                            {texts.send}
                        </Button>
                    </Group>
                </form>
                {sent.error !== null && <Problem error={sent.error} />}
            </Stack>
        </section>
    );
}

/* Where a message led here: its link is good once, and grants nothing, so the review is shown whatever
 * became of it. It leaves the address, which others may see. */
function FromMessage({ id }: { id: string }): ReactNode {
    const opened = useMutation({
        mutationFn: (link: string) => post<Review>(`reviews/${part(id)}/opened`, { link }),
    });
    const { mutate } = opened;
    useEffect(() => {
        const address = new URL(location.href);
        const link = address.searchParams.get("link");
        if (link !== null) {
            address.searchParams.delete("link");
            history.replaceState(history.state, "", address);
            mutate(link);
        }
    }, [mutate]);
    if (opened.error !== null) {
        return <Problem error={opened.error} />;
    }
    return opened.data === undefined ? null : (
        <Text size="sm" role="status" id="from-message">
            {texts.fromMessage}
        </Text>
    );
}

export default function ReviewPage({ id }: { id: string }): ReactNode {
    const review = useQuery({
        queryKey: ["review", id],
        queryFn: ({ signal }) => get<Review>(`reviews/${part(id)}`, {}, signal),
        refetchInterval: REFRESH_MS,
    });
    if (review.error !== null) {
        return (
            <Problem
                error={review.error}
                retry={() => {
                    void review.refetch();
                }}
            />
        );
    }
    if (review.data === undefined) {
        return <Waiting />;
    }
    const { data } = review;
    const metadata = Object.entries(data.metadata);
    const session = data.run_session ?? (data.status === "EXECUTED" ? data.session : null);
    return (
        <>
            <PageHead
                title={`${whatFor(data)} · ${data.connection}`}
                about={
                    <>
                        {texts.asked} <When at={data.created_at} />
                    </>
                }
            >
                <span data-status={data.status}>
                    <Tag tone={tones[data.status]}>{texts.states[data.status]}</Tag>
                </span>
            </PageHead>
            <Stack gap="lg" id="review">
                <FromMessage id={id} />
                <dl className="card facts">
                    <div>
                        <dt>{texts.by}</dt>
                        <dd className="anywhere">{data.requester.name || data.requester.email}</dd>
                    </div>
                    <div>
                        <dt>{texts.at}</dt>
                        <dd className="anywhere">{data.connection}</dd>
                    </div>
                    {data.status === "PENDING" && data.expire_at !== null && (
                        <div>
                            <dt>{texts.until}</dt>
                            <dd>
                                <When at={data.expire_at} />
                            </dd>
                        </div>
                    )}
                    {data.type === "jit" && data.revoke_at !== null && (
                        <div>
                            <dt>{texts.ends}</dt>
                            <dd>
                                <When at={data.revoke_at} />
                            </dd>
                        </div>
                    )}
                    {data.time_windows.length > 0 && (
                        <div>
                            <dt>{texts.hoursName}</dt>
                            <dd>{hoursWords(data.time_windows)}</dd>
                        </div>
                    )}
                    {metadata.length > 0 && (
                        <div>
                            <dt>{texts.about_it}</dt>
                            <dd className="anywhere">
                                {metadata.map(([name, value]) => `${name}: ${value}`).join(", ")}
                            </dd>
                        </div>
                    )}
                    <div>
                        <dt>{texts.needs}</dt>
                        {data.requirements.map((need) => (
                            <dd key={need.access_request_rule_name} className="anywhere">
                                {need.all_groups_must_approve
                                    ? texts.everyGroup(
                                          need.reviewers_groups.join(", "),
                                          need.access_request_rule_name,
                                      )
                                    : texts.need(
                                          need.min_approvals,
                                          need.reviewers_groups.join(", "),
                                          need.access_request_rule_name,
                                      )}
                            </dd>
                        ))}
                    </div>
                </dl>
                {data.type !== "jit" && (
                    <section aria-label={texts.statement}>
                        <Title order={2} size="h4" mb="sm">
                            {texts.statement}
                        </Title>
                        <SqlText className="entry-text" id="script" text={data.script ?? ""} />
                        <Group gap="sm" mt={6}>
                            {data.script_truncated === true && (
                                <Text size="xs">
                                    {texts.truncated}{" "}
                                    <Anchor size="xs" href={address(`reviews/${id}/script`).href}>
                                        {texts.whole}
                                    </Anchor>
                                </Text>
                            )}
                            <Text size="xs" c="dimmed" className="anywhere">
                                {texts.hash}: <span className="code">{data.script_sha256}</span>
                            </Text>
                        </Group>
                    </section>
                )}
                {data.held !== null && <HeldFacts held={data.held} />}
                {data.analysis != null && <ScriptFacts analysis={data.analysis} />}
                {data.status === "PENDING" &&
                    (data.held?.analysis ?? data.analysis) != null &&
                    data.held?.found.rehearsal === undefined && <PlannerFacts review={data.id} />}
                {data.status === "PENDING" && data.held?.found.rehearsal !== undefined && (
                    <SampleFacts review={data.id} />
                )}
                <Decide review={data} />
                {session !== null && (
                    <Anchor component={Link} href={`/sessions/${session}`}>
                        {texts.record}
                    </Anchor>
                )}
                <History review={data} />
            </Stack>
        </>
    );
}
