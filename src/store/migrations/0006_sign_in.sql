-- Signing in: through a provider, with a second factor; and when what is known of callers changed.

CREATE INDEX sign_in_failure_time ON sign_in_failure (last_failed_at);

CREATE TABLE login_attempt (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    redirect @text NOT NULL,
    browser_hash @blob,
    may_found @int NOT NULL,
    created_at @int NOT NULL,
    expires_at @int NOT NULL
) @strict;

CREATE INDEX login_attempt_expiry ON login_attempt (expires_at);

-- One row, when the provider was not given by settings alone.
CREATE TABLE auth_config (
    id @text PRIMARY KEY,
    method @text NOT NULL,
    issuer_url @text NOT NULL,
    client_id @text NOT NULL,
    client_secret @blob,
    scopes @text NOT NULL,
    audience @text NOT NULL,
    groups_claim @text NOT NULL,
    provider_name @text NOT NULL,
    updated_at @int NOT NULL
) @strict;

CREATE TABLE second_factor (
    user_id @text PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
    secret @blob NOT NULL,
    last_counter @int NOT NULL,
    confirmed_at @int NOT NULL,
    created_at @int NOT NULL
) @strict;

CREATE TABLE recovery_code (
    user_id @text NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
    hash @blob NOT NULL,
    PRIMARY KEY (user_id, hash)
) @strict;

CREATE INDEX user_account_subject ON user_account (subject);

-- Goes up with every change of who somebody is: a person's groups or status, a key, a token that
-- was revoked, the rules of access. What was remembered of callers at another number is asked again.
CREATE TABLE caller_generation (
    id @int PRIMARY KEY,
    number @int NOT NULL
) @strict;

INSERT INTO caller_generation (id, number) VALUES (1, 1);
