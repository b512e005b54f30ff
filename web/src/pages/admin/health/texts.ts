/* SPDX-License-Identifier: MIT */
import type { Plotted } from "./figures";

export const texts = {
    title: "Health",
    about: (version: string) => `Gatehouse ${version}, as this gateway sees it now.`,
    well: "well",
    unwell: "not well",
    gone: (gone: number, all: number) => `${gone} of ${all} agents are not linked`,
    plot: (title: string, last: string, most: string) => `${title}: ${last} now, at most ${most}`,
    most: (most: string) => `at most ${most} since you opened this page`,
    masked: "What was masked in the last days",
    connection: "Connection",
    kind: "Kind",
    times: "Times",
} as const;

const rate = (name: string, title: string, unit = "/s"): Plotted => ({
    name,
    title,
    unit,
    isRate: true,
});

export const plots: Plotted[] = [
    { name: "gatehouse_sessions_open", title: "Open sessions", unit: "", isRate: false },
    rate("gatehouse_session_statements_total", "Statements"),
    rate("gatehouse_session_blocked_total", "Stopped by guard rails"),
    rate("gatehouse_session_masked_values_total", "Masked values"),
    rate("gatehouse_session_sent_bytes_total", "Sent to clients", " B/s"),
    rate("gatehouse_http_requests_total", "Requests"),
    {
        name: "gatehouse_http_request_duration_seconds_sum",
        title: "Time of a request",
        unit: " s",
        isRate: false,
        over: "gatehouse_http_request_duration_seconds_count",
    },
    rate("gatehouse_store_commits_total", "Commits of the store"),
    { name: "gatehouse_pool_queue", title: "Requests that wait", unit: "", isRate: false },
];
