/* SPDX-License-Identifier: MIT */
/* The pages' policy makes no markup of text (Trusted Types). Mantine writes style sheets as the text
 * of <style>, through the same door: text without "<" is no markup anywhere, and may pass. */
interface Factory {
    createPolicy(name: string, rules: { createHTML: (text: string) => string | null }): unknown;
}

const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
factory?.createPolicy("default", {
    createHTML: (text) => (text.includes("<") ? null : text),
});

/* Of this answer of the page; browsers show it to scripts as a property alone. */
export const nonce =
    document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
