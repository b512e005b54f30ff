/* SPDX-License-Identifier: MIT */
export const texts = {
    title: (name: string) => `Terminal: ${name}`,
    about: "What is typed and shown is on record.",
    opening: "Opening …",
    isOpen: "open",
    over: "It is over",
    ended: {
        exited: (code: number) => (code === 0 ? "It ended." : `It ended with code ${code}.`),
        signalled: (code: number) => `It was ended by signal ${code}.`,
        not_run: () => "It could not be run.",
        stopped: () => "It was stopped.",
        refused: () => "It was refused.",
        lost: () => "The connection to the gateway is gone.",
    },
    again: "Open it again",
    record: "See its record",
    metadata: "It asks for what this is about",
    open: "Open",
    readOut: "For screen readers",
    label: (name: string) => `Terminal of ${name}`,
    hint: "Ctrl+Shift+C copies, Ctrl+Shift+V pastes. To leave the terminal by the keyboard: Ctrl+Shift+Esc.",
} as const;
