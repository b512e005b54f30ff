/* SPDX-License-Identifier: MIT */
/* A program without a browser shows a code; whoever is signed in here compares it, and says yes or
 * no (RFC 8628). A link that brought the code along decides nothing: the person does. */
import { type ReactNode, useEffect, useRef, useState } from "react";

import { Field, Frame, Submit, textOf, useSaying } from "./Kit";
import { type Answer, call, goTo, messageOf } from "./ways";

interface Waiting {
    user_code: string;
    program: string;
    asked_from: string;
    created_at: string;
}

const ofLink = new URLSearchParams(location.search).get("user_code") ?? "";

function Asking({ waiting, who }: { waiting: Waiting; who: string }): ReactNode {
    return (
        <>
            <p className="soft">
                A program wants to use this gateway as <strong id="who">{who}</strong>, with all
                that you may do. Go on only if you have started it yourself, just now, and if it
                shows this same code:
            </p>
            <p>
                <strong id="shown-code">{waiting.user_code}</strong>
            </p>
            <p className="soft">
                It calls itself <strong id="program">{waiting.program || "nothing"}</strong>, and
                has asked from <strong id="from">{waiting.asked_from}</strong> at{" "}
                <time id="time" dateTime={waiting.created_at}>
                    {new Date(waiting.created_at).toLocaleTimeString()}
                </time>
                .
            </p>
        </>
    );
}

export function Device(): ReactNode {
    const saying = useSaying();
    const { showError } = saying;
    const [who, setWho] = useState<string | null>(null);
    const [waiting, setWaiting] = useState<Waiting | null>(null);
    const [done, setDone] = useState("");
    const form = useRef<HTMLFormElement>(null);
    useEffect(() => {
        void call("GET", "userinfo").then((me) => {
            if (me.status === 401) {
                goTo("sign-in", { to: location.pathname + location.search });
            } else if (me.status !== 200) {
                showError(messageOf(me));
            } else {
                setWho(String(me.json["email"] || me.json["name"]));
            }
        });
    }, [showError]);
    useEffect(() => {
        if (who !== null) {
            document.getElementById("user_code")?.focus();
            if (ofLink !== "") {
                form.current?.requestSubmit();
            }
        }
    }, [who]);
    const look = async (asked: HTMLFormElement): Promise<Answer | null> => {
        const typed = new URLSearchParams({ user_code: textOf(asked, "user_code").trim() });
        const answer = await call("GET", `device?${typed}`);
        if (answer.status !== 200) {
            return answer;
        }
        setDone("");
        setWaiting(answer.json as unknown as Waiting);
        return null;
    };
    const decide = (approve: boolean) => async (): Promise<Answer | null> => {
        const answer = await call("POST", "device", { user_code: waiting?.user_code, approve });
        if (answer.status === 429) {
            return answer;
        }
        setWaiting(null);
        if (answer.status === 204) {
            setDone(
                approve
                    ? "The program is signed in. You can close this page."
                    : "The program was refused. You can close this page.",
            );
            return null;
        }
        return answer;
    };
    return (
        <Frame title="Sign in a program?" saying={saying}>
            <div id="page" className="stack" hidden={who === null}>
                <form
                    id="code-form"
                    className="stack"
                    method="post"
                    ref={form}
                    hidden={waiting !== null || done !== ""}
                    onSubmit={saying.submit(look)}
                >
                    <Field
                        id="user_code"
                        label="Code"
                        hint="The program shows it: eight letters."
                        defaultValue={ofLink}
                        autoComplete="off"
                        autoCapitalize="characters"
                        maxLength={32}
                        required
                    />
                    <Submit>Continue</Submit>
                </form>
                {waiting !== null && (
                    <div id="ask" className="stack">
                        <Asking waiting={waiting} who={who ?? ""} />
                        <form
                            id="approve-form"
                            method="post"
                            onSubmit={saying.submit(decide(true))}
                        >
                            <Submit>The codes are the same: sign it in</Submit>
                        </form>
                        <form
                            id="refuse-form"
                            method="post"
                            onSubmit={saying.submit(decide(false))}
                        >
                            <Submit isSecond>I did not start it</Submit>
                        </form>
                    </div>
                )}
                {done !== "" && (
                    <p id="done" className="notice" role="status">
                        {done}
                    </p>
                )}
            </div>
        </Frame>
    );
}
