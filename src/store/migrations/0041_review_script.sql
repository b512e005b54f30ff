-- SPDX-License-Identifier: MIT
-- A script that did not run is cut to what is shown of it after some days: how long it was, and its
-- hash. 0 and empty: all of it is there. And which approved scripts are to run by themselves.

ALTER TABLE review ADD COLUMN whole_size @int NOT NULL DEFAULT 0;
ALTER TABLE review ADD COLUMN whole_sha256 @text NOT NULL DEFAULT '';
CREATE INDEX review_long ON review (updated_at) WHERE script_size > 65536;
CREATE INDEX review_to_run ON review (granted_until)
    WHERE runs_at_once = 1 AND state IN ('APPROVED', 'PROCESSING');
