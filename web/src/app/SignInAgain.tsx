/* SPDX-License-Identifier: MIT */
/* When the sign-in has ended, it is asked for over the page as it stands. All calls that wait go on
 * afterwards; whoever signs in as somebody else gets a page of his own. */
import { Anchor, Button, Modal, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";

import { ApiError, callOnce, onSignInEnded, root } from "../shared/api/client";
import type { Me, ServerInfo } from "../shared/api/types";
import { useFocusBack } from "../shared/focus";
import { Problem } from "../shared/parts";
import { useMe } from "./me";

interface Waiter {
    promise: Promise<void>;
    done: () => void;
}

function newWaiter(): Waiter {
    let done = (): void => {};
    const promise = new Promise<void>((resolve) => {
        done = resolve;
    });
    return { promise, done };
}

export function SignInAgain(): ReactNode {
    const me = useMe();
    const waiter = useRef<Waiter | null>(null);
    const [isOpen, setOpen] = useState(false);
    useEffect(() => {
        onSignInEnded(() => {
            waiter.current ??= newWaiter();
            setOpen(true);
            return waiter.current.promise;
        });
        return () => onSignInEnded(null);
    }, []);

    const goOn = useCallback(async (): Promise<void> => {
        const now = await callOnce<Me>("GET", "userinfo");
        if (now.id !== me.id) {
            location.assign(root);
            return;
        }
        setOpen(false);
        waiter.current?.done();
        waiter.current = null;
    }, [me.id]);

    return isOpen ? <Form me={me} goOn={goOn} /> : null;
}

function Form({ me, goOn }: { me: Me; goOn: () => Promise<void> }): ReactNode {
    useFocusBack();
    const [password, setPassword] = useState("");
    const [code, setCode] = useState<string | null>(null);
    const [isBusy, setBusy] = useState(false);
    const [error, setError] = useState<unknown>(null);
    const info = useQuery({
        queryKey: ["publicserverinfo"],
        queryFn: () => callOnce<ServerInfo>("GET", "publicserverinfo"),
    });
    const hasPassword = info.data?.local_auth !== false;
    const hasProvider = info.data?.auth_method === "oidc";

    const run = async (work: () => Promise<unknown>): Promise<void> => {
        setBusy(true);
        setError(null);
        try {
            await work();
            await goOn();
        } catch (failure) {
            const asksForCode =
                failure instanceof ApiError && failure.json["second_factor_required"] === true;
            if (asksForCode && code === null) {
                setCode("");
            } else {
                setError(failure);
            }
        }
        setBusy(false);
    };
    const signIn = (): Promise<unknown> =>
        callOnce("POST", "localauth/login", {
            body: { email: me.email, password, ...(code && { code: code.replace(/\s/g, "") }) },
        });

    return (
        <Modal
            opened
            onClose={() => {}}
            withCloseButton={false}
            closeOnEscape={false}
            closeOnClickOutside={false}
            title="Your sign-in has ended"
        >
            <Stack>
                <Text size="sm">
                    Sign in again as <strong>{me.email}</strong>, and you go on where you are:
                    nothing that you typed is lost.
                </Text>
                {error !== null && <Problem error={error} />}
                {hasPassword && (
                    <form
                        onSubmit={(event) => {
                            event.preventDefault();
                            void run(signIn);
                        }}
                    >
                        <Stack>
                            <input
                                type="email"
                                autoComplete="username"
                                value={me.email}
                                readOnly
                                hidden
                            />
                            <PasswordInput
                                label="Password"
                                value={password}
                                autoComplete="current-password"
                                data-autofocus
                                onChange={(event) => setPassword(event.currentTarget.value)}
                            />
                            {code !== null && (
                                <TextInput
                                    label="One-time code"
                                    value={code}
                                    inputMode="numeric"
                                    autoFocus
                                    autoComplete="one-time-code"
                                    onChange={(event) => setCode(event.currentTarget.value)}
                                />
                            )}
                            <Button type="submit" loading={isBusy} disabled={password === ""}>
                                Sign in and go on
                            </Button>
                        </Stack>
                    </form>
                )}
                {hasProvider && (
                    <>
                        <Text size="sm">
                            <Anchor href={new URL("sign-in", root).href} target="_blank">
                                Sign in in another tab
                            </Anchor>
                            , then come back here.
                        </Text>
                        <Button
                            variant="default"
                            loading={isBusy}
                            onClick={() => {
                                void run(async () => {});
                            }}
                        >
                            I have signed in there
                        </Button>
                    </>
                )}
            </Stack>
        </Modal>
    );
}
