/* SPDX-License-Identifier: MIT */
/* The words of a command, each as it is: with blanks, commas and lines in them. */
import { ActionIcon, Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { type ReactNode, useState } from "react";

import { Icon } from "../../../shared/icons";
import { texts } from "./texts";

const words = texts.argument;

export function Arguments({ value, set }: {
    value: string[];
    set: (value: string[]) => void;
}): ReactNode {
    const [isAdded, setAdded] = useState(false); /* then one types there */
    return (
        <Stack gap={6} id="command">
            <Text size="sm" fw={600}>
                {texts.fields.command}
            </Text>
            <Text size="xs" c="dimmed">
                {texts.abouts.command}
            </Text>
            {value.map((word, index) => {
                const name = index === 0 ? words.program : words.number(index);
                return (
                    <Group key={index} gap={4} wrap="nowrap" align="flex-start">
                        <Textarea
                            aria-label={name}
                            placeholder={name}
                            value={word}
                            autosize
                            minRows={1}
                            maxRows={8}
                            flex={1}
                            autoFocus={isAdded && index === value.length - 1}
                            spellCheck={false}
                            className="code-field"
                            onChange={(event) =>
                                set(value.with(index, event.currentTarget.value))
                            }
                        />
                        <ActionIcon
                            variant="subtle"
                            color="red"
                            mt={4}
                            aria-label={words.remove(name)}
                            onClick={() => set(value.toSpliced(index, 1))}
                        >
                            <Icon name="cross" />
                        </ActionIcon>
                    </Group>
                );
            })}
            <Button
                size="xs"
                variant="default"
                w="fit-content"
                leftSection={<Icon name="plus" />}
                onClick={() => {
                    setAdded(true);
                    set([...value, ""]);
                }}
            >
                {value.length === 0 ? words.addFirst : words.add}
            </Button>
        </Stack>
    );
}
