/* SPDX-License-Identifier: MIT */
/* Which page of the administration the address names. */
import type { ReactNode } from "react";

import { useMe } from "../../app/me";
import { NotFound } from "../../app/NotFound";
import { type Kind, Things } from "../../shared/things/Things";
import { AgentsPage } from "./AgentsPage";
import { AuditPage } from "./AuditPage";
import { ConnectionsPage } from "./ConnectionsPage";
import { GuardrailsPage } from "./guardrails/GuardrailsPage";
import { MaskingPage } from "./masking/MaskingPage";
import { HealthPage } from "./health/HealthPage";
import { access } from "./kinds/access";
import { attributes } from "./kinds/attributes";
import { groups, keys, machines, people, services } from "./kinds/identities";
import { resources } from "./kinds/resources";
import { NotificationsPage } from "./notifications/NotificationsPage";
import { SettingsPage } from "./settings/SettingsPage";
import "./admin.css";

/* The page of named things of a kind. */
function pageOf<T>(kind: Kind<T>): () => ReactNode {
    return function ThingsPage() {
        const me = useMe();
        return <Things key={kind.path} kind={kind} mayWrite={me.is_admin} />;
    };
}

const pages: Record<string, () => ReactNode> = {
    resources: pageOf(resources),
    connections: ConnectionsPage,
    agents: AgentsPage,
    guardrails: GuardrailsPage,
    masking: MaskingPage,
    access: pageOf(access),
    attributes: pageOf(attributes),
    people: pageOf(people),
    groups: pageOf(groups),
    keys: pageOf(keys),
    services: pageOf(services),
    machines: pageOf(machines),
    notifications: NotificationsPage,
    settings: SettingsPage,
    health: HealthPage,
    audit: AuditPage,
};

export default function AdminPage({ page }: { page: string }): ReactNode {
    const Page = Object.hasOwn(pages, page) ? pages[page] : undefined;
    return Page === undefined ? <NotFound /> : <Page />;
}
