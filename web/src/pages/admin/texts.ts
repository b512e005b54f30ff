/* SPDX-License-Identifier: MIT */
export const texts = {
  connections: {
    title: "Connections", about: "Ways to your databases and servers.", add: "Add a database",
    none: "No connections yet", noneAbout: "Add a database, and try it before anybody uses it.",
    remove: "Delete", removeTitle: (name: string) => `Delete ${name}?`,
    removeAbout: "Nobody reaches the target through it any more. Records of sessions stay.",
    test: "Test", good: (ms: number) => `Answered in ${ms} ms`,
  },
  add: {
    title: "Add a database", kind: "Kind", name: "Name", nameAbout: "What people will look for. Small letters, digits and '-' are best.",
    host: "Host", port: "Port", user: "User at the database", password: "Password",
    passwordAbout: "Sealed before it is stored, and never shown again. A reference such as _aws:name:key or _vaultkv2:path:key works, too.",
    database: "Database", databaseAbout: "What clients get when they name none.",
    tls: "TLS to the database", agent: "Agent that reaches it",
    protect: "Guard with", protectAbout: "Presets; each can be changed later.",
    save: "Add and test", again: "Test again", saved: (name: string) => `${name} is there`,
    good: (ms: number, version: string) => `The database answered in ${ms} ms${version ? `: ${version}` : ""}.`,
    bad: "It is saved, but the database could not be reached. Change what is wrong, and save again.",
    update: "Save and test", use: "Connect", query: "Run a first query", cancel: "Close",
  },
  agents: {
    title: "Agents", about: "They reach targets in networks that the gateway does not.", add: "Add an agent",
    name: "Name", create: "Create", line: "Run this where the targets are",
    once: "This line is shown once. Who has it is the agent.", waits: "Waiting for it to link …",
    linked: "It is linked.", connected: "linked", gone: "not linked", embedded: "in the gateway",
    seen: "Last seen", remove: "Delete", removeTitle: (name: string) => `Delete ${name}?`,
    removeAbout: "Its link ends. Connections that name it follow their resource.", close: "Close",
  },
  guardrails: {
    title: "Guard rails", about: "What must not pass.", none: "No guard rails yet",
    noneAbout: "Attach a preset to the connections that need it.", presets: "Presets",
    attach: "Attach", detach: "Detach", to: "Connections", rules: (count: number) => (count === 1 ? "1 rule" : `${count} rules`),
    on: (names: string) => `On ${names}`, nowhere: "On no connection yet",
  },
  masking: {
    title: "Masking", about: "What is replaced in results before anybody sees it.", none: "No masking rules yet",
    noneAbout: "The preset personal-data, under Guard rails, brings the first.",
    where: (connections: number, attributes: number) =>
      `On ${connections} ${connections === 1 ? "connection" : "connections"}${attributes > 0 ? ` and by ${attributes} attributes` : ""}`,
  },
  people: {
    title: "People", about: "Who may sign in, and the groups they are in.", add: "Invite somebody", email: "E-mail address",
    name: "Name", groups: "Groups, with commas between", invite: "Invite", link: "Send this link",
    linkAbout: "It is shown once, and is for this address alone.", lock: "Lock out", unlock: "Let in again",
    close: "Close",
  },
  audit: {
    title: "Audit log", about: "Everything that was changed or shown, each entry chained to the one before.",
    export: "Export", none: "Nothing is like that", actor: "Who (address)", action: "Action", kind: "What",
    newer: "Newer", older: "Older", refused: "refused", entries: (count: string) => `${count} entries`,
  },
} as const;
