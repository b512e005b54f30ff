-- SPDX-License-Identifier: MIT
-- Whether something of a review is over is asked each second: of those that still move by when they
-- end, of the others by when they changed last. 'whole_size' -1: the script cannot be opened, and so
-- not be cut.

CREATE INDEX review_pending ON review (pending_until) WHERE state = 'PENDING';
CREATE INDEX review_granted ON review (granted_until)
    WHERE state IN ('APPROVED', 'PROCESSING');
CREATE INDEX review_over ON review (updated_at)
    WHERE state IN ('EXECUTED', 'REJECTED', 'EXPIRED', 'CANCELLED', 'REVOKED');
