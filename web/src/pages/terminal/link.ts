/* SPDX-License-Identifier: MIT */
/* A terminal over the WebSocket of docs/terminals.md. */
import { address, part } from "../../shared/api/client";

export interface Ended {
    end: "exited" | "signalled" | "not_run" | "stopped" | "refused" | "lost";
    code: number;
    message: string;
}

export interface Listener {
    opened: (sessionId: string) => void;
    shown: (bytes: Uint8Array) => void;
    ended: (ended: Ended) => void;
}

export interface Link {
    type: (text: string) => void;
    resize: (columns: number, rows: number) => void;
    close: () => void;
}

const PART = 32 * 1024; /* of what is pasted; a message may be twice that */

export function openLink(
    name: string,
    asked: { columns: number; rows: number; metadata: Record<string, string> },
    listener: Listener,
): Link {
    const url = address(`connections/${part(name)}/terminal`, {
        columns: asked.columns,
        rows: asked.rows,
        client: "console",
        ...(Object.keys(asked.metadata).length > 0 && {
            metadata: JSON.stringify(asked.metadata),
        }),
    });
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    const encoder = new TextEncoder();
    let isOver = false;
    const end = (ended: Ended): void => {
        if (!isOver) {
            isOver = true;
            listener.ended(ended);
        }
    };
    const send = (data: string | Uint8Array<ArrayBuffer>): void => {
        if (socket.readyState === WebSocket.OPEN) {
            socket.send(data);
        }
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        if (typeof data !== "string") {
            listener.shown(new Uint8Array(data));
            return;
        }
        const told = JSON.parse(data) as { type: string; session_id?: string } & Partial<Ended>;
        if (told.type === "open") {
            listener.opened(told.session_id ?? "");
        } else if (told.type === "exit") {
            end({ end: told.end ?? "lost", code: told.code ?? 0, message: told.message ?? "" });
        }
    };
    socket.onclose = ({ reason }) => end({ end: "lost", code: 0, message: reason });
    return {
        type: (text) => {
            const bytes = encoder.encode(text);
            for (let at = 0; at < bytes.length; at += PART) {
                send(bytes.slice(at, at + PART));
            }
        },
        resize: (columns, rows) => send(JSON.stringify({ type: "resize", columns, rows })),
        close: () => {
            isOver = true;
            socket.close();
        },
    };
}
