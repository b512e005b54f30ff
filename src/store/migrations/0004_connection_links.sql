-- What connections are tied to: tags, attributes, access and rules.

CREATE TABLE tag (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    key @text NOT NULL,
    value @text NOT NULL,
    created_at @int NOT NULL,
    updated_at @int NOT NULL,
    UNIQUE (organization_id, key, value)
) @strict;

CREATE TABLE connection_tag (
    connection_id @text NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
    tag_id @text NOT NULL REFERENCES tag (id) ON DELETE CASCADE,
    PRIMARY KEY (connection_id, tag_id)
) @strict;

CREATE INDEX connection_tag_tag ON connection_tag (tag_id);

CREATE TABLE attribute (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    name @text NOT NULL,
    description @text NOT NULL DEFAULT '',
    managed_by @text NOT NULL DEFAULT '',
    created_at @int NOT NULL,
    UNIQUE (organization_id, name)
) @strict;

CREATE TABLE connection_attribute (
    connection_id @text NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
    attribute_id @text NOT NULL REFERENCES attribute (id) ON DELETE CASCADE,
    PRIMARY KEY (connection_id, attribute_id)
) @strict;

CREATE INDEX connection_attribute_attribute ON connection_attribute (attribute_id);

-- Access: the groups that may use a connection, or what carries an attribute. A group that is named
-- here is not deleted: without its last rule an organization's connections are open to all members.
CREATE TABLE connection_access (
    connection_id @text NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
    organization_id @text NOT NULL,
    group_name @text NOT NULL,
    PRIMARY KEY (connection_id, group_name),
    FOREIGN KEY (organization_id, group_name) REFERENCES user_group (organization_id, name)
) @strict;

CREATE INDEX connection_access_group ON connection_access (organization_id, group_name);

CREATE TABLE attribute_access (
    attribute_id @text NOT NULL REFERENCES attribute (id) ON DELETE CASCADE,
    organization_id @text NOT NULL,
    group_name @text NOT NULL,
    PRIMARY KEY (attribute_id, group_name),
    FOREIGN KEY (organization_id, group_name) REFERENCES user_group (organization_id, name)
) @strict;

CREATE INDEX attribute_access_group ON attribute_access (organization_id, group_name);

-- Rules of every kind: 'guardrail', 'masking', 'analyzer', 'access_command', 'access_jit'. Their
-- contents come with their areas; what binds them to connections is here.
CREATE TABLE rule (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    kind @text NOT NULL,
    name @text NOT NULL,
    document @text NOT NULL,
    is_active @int NOT NULL DEFAULT 1,
    access_duration_sec @int,
    created_at @int NOT NULL,
    updated_at @int NOT NULL,
    UNIQUE (organization_id, kind, name)
) @strict;

CREATE TABLE connection_rule (
    connection_id @text NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
    rule_id @text NOT NULL REFERENCES rule (id) ON DELETE CASCADE,
    PRIMARY KEY (connection_id, rule_id)
) @strict;

CREATE INDEX connection_rule_rule ON connection_rule (rule_id);

CREATE TABLE attribute_rule (
    attribute_id @text NOT NULL REFERENCES attribute (id) ON DELETE CASCADE,
    rule_id @text NOT NULL REFERENCES rule (id) ON DELETE CASCADE,
    PRIMARY KEY (attribute_id, rule_id)
) @strict;

CREATE INDEX attribute_rule_rule ON attribute_rule (rule_id);
