/* SPDX-License-Identifier: MIT */

/* Whether it is there now. The clipboard of a browser is for pages over TLS and of this machine. */
export async function copyText(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return copyBySelection(text);
    }
}

/* The old way, for a gateway that is reached by plain HTTP. */
function copyBySelection(text: string): boolean {
    const before = document.activeElement;
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "unseen";
    (before?.closest("[role=dialog]") ?? document.body).append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    if (before instanceof HTMLElement) {
        before.focus();
    }
    return isCopied;
}

export function download(name: string, type: string, parts: BlobPart[]): void {
    const url = URL.createObjectURL(new Blob(parts, { type }));
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
