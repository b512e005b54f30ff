/* SPDX-License-Identifier: MIT */
/* One field for everything: what it finds is in found.ts. */
import { Modal, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";

import { useFocusBack } from "../shared/focus";
import { Icon } from "../shared/icons";
import { type Choice, useFound } from "./found";
import { useMe } from "./me";

export function Palette({ close }: { close: () => void }): ReactNode {
    useFocusBack();
    const me = useMe();
    const [, go] = useLocation();
    const [text, setText] = useState("");
    const [at, setAt] = useState(0);
    const [search] = useDebouncedValue(text.trim(), 120);
    const id = useId();
    const chosen = useRef<HTMLDivElement>(null);
    const choices = useFound(me, text, search);
    const shownAt = Math.min(at, Math.max(0, choices.length - 1));
    useEffect(() => {
        chosen.current?.scrollIntoView({ block: "nearest" });
    }, [shownAt]);

    const take = (choice: Choice | undefined): void => {
        if (choice !== undefined) {
            close();
            go(choice.path);
        }
    };
    const onKey = (event: KeyboardEvent): void => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step !== undefined) {
            event.preventDefault();
            setAt((shownAt + step + choices.length) % Math.max(1, choices.length));
        } else if (event.key === "Enter") {
            event.preventDefault();
            take(choices[shownAt]);
        }
    };
    return (
        <Modal
            opened
            onClose={close}
            withCloseButton={false}
            padding="xs"
            size="lg"
            yOffset="12vh"
            centered={false}
            aria-label="Find anything"
        >
            <TextInput
                size="md"
                placeholder="A page, a connection, a rule, a person, an id"
                aria-label="Find anything"
                value={text}
                data-autofocus
                role="combobox"
                aria-expanded
                aria-controls={id}
                autoComplete="off"
                aria-activedescendant={choices.length > 0 ? `${id}-${shownAt}` : undefined}
                onChange={(event) => {
                    setText(event.currentTarget.value);
                    setAt(0);
                }}
                onKeyDown={onKey}
            />
            <div id={id} role="listbox" aria-label="Found" className="palette">
                {choices.map((choice, index) => (
                    <div
                        key={`${choice.path} ${choice.title}`}
                        role="option"
                        id={`${id}-${index}`}
                        aria-selected={index === shownAt}
                        ref={index === shownAt ? chosen : null}
                        className="palette-line"
                        onClick={() => take(choice)}
                        onMouseMove={() => setAt(index)}
                    >
                        <Icon name={choice.icon} />
                        <span className="anywhere">{choice.title}</span>
                        <Text span size="xs" c="dimmed" ml="auto">
                            {choice.about}
                        </Text>
                    </div>
                ))}
            </div>
            {choices.length === 0 && (
                <Text c="dimmed" p="sm">
                    Nothing has such a name.
                </Text>
            )}
        </Modal>
    );
}
