--
-- "after" is the answer of another call. A sub-select that found nothing must
-- not mean "go on".
--
SELECT claim_slot('deck 1', 'h1', after => NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot('deck 1', 'h1', after => (SELECT check_slot('deck 2') WHERE false));
SELECT claim_slot('deck 1', 'h1', after => '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot('deck 1', 'h1', after => '{"ok": "true"}');
SELECT claim_slot('deck 1', 'h1', after => '{"ok": null}');
SELECT claim_slot('deck 1', 'h1', after => 'true');
SELECT claim_slot('deck 1', 'h1', after => '[{"ok": true}]');
SELECT claim_slot('deck 1', 'h1', after => '[true]');
SELECT claim_slot('deck 1', 'h1', after => '[true, null, null, null, null]');
SELECT claim_slot('deck 1', 'h1', after => '"ok"');
SELECT claim_slot('deck 1', 'h1', after => 'null');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM claims_of('deck 1');
