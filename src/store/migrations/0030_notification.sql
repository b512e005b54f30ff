-- Who is told of what happens. A sink's 'sealed' is its URL, and with webhooks the key of their
-- signatures; 'address' is what may be shown of the URL. 'failing_since' is 0 while it takes what it
-- is sent.
CREATE TABLE notification_sink (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    name @text NOT NULL,
    kind @text NOT NULL,
    is_active @int NOT NULL,
    statement_size @int NOT NULL,
    address @text NOT NULL,
    sealed @blob NOT NULL,
    failing_since @int NOT NULL,
    last_error @text NOT NULL,
    created_at @int NOT NULL,
    updated_at @int NOT NULL,
    UNIQUE (organization_id, name)
) @strict;

CREATE TABLE notification_sink_event (
    sink_id @text NOT NULL REFERENCES notification_sink (id) ON DELETE CASCADE,
    type @text NOT NULL,
    PRIMARY KEY (sink_id, type)
) @strict;

-- What happened, written in the transaction in which it did, when some sink wants it. 'subject_id'
-- is a review's or a session's, 'data' a JSON object, 'path' the page of the console.
CREATE TABLE notification_event (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    type @text NOT NULL,
    subject_id @text NOT NULL,
    summary @text NOT NULL,
    path @text NOT NULL,
    data @text NOT NULL,
    created_at @int NOT NULL
) @strict;

CREATE INDEX notification_event_by_time ON notification_event (created_at);

-- One event for one sink. Its id is what the receiver tells repetitions by. Whoever sends it writes
-- 'lease_id', which is good until 'lease_until'.
CREATE TABLE notification_delivery (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    event_id @text NOT NULL REFERENCES notification_event (id) ON DELETE CASCADE,
    sink_id @text NOT NULL REFERENCES notification_sink (id) ON DELETE CASCADE,
    state @text NOT NULL,
    tries @int NOT NULL,
    next_at @int NOT NULL,
    lease_id @text NOT NULL,
    lease_until @int NOT NULL,
    last_status @int NOT NULL,
    last_error @text NOT NULL,
    created_at @int NOT NULL,
    updated_at @int NOT NULL
) @strict;

CREATE INDEX notification_delivery_due ON notification_delivery (state, next_at, id);
CREATE INDEX notification_delivery_list ON notification_delivery (organization_id, created_at, id);
CREATE INDEX notification_delivery_sink ON notification_delivery (sink_id, state, created_at);
CREATE INDEX notification_delivery_event ON notification_delivery (event_id);

-- For what ends reviews that are over, and removes old ones.
CREATE INDEX review_by_state ON review (state, pending_until);

-- Where people have signed in from, so that a new address is told of.
CREATE TABLE sign_in_place (
    user_id @text NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
    address @text NOT NULL,
    seen_at @int NOT NULL,
    PRIMARY KEY (user_id, address)
) @strict;
