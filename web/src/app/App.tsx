/* SPDX-License-Identifier: MIT */
/* Asks who is signed in, and shows the page of the address to him. */
import { Box, Center, Loader, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Component, lazy, type ReactNode, Suspense, useEffect } from "react";
import { Route, Router, Switch, useLocation } from "wouter";

import { ConnectPage } from "../pages/connect/ConnectPage";
import { ApiError, callOnce, goToSignIn, root } from "../shared/api/client";
import type { Me } from "../shared/api/types";
import { keepFor } from "../shared/kept";
import { Problem, Waiting } from "../shared/parts";
import { holdNavigation } from "../shared/unsaved";
import { MeContext } from "./me";
import { NotFound } from "./NotFound";
import { Shell } from "./Shell";
import { SignInAgain } from "./SignInAgain";

/* Each page comes when it is opened; the first one with the app. */
const SqlPage = lazy(() => import("../pages/sql/SqlPage"));
const SessionsPage = lazy(() => import("../pages/sessions/SessionsPage"));
const SessionPage = lazy(() => import("../pages/sessions/SessionPage"));
const ReviewsPage = lazy(() => import("../pages/reviews/ReviewsPage"));
const ReviewPage = lazy(() => import("../pages/reviews/ReviewPage"));
const TerminalPage = lazy(() => import("../pages/terminal/TerminalPage"));
const ReferencePage = lazy(() => import("../pages/reference/ReferencePage"));
const AdminPage = lazy(() => import("../pages/admin/AdminPage"));
const AccountPage = lazy(() => import("../pages/account/AccountPage"));

/* A mistake of ours in one page leaves the navigation, and the other pages, as they are. So does a
 * part that is gone because the gateway is a newer one: then the page must be loaded anew. */
class Guard extends Component<{ children: ReactNode }, { error: unknown }> {
    override state = { error: null as unknown };

    static getDerivedStateFromError(error: unknown): { error: unknown } {
        return { error };
    }

    override render(): ReactNode {
        return this.state.error === null ? (
            this.props.children
        ) : (
            <Problem error={this.state.error} retry={() => location.reload()} />
        );
    }
}

function Pages(): ReactNode {
    return (
        <Suspense fallback={<Waiting />}>
            <Switch>
                <Route path="/">
                    <ConnectPage />
                </Route>
                <Route path="/connect/:name">{({ name }) => <ConnectPage opened={name} />}</Route>
                <Route path="/sql">
                    <SqlPage />
                </Route>
                <Route path="/sql/:name">{({ name }) => <SqlPage connection={name} />}</Route>
                <Route path="/terminal/:name">{({ name }) => <TerminalPage name={name} />}</Route>
                <Route path="/sessions">
                    <SessionsPage />
                </Route>
                <Route path="/sessions/:id">{({ id }) => <SessionPage id={id} />}</Route>
                <Route path="/reviews">
                    <ReviewsPage />
                </Route>
                <Route path="/reviews/:id">{({ id }) => <ReviewPage id={id} />}</Route>
                <Route path="/admin/:page">{({ page }) => <AdminPage page={page} />}</Route>
                <Route path="/reference">
                    <ReferencePage />
                </Route>
                <Route path="/account">
                    <AccountPage />
                </Route>
                <Route>
                    <NotFound />
                </Route>
            </Switch>
        </Suspense>
    );
}

function Body(): ReactNode {
    const [location] = useLocation();
    return (
        <Guard key={location}>
            <Box className="page">
                <Pages />
            </Box>
        </Guard>
    );
}

export function App(): ReactNode {
    const me = useQuery({
        queryKey: ["me"],
        queryFn: () => callOnce<Me>("GET", "userinfo"),
        staleTime: Infinity,
    });
    const isStranger = me.error instanceof ApiError && me.error.status === 401;
    useEffect(() => {
        if (isStranger) {
            goToSignIn();
        }
    }, [isStranger]);
    if (me.data === undefined) {
        return (
            <Center mih="100vh" p="md">
                {me.error === null || isStranger ? (
                    <Loader aria-label="Loading" />
                ) : (
                    <Stack maw={480}>
                        <Problem
                            error={me.error}
                            retry={() => {
                                void me.refetch();
                            }}
                        />
                    </Stack>
                )}
            </Center>
        );
    }
    keepFor(me.data.id);
    return (
        <MeContext value={me.data}>
            <Router base={root.pathname.replace(/\/$/, "")} aroundNav={holdNavigation}>
                <SignInAgain />
                <Shell>
                    <Body />
                </Shell>
            </Router>
        </MeContext>
    );
}
