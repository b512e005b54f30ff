/* SPDX-License-Identifier: MIT */
/* What the pages for strangers share: a frame with one card, what failed, fields, the provider, and
 * forms that are sent one at a time. What others wrote enters a page as text alone. */
import {
    createContext,
    type FormEvent,
    type InputHTMLAttributes,
    type ReactNode,
    use,
    useEffect,
    useRef,
    useState,
} from "react";

import { type Answer, call, duration, messageOf, providerAddress, secondsUntil } from "./ways";

interface FieldError {
    id: string;
    text: string;
}

/* What a page says, and a form that waits. */
export interface Saying {
    error: string;
    field: FieldError | null;
    waits: number; /* seconds, after too many tries */
    isBusy: boolean;
    showError: (text: string) => void;
    showRefusal: (answer: Answer, form: HTMLFormElement) => void;
    submit: (work: (form: HTMLFormElement) => Promise<Answer | null>) => (event: FormEvent) => void;
}

export const SayingContext = createContext<Saying | null>(null);

function useSaid(): Saying {
    const saying = use(SayingContext);
    if (saying === null) {
        throw new Error("no page stands around this");
    }
    return saying;
}

/* The server names a field in quotes at the start: 'password' is too short … */
function fieldOf(answer: Answer, form: HTMLFormElement): FieldError | null {
    const name = /^'(\w+)'/.exec(String(answer.json["message"] ?? ""))?.[1];
    const input = name === undefined ? null : form.elements.namedItem(name);
    if (name === undefined || !(input instanceof HTMLInputElement) || !input.checkVisibility()) {
        return null;
    }
    const label = input.labels?.[0]?.firstChild?.textContent?.trim() ?? name;
    return { id: input.id, text: messageOf(answer).replace(`'${name}'`, () => label) };
}

export function useSaying(initial = ""): Saying {
    const [error, setError] = useState(initial);
    const [field, setField] = useState<FieldError | null>(null);
    const [until, setUntil] = useState(0);
    const [waits, setWaits] = useState(0);
    const [isBusy, setBusy] = useState(false);
    useEffect(() => {
        if (until === 0) {
            return undefined;
        }
        const count = (): void => {
            const left = Math.ceil((until - Date.now()) / 1000);
            setWaits(Math.max(0, left));
            if (left <= 0) {
                setUntil(0);
                setError("");
            }
        };
        const timer = setInterval(count, 250);
        return () => clearInterval(timer);
    }, [until]);
    useEffect(() => {
        if (field !== null) {
            document.getElementById(field.id)?.focus();
        }
    }, [field]);

    const wait = (answer: Answer): void => {
        const seconds = secondsUntil(answer.retryAfter, Date.now());
        setError(`Too many attempts. You can try again in ${duration(seconds)}.`);
        setWaits(seconds);
        setUntil(Date.now() + seconds * 1000);
    };
    const showRefusal = (answer: Answer, form: HTMLFormElement): void => {
        const named = fieldOf(answer, form);
        setField(named);
        setError(named === null ? messageOf(answer) : "");
    };
    return {
        error,
        field,
        waits,
        isBusy,
        showError: setError,
        showRefusal,
        submit: (work) => (event) => {
            event.preventDefault();
            const form = event.currentTarget as HTMLFormElement;
            if (isBusy || waits > 0) {
                return;
            }
            setError("");
            setField(null);
            setBusy(true);
            void work(form)
                .then((answer) => {
                    if (answer?.status === 429) {
                        wait(answer);
                    } else if (answer !== null) {
                        showRefusal(answer, form);
                    }
                })
                .finally(() => setBusy(false));
        },
    };
}

export function Brand(): ReactNode {
    return (
        <div className="brand">
            <svg viewBox="0 0 32 32" aria-hidden="true">
                <rect width="32" height="32" rx="8" fill="#1f3d36" />
                <path
                    d="M8 25V14a8 8 0 0 1 16 0v11"
                    fill="none"
                    stroke="#e9f3ef"
                    strokeWidth="2.6"
                    strokeLinecap="round"
                />
                <path
                    d="M13 25V15m6 10V15M8 20h16"
                    fill="none"
                    stroke="#7fd1b0"
                    strokeWidth="2"
                    strokeLinecap="round"
                />
            </svg>
            <span>Gatehouse</span>
        </div>
    );
}

export function Frame({ title, saying, children, foot }: {
    title: string;
    saying: Saying;
    children: ReactNode;
    foot?: ReactNode;
}): ReactNode {
    useEffect(() => {
        document.title = `${title} · Gatehouse`;
    }, [title]);
    return (
        <SayingContext value={saying}>
            <div className="entry">
                <header>
                    <Brand />
                </header>
                <main className="card">
                    <h1>{title}</h1>
                    <div id="alert" role="alert">
                        {saying.error !== "" && <p className="notice error">{saying.error}</p>}
                    </div>
                    {children}
                </main>
                {foot}
            </div>
        </SayingContext>
    );
}

export function Submit({ children, isSecond = false }: {
    children: ReactNode;
    isSecond?: boolean;
}): ReactNode {
    const { isBusy, waits } = useSaid();
    return (
        <button
            className={isSecond ? "main second" : "main"}
            type="submit"
            aria-disabled={isBusy || waits > 0}
        >
            {waits > 0 ? `Wait ${duration(waits)}` : children}
        </button>
    );
}

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
    id: string;
    label: ReactNode;
    hint?: ReactNode;
}

function Said({ id, hint }: { id: string; hint: ReactNode }): ReactNode {
    const { field } = useSaid();
    return (
        <>
            {field?.id === id && (
                <p id={`${id}-error`} className="field-error" role="alert">
                    {field.text}
                </p>
            )}
            {hint !== undefined && (
                <p id={`${id}-hint`} className="hint">
                    {hint}
                </p>
            )}
        </>
    );
}

function attributesOf(id: string, hint: ReactNode, field: FieldError | null): object {
    return {
        id,
        name: id,
        spellCheck: false,
        autoCapitalize: "none",
        ...(hint !== undefined && { "aria-describedby": `${id}-hint` }),
        ...(field?.id === id && { "aria-invalid": true, "aria-errormessage": `${id}-error` }),
    };
}

export function Field({ id, label, hint, ...more }: FieldProps): ReactNode {
    const { field } = useSaid();
    return (
        <div>
            <label id={`${id}-label`} htmlFor={id}>
                {label}
            </label>
            <input type="text" {...attributesOf(id, hint, field)} {...more} />
            <Said id={id} hint={hint} />
        </div>
    );
}

/* The button beside it shows it and hides it. */
export function Password({ hint, ...more }: Omit<FieldProps, "id" | "label">): ReactNode {
    const { field } = useSaid();
    const [isShown, setShown] = useState(false);
    const input = useRef<HTMLInputElement>(null);
    useEffect(() => {
        /* Hidden again before a browser offers to keep what it takes for plain text. */
        const form = input.current?.form;
        const hide = (): void => setShown(false);
        form?.addEventListener("submit", hide, { capture: true });
        return () => form?.removeEventListener("submit", hide, { capture: true });
    }, []);
    return (
        <div>
            <label htmlFor="password">Password</label>
            <div className="password">
                <input
                    ref={input}
                    required
                    {...attributesOf("password", hint, field)}
                    {...more}
                    type={isShown ? "text" : "password"}
                />
                <button
                    id="toggle"
                    className="quiet"
                    type="button"
                    aria-controls="password"
                    onClick={() => setShown(!isShown)}
                >
                    {isShown ? "Hide" : "Show"}
                    <span className="unseen"> password</span>
                </button>
            </div>
            <Said id="password" hint={hint} />
        </div>
    );
}

export const NEW_PASSWORD = "Best are several words that do not belong together.";

/* The provider comes first where there is one; a password stays possible below it. */
export function Ways({ provider, words, ask, otherwise, hasPassword, children }: {
    provider: string | null;
    words: string;
    ask: () => Record<string, string> | null; /* null: something is missing, and is said */
    otherwise: string;
    hasPassword: boolean;
    children: ReactNode;
}): ReactNode {
    const { submit, showError } = useSaid();
    const go = async (): Promise<null> => {
        const parameters = ask();
        if (parameters !== null) {
            const answer = await call("GET", `login?${new URLSearchParams(parameters)}`);
            const url = providerAddress(answer);
            if (url === null) {
                showError(messageOf(answer));
            } else {
                location.assign(url);
            }
        }
        return null;
    };
    return (
        <>
            <form id="provider" method="post" hidden={provider === null} onSubmit={submit(go)}>
                <Submit>
                    {words} <span id="provider-name">{provider}</span>
                </Submit>
            </form>
            <details id="with-password" open={provider === null || undefined} hidden={!hasPassword}>
                <summary id="with-password-summary" hidden={provider === null}>
                    {otherwise}
                </summary>
                {children}
            </details>
        </>
    );
}

export function textOf(form: HTMLFormElement, name: string): string {
    const input = form.elements.namedItem(name);
    return input instanceof HTMLInputElement ? input.value : "";
}

export type Info = Record<string, unknown>;

/* null: not known yet. */
export function useInfo(): { info: Info | null; failure: string } {
    const [info, setInfo] = useState<Info | null>(null);
    const [failure, setFailure] = useState("");
    useEffect(() => {
        void call("GET", "publicserverinfo").then((answer) => {
            setFailure(answer.status === 200 ? "" : messageOf(answer));
            setInfo(answer.json);
        });
    }, []);
    return { info, failure };
}
