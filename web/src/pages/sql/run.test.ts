/* SPDX-License-Identifier: MIT */
import { describe, expect, it, vi } from "vitest";

import type { Execution, Statement } from "../../shared/api/types";

vi.mock("../../shared/api/client", () => ({ address: vi.fn(), call: vi.fn(), post: vi.fn() }));
const { added, nothing, rowCount } = await import("./run");

const statement = (members: Partial<Statement>): Statement => ({
    command: "",
    rows_affected: null,
    columns: [{ name: "a", type: "integer" }],
    rows: [],
    text: "",
    notices: [],
    error: null,
    truncated: false,
    ...members,
});
const answer = (members: Partial<Execution>): Execution => ({
    session_id: "s",
    has_review: false,
    output: "",
    output_status: "running",
    truncated: false,
    execution_time: 1,
    exit_code: -2,
    statements: [],
    ...members,
});

describe("a script's answers", () => {
    it("are put together where a statement goes on", () => {
        let run = added(
            nothing,
            answer({ statements: [statement({ rows: [[1], [2]] })], next: "/api/x" }),
        );
        run = added(
            run,
            answer({
                output_status: "success",
                statements: [
                    statement({ rows: [[3]], continued: true, command: "SELECT 3" }),
                    statement({ rows: [[4]] }),
                ],
            }),
        );
        expect(run.statements.map(({ rows }) => rows)).toEqual([[[1], [2], [3]], [[4]]]);
        expect(run.statements[0]?.command).toBe("SELECT 3");
        expect(rowCount(run.statements)).toBe(4);
        expect(run.state).toBe("success");
    });
    it("leave what was told before as it was", () => {
        const before = added(nothing, answer({ statements: [statement({ rows: [[1]] })] }));
        added(before, answer({ statements: [statement({ rows: [[2]], continued: true })] }));
        expect(before.statements[0]?.rows).toEqual([[1]]);
    });
    it("say when others must approve", () => {
        const run = added(
            nothing,
            answer({ has_review: true, review_id: "r", output_status: "pending" }),
        );
        expect([run.state, run.reviewId]).toEqual(["waits", "r"]);
    });
});
