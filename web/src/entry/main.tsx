/* SPDX-License-Identifier: MIT */
/* The pages of those who are not signed in, by the last part of the address; any other one says that
 * it is none. */
import "./entry.css";

import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { Device } from "./Device";
import { Invitation } from "./Invitation";
import { Frame, useSaying } from "./Kit";
import { Register } from "./Register";
import { SignIn } from "./SignIn";
import { base } from "./ways";

function NoPage(): ReactNode {
    return (
        <Frame title="There is no page here" saying={useSaying()}>
            <p>The address may be mistyped, or what it showed is gone.</p>
            <p>
                <a href={base.href}>To the start</a>
            </p>
        </Frame>
    );
}

const pages: Record<string, () => ReactNode> = {
    "sign-in": SignIn,
    register: Register,
    invitation: Invitation,
    device: Device,
};

const name = location.pathname.slice(base.pathname.length);
const Page = Object.hasOwn(pages, name) ? (pages[name] ?? NoPage) : NoPage;

/* A page that the browser kept may show what its reader may no longer see. */
addEventListener("pageshow", (event) => {
    if (event.persisted) {
        location.reload();
    }
});

createRoot(document.getElementById("root") as HTMLElement).render(
    <StrictMode>
        <Page />
    </StrictMode>,
);
