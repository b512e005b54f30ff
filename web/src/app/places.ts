/* SPDX-License-Identifier: MIT */
/* Where one can go: the navigation and the search over everything are made of this. The gateway
 * answers these folders with the app's page: src/console/console.c. */
import type { IconName } from "../shared/icons";
import type { Me } from "../shared/api/types";

export interface Place {
    path: string;
    title: string;
    icon: IconName;
    section: "work" | "admin";
    /* Who may come in; the API decides again. */
    isFor?: (me: Me) => boolean;
}

const isAdmin = (me: Me): boolean => me.is_admin;
const seesAll = (me: Me): boolean => me.is_admin || me.role === "auditor";

export const places: Place[] = [
    { path: "/", title: "Connect", icon: "plug", section: "work" },
    { path: "/sql", title: "SQL", icon: "code", section: "work" },
    { path: "/sessions", title: "Sessions", icon: "film", section: "work" },
    { path: "/reviews", title: "Reviews", icon: "check", section: "work" },
    {
        path: "/admin/connections",
        title: "Connections",
        icon: "table",
        section: "admin",
        isFor: isAdmin,
    },
    { path: "/admin/resources", title: "Resources", icon: "layers", section: "admin", isFor: isAdmin },
    { path: "/admin/agents", title: "Agents", icon: "server", section: "admin", isFor: isAdmin },
    {
        path: "/admin/guardrails",
        title: "Guard rails",
        icon: "shield",
        section: "admin",
        isFor: seesAll,
    },
    { path: "/admin/masking", title: "Masking", icon: "eye", section: "admin", isFor: seesAll },
    { path: "/admin/access", title: "Access rules", icon: "lock", section: "admin", isFor: seesAll },
    { path: "/admin/attributes", title: "Attributes", icon: "tag", section: "admin", isFor: seesAll },
    { path: "/admin/people", title: "People", icon: "person", section: "admin", isFor: seesAll },
    { path: "/admin/groups", title: "Groups", icon: "people", section: "admin", isFor: seesAll },
    { path: "/admin/keys", title: "API keys", icon: "key", section: "admin", isFor: isAdmin },
    {
        path: "/admin/services",
        title: "Service accounts",
        icon: "cube",
        section: "admin",
        isFor: seesAll,
    },
    {
        path: "/admin/machines",
        title: "Machine identities",
        icon: "chip",
        section: "admin",
        isFor: seesAll,
    },
    {
        path: "/admin/notifications",
        title: "Notifications",
        icon: "bell",
        section: "admin",
        isFor: isAdmin,
    },
    { path: "/admin/settings", title: "Sign-in", icon: "out", section: "admin", isFor: isAdmin },
    { path: "/admin/health", title: "Health", icon: "pulse", section: "admin", isFor: isAdmin },
    { path: "/admin/audit", title: "Audit log", icon: "book", section: "admin", isFor: seesAll },
    { path: "/reference", title: "API", icon: "braces", section: "work" },
    { path: "/account", title: "Your account", icon: "gear", section: "work" },
];

export function placesOf(me: Me): Place[] {
    return places.filter((place) => place.isFor?.(me) ?? true);
}
