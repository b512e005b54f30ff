/* SPDX-License-Identifier: MIT */
/* How everything looks, and what Mantine leaves unsaid or too pale for readers. */
import {
    createTheme,
    type CSSVariablesResolver,
    defaultVariantColorsResolver,
    type MantineColorsTuple,
    type MantineThemeOverride,
    type VariantColorsResolver,
} from "@mantine/core";

const gate: MantineColorsTuple = [
    "#edf7f2",
    "#d9ebe2",
    "#b2d8c6",
    "#88c5a8",
    "#66b58f",
    "#4fa47d",
    "#2f8a64",
    "#1b6850",
    "#134f3c",
    "#0b3a2b",
];

/* A dialog has a name and a way out, and its head is not another head of the page. */
const dialog = {
    closeButtonProps: { "aria-label": "Close" },
    attributes: { header: { role: "presentation" } },
};

/* Words on a filled ground are dark where the ground is light: Mantine asks the light theme alone. */
const variants: VariantColorsResolver = (input) => {
    const colors = defaultVariantColorsResolver(input);
    return input.variant === "filled" ? { ...colors, color: "var(--gh-on-filled)" } : colors;
};

export const theme: MantineThemeOverride = createTheme({
    primaryColor: "gate",
    primaryShade: { light: 7, dark: 3 },
    variantColorResolver: variants,
    defaultRadius: "md",
    cursorType: "pointer",
    colors: { gate },
    fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
    fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "Noto Sans Mono", monospace',
    headings: { fontWeight: "650" },
    components: {
        CloseButton: { defaultProps: { "aria-label": "Close" } },
        Modal: { defaultProps: { ...dialog, centered: true } },
        Drawer: { defaultProps: { ...dialog, position: "right" } },
        Tooltip: { defaultProps: { withinPortal: true, openDelay: 250 } },
    },
});

/* Text that is less important is still read: 4.5 to 1 on every ground that it stands on. */
export const variables: CSSVariablesResolver = () => ({
    variables: {},
    light: {
        "--mantine-color-body": "#f5f7f5",
        "--mantine-color-dimmed": "#55635d",
        "--mantine-color-placeholder": "#67756e",
        "--mantine-color-error": "#a51d1d",
        "--mantine-color-anchor": "#1b6850",
        "--mantine-color-red-light-color": "#971b1b",
        "--mantine-color-orange-light-color": "#853b06",
        "--mantine-color-blue-light-color": "#134f86",
        "--mantine-color-gray-light-color": "#3d4a44",
        "--mantine-color-gate-light-color": "#134f3c",
        "--mantine-color-red-filled": "#b42626",
        "--mantine-color-red-filled-hover": "#971b1b",
        "--gh-on-filled": "#fff",
        "--gh-card": "#fff",
        "--gh-line": "#dce3de",
    },
    dark: {
        "--mantine-color-body": "#111614",
        "--mantine-color-dimmed": "#a3b2ab",
        "--mantine-color-placeholder": "#8b9a93",
        "--mantine-color-error": "#ffb4ab",
        "--mantine-color-anchor": "#88c5a8",
        "--mantine-color-red-light": "#3a1f1d",
        "--mantine-color-orange-light": "#35281a",
        "--mantine-color-blue-light": "#1b2937",
        "--mantine-color-gray-light": "#27302c",
        "--mantine-color-gate-light": "#1c3329",
        "--mantine-color-red-light-color": "#ffb4ab",
        "--mantine-color-orange-light-color": "#ffc27a",
        "--mantine-color-blue-light-color": "#a5cfff",
        "--mantine-color-gray-light-color": "#c9d4ce",
        "--mantine-color-gate-light-color": "#a9dcc4",
        "--mantine-color-red-filled": "#ff9a90",
        "--mantine-color-red-filled-hover": "#ffb4ab",
        "--gh-on-filled": "#0c1512",
        "--gh-card": "#181f1c",
        "--gh-line": "#2c3632",
    },
});
