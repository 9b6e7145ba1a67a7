-- The views for a person with psql.
SET LOCAL search_path TO pg_catalog, pg_temp;

CREATE VIEW claims.active AS
    SELECT slot_id, holder, token,
           CASE WHEN status = 'claimed' AND expires_at <= pg_catalog.clock_timestamp() THEN 'review' ELSE status END AS status,
           period, units, claimed_at, expires_at, note, result
    FROM claims.slot_claims
    WHERE ended_at IS NULL
      AND NOT (status = 'claimed' AND on_expiry = 'release' AND expires_at <= pg_catalog.clock_timestamp());

COMMENT ON VIEW claims.active IS
    'The claims that keep others out at this moment: who has what. An expired claim is not among them, reaped or not';
COMMENT ON COLUMN claims.active.slot_id IS 'what is claimed';
COMMENT ON COLUMN claims.active.holder IS 'who has it';
COMMENT ON COLUMN claims.active.token IS 'the fencing token';
COMMENT ON COLUMN claims.active.status IS 'claimed, booked or review, as a caller would be told now';
COMMENT ON COLUMN claims.active.period IS 'the time span, when only a part of the slot''s time is claimed';
COMMENT ON COLUMN claims.active.units IS 'how many units, when the slot is a pool';
COMMENT ON COLUMN claims.active.claimed_at IS 'when the claim was made';
COMMENT ON COLUMN claims.active.expires_at IS 'when the lease ends, or in review ended';
COMMENT ON COLUMN claims.active.note IS 'whatever the claimant wanted to keep';
COMMENT ON COLUMN claims.active.result IS 'what confirm_slot or resolve_slot recorded';

CREATE VIEW claims.needs_check AS
    SELECT slot_id, holder, token, period, units, claimed_at, expires_at AS in_review_since, reason, note
    FROM claims.slot_claims
    WHERE ended_at IS NULL
      AND (status = 'review'
           OR status = 'claimed' AND on_expiry = 'review' AND expires_at <= pg_catalog.clock_timestamp());

COMMENT ON VIEW claims.needs_check IS
    'The claims in review: the booking may have happened. Look at the real calendar, then call resolve_slot(slot_id, holder, token, ''booked'' or ''released'')';
COMMENT ON COLUMN claims.needs_check.slot_id IS 'what is blocked';
COMMENT ON COLUMN claims.needs_check.holder IS 'who had claimed it';
COMMENT ON COLUMN claims.needs_check.token IS 'the fencing token';
COMMENT ON COLUMN claims.needs_check.period IS 'the time span, when only a part of the slot''s time is claimed';
COMMENT ON COLUMN claims.needs_check.units IS 'how many units, when the slot is a pool';
COMMENT ON COLUMN claims.needs_check.claimed_at IS 'when the claim was made';
COMMENT ON COLUMN claims.needs_check.in_review_since IS 'when the lease ended';
COMMENT ON COLUMN claims.needs_check.reason IS 'why it is in doubt, if anybody said';
COMMENT ON COLUMN claims.needs_check.note IS 'whatever the claimant wanted to keep';

CREATE VIEW claims.history AS
    SELECT slot_id, token, holder,
           CASE WHEN status = 'claimed' AND expires_at <= pg_catalog.clock_timestamp()
                THEN CASE on_expiry WHEN 'review' THEN 'review' ELSE 'expired' END
                ELSE status END AS status,
           period, units, claimed_at,
           CASE WHEN status = 'claimed' AND on_expiry = 'release' AND expires_at <= pg_catalog.clock_timestamp()
                THEN expires_at ELSE ended_at END AS held_until,
           ended_by, reason, origin, note, result
    FROM claims.slot_claims;

COMMENT ON VIEW claims.history IS
    'Who held a slot, when, and how did it end: SELECT * FROM claims.history WHERE slot_id = … ORDER BY token';
COMMENT ON COLUMN claims.history.slot_id IS 'what was claimed';
COMMENT ON COLUMN claims.history.token IS 'the fencing token';
COMMENT ON COLUMN claims.history.holder IS 'who claimed it';
COMMENT ON COLUMN claims.history.status IS 'how it stands or ended: claimed, booked, review, released, expired, cancelled, moved';
COMMENT ON COLUMN claims.history.period IS 'the time span, when only a part of the slot''s time is claimed';
COMMENT ON COLUMN claims.history.units IS 'how many units, when the slot is a pool';
COMMENT ON COLUMN claims.history.claimed_at IS 'from when';
COMMENT ON COLUMN claims.history.held_until IS 'until when; NULL while it is held';
COMMENT ON COLUMN claims.history.ended_by IS 'who ended it';
COMMENT ON COLUMN claims.history.reason IS 'why, as the caller said';
COMMENT ON COLUMN claims.history.origin IS 'of a late confirm: the token of the claim that it confirms';
COMMENT ON COLUMN claims.history.note IS 'whatever the claimant wanted to keep';
COMMENT ON COLUMN claims.history.result IS 'what confirm_slot or resolve_slot recorded';

SET LOCAL search_path TO @extschema@, pg_temp;
