-- SPDX-License-Identifier: MIT
-- Numbers of a connection that nobody has set are 0 in its document, as in answers. A quotation
-- mark inside of a text has a backslash before it there, so that only members are found.
UPDATE connection SET document =
    replace(replace(document, '"access_max_duration":null', '"access_max_duration":0'),
            '"min_review_approvals":null', '"min_review_approvals":0');
