-- Guard rails and masking rules: what every rule has beside its document. 'rulepack' names the preset
-- that a managed rule was made of; there is one of a kind for each organization. What binds rules to
-- connections and attributes came with 0004.

ALTER TABLE rule ADD COLUMN description @text NOT NULL DEFAULT '';
ALTER TABLE rule ADD COLUMN managed_by @text NOT NULL DEFAULT '';
ALTER TABLE rule ADD COLUMN rulepack @text NOT NULL DEFAULT '';

CREATE INDEX rule_rulepack ON rule (organization_id, rulepack);
