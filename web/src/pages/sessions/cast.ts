/* SPDX-License-Identifier: MIT */
/* asciicast, version 2: a terminal's record, and where in it one is. */
export interface CastEvent {
    at: number; /* seconds from the beginning */
    kind: "o" | "i" | "r" | "m";
    text: string;
}

export interface Cast {
    width: number;
    height: number;
    events: CastEvent[];
    seconds: number;
    isCut: boolean;
}

const IDLE_MAX = 2; /* seconds in which nothing happens, when pauses are left out */

export function castOf(text: string, isCut = false): Cast {
    const [head = "{}", ...lines] = text.split("\n");
    const { width = 80, height = 24 } = JSON.parse(head) as { width?: number; height?: number };
    const events: CastEvent[] = [];
    for (const line of lines) {
        try {
            const [at, kind, shown] = JSON.parse(line) as [number, CastEvent["kind"], string];
            events.push({ at, kind, text: shown });
        } catch {
            /* an empty line, or the end of what was cut off */
        }
    }
    return { width, height, events, seconds: events.at(-1)?.at ?? 0, isCut };
}

/* The same with no pause longer than what a person waits for. */
export function withoutPauses(cast: Cast): Cast {
    let before = 0;
    let now = 0;
    const events = cast.events.map((event) => {
        now += Math.min(IDLE_MAX, Math.max(0, event.at - before));
        before = event.at;
        return { ...event, at: now };
    });
    return { ...cast, events, seconds: now };
}

/* How many events there are until then. */
export function indexAt(cast: Cast, seconds: number): number {
    let low = 0;
    let high = cast.events.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if ((cast.events[middle]?.at ?? 0) <= seconds) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const ESCAPES = /\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])/g;

export interface Found {
    at: number;
    text: string;
}

/* The moments at which a line with these words was shown or typed, without colours. */
export function findIn(cast: Cast, words: string, max = 50): Found[] {
    const sought = words.trim().toLowerCase();
    const found: Found[] = [];
    const lines: Record<string, string> = { o: "", i: "" };
    if (sought === "") {
        return found;
    }
    for (const event of cast.events) {
        if (event.kind !== "o" && event.kind !== "i") {
            continue;
        }
        const parts = ((lines[event.kind] ?? "") + event.text.replaceAll(ESCAPES, "")).split(
            /\r\n|\r|\n/,
        );
        lines[event.kind] = parts.pop() ?? "";
        /* What is not ended yet counts once it is found, and no more afterwards. */
        const open = lines[event.kind] ?? "";
        if (open.toLowerCase().includes(sought)) {
            parts.push(open);
            lines[event.kind] = "";
        }
        for (const line of parts) {
            if (line.toLowerCase().includes(sought)) {
                found.push({ at: event.at, text: line.trim().slice(0, 120) });
            }
        }
        if (found.length >= max) {
            break;
        }
    }
    return found;
}

export function clock(seconds: number): string {
    const whole = Math.max(0, Math.floor(seconds));
    const pad = (value: number): string => String(value).padStart(2, "0");
    const hours = Math.floor(whole / 3600);
    return `${hours > 0 ? `${hours}:` : ""}${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
}
