-- Resources, connections and what they are tied to. A connection's plain fields lie in 'document',
-- as the JSON that answers show; what is searched, joined or kept secret has columns.

ALTER TABLE organization ADD COLUMN hide_role_info @int NOT NULL DEFAULT 0;
ALTER TABLE organization ADD COLUMN resource_count @int NOT NULL DEFAULT 0;
ALTER TABLE organization ADD COLUMN connection_count @int NOT NULL DEFAULT 0;
-- They change with every name that comes or goes.
ALTER TABLE organization ADD COLUMN resource_generation @int NOT NULL DEFAULT 0;
ALTER TABLE organization ADD COLUMN connection_generation @int NOT NULL DEFAULT 0;

-- The embedded agent of an organization has the organization's id.
CREATE TABLE agent (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    name @text NOT NULL,
    is_embedded @int NOT NULL DEFAULT 0,
    connected_until @int NOT NULL DEFAULT 0,
    created_at @int NOT NULL,
    UNIQUE (organization_id, name)
) @strict;

INSERT INTO agent (id, organization_id, name, is_embedded, created_at)
SELECT id, id, 'embedded', 1, created_at FROM organization;

CREATE TABLE resource (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    name @text NOT NULL,
    type @text NOT NULL,
    subtype @text NOT NULL,
    agent_id @text NOT NULL REFERENCES agent (id),
    env_vars @blob,
    default_database @text NOT NULL DEFAULT '',
    version @int NOT NULL DEFAULT 1,
    created_at @int NOT NULL,
    updated_at @int NOT NULL,
    UNIQUE (organization_id, name)
) @strict;

-- Pages are found in these alone, however deep they lie.
CREATE INDEX resource_page ON resource (organization_id, name, id);
CREATE INDEX resource_agent ON resource (agent_id);

-- Issue templates come later; connections may already point at them.
CREATE TABLE issue_template (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    name @text NOT NULL,
    UNIQUE (organization_id, name)
) @strict;

-- secret_view: the keys of the secret, references as they are and null for the rest.
-- has_reviewers and needs_metadata: what features need to know of the document.
CREATE TABLE connection (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    name @text NOT NULL,
    resource_id @text NOT NULL REFERENCES resource (id),
    type @text NOT NULL,
    subtype @text NOT NULL,
    agent_id @text REFERENCES agent (id),
    managed_by @text NOT NULL DEFAULT '',
    document @text NOT NULL,
    has_reviewers @int NOT NULL,
    needs_metadata @int NOT NULL,
    issue_template_id @text REFERENCES issue_template (id) ON DELETE SET NULL,
    secret @blob,
    secret_view @text NOT NULL,
    default_database @text NOT NULL DEFAULT '',
    secrets_updated_at @int NOT NULL DEFAULT 0,
    version @int NOT NULL DEFAULT 1,
    created_at @int NOT NULL,
    updated_at @int NOT NULL,
    UNIQUE (organization_id, name)
) @strict;

CREATE INDEX connection_page ON connection (organization_id, name, id);
CREATE INDEX connection_resource ON connection (resource_id, name);
CREATE INDEX connection_agent ON connection (agent_id);
CREATE INDEX connection_issue_template ON connection (issue_template_id);
