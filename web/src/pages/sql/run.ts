/* SPDX-License-Identifier: MIT */
/* A script over the API: statements with their rows, page by page, as far as a page can show them. */
import { address, call, post } from "../../shared/api/client";
import type { Execution, Statement } from "../../shared/api/types";

export const ROWS_MAX = 100_000;
const PAGE_SIZE = 10_000;
const FIRST_WAIT_MS = 300; /* then there is a session, which can be cancelled */

export interface Run {
    sessionId: string;
    statements: Statement[];
    state: "running" | "success" | "failed" | "blocked" | "waits" | "cancelled";
    reviewId: string | null;
    isTruncated: boolean; /* by the gateway */
    isStopped: boolean; /* by us, at ROWS_MAX */
    milliseconds: number;
}

export const nothing: Run = {
    sessionId: "",
    statements: [],
    state: "running",
    reviewId: null,
    isTruncated: false,
    isStopped: false,
    milliseconds: 0,
};

export function rowCount(statements: Statement[]): number {
    return statements.reduce((sum, statement) => sum + statement.rows.length, 0);
}

/* What an answer adds: a statement that goes on has its rows in more than one. */
export function added(run: Run, answer: Execution): Run {
    const statements = [...run.statements];
    for (const statement of answer.statements ?? []) {
        const last = statements.at(-1);
        if (statement.continued === true && last !== undefined) {
            statements[statements.length - 1] = {
                ...statement,
                rows: last.rows.concat(statement.rows),
                text: last.text + statement.text,
                notices: [...last.notices, ...statement.notices],
                truncated: last.truncated || statement.truncated,
            };
        } else {
            statements.push(statement);
        }
    }
    return {
        ...run,
        statements,
        sessionId: answer.session_id,
        reviewId: answer.review_id ?? null,
        state: answer.output_status === "pending" ? "waits" : answer.output_status,
        isTruncated: run.isTruncated || answer.truncated,
        milliseconds: Math.max(run.milliseconds, answer.execution_time),
    };
}

/* The path that an answer names, as the client of the API takes it. */
function pathOf(next: string): string {
    const url = new URL(next, location.origin);
    const from = url.pathname.indexOf("/api/") + "/api/".length;
    return url.pathname.slice(from) + url.search;
}

export async function kill(sessionId: string): Promise<void> {
    await post(`sessions/${sessionId}/kill`);
}

export interface Script {
    connection: string;
    script: string;
    metadata: Record<string, string>;
}

/* Tells of each answer; ends when the script does, when there is enough, or by the signal. */
export async function execute(
    { connection, script, metadata }: Script,
    signal: AbortSignal,
    tell: (run: Run) => void,
): Promise<void> {
    let answer = await call<Execution>("POST", "sessions", {
        body: { connection, script, ...(Object.keys(metadata).length > 0 && { metadata }) },
        query: { results: "pages", page_size: PAGE_SIZE, wait_ms: FIRST_WAIT_MS },
    });
    let run = added(nothing, answer);
    tell(run);
    while (answer.next && !signal.aborted) {
        if (rowCount(run.statements) >= ROWS_MAX) {
            await kill(run.sessionId);
            tell({ ...run, state: "success", isStopped: true });
            return;
        }
        answer = await call<Execution>("GET", pathOf(answer.next), { signal });
        run = added(run, answer);
        tell(run);
    }
}

export function recordAddress(sessionId: string, extension: string): string {
    return address(`sessions/${sessionId}/download`, { extension }).href;
}
