-- Queries with a name, of one connection: somebody's own, or shared with all who may use it. What is
-- shared outlives who wrote it.
CREATE TABLE saved_query (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    connection_id @text NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
    owner_id @text REFERENCES user_account (id) ON DELETE SET NULL,
    name @text NOT NULL,
    script @text NOT NULL,
    is_shared @int NOT NULL,
    created_at @int NOT NULL,
    updated_at @int NOT NULL
) @strict;

CREATE UNIQUE INDEX saved_query_of_owner ON saved_query (owner_id, connection_id, name);
CREATE INDEX saved_query_of_connection ON saved_query (connection_id, name);
CREATE INDEX saved_query_by_name ON saved_query (organization_id, name, id);
