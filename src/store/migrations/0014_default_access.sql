-- Whether members may use a connection that no access rule names: 'members' or 'nobody'. Until now
-- the first rule of an organization closed all else to its members; where there is one that stays.

ALTER TABLE organization ADD COLUMN default_access @text NOT NULL DEFAULT 'members';

UPDATE organization SET default_access = 'nobody'
WHERE EXISTS (SELECT 1 FROM connection_access a WHERE a.organization_id = organization.id)
   OR EXISTS (SELECT 1 FROM attribute_access b WHERE b.organization_id = organization.id);
