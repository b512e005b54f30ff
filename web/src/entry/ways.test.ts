/* SPDX-License-Identifier: MIT */
import { beforeAll, expect, it, vi } from "vitest";

let ways: typeof import("./ways");

beforeAll(async () => {
    vi.stubGlobal("location", new URL("http://gate/sign-in"));
    ways = await import("./ways");
});

it("goes to no other place", () => {
    const to = (text: string | null): string => ways.landing(text, "http://gate", "http://gate/");
    for (const other of [
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "https://evil.example/",
        "javascript:alert(1)",
        "",
        "//[",
        null,
    ]) {
        expect(to(other)).toBe("http://gate/");
    }
    expect(to("/sql/a?b=1#c")).toBe("http://gate/sql/a?b=1#c");
    expect(to("/.//evil.example")).toBe("http://gate//evil.example");
});

it("follows a provider's address alone", () => {
    const answer = (login_url: unknown, status = 200) => ({
        status,
        json: { login_url },
        retryAfter: null,
    });
    expect(ways.providerAddress(answer("https://a/b"))).toBe("https://a/b");
    expect(ways.providerAddress(answer("javascript:1"))).toBeNull();
    expect(ways.providerAddress(answer(undefined))).toBeNull();
    expect(ways.providerAddress(answer("https://a", 503))).toBeNull();
});

it("knows how long to wait", () => {
    expect(ways.secondsUntil("2", 0)).toBe(2);
    expect(ways.secondsUntil("Thu, 01 Jan 1970 00:00:05 GMT", 0)).toBe(5);
    expect(ways.secondsUntil("soon", 0)).toBe(1);
});

it("names a provider as somebody did", () => {
    expect(ways.providerName({ provider_name: "Acme", idp_provider_name: "okta" })).toBe("Acme");
    expect(ways.providerName({ idp_provider_name: "unknown" })).toBe("single sign-on");
});
