/* SPDX-License-Identifier: MIT */
/* Where one can go: the navigation and the search over everything are made of this. The gateway
 * answers these folders with the app's page: src/console/console.c. */
import type { IconName } from "../shared/icons";
import type { Me } from "../shared/api/types";

export interface Place {
  path: string;
  title: string;
  icon: IconName;
  section: "work" | "admin";
  /* Who may come in; the API decides again. */
  isFor?: (me: Me) => boolean;
}

export const places: Place[] = [
  { path: "/", title: "Connect", icon: "plug", section: "work" },
  { path: "/sql", title: "SQL", icon: "code", section: "work" },
  { path: "/sessions", title: "Sessions", icon: "film", section: "work" },
  { path: "/reviews", title: "Reviews", icon: "check", section: "work" },
  { path: "/account", title: "Your account", icon: "person", section: "work" },
];

export function placesOf(me: Me): Place[] {
  return places.filter((place) => place.isFor?.(me) ?? true);
}
