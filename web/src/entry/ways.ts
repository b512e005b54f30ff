/* SPDX-License-Identifier: MIT */
/* Calls and ways of the pages for those who are not signed in. These pages have no part of the app
 * but this: they are small, and a fault of the app locks nobody out. */

/* The console may stand below a path of the public URL; this file is in a folder of its root. */
export const base = import.meta.env.DEV
    ? new URL("/", location.href)
    : new URL(/* @vite-ignore */ "../", import.meta.url);

const ERROR_LENGTH_MAX = 300;

export interface Answer {
    status: number; /* 0: none came */
    json: Record<string, unknown>;
    retryAfter: string | null;
}

/* Always an answer, never an exception. */
export async function call(method: string, path: string, body?: unknown): Promise<Answer> {
    const request: RequestInit = {
        method,
        cache: "no-store",
        credentials: "same-origin",
        redirect: "error",
    };
    if (body !== undefined) {
        request.headers = { "Content-Type": "application/json" };
        request.body = JSON.stringify(body);
    }
    try {
        const response = await fetch(new URL(`api/${path}`, base), request);
        const json = (await response.json().catch(() => null)) as Record<string, unknown> | null;
        const retryAfter = response.headers.get("Retry-After");
        return { status: response.status, json: json ?? {}, retryAfter };
    } catch {
        return {
            status: 0,
            json: { message: "the gateway cannot be reached" },
            retryAfter: null,
        };
    }
}

/* The server's own words, as a sentence begins. */
export function messageOf(answer: Answer): string {
    const message = answer.json["message"] ?? `the gateway answered with status ${answer.status}`;
    return String(message).replace(/^[a-z]/, (letter) => letter.toUpperCase());
}

/* What a failed sign-in at a provider left in the address: anybody can write it there. */
export function errorOfAddress(search: string): string {
    const query = new URLSearchParams(search);
    if (!query.has("error") && !query.has("error_description")) {
        return "";
    }
    const words = query.get("error_description") || query.get("error") || "no reason was given";
    return `The sign-in failed: ${words.slice(0, ERROR_LENGTH_MAX)}`;
}

/* The errors in this page's address, for the page that shows them. */
export function errorsOfAddress(): Record<string, string> {
    const query = new URLSearchParams(location.search);
    return Object.fromEntries(
        ["error", "error_description"].flatMap((name) =>
            query.has(name) ? [[name, query.get(name) ?? ""]] : [],
        ),
    );
}

/* The address to go to for 'to', if that is a path of this origin; else the first page. What a
 * browser would make of it decides, not how it looks: "/\evil", "/<tab>/evil" are other hosts. */
export function landing(to: string | null, origin: string, otherwise: string): string {
    if (to?.startsWith("/")) {
        try {
            const url = new URL(to, origin);
            if (url.origin === origin) {
                return `${origin}${url.pathname}${url.search}${url.hash}`;
            }
        } catch {
            /* no address at all */
        }
    }
    return otherwise;
}

/* To a page of the console, with these parts of a query. */
export function goTo(page: string, query: Record<string, string> = {}, fragment = ""): void {
    const url = new URL(page, base);
    url.search = new URLSearchParams(query).toString();
    url.hash = fragment;
    location.replace(url);
}

/* Where the provider's own page is, which leads back to 'target'. */
export function providerAddress(answer: Answer): string | null {
    const url = answer.json["login_url"];
    if (answer.status !== 200 || typeof url !== "string") {
        return null;
    }
    try {
        return /^https?:$/.test(new URL(url).protocol) ? url : null;
    } catch {
        return null;
    }
}

/* As an admin named it; else what its address tells. */
export function providerName(info: Record<string, unknown>): string {
    const names = [info["provider_name"], info["idp_provider_name"]];
    const name = names.find((one) => typeof one === "string" && one !== "" && one !== "unknown");
    return typeof name === "string" ? name : "single sign-on";
}

export function secondsUntil(retryAfter: string | null, now: number): number {
    const text = retryAfter ?? "";
    const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
    return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds) : 1;
}

export function duration(seconds: number): string {
    return seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}
