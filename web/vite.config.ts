/* SPDX-License-Identifier: MIT */
import react from "@vitejs/plugin-react";
import { loadEnv, type Plugin } from "vite";
import { defineConfig } from "vitest/config";

/* What the gateway puts into each answer of a page: src/console/console.c. */
const NONCE = "{{nonce:of-each-answer}}";
const ROOT = "{{root}}";

/* A page of the app may stand in a folder, so that "./" of the one HTML file would be wrong. */
function rootOfEachAnswer(): Plugin {
    return {
        name: "root-of-each-answer",
        apply: "build",
        transformIndexHtml: {
            order: "post",
            handler: (html) => html.replaceAll('="./', `="${ROOT}`),
        },
    };
}

export default defineConfig(({ command, mode }) => ({
    base: command === "build" ? "./" : "/",
    html: command === "build" ? { cspNonce: NONCE } : {},
    plugins: [react(), rootOfEachAnswer()],
    build: {
        target: "es2022",
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        rollupOptions: {
            input: ["index.html", "entry.html"],
            output: { hashCharacters: "hex" },
        },
        chunkSizeWarningLimit: 900,
    },
    server: {
        proxy: { "/api": loadEnv(mode, ".", "GATEHOUSE")["GATEHOUSE"] ?? "http://127.0.0.1:8009" },
    },
    test: { include: ["src/**/*.test.ts"], environment: "node" },
}));
