/* SPDX-License-Identifier: MIT */
/* What stands around every page: the bar, the ways, the search over everything. */
import {
    ActionIcon,
    Burger,
    Drawer,
    Menu,
    Stack,
    Text,
    UnstyledButton,
    useComputedColorScheme,
    useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";

import { call, root } from "../shared/api/client";
import { Icon, Mark } from "../shared/icons";
import { forgetTyped } from "../shared/kept";
import { Problem } from "../shared/parts";
import { useMe } from "./me";
import { Palette } from "./Palette";
import { type Place, placesOf } from "./places";

function isHere(place: Place, location: string): boolean {
    return place.path === "/"
        ? location === "/" || location.startsWith("/connect")
        : location === place.path || location.startsWith(`${place.path}/`);
}

function Ways({ follow }: { follow?: () => void }): ReactNode {
    const [location] = useLocation();
    const places = placesOf(useMe());
    const line = (place: Place): ReactNode => (
        <Link
            key={place.path}
            href={place.path}
            className="side-link"
            onClick={() => follow?.()}
            {...(isHere(place, location) && { "aria-current": "page" as const })}
        >
            <Icon name={place.icon} />
            {place.title}
        </Link>
    );
    const admin = places.filter((place) => place.section === "admin");
    return (
        <>
            {places.filter((place) => place.section === "work").map(line)}
            {admin.length > 0 && <p className="side-title">Administration</p>}
            {admin.map(line)}
        </>
    );
}

function SchemeButton(): ReactNode {
    const { setColorScheme } = useMantineColorScheme();
    const isDark = useComputedColorScheme("light") === "dark";
    return (
        <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            className="only-wide"
            aria-label={isDark ? "Use light colours" : "Use dark colours"}
            onClick={() => setColorScheme(isDark ? "light" : "dark")}
        >
            <Icon name={isDark ? "sun" : "moon"} />
        </ActionIcon>
    );
}

function Person(): ReactNode {
    const me = useMe();
    const [, go] = useLocation();
    const { setColorScheme } = useMantineColorScheme();
    const [error, setError] = useState<unknown>(null);
    const signOut = async (everywhere: boolean): Promise<void> => {
        try {
            await call("POST", "logout", { query: { everywhere } });
            forgetTyped();
            location.replace(new URL("sign-in", root));
        } catch (failure) {
            setError(failure);
        }
    };
    return (
        <>
            <Menu position="bottom-end" width={260}>
                <Menu.Target>
                    <ActionIcon
                        variant="light"
                        size="lg"
                        radius="xl"
                        aria-label={`You are ${me.email || me.name}`}
                        data-person
                    >
                        <Icon name="person" />
                    </ActionIcon>
                </Menu.Target>
                <Menu.Dropdown>
                    <Menu.Label>
                        <Text size="sm" fw={600} className="anywhere" id="who">
                            {me.email || me.name}
                        </Text>
                        {me.is_admin ? "Admin" : me.role === "auditor" ? "Auditor" : "Member"} ·{" "}
                        {me.org_name}
                    </Menu.Label>
                    <Menu.Item leftSection={<Icon name="person" />} onClick={() => go("/account")}>
                        Your account
                    </Menu.Item>
                    <Menu.Item
                        leftSection={<Icon name="sun" />}
                        onClick={() => setColorScheme("auto")}
                    >
                        Colours of the system
                    </Menu.Item>
                    <Menu.Divider />
                    <Menu.Item
                        leftSection={<Icon name="out" />}
                        id="sign-out"
                        onClick={() => {
                            void signOut(false);
                        }}
                    >
                        Sign out
                    </Menu.Item>
                    <Menu.Item
                        leftSection={<Icon name="out" />}
                        onClick={() => {
                            void signOut(true);
                        }}
                    >
                        Sign out everywhere
                    </Menu.Item>
                </Menu.Dropdown>
            </Menu>
            {error !== null && <Problem error={error} />}
        </>
    );
}

export function Shell({ children }: { children: ReactNode }): ReactNode {
    const [isSearching, search] = useDisclosure(false);
    const [isMenuOpen, menu] = useDisclosure(false);
    useHotkeys([["mod+K", search.open]], ["INPUT", "TEXTAREA", "SELECT"], true);
    return (
        <div className="shell" id="page">
            <a className="skip" href="#main">
                To the page
            </a>
            <header className="shell-bar">
                <Burger
                    className="only-narrow"
                    size="sm"
                    opened={isMenuOpen}
                    onClick={menu.open}
                    aria-label="Open the menu"
                />
                <Link href="/" className="shell-brand" aria-label="Gatehouse">
                    <Mark />
                    <span className="only-wide">Gatehouse</span>
                </Link>
                <UnstyledButton
                    className="search-button"
                    onClick={search.open}
                    aria-keyshortcuts="Control+K Meta+K"
                >
                    <Icon name="search" size={16} />
                    <span>Find anything</span>
                    <kbd className="only-wide">
                        {/Mac/.test(navigator.platform) ? "⌘K" : "Ctrl K"}
                    </kbd>
                </UnstyledButton>
                <SchemeButton />
                <Person />
            </header>
            <nav className="shell-side" aria-label="Pages">
                <Ways />
            </nav>
            <main className="shell-main" id="main" tabIndex={-1}>
                {children}
            </main>
            <Drawer
                opened={isMenuOpen}
                onClose={menu.close}
                title="Gatehouse"
                position="left"
                size="xs"
            >
                <nav aria-label="Pages">
                    <Stack gap={2}>
                        <Ways follow={menu.close} />
                    </Stack>
                </nav>
            </Drawer>
            {isSearching && <Palette close={search.close} />}
        </div>
    );
}
