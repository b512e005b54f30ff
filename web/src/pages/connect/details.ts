/* SPDX-License-Identifier: MIT */
/* What the list of connections does not tell: each line asks for its own once it is seen. */
import { useQuery } from "@tanstack/react-query";

import { get, part } from "../../shared/api/client";
import type { Connection, Controls } from "../../shared/api/types";

const FRESH_MS = 60_000;

export function useDetails(name: string, isSeen: boolean): Connection | undefined {
    return useQuery({
        queryKey: ["connection", name],
        queryFn: ({ signal }) => get<Connection>(`connections/${part(name)}`, {}, signal),
        enabled: isSeen,
        staleTime: FRESH_MS,
    }).data;
}

export function useControls(name: string, isSeen: boolean): Controls | undefined {
    return useQuery({
        queryKey: ["controls", name],
        queryFn: ({ signal }) => get<Controls>(`connections/${part(name)}/controls`, {}, signal),
        enabled: isSeen,
        staleTime: FRESH_MS,
    }).data;
}
