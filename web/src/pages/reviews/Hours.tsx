/* SPDX-License-Identifier: MIT */
/* Hours of the day in which what is approved may be used, by the clocks of a place. */
import { Group, Switch, Text, TextInput } from "@mantine/core";
import { type ReactNode } from "react";

import type { TimeWindow } from "../../shared/api/types";
import { texts } from "./texts";

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

export interface Hours {
    isHeld: boolean;
    from: string;
    to: string;
}

export const ANY_HOUR: Hours = { isHeld: false, from: "09:00", to: "18:00" };

/* What goes with an approval. */
export function windowOf(hours: Hours): { time_window?: TimeWindow } {
    return hours.isHeld
        ? {
              time_window: {
                  type: "time_range",
                  configuration: { start_time: hours.from, end_time: hours.to, time_zone: zone },
              },
          }
        : {};
}

export function HoursField({ hours, set }: {
    hours: Hours;
    set: (hours: Hours) => void;
}): ReactNode {
    const at = (name: "from" | "to", label: string): ReactNode => (
        <TextInput
            type="time"
            label={label}
            required
            value={hours[name]}
            onChange={(event) => set({ ...hours, [name]: event.currentTarget.value })}
        />
    );
    return (
        <>
            <Switch
                label={texts.hours}
                checked={hours.isHeld}
                onChange={(event) => set({ ...hours, isHeld: event.currentTarget.checked })}
            />
            {hours.isHeld && (
                <Group gap="sm" align="flex-end" id="hours">
                    {at("from", texts.hoursFrom)}
                    {at("to", texts.hoursTo)}
                    <Text size="sm" c="dimmed">
                        {texts.hoursZone(zone)}
                    </Text>
                </Group>
            )}
        </>
    );
}

export function hoursWords(windows: TimeWindow[]): string {
    return windows
        .map(({ configuration: { start_time, end_time, time_zone } }) =>
            texts.hoursOf(start_time, end_time, time_zone),
        )
        .join(", ");
}
