/* SPDX-License-Identifier: MIT */
/* An invited person chooses a password, or goes on to the provider. The token of the link comes
 * behind '#', which browsers send to nobody. */
import { type ReactNode, useEffect, useState } from "react";

import {
    Field,
    Frame,
    type Info,
    NEW_PASSWORD,
    Password,
    Submit,
    textOf,
    useSaying,
    Ways,
} from "./Kit";
import { type Answer, base, call, goTo, messageOf, providerName } from "./ways";

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";

interface Invited {
    email: string;
    name: string;
    organization: string;
    expires_at: string;
}

export function Invitation(): ReactNode {
    const saying = useSaying();
    const { showError } = saying;
    const [invited, setInvited] = useState<Invited | null>(null);
    const [info, setInfo] = useState<Info>({});
    const [isOver, setOver] = useState(false);
    useEffect(() => {
        void Promise.all([
            call("POST", "localauth/invitation", { token }),
            call("GET", "publicserverinfo"),
        ]).then(([answer, server]) => {
            setInfo(server.json);
            if (answer.status === 200) {
                setInvited(answer.json as unknown as Invited);
            } else if (answer.status === 400 || answer.status === 403) {
                setOver(true);
            } else {
                showError(messageOf(answer));
            }
        });
    }, [showError]);
    const accept = async (form: HTMLFormElement): Promise<Answer | null> => {
        const name = textOf(form, "name").trim();
        const answer = await call("POST", "localauth/invitation/accept", {
            token,
            password: textOf(form, "password"),
            ...(name !== "" && { name }),
        });
        if (answer.status === 403) {
            setOver(true);
        } else if (answer.status === 200 && answer.json["second_factor_required"] === true) {
            goTo("sign-in");
        } else if (answer.status === 200) {
            location.replace(base);
        } else {
            return answer;
        }
        return null;
    };
    const provider = info["auth_method"] === "oidc" ? providerName(info) : null;
    const isShown = invited !== null && !isOver;
    useEffect(() => {
        if (isShown && provider === null) {
            document.getElementById("password")?.focus();
        }
    }, [isShown, provider]);
    return (
        <Frame title="You are invited" saying={saying}>
            <div id="over" className="stack" hidden={!isOver}>
                <p>
                    This invitation is not good any more. It was used already, has expired, or was
                    replaced by a newer one. Ask the admin who invited you for a new link.
                </p>
                <p>
                    <a href={new URL("sign-in", base).href}>Go to the sign-in</a>
                </p>
            </div>
            <div id="page" className="stack" hidden={!isShown}>
                <p className="soft">
                    An admin has added <strong id="whom">{invited?.email}</strong> to this gateway
                    <span
                        id="where"
                        hidden={invited === null || invited.organization === "default"}
                    >
                        , in the organization{" "}
                        <strong id="organization">{invited?.organization}</strong>
                    </span>
                    .{" "}
                    <span id="what-next">
                        {provider === null
                            ? "Choose a password, and you are signed in."
                            : "Sign in with this address."}
                    </span>
                </p>
                {/* It must give the invited address; who signs in with another is not invited. */}
                <Ways
                    provider={provider}
                    words="Sign in with"
                    ask={() => ({
                        redirect: base.href,
                        organization: invited?.organization ?? "",
                    })}
                    otherwise="Choose a password instead"
                    hasPassword={info["local_auth"] !== false}
                >
                    <form
                        id="invitation-form"
                        className="stack"
                        method="post"
                        onSubmit={saying.submit(accept)}
                    >
                        <input
                            id="email"
                            name="email"
                            type="email"
                            autoComplete="username"
                            value={invited?.email ?? ""}
                            readOnly
                            hidden
                        />
                        <Field
                            key={invited?.name}
                            id="name"
                            label={
                                <>
                                    Name <span className="soft">(optional)</span>
                                </>
                            }
                            defaultValue={invited?.name}
                            autoComplete="name"
                            autoCapitalize="words"
                            maxLength={255}
                        />
                        <Password autoComplete="new-password" maxLength={256} hint={NEW_PASSWORD} />
                        <Submit isSecond={provider !== null}>Choose this password</Submit>
                    </form>
                </Ways>
                {invited !== null && (
                    <p className="hint">
                        This link is for you alone and good once, until{" "}
                        <time id="expiry" dateTime={invited.expires_at}>
                            {new Date(invited.expires_at).toLocaleString(undefined, {
                                dateStyle: "long",
                                timeStyle: "short",
                            })}
                        </time>
                        .
                    </p>
                )}
            </div>
        </Frame>
    );
}
