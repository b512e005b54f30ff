-- Agents beside the gateway's own: what they prove themselves with, and what they say of the machine
-- that they run on. The gateway's own has no token. 'connected_until' is what says who is there.

ALTER TABLE agent ADD COLUMN mode @text NOT NULL DEFAULT 'standard';
ALTER TABLE agent ADD COLUMN token_hash @blob;
ALTER TABLE agent ADD COLUMN created_by @text NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN last_seen_at @int NOT NULL DEFAULT 0;
ALTER TABLE agent ADD COLUMN hostname @text NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN platform @text NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN machine_id @text NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN kernel_version @text NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN version @text NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN go_version @text NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN compiler @text NOT NULL DEFAULT '';

CREATE UNIQUE INDEX agent_token ON agent (token_hash);

-- 'embedded' is a mode; the gateway's own agent is the local one.
UPDATE agent SET mode = 'embedded' WHERE is_embedded = 1;
UPDATE agent SET name = 'local' WHERE is_embedded = 1 AND NOT EXISTS (
    SELECT 1 FROM agent o WHERE o.organization_id = agent.organization_id AND o.name = 'local');
