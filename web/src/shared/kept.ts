/* SPDX-License-Identifier: MIT */
/* What this browser keeps for one person until he signs out: favourites, what was used last, what was
 * typed into the editor. Never a credential, and never what a query brought. */
import { useCallback, useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let owner = "";

export function keepFor(id: string): void {
    owner = id;
}

function keyOf(name: string): string {
    return `gatehouse:${owner}:${name}`;
}

function read(name: string): string | null {
    try {
        return localStorage.getItem(keyOf(name));
    } catch {
        return null; /* a browser that keeps nothing */
    }
}

export function kept<T>(name: string, otherwise: T): T {
    try {
        return JSON.parse(read(name) ?? "") as T;
    } catch {
        return otherwise;
    }
}

export function keep(name: string, value: unknown): void {
    try {
        localStorage.setItem(keyOf(name), JSON.stringify(value));
    } catch {
        /* full, or forbidden: then it is not kept */
    }
    for (const listener of listeners) {
        listener();
    }
}

/* Of whoever signs out, what he typed: the next one at this machine may be somebody else. */
export function forgetTyped(): void {
    try {
        for (const key of Object.keys(localStorage)) {
            if (key.startsWith(keyOf("draft:")) || key === keyOf("history")) {
                localStorage.removeItem(key);
            }
        }
    } catch {
        /* a browser that keeps nothing */
    }
}

function subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

/* The value must be one that JSON keeps; 'otherwise' must be the same one at each call. */
export function useKept<T>(name: string, otherwise: T): [T, (value: T) => void] {
    const text = useSyncExternalStore(subscribe, () => read(name));
    const value = text === null ? otherwise : kept(name, otherwise);
    return [value, useCallback((next: T) => keep(name, next), [name])];
}

const RECENT_MAX = 8;

export function noteRecent(connection: string): void {
    const before = kept<string[]>("recent", []).filter((name) => name !== connection);
    keep("recent", [connection, ...before].slice(0, RECENT_MAX));
}
