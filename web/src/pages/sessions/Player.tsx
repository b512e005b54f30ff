/* SPDX-License-Identifier: MIT */
/* What somebody saw in a terminal, played again: speed, search, and any moment by a slider. */
import {
    ActionIcon,
    Button,
    Checkbox,
    Group,
    NativeSelect,
    Slider,
    Stack,
    Text,
    TextInput,
    Title,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";

import { address, ApiError } from "../../shared/api/client";
import type { Session } from "../../shared/api/types";
import { Icon } from "../../shared/icons";
import { Problem, Waiting } from "../../shared/parts";
import { openScreen, type Screen } from "../../shared/terminal/screen";
import { type Cast, castOf, clock, findIn, indexAt, withoutPauses } from "./cast";
import { texts } from "./texts";

const words = texts.player;
const READ_MAX = 16 * 1024 * 1024;
const SPEEDS = ["0.5", "1", "2", "4", "16"];

async function readCast(id: string, signal: AbortSignal): Promise<Cast> {
    const response = await fetch(address(`sessions/${id}/download`, { extension: "cast" }), {
        signal,
        cache: "no-store",
        credentials: "same-origin",
    });
    if (!response.ok || response.body === null) {
        const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
        throw new ApiError(response.status, answer);
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
        const { done, value } = await reader.read();
        if (done) {
            return castOf(text);
        }
        text += value;
        if (text.length > READ_MAX) {
            await reader.cancel();
            return castOf(text, true);
        }
    }
}

/* Shows events on a screen; going back begins anew. */
class Playing {
    private index = 0;

    constructor(
        private readonly screen: Screen,
        private readonly cast: Cast,
    ) {
        screen.terminal.resize(cast.width, cast.height);
    }

    show(seconds: number): void {
        const { terminal } = this.screen;
        const until = indexAt(this.cast, seconds);
        if (until < this.index) {
            terminal.reset();
            terminal.resize(this.cast.width, this.cast.height);
            this.index = 0;
        }
        for (; this.index < until; this.index += 1) {
            const event = this.cast.events[this.index];
            if (event?.kind === "o") {
                terminal.write(event.text);
            } else if (event?.kind === "r") {
                const [columns = 80, rows = 24] = event.text.split("x").map(Number);
                terminal.resize(columns, rows);
            }
        }
    }
}

/* The time, which runs while it is played. */
function useTime(seconds: number, speed: number) {
    const [at, setAt] = useState(0);
    const [isPlaying, setPlaying] = useState(false);
    useEffect(() => {
        if (!isPlaying) {
            return undefined;
        }
        let before = performance.now();
        let frame = 0;
        const step = (now: number): void => {
            const passed = ((now - before) / 1000) * speed;
            before = now;
            setAt((time) => Math.min(seconds, time + passed));
            frame = requestAnimationFrame(step);
        };
        frame = requestAnimationFrame(step);
        return () => cancelAnimationFrame(frame);
    }, [isPlaying, seconds, speed]);
    useEffect(() => {
        if (isPlaying && at >= seconds) {
            setPlaying(false);
        }
    }, [isPlaying, at, seconds]);
    return { at, setAt, isPlaying, setPlaying };
}

function Find({ cast, go }: { cast: Cast; go: (seconds: number) => void }): ReactNode {
    const [text, setText] = useState("");
    const found = useMemo(() => findIn(cast, text), [cast, text]);
    return (
        <Stack gap="xs">
            <TextInput
                type="search"
                label={words.find}
                value={text}
                id="cast-find"
                maw={360}
                onChange={(event) => setText(event.currentTarget.value)}
            />
            {text.trim() !== "" && (
                <Text size="sm" role="status">
                    {words.found(found.length)}
                </Text>
            )}
            {found.map((one, index) => (
                <Button
                    key={index}
                    variant="subtle"
                    size="compact-sm"
                    justify="flex-start"
                    className="found-moment"
                    onClick={() => go(one.at)}
                >
                    {clock(one.at)} {one.text}
                </Button>
            ))}
        </Stack>
    );
}

function Played({ whole }: { whole: Cast }): ReactNode {
    const place = useRef<HTMLDivElement>(null);
    const playing = useRef<Playing | null>(null);
    const [speed, setSpeed] = useState("1");
    const [isShort, setShort] = useState(true);
    const cast = useMemo(() => (isShort ? withoutPauses(whole) : whole), [whole, isShort]);
    const { at, setAt, isPlaying, setPlaying } = useTime(cast.seconds, Number(speed));
    const shown = useRef(at);
    shown.current = at;
    useEffect(() => {
        if (place.current === null) {
            return undefined;
        }
        const screen = openScreen(place.current, {
            isReadOnly: true,
            columns: cast.width,
            rows: cast.height,
        });
        playing.current = new Playing(screen, cast);
        playing.current.show(shown.current);
        return () => {
            playing.current = null;
            screen.terminal.dispose();
        };
    }, [cast]);
    useEffect(() => playing.current?.show(at), [at]);
    return (
        <Stack gap="sm" id="player" data-at={at.toFixed(1)}>
            <div className="player-place" ref={place} tabIndex={0} role="region" aria-label={words.screen} />
            <Group gap="sm" wrap="nowrap">
                <ActionIcon
                    size="lg"
                    aria-label={isPlaying ? words.pause : words.play}
                    onClick={() => {
                        if (at >= cast.seconds) {
                            setAt(0);
                        }
                        setPlaying(!isPlaying);
                    }}
                >
                    <Icon name={isPlaying ? "stop" : "play"} />
                </ActionIcon>
                <Slider
                    flex={1}
                    thumbLabel={words.seek}
                    min={0}
                    max={Math.max(cast.seconds, 0.1)}
                    step={0.1}
                    value={at}
                    label={clock}
                    onChange={setAt}
                />
                <Text size="sm" className="code">
                    {clock(at)} / {clock(cast.seconds)}
                </Text>
            </Group>
            <Group gap="md" align="flex-end">
                <NativeSelect
                    label={words.speed}
                    value={speed}
                    data={SPEEDS.map((value) => ({ value, label: `${value} ×` }))}
                    onChange={(event) => setSpeed(event.currentTarget.value)}
                />
                <Checkbox
                    label={words.short}
                    checked={isShort}
                    mb={8}
                    onChange={(event) => {
                        setAt(0);
                        setShort(event.currentTarget.checked);
                    }}
                />
            </Group>
            {whole.isCut && <Text size="sm">{words.cut}</Text>}
            <Find cast={cast} go={setAt} />
        </Stack>
    );
}

export default function Player({ session }: { session: Session }): ReactNode {
    const cast = useQuery({
        queryKey: ["cast", session.id, session.status],
        queryFn: ({ signal }) => readCast(session.id, signal),
        staleTime: Infinity,
    });
    return (
        <section aria-label={words.title}>
            <Title order={2} size="h4" mb="sm">
                {words.title}
            </Title>
            {cast.error !== null && (
                <Problem
                    error={cast.error}
                    retry={() => {
                        void cast.refetch();
                    }}
                />
            )}
            {cast.isPending && <Waiting lines={2} />}
            {cast.data !== undefined && <Played whole={cast.data} />}
        </section>
    );
}
