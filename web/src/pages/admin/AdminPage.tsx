/* SPDX-License-Identifier: MIT */
/* Which page of the administration the address names. */
import type { ReactNode } from "react";

import { NotFound } from "../../app/NotFound";
import { AgentsPage } from "./AgentsPage";
import { AuditPage } from "./AuditPage";
import { ConnectionsPage } from "./ConnectionsPage";
import { GuardrailsPage } from "./guardrails/GuardrailsPage";
import { MaskingPage } from "./masking/MaskingPage";
import { PeoplePage } from "./PeoplePage";
import "./admin.css";

const pages: Record<string, () => ReactNode> = {
    connections: ConnectionsPage,
    agents: AgentsPage,
    guardrails: GuardrailsPage,
    masking: MaskingPage,
    people: PeoplePage,
    audit: AuditPage,
};

export default function AdminPage({ page }: { page: string }): ReactNode {
    const Page = Object.hasOwn(pages, page) ? pages[page] : undefined;
    return Page === undefined ? <NotFound /> : <Page />;
}
