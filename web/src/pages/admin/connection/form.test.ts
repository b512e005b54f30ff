/* SPDX-License-Identifier: MIT */
import { describe, expect, it } from "vitest";

import type { Connection } from "../../../shared/api/types";
import { changesOf, type Form, formOf, inputOf, linksOf, patchOf, rebased } from "./form";

const connection = {
    name: "shop",
    resource_name: "shop",
    agent_id: "a",
    secret: { "envvar:HOST": null, "envvar:PASS": "_vaultkv2:kv/app:pass" },
    command: [],
    attributes: [],
    guardrail_rules: [],
    access_mode_connect: "enabled",
    access_mode_exec: "disabled",
    access_mode_runbooks: "enabled",
    access_schema: "enabled",
    access_max_duration: 5400,
    connection_tags: { env: "prod" },
    tags: [],
    mandatory_metadata_fields: [],
    min_review_approvals: 0,
    reviewers: [],
    force_approve_groups: [],
    recording_row_limit: 2048,
} as unknown as Connection;

const links = [
    { rule_id: "one", status: "active" as const },
    { rule_id: "two", status: "inactive" as const },
];
const stored = formOf({ connection, groups: ["dev"], links });
const changed = (change: Partial<Form>): Form => ({ ...stored, ...change });

describe("what is sent of a connection's form", () => {
    it("is nothing when nothing was changed", () => {
        expect(patchOf(structuredClone(stored), stored)).toBeNull();
        expect(stored.access_minutes).toBe(90);
        expect(stored.min_review_approvals).toBeNull();
        expect(stored.row_limit_kib).toBe(2);
    });
    it("is what was changed, and no more", () => {
        const form = changed({
            executes: true,
            access_minutes: null,
            reviewers: ["admin"],
            connection_tags: ["env=a = b", "team=core"],
        });
        expect(patchOf(form, stored)).toEqual({
            access_mode_exec: "enabled",
            access_max_duration: null,
            reviewers: ["admin"],
            connection_tags: { env: "a = b", team: "core" },
        });
    });
    it("names secrets that are replaced, added and taken away, and no others", () => {
        const [host, pass] = stored.secrets;
        const form = changed({
            secrets: [
                { ...host!, is: "replaced", value: "db" },
                { ...pass!, is: "removed" },
                { key: "envvar:DB", is: "added", reference: "", value: "_aws:x:db" },
            ],
        });
        expect(patchOf(form, stored)).toEqual({
            secret: { "envvar:HOST": btoa("db"), "envvar:PASS": null, "envvar:DB": "_aws:x:db" },
        });
    });
    it("leaves groups and masking to calls of their own", () => {
        const form = changed({ groups: [], masking_rules: [] });
        expect(patchOf(form, stored)).toBeNull();
        expect(changesOf(form, stored)).toEqual(["groups", "masking_rules"]);
    });
    it("keeps links that are switched off", () => {
        expect(linksOf(stored, links)).toEqual(links);
        expect(linksOf(changed({ masking_rules: ["two"] }), links)).toEqual([
            { rule_id: "two", status: "active" },
        ]);
    });
});

describe("a form that somebody else was faster than", () => {
    it("takes their changes, and keeps its own", () => {
        const now = changed({ reviewers: ["theirs"], tags: ["theirs"] });
        const typed = changed({ reviewers: ["mine"], executes: true });
        const form = rebased(typed, changesOf(typed, stored), now);
        expect(form.reviewers).toEqual(["mine"]);
        expect(form.tags).toEqual(["theirs"]);
        expect(form.executes).toBe(true);
    });
});

describe("a value", () => {
    it("is typed as what it is", () => {
        expect(["envvar:HOST", "envvar:PASS", "envvar:TOKEN", "filesystem:CA", "envvar:PRIVATE_KEY"].map(inputOf))
            .toEqual(["plain", "hidden", "hidden", "lines", "lines"]);
    });
});
