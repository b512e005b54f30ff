/* SPDX-License-Identifier: MIT */
/* Sign in: with a password and, where the account has it, a one-time code; or at the provider. */
import { type ReactNode, useEffect, useRef, useState } from "react";

import { Field, Frame, type Info, Password, Submit, textOf, useInfo, useSaying, Ways } from "./Kit";
import {
    type Answer,
    base,
    call,
    errorOfAddress,
    errorsOfAddress,
    goTo,
    landing,
    providerName,
} from "./ways";

const query = new URLSearchParams(location.search);
const target = landing(query.get("to"), location.origin, base.href);
const organization = query.get("organization");
const ofOrganization: Record<string, string> = organization === null ? {} : { organization };

function focus(id: string): void {
    const input = document.getElementById(id);
    if (input instanceof HTMLInputElement) {
        input.focus();
        input.select();
    }
}

function Code({ isRecovery, turn, back }: {
    isRecovery: boolean;
    turn: () => void;
    back: () => void;
}): ReactNode {
    return (
        <>
            <p className="soft">Your password is right. A second step guards this account.</p>
            <Field
                id="code"
                label={isRecovery ? "Recovery code" : "One-time code"}
                hint={
                    isRecovery
                        ? "One of the codes that you kept when you set up the second step."
                        : "Six digits, from your authenticator app."
                }
                inputMode={isRecovery ? "text" : "numeric"}
                autoComplete={isRecovery ? "off" : "one-time-code"}
                maxLength={64}
                required
            />
            <Submit>Continue</Submit>
            <div className="row">
                <button id="recovery" className="quiet" type="button" onClick={turn}>
                    {isRecovery ? "Use a one-time code" : "Use a recovery code"}
                </button>
                <button id="back" className="quiet" type="button" onClick={back}>
                    Start again
                </button>
            </div>
        </>
    );
}

export function SignIn(): ReactNode {
    const { info, failure } = useInfo();
    useEffect(() => {
        if (info?.["setup_required"] === true) {
            goTo("register", errorsOfAddress(), location.hash);
        }
    }, [info]);
    return info === null || info["setup_required"] === true ? null : (
        <Page info={info} failure={failure} />
    );
}

function Page({ info, failure }: { info: Info; failure: string }): ReactNode {
    const saying = useSaying(errorOfAddress(location.search) || failure);
    const [isCode, setCode] = useState(false);
    const [isRecovery, setRecovery] = useState(false);
    const first = useRef<HTMLFormElement>(null);
    const second = useRef<HTMLFormElement>(null);
    const provider = info["auth_method"] === "oidc" ? providerName(info) : null;
    useEffect(() => {
        if (isCode) {
            focus("code");
        } else if (provider === null) {
            document.getElementById("email")?.focus();
        }
    }, [isCode, provider]);

    const startAgain = (): void => {
        first.current?.reset();
        second.current?.reset();
        setCode(false);
    };
    const leave = (): void => {
        const email = first.current === null ? "" : textOf(first.current, "email");
        startAgain();
        saying.showError("");
        const input = document.getElementById("email");
        if (input instanceof HTMLInputElement) {
            input.value = email;
        }
        requestAnimationFrame(() => focus("password"));
    };
    const signIn = async (form: HTMLFormElement): Promise<Answer | null> => {
        const asked = first.current ?? form;
        const answer = await call("POST", "localauth/login", {
            email: textOf(asked, "email").trim(),
            password: textOf(asked, "password"),
            ...ofOrganization,
            ...(isCode && { code: textOf(form, "code").replace(/\s/g, "") }),
        });
        if (answer.status === 200) {
            location.replace(target);
            return null;
        }
        if (answer.status === 401 && answer.json["second_factor_required"] === true && !isCode) {
            setCode(true);
            return null;
        }
        if (answer.status === 401 && isCode && answer.json["second_factor_required"] !== true) {
            leave();
        } else if (answer.status === 401) {
            requestAnimationFrame(() => focus(isCode ? "code" : "password"));
        }
        return answer;
    };
    return (
        <Frame
            title="Sign in"
            saying={saying}
            foot={
                <footer id="no-account" hidden={isCode}>
                    {provider === null && <p>No account? An admin of this gateway can add you.</p>}
                </footer>
            }
        >
            <div id="page">
                <div id="first-step" className="stack" hidden={isCode}>
                    <Ways
                        provider={provider}
                        words="Sign in with"
                        ask={() => ({ redirect: target, ...ofOrganization })}
                        otherwise="Use a password instead"
                        hasPassword={info["local_auth"] !== false}
                    >
                        <form
                            id="password-form"
                            className="stack"
                            method="post"
                            ref={first}
                            onSubmit={saying.submit(signIn)}
                        >
                            <Field
                                id="email"
                                label="E-mail address"
                                type="email"
                                autoComplete="username"
                                required
                            />
                            <Password autoComplete="current-password" />
                            <Submit isSecond={provider !== null}>Sign in</Submit>
                        </form>
                    </Ways>
                </div>
                <div id="code-step" hidden={!isCode}>
                    <form
                        id="code-form"
                        className="stack"
                        method="post"
                        ref={second}
                        onSubmit={saying.submit(signIn)}
                    >
                        <Code
                            isRecovery={isRecovery}
                            turn={() => {
                                second.current?.reset();
                                saying.showError("");
                                setRecovery(!isRecovery);
                                requestAnimationFrame(() => focus("code"));
                            }}
                            back={leave}
                        />
                    </form>
                </div>
            </div>
        </Frame>
    );
}
