/* SPDX-License-Identifier: MIT */
/* Calls of the API. A call that is refused because the sign-in has ended waits until somebody has
 * signed in again (app/SignInAgain.tsx), and is then made once more: nothing typed is lost. */

/* The console may stand below a path of the public URL; this file is in a folder of its root. */
export const root = import.meta.env.DEV
    ? new URL("/", location.href)
    : new URL(/* @vite-ignore */ "../", import.meta.url);

export class ApiError extends Error {
    readonly status: number;
    readonly json: Record<string, unknown>;

    constructor(status: number, json: Record<string, unknown>) {
        super(sentence(json["message"] ?? `the gateway answered with status ${status}`));
        this.status = status;
        this.json = json;
    }
}

/* The server's own words, as a sentence begins. */
function sentence(message: unknown): string {
    return String(message).replace(/^[a-z]/, (letter) => letter.toUpperCase());
}

type Query = Record<string, string | number | boolean | undefined>;

export interface CallOptions {
    query?: Query;
    body?: unknown;
    signal?: AbortSignal;
    ifMatch?: string; /* the tag of what is changed: refused when it is another by now */
}

export function address(path: string, query: Query = {}): URL {
    const url = new URL(`api/${path}`, root);
    for (const [name, value] of Object.entries(query)) {
        if (value !== undefined && value !== "") {
            url.searchParams.set(name, String(value));
        }
    }
    return url;
}

/* The part of a path that is somebody's name. */
export function part(name: string): string {
    return encodeURIComponent(name);
}

/* Who is told that the sign-in has ended; the promise is kept when somebody is signed in again. */
type SignInAgain = () => Promise<void>;
let signInAgain: SignInAgain | null = null;

export function onSignInEnded(handler: SignInAgain | null): void {
    signInAgain = handler;
}

async function send(method: string, path: string, options: CallOptions): Promise<Response> {
    const request: RequestInit = {
        method,
        cache: "no-store",
        credentials: "same-origin",
        redirect: "error",
    };
    if (options.signal !== undefined) {
        request.signal = options.signal;
    }
    if (options.body !== undefined) {
        request.headers = {
            "Content-Type": "application/json",
            ...(options.ifMatch !== undefined && { "If-Match": options.ifMatch }),
        };
        request.body = JSON.stringify(options.body);
    }
    try {
        return await fetch(address(path, options.query), request);
    } catch (error) {
        if (options.signal?.aborted) {
            throw error;
        }
        throw new ApiError(0, { message: "the gateway cannot be reached" });
    }
}

async function answerOf(response: Response): Promise<unknown> {
    const text = await response.text();
    if (text === "") {
        return null;
    }
    try {
        return JSON.parse(text);
    } catch {
        return { message: text.slice(0, 300) };
    }
}

export interface Tagged<T> {
    value: T;
    tag: string; /* of this state of it, for ifMatch */
}

async function callTagged<T>(
    method: string,
    path: string,
    options: CallOptions,
): Promise<Tagged<T>> {
    const response = await send(method, path, options);
    const answer = await answerOf(response);
    if (!response.ok) {
        throw new ApiError(response.status, (answer ?? {}) as Record<string, unknown>);
    }
    return { value: answer as T, tag: response.headers.get("ETag") ?? "" };
}

/* Sends once, and what comes is the answer: of a sign-in, or where 401 has a meaning of its own. */
export async function callOnce<T>(
    method: string,
    path: string,
    options: CallOptions = {},
): Promise<T> {
    return (await callTagged<T>(method, path, options)).value;
}

async function callSignedIn<T>(
    method: string,
    path: string,
    options: CallOptions,
): Promise<Tagged<T>> {
    for (;;) {
        try {
            return await callTagged<T>(method, path, options);
        } catch (error) {
            if (!(error instanceof ApiError) || error.status !== 401 || signInAgain === null) {
                throw error;
            }
        }
        await signInAgain();
    }
}

export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    return (await callSignedIn<T>(method, path, options)).value;
}

export const getTagged = <T>(path: string, signal?: AbortSignal): Promise<Tagged<T>> =>
    callSignedIn<T>("GET", path, { ...(signal && { signal }) });
export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
    call<T>("GET", path, { ...(query && { query }), ...(signal && { signal }) });
export const post = <T>(path: string, body: unknown = {}, query?: Query): Promise<T> =>
    call<T>("POST", path, { body, ...(query && { query }) });
export const put = <T>(path: string, body: unknown, query?: Query): Promise<T> =>
    call<T>("PUT", path, { body, ...(query && { query }) });
export const patch = <T>(path: string, body: unknown, ifMatch?: string): Promise<T> =>
    call<T>("PATCH", path, { body, ...(ifMatch !== undefined && { ifMatch }) });
export const remove = (path: string, query?: Query): Promise<null> =>
    call<null>("DELETE", path, { ...(query && { query }) });

/* A page outside of the app: the sign-in, which leads back to where one is. */
export function goToSignIn(): void {
    const url = new URL("sign-in", root);
    const here = new URL(location.href);
    for (const name of ["error", "error_description"]) {
        const value = here.searchParams.get(name);
        if (value !== null) {
            url.searchParams.set(name, value);
            here.searchParams.delete(name);
        }
    }
    url.searchParams.set("to", here.pathname + here.search + here.hash);
    location.replace(url);
}
