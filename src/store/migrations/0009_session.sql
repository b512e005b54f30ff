-- What members reach targets with through native clients, and what they did with it. A credential
-- is of one member for one connection and goes with the connection. Its secret is not kept: the hash
-- knows it again, the verifier (sealed) lets SCRAM-SHA-256 check it. A session outlives whatever it
-- was opened with, so it holds names, not references.

CREATE TABLE credential (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    connection_id @text NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
    member_id @text NOT NULL,
    member_email @text NOT NULL DEFAULT '',
    member_name @text NOT NULL DEFAULT '',
    hash @blob NOT NULL UNIQUE,
    verifier @blob NOT NULL,
    created_at @int NOT NULL,
    expires_at @int NOT NULL DEFAULT 0,
    revoked_at @int NOT NULL DEFAULT 0
) @strict;

CREATE INDEX credential_connection ON credential (connection_id);
CREATE INDEX credential_member ON credential (member_id);

CREATE TABLE session (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    credential_id @text NOT NULL DEFAULT '',
    connection_id @text NOT NULL,
    connection_name @text NOT NULL,
    connection_type @text NOT NULL,
    connection_subtype @text NOT NULL DEFAULT '',
    resource_name @text NOT NULL DEFAULT '',
    user_id @text NOT NULL,
    user_email @text NOT NULL DEFAULT '',
    user_name @text NOT NULL DEFAULT '',
    identity_type @text NOT NULL,
    verb @text NOT NULL,
    status @text NOT NULL,
    client_ip @text NOT NULL DEFAULT '',
    application_name @text NOT NULL DEFAULT '',
    metadata @text NOT NULL DEFAULT '{}',
    end_asked @text NOT NULL DEFAULT '',
    started_at @int NOT NULL,
    ended_at @int NOT NULL DEFAULT 0,
    end_reason @text NOT NULL DEFAULT '',
    bytes_in @int NOT NULL DEFAULT 0,
    bytes_out @int NOT NULL DEFAULT 0,
    recording_head @text NOT NULL DEFAULT '',
    recording_size @int NOT NULL DEFAULT 0,
    recording_error @text NOT NULL DEFAULT '',
    recording_days @int NOT NULL DEFAULT -1,
    recording_removed_at @int NOT NULL DEFAULT 0
) @strict;

CREATE INDEX session_by_start ON session (organization_id, started_at, id);
CREATE INDEX session_by_user ON session (organization_id, user_id, started_at, id);
CREATE INDEX session_by_status ON session (status, started_at);
