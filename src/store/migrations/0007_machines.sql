-- Machines. A service account is a client of an identity provider that calls the API as a member of
-- groups: its rows in group_member carry its id, as those of API keys do. A machine identity is no
-- member of anything: it may use what is granted to it here, and nothing else.

CREATE TABLE service_account (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    subject @text NOT NULL,
    name @text NOT NULL DEFAULT '',
    status @text NOT NULL,
    created_at @int NOT NULL,
    updated_at @int NOT NULL,
    UNIQUE (organization_id, subject)
) @strict;

CREATE INDEX service_account_subject ON service_account (subject);

CREATE TABLE machine_identity (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    name @text NOT NULL,
    description @text NOT NULL DEFAULT '',
    created_at @int NOT NULL,
    updated_at @int NOT NULL,
    UNIQUE (organization_id, name)
) @strict;

-- A grant goes with the connection or the attribute that it names.
CREATE TABLE machine_identity_connection (
    machine_identity_id @text NOT NULL REFERENCES machine_identity (id) ON DELETE CASCADE,
    connection_id @text NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
    PRIMARY KEY (machine_identity_id, connection_id)
) @strict;

CREATE INDEX machine_identity_connection_connection ON machine_identity_connection (connection_id);

CREATE TABLE machine_identity_attribute (
    machine_identity_id @text NOT NULL REFERENCES machine_identity (id) ON DELETE CASCADE,
    attribute_id @text NOT NULL REFERENCES attribute (id) ON DELETE CASCADE,
    PRIMARY KEY (machine_identity_id, attribute_id)
) @strict;

CREATE INDEX machine_identity_attribute_attribute ON machine_identity_attribute (attribute_id);
