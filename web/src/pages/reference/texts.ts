/* SPDX-License-Identifier: MIT */
export const texts = {
    title: "API",
    about: "Everything that this console does, and more. Every error is {\"message\": …}.",
    find: "Find a call",
    none: "No call is like that",
    parameters: "Parameters",
    request: "Request",
    answer: "Answer",
    required: "always there",
    inner: "its members",
    example: "By curl",
    refused: (statuses: string) => `Refused with ${statuses}.`,
} as const;
