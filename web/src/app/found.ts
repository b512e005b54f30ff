/* SPDX-License-Identifier: MIT */
/* What the search over everything finds: pages, things to do, and what is there by its name. */
import { keepPreviousData, useQueries } from "@tanstack/react-query";

import { get, part } from "../shared/api/client";
import type { SavedQuery } from "../shared/api/schema";
import type { Connection, Me, Page } from "../shared/api/types";
import type { IconName } from "../shared/icons";
import { kindName } from "../shared/words";
import { placesOf } from "./places";

export interface Choice {
    path: string;
    title: string;
    about: string;
    icon: IconName;
}

const SHOWN = 6; /* of each kind */

function choicesOf(connection: Connection): Choice[] {
    const about = `${kindName(connection.type, connection.subtype)} of ${connection.resource_name}`;
    const name = part(connection.name);
    const choices: Choice[] = [
        { path: `/connect/${name}`, title: `Connect to ${connection.name}`, about, icon: "plug" },
    ];
    if (connection.access_mode_exec === "enabled") {
        choices.push({
            path: `/sql/${name}`,
            title: `Query ${connection.name}`,
            about,
            icon: "code",
        });
    }
    return choices;
}

/* Kinds of things with a page of their own in the administration. */
interface Source {
    path: string;
    page: string;
    about: string;
    icon: IconName;
    isForAdmin?: boolean;
    keyOf?: (thing: Named) => string; /* of its page; none: the page of all */
}
interface Named {
    id?: string;
    name?: string;
    email?: string;
    subject?: string;
}

const sources: Source[] = [
    {
        path: "guardrails",
        page: "/admin/guardrails",
        about: "Guard rail",
        icon: "shield",
        keyOf: ({ id = "" }) => id,
    },
    {
        path: "datamasking-rules",
        page: "/admin/masking",
        about: "Masking rule",
        icon: "eye",
        keyOf: ({ id = "" }) => id,
    },
    {
        path: "access-requests/rules",
        page: "/admin/access",
        about: "Access rule",
        icon: "check",
        keyOf: ({ name = "" }) => name,
    },
    {
        path: "attributes",
        page: "/admin/attributes",
        about: "Attribute",
        icon: "tag",
        keyOf: ({ name = "" }) => name,
    },
    { path: "users", page: "/admin/people", about: "Person", icon: "person" },
    { path: "agents", page: "/admin/agents", about: "Agent", icon: "server" },
    { path: "api-keys", page: "/admin/keys", about: "API key", icon: "key", isForAdmin: true },
];

const nameOf = ({ name, email, subject }: Named): string =>
    [name, email ?? subject].filter(Boolean).join(" · ");

/* Things to do, for admins. */
const tasks: Choice[] = [
    { path: "/admin/connections?new", title: "Add a database" },
    { path: "/admin/guardrails?new", title: "New guard rail" },
    { path: "/admin/masking?new", title: "New masking rule" },
    { path: "/admin/access?new", title: "New access rule" },
    { path: "/admin/people?new", title: "Invite somebody" },
    { path: "/admin/agents", title: "New agent" },
].map((task) => ({ ...task, about: "Do it", icon: "plus" }));

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function byId(id: string): Choice[] {
    return [
        { path: `/sessions/${id}`, title: `Session ${id}`, about: "By its id", icon: "film" },
        { path: `/reviews/${id}`, title: `Request ${id}`, about: "By its id", icon: "check" },
    ];
}

function listOf<T>(answer: unknown): T[] {
    return Array.isArray(answer) ? (answer as T[]) : ((answer as Page<T> | undefined)?.data ?? []);
}

function useThings(me: Me, search: string): Choice[] {
    const seesAll = me.is_admin || me.role === "auditor";
    const mine = sources.filter((source) =>
        source.isForAdmin === true ? me.is_admin : seesAll,
    );
    const found = useQueries({
        queries: mine.map(({ path }) => ({
            queryKey: ["palette", path, search],
            queryFn: ({ signal }: { signal: AbortSignal }) => get<unknown>(path, {}, signal),
            enabled: search !== "",
            staleTime: 30_000,
        })),
    });
    return mine.flatMap((source, index) =>
        listOf<Named>(found[index]?.data)
            .filter((thing) => nameOf(thing).toLowerCase().includes(search.toLowerCase()))
            .slice(0, SHOWN)
            .map((thing) => ({
                path:
                    source.keyOf === undefined
                        ? source.page
                        : `${source.page}?edit=${encodeURIComponent(source.keyOf(thing))}`,
                title: nameOf(thing),
                about: source.about,
                icon: source.icon,
            })),
    );
}

export function useFound(me: Me, text: string, search: string): Choice[] {
    const words = text.trim().toLowerCase();
    const [connections, queries] = useQueries({
        queries: [
            {
                queryKey: ["connections", "palette", search],
                queryFn: ({ signal }: { signal: AbortSignal }) =>
                    get<Page<Connection>>("connections", { search, page_size: SHOWN }, signal),
                placeholderData: keepPreviousData,
            },
            {
                queryKey: ["saved-queries", "palette", search],
                queryFn: ({ signal }: { signal: AbortSignal }) =>
                    get<Page<SavedQuery>>("saved-queries", { search, page_size: SHOWN }, signal),
                enabled: search !== "",
            },
        ],
    });
    const things = useThings(me, search);
    const has = (choice: Choice): boolean => choice.title.toLowerCase().includes(words);
    const pages = placesOf(me).map((place) => ({ ...place, about: "Page" }));
    const saved = search === "" ? [] : (queries.data?.data ?? []);
    return [
        ...pages.filter(has),
        ...(UUID.test(words) ? byId(words) : []),
        ...(words === "" ? [] : tasks.filter((task) => me.is_admin && has(task))),
        ...(connections.data?.data ?? []).flatMap(choicesOf),
        ...saved.map((query) => ({
            path: `/sql/${part(query.connection)}?query=${query.id}`,
            title: query.name,
            about: `Query of ${query.connection}`,
            icon: "star" as const,
        })),
        ...(search === "" ? [] : things),
    ];
}
