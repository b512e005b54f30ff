-- The audit log: one chain for each organization, each entry carrying the hash of the one before.

CREATE TABLE audit_entry (
    organization_id @text NOT NULL REFERENCES organization (id),
    number @int NOT NULL,
    id @text NOT NULL UNIQUE,
    created_at @int NOT NULL,
    actor_subject @text NOT NULL,
    actor_email @text NOT NULL,
    actor_name @text NOT NULL,
    resource_type @text NOT NULL,
    action @text NOT NULL,
    http_method @text NOT NULL,
    http_status @int NOT NULL,
    http_path @text NOT NULL,
    client_ip @text NOT NULL,
    payload @text NOT NULL,
    outcome @int NOT NULL,
    error_message @text NOT NULL,
    previous_hash @text NOT NULL,
    hash @text NOT NULL,
    PRIMARY KEY (organization_id, number)
) @strict;

CREATE INDEX audit_entry_time ON audit_entry (organization_id, created_at);
