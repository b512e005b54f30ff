/* SPDX-License-Identifier: MIT */
export const texts = {
    title: "Your account",
    admin: "Admin",
    auditor: "Auditor",
    member: "Member",
    organization: "organization",
    groups: "Groups",
    everywhere: "Sign out everywhere",
    api: "Description of the API",
    password: "Password",
    current: "Current password",
    next: "New password",
    nextAbout: "Best are several words that do not belong together.",
    change: "Change it",
    changed: "The password is another one now.",
} as const;
