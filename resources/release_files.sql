-- What is written of the rows of a release (docs/reports.md). Tables are those of the release; {columns} are those of the file.

-- name: rows
-- Lunguage++ with the provenance of every row.
SELECT {columns} FROM lunguage_plus_plus ORDER BY subject_id, sequence, study_id, idx

-- name: published
-- Lunguage++ in the published columns. References go by name and number, bare names ("~haze") stand behind them: before a pair one would
-- read as the beginning of the pair's name. Of some patients at a time: every row has the text of its report beside it.
WITH stored AS (
    SELECT * FROM lunguage_plus_plus WHERE {patients}
),
tokens AS (
    SELECT finding_id, 'evidence' AS kind, unnest(evidence) AS token, generate_subscripts(evidence, 1) AS position
    FROM stored
    UNION ALL
    SELECT finding_id, 'associate', unnest(associate), generate_subscripts(associate, 1) FROM stored
),
named AS (
    SELECT tokens.finding_id, kind, position, starts_with(token, '~') AS is_bare,
        CASE WHEN starts_with(token, '~') THEN substr(token, 2) ELSE referred.ent || ', idx' || referred.idx END AS name
    FROM tokens LEFT JOIN stored AS referred ON token = referred.finding_id
),
reference AS (
    SELECT finding_id,
        string_agg(name, ', ' ORDER BY is_bare, position) FILTER (kind = 'evidence') AS evidence,
        string_agg(name, ', ' ORDER BY is_bare, position) FILTER (kind = 'associate') AS associate
    FROM named GROUP BY finding_id
)
SELECT {columns}
FROM stored
JOIN (SELECT study_id, report FROM reports WHERE {patients}) AS reports ON reports.study_id = stored.study_id
LEFT JOIN reference ON reference.finding_id = stored.finding_id
ORDER BY stored.subject_id, stored.sequence, stored.study_id, stored.idx

-- name: studies
-- Every study with its report, or with the rules for which it is set aside.
CREATE OR REPLACE VIEW studies AS
WITH broken AS (
    SELECT study_id, any_value(subject_id) AS subject_id, string_agg(DISTINCT rule, '; ' ORDER BY rule) AS set_aside
    FROM set_aside GROUP BY study_id
)
SELECT accounting.study_id,
    coalesce(reports.subject_id, broken.subject_id) AS subject_id,
    coalesce(source_id, '') AS source_id,
    TRY_CAST(substr(accounting.study_id, 2) AS BIGINT) AS study_number,
    TRY_CAST(substr(coalesce(reports.subject_id, broken.subject_id), 2) AS BIGINT) AS subject_number,
    coalesce(view_information, '') AS view_information,
    accounting.report_batch, rows_out,
    coalesce(broken.set_aside, '') AS set_aside
FROM accounting
LEFT JOIN reports ON reports.study_id = accounting.study_id
LEFT JOIN broken ON broken.study_id = accounting.study_id
WHERE reports.study_id IS NOT NULL OR broken.study_id IS NOT NULL
ORDER BY subject_number, study_number

-- name: miscounted
-- Studies whose rows are not those that their account says, or that have no account.
WITH counted AS (SELECT study_id, count(*) AS n_rows FROM lunguage_plus_plus GROUP BY study_id)
SELECT study_id FROM accounting FULL JOIN counted USING (study_id)
WHERE coalesce(n_rows, 0) <> coalesce(rows_out, -1) OR NOT balanced
ORDER BY study_id LIMIT 5

-- name: summary
-- What `summary.json` counts, in its order; `rows` are the sums of the accounts.
SELECT
    (SELECT coalesce(string_agg(DISTINCT mode, ', ' ORDER BY mode), '') FROM lunguage_plus_plus) AS mode,
    (SELECT count(*) FROM reports) AS reports,
    (SELECT count(*) FROM fitted_probabilities) AS tentative_pairs,
    (SELECT count(mu) FROM fitted_probabilities) AS placed,
    (SELECT map_from_entries(list((p_source, n) ORDER BY p_source))
        FROM (SELECT p_source, count(*) AS n FROM fitted_probabilities GROUP BY ALL)) AS p_source,
    (SELECT count(*) FROM pathway_matches WHERE reason = 'matched' AND NOT generated) AS expanded,
    (SELECT count(*) FROM pathway_matches WHERE reason = 'matched' AND generated) AS expanded_generated,
    (SELECT map_from_entries(list((reason, n) ORDER BY reason))
        FROM (SELECT reason, count(*) AS n FROM pathway_matches WHERE NOT generated GROUP BY ALL)) AS match_reasons,
    (SELECT map_from_entries(list((kind, n) ORDER BY kind))
        FROM (SELECT conflict_type || ' (' || source || ')' AS kind, count(*) AS n FROM conflicts GROUP BY ALL)) AS conflicts,
    (SELECT {accounts} FROM accounting) AS rows,
    (SELECT map_from_entries(list((rule, n) ORDER BY rule))
        FROM (SELECT rule, count(DISTINCT study_id) AS n FROM set_aside GROUP BY ALL)) AS studies_set_aside,
    (SELECT count(*) FROM lunguage_plus_plus) AS rows_out,
    (SELECT count(*) FROM rejected WHERE reason = '{other_language}') AS not_in_english,
    (SELECT coalesce(list(DISTINCT encoder ORDER BY encoder), []) FROM lunguage_plus_plus) AS encoders
