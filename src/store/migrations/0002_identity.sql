-- Who may call: people, their groups, API keys, and what signs their tokens. Nobody could sign in
-- before, so that the table of people starts anew.

DROP TABLE user_account;

CREATE TABLE user_account (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    issuer @text NOT NULL DEFAULT '',
    subject @text NOT NULL,
    email @text NOT NULL,
    email_key @text NOT NULL,
    name @text NOT NULL,
    picture @text NOT NULL DEFAULT '',
    slack_id @text NOT NULL DEFAULT '',
    status @text NOT NULL,
    password_hash @text,
    tokens_not_before @int NOT NULL DEFAULT 0,
    created_at @int NOT NULL,
    updated_at @int NOT NULL,
    UNIQUE (organization_id, email_key),
    UNIQUE (organization_id, issuer, subject)
) @strict;

CREATE INDEX user_account_email ON user_account (email_key);

CREATE TABLE user_group (
    organization_id @text NOT NULL REFERENCES organization (id),
    name @text NOT NULL,
    created_at @int NOT NULL,
    PRIMARY KEY (organization_id, name)
) @strict;

-- A member is a person or an API key; its id is unique among both.
CREATE TABLE group_member (
    member_id @text NOT NULL,
    organization_id @text NOT NULL,
    group_name @text NOT NULL,
    PRIMARY KEY (member_id, group_name),
    FOREIGN KEY (organization_id, group_name) REFERENCES user_group (organization_id, name)
        ON DELETE CASCADE
) @strict;

CREATE INDEX group_member_group ON group_member (organization_id, group_name);

CREATE TABLE api_key (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    name @text NOT NULL,
    hash @blob NOT NULL UNIQUE,
    masked_key @text NOT NULL,
    created_by @text NOT NULL,
    created_at @int NOT NULL,
    expires_at @int NOT NULL DEFAULT 0,
    deactivated_by @text NOT NULL DEFAULT '',
    deactivated_at @int NOT NULL DEFAULT 0,
    last_used_at @int NOT NULL DEFAULT 0,
    UNIQUE (organization_id, name)
) @strict;

CREATE TABLE signing_key (
    id @text PRIMARY KEY,
    seed @blob NOT NULL,
    created_at @int NOT NULL
) @strict;

CREATE TABLE revoked_token (
    id @text PRIMARY KEY,
    expires_at @int NOT NULL
) @strict;

-- Failed sign-ins, by account and by address.
CREATE TABLE sign_in_failure (
    key @text PRIMARY KEY,
    failure_count @int NOT NULL,
    last_failed_at @int NOT NULL
) @strict;
