/* SPDX-License-Identifier: MIT */
/* What the pages of named things say. */
const SHOWN = 8;

/* "On shop, crm and 3 more"; nothing when there is nothing. */
export function bound(word: string, names: string[]): string {
    const shown = names.slice(0, SHOWN).join(", ");
    const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "";
    return names.length === 0 ? "" : `${word} ${shown}${more}`;
}

export const words = {
    resources: {
        title: "Resources",
        about: "Databases, servers and applications. Each has connections, by which people come in.",
        add: "New resource",
        none: "No resources yet",
        noneAbout: "One is made with its first connection, or here.",
        removeAbout: "All of its connections go with it. Records of sessions stay.",
    },
    attributes: {
        title: "Attributes",
        about: "Labels that bind groups and rules to all connections that carry them.",
        add: "New attribute",
        none: "No attributes yet",
        noneAbout: "One attribute, such as 'production', takes rules to many connections at once.",
        removeAbout: "Its connections lose what it brought: rules, and who may use them.",
    },
    access: {
        title: "Access rules",
        about: "Who must ask before using a connection or running a script, and who decides.",
        add: "New access rule",
        none: "No access rules yet",
        noneAbout: "Without one nobody has to ask: who may use a connection just does.",
        removeAbout: "Nobody has to ask on its account any more. Open requests stay as they are.",
    },
    people: {
        title: "People",
        about: "Who may sign in, and the groups they are in.",
        add: "Invite somebody",
        none: "Nobody is here yet",
        noneAbout: "Invite whoever needs a database.",
        removeAbout: "They are signed out everywhere, and what they may do ends. Records stay.",
        link: "Send this link",
        lock: "Lock out",
        unlock: "Let in again",
        newLink: "New link",
        factor: "Remove second factor",
        factorAbout: "Its app and its recovery codes are good for nothing any more: the password alone lets in.",
    },
    groups: {
        title: "Groups",
        about: "Access, rules and reviews are given to groups.",
        add: "New group",
        none: "No groups yet",
        noneAbout: "Groups come with people, or from the identity provider.",
        removeAbout: "Who was in it is no longer; rules that name it reach nobody by it.",
    },
    keys: {
        title: "API keys",
        about: "For programs that administrate, with the rights of their groups.",
        add: "New API key",
        none: "No API keys yet",
        noneAbout: "A key is shown once. Give it the groups that it needs, and no more.",
        removeWord: "Revoke",
        removeAbout: "Programs that use it are refused from now on. It can be made valid again.",
        again: "Make valid again",
    },
    services: {
        title: "Service accounts",
        about: "Programs that sign in with tokens of the identity provider.",
        add: "New service account",
        none: "No service accounts yet",
        noneAbout: "Name a client of your identity provider, and what it may do here.",
        removeAbout: "Its tokens are refused from now on.",
    },
    machines: {
        title: "Machine identities",
        about: "Programs that use connections with native clients, and passwords of their own.",
        add: "New machine identity",
        none: "No machine identities yet",
        noneAbout: "A nightly job, a report, a service: each with its own connections.",
        removeAbout: "Its credentials end, and so do its open sessions.",
        credentials: "Credentials",
        rotate: "Rotate",
        rotateAbout: "A new one is made and shown once. Programs that have the older one are refused.",
    },
} as const;
