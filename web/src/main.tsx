/* SPDX-License-Identifier: MIT */
import "@mantine/core/styles.css";
import "./app/app.css";

import { nonce } from "./app/trusted";

import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app/App";
import { theme, variables } from "./app/theme";
import { ApiError } from "./shared/api/client";

setNonce(nonce); /* for what locks the page behind a dialog */

const MAX_TRIES = 2;
const client = new QueryClient({
    defaultOptions: {
        queries: {
            staleTime: 10_000,
            retry: (failures, error) =>
                failures < MAX_TRIES && !(error instanceof ApiError && error.status >= 400),
        },
    },
});

createRoot(document.getElementById("root") as HTMLElement).render(
    <StrictMode>
        <MantineProvider
            theme={theme}
            cssVariablesResolver={variables}
            defaultColorScheme="auto"
            getStyleNonce={() => nonce}
        >
            <QueryClientProvider client={client}>
                <App />
            </QueryClientProvider>
        </MantineProvider>
    </StrictMode>,
);
