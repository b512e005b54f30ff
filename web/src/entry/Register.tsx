/* SPDX-License-Identifier: MIT */
/* Create the first admin, and go on to the first database. The set-up code comes behind '#', which
 * browsers send to nobody. */
import { type ReactNode, useEffect, useState } from "react";

import {
    Field,
    Frame,
    type Info,
    NEW_PASSWORD,
    Password,
    Submit,
    textOf,
    useInfo,
    useSaying,
    Ways,
} from "./Kit";
import { type Answer, base, call, errorOfAddress, providerName } from "./ways";

const ofLink = new URLSearchParams(location.hash.slice(1)).get("setup_code") ?? "";

function setupCode(): Record<string, string> {
    const input = document.getElementById("setup_code");
    const code = ofLink || (input instanceof HTMLInputElement ? input.value.trim() : "");
    return code === "" ? {} : { setup_code: code };
}

export function Register(): ReactNode {
    const { info, failure } = useInfo();
    return info === null ? null : <Page info={info} failure={failure} />;
}

function Page({ info, failure }: { info: Info; failure: string }): ReactNode {
    const saying = useSaying(errorOfAddress(location.search) || failure);
    const [asksCode, setAsksCode] = useState(ofLink === "");
    const isDone = failure === "" && info["setup_required"] !== true;
    const provider = info["auth_method"] === "oidc" ? providerName(info) : null;
    useEffect(() => {
        if (!isDone && provider === null) {
            document.getElementById("email")?.focus();
        }
    }, [isDone, provider]);
    const register = async (form: HTMLFormElement): Promise<Answer | null> => {
        const name = textOf(form, "name").trim();
        const answer = await call("POST", "localauth/register", {
            email: textOf(form, "email").trim(),
            password: textOf(form, "password"),
            ...(name !== "" && { name }),
            ...setupCode(),
        });
        if (answer.status === 201) {
            location.replace(base); /* in place of this page and its code */
            return null;
        }
        setAsksCode((before) => before || (answer.status === 403 && ofLink === ""));
        return answer;
    };
    const ask = (): Record<string, string> | null => {
        if (setupCode()["setup_code"] === undefined) {
            saying.showError("The set-up code is missing: the first to sign in becomes the admin.");
            document.getElementById("setup_code")?.focus();
            return null;
        }
        return { redirect: base.href, ...setupCode() };
    };
    return (
        <Frame title="Create the first admin" saying={saying}>
            <div id="done" className="stack" hidden={!isDone}>
                <p>
                    This gateway has its first admin already, and lets nobody else register. Ask an
                    admin to add you.
                </p>
                <p>
                    <a href={new URL("sign-in", base).href}>Go to the sign-in</a>
                </p>
            </div>
            <div id="page" className="stack" hidden={isDone}>
                <p className="soft">
                    Nobody is registered at this gateway yet. This account becomes its admin, who
                    adds the people, the resources and the rules.
                </p>
                <div id="setup-code-field" hidden={!asksCode}>
                    <Field
                        id="setup_code"
                        form="register-form"
                        label="Set-up code"
                        autoComplete="off"
                        maxLength={64}
                        hint={
                            <>
                                The gateway printed it when it started, at the end of a link;{" "}
                                <code>gatehouse setup-code</code> shows it again. It shows that you
                                may set this gateway up.
                            </>
                        }
                    />
                </div>
                <Ways
                    provider={provider}
                    words="Continue with"
                    ask={ask}
                    otherwise="Use a password instead"
                    hasPassword={info["local_auth"] !== false}
                >
                    <form
                        id="register-form"
                        className="stack"
                        method="post"
                        onSubmit={saying.submit(register)}
                    >
                        <Field
                            id="email"
                            label="E-mail address"
                            type="email"
                            autoComplete="username"
                            maxLength={254}
                            required
                        />
                        <Field
                            id="name"
                            label={
                                <>
                                    Name <span className="soft">(optional)</span>
                                </>
                            }
                            autoComplete="name"
                            autoCapitalize="words"
                            maxLength={255}
                        />
                        <Password autoComplete="new-password" maxLength={256} hint={NEW_PASSWORD} />
                        <Submit isSecond={provider !== null}>Create the admin</Submit>
                    </form>
                </Ways>
            </div>
        </Frame>
    );
}
