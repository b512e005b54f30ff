/* SPDX-License-Identifier: MIT */
import { createContext, useContext } from "react";

import type { Me } from "../shared/api/types";

export const MeContext = createContext<Me | null>(null);

/* Who is signed in. Inside of the shell somebody always is. */
export function useMe(): Me {
    const me = useContext(MeContext);
    if (me === null) {
        throw new Error("nobody is signed in");
    }
    return me;
}
