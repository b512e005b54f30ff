-- Organizations, which everything else belongs to, and the one that a new installation starts with.
-- People come with their own migration; that there is nobody yet is asked from the first day on.

CREATE TABLE organization (
    id @text PRIMARY KEY,
    name @text NOT NULL UNIQUE,
    created_at @int NOT NULL
) @strict;

CREATE TABLE user_account (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    email @text NOT NULL,
    created_at @int NOT NULL,
    UNIQUE (organization_id, email)
) @strict;

INSERT INTO organization (id, name, created_at)
VALUES ('01900000-0000-7000-8000-000000000001', 'default', @now);
