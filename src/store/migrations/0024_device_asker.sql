-- Whose share of the sign-ins under way it takes: an address, or of IPv6 its network.
ALTER TABLE device_login ADD COLUMN asker @text NOT NULL DEFAULT '';
