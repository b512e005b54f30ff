/* SPDX-License-Identifier: MIT */
import { Button } from "@mantine/core";
import type { ReactNode } from "react";

import { root } from "../shared/api/client";
import { Empty } from "../shared/parts";

export function NotFound(): ReactNode {
    return (
        <Empty
            title="There is no page here"
            isPage
            action={
                <Button component="a" href={root.href}>
                    To the start
                </Button>
            }
        >
            The address may be mistyped, or what it showed is gone.
        </Empty>
    );
}
