-- Counts behind the paper's tables (implicit.md sections 5, 7; explicit.md sections 5, 6). Tables are those of the release.

-- name: sizes
-- Studies, patients, delivered rows, stated rows out, rows out, rows that resolution took away.
SELECT (SELECT count(*) FROM reports) AS studies,
    (SELECT count(DISTINCT subject_id) FROM reports) AS patients,
    coalesce(sum(rows_in), 0)::BIGINT AS rows_in,
    coalesce(sum(originals_out), 0)::BIGINT AS originals_out,
    coalesce(sum(rows_out), 0)::BIGINT AS rows_out,
    (SELECT count(*) FROM resolution_log
        WHERE stage = 'resolve' AND event IN ('merged', 'removed', 'discarded')) AS taken_away
FROM accounting

-- name: labels
-- Of labels.parquet, in its order.
SELECT label, count(*) AS studies,
    count(*) FILTER (source IN ('stated', 'denied') AND p >= 0.5) AS likely,
    count(*) FILTER (source = 'stated' AND status = 'dp') AS present,
    count(*) FILTER (source IN ('stated', 'denied') AND status IN ('tp', 'tn')) AS hedged,
    -- Decimal: threads add up in any order, and floats would differ in their last digit.
    avg(p::DECIMAL(18, 15)) FILTER (source IN ('stated', 'denied') AND status IN ('tp', 'tn')) AS mean_p,
    count(*) FILTER (source = 'denied' AND status = 'dn') AS absent,
    count(*) FILTER (source = 'implied') AS implied,
    count(*) FILTER (source = 'unresolved') AS unresolved,
    count(*) FILTER (source = 'contradictory') AS contradictory,
    count(*) FILTER (source = 'unmentioned') AS unmentioned
FROM read_parquet({file}, file_row_number = true) GROUP BY label ORDER BY min(file_row_number)

-- name: certainty
-- Stated current findings, those that were merged or removed too: rows, and tentative ones without a p.
SELECT diagnosis, status, count(*) AS rows, count(*) FILTER (tentative AND nothing) AS without_p
FROM ({stated_current}) GROUP BY diagnosis, status

-- name: certainty_p
-- The p of the others, each with the number of its diagnosis in a list.
SELECT list_position({diagnoses}, diagnosis)::USMALLINT AS diagnosis, p FROM ({stated_current}) WHERE tentative AND NOT nothing

-- name: stated_current
SELECT diagnosis, status, p, status IN ('tp', 'tn') AS tentative, coalesce(p_source, 'none') = 'none' AS nothing
FROM (
    SELECT finding_id, status, source, currency FROM lunguage_plus_plus
    UNION ALL SELECT finding_id, status, source, currency FROM resolution_log WHERE event IN ('merged', 'removed')
)
JOIN (SELECT finding_id, diagnosis FROM pathway_matches) USING (finding_id)
LEFT JOIN (SELECT finding_id, p, p_source FROM fitted_probabilities) USING (finding_id)
WHERE source = 'original' AND currency = 'current dx'

-- name: fit
SELECT steps, rank + 1 AS rank, mu, p FROM fitted_probabilities WHERE p_source = 'fitted'

-- name: stated
SELECT diagnosis, count(*) FROM pathway_matches WHERE NOT generated GROUP BY ALL

-- name: expanded
SELECT diagnosis, count(*) FROM pathway_matches WHERE reason = 'matched' AND NOT generated GROUP BY ALL

-- name: expanded_generated
SELECT diagnosis, count(*) FROM pathway_matches WHERE reason = 'matched' AND generated GROUP BY ALL

-- name: generated
-- A generated row counts for the stated diagnosis below which it was generated, at any depth: its id goes on from that one's.
SELECT diagnosis, count(*)
FROM (SELECT split_part(finding_id, '/', 1) AS own FROM pathway_matches WHERE generated)
JOIN pathway_matches ON finding_id = own GROUP BY ALL

-- name: already_stated
-- One that the report already states counts for its immediate parent.
SELECT diagnosis, count(*)
FROM (SELECT regexp_replace(finding_id, '/[^/]*$', '') AS own FROM resolution_log WHERE event = 'already stated')
JOIN pathway_matches ON finding_id = own GROUP BY ALL

-- name: added
SELECT diagnosis, count(*)
FROM (SELECT split_part(finding_id, '/', 1) AS own FROM lunguage_plus_plus WHERE source = 'expansion')
JOIN pathway_matches ON finding_id = own GROUP BY ALL

-- name: conflicts
SELECT conflict_type, source, count(*) AS conflicts, count(*) FILTER (suppressed) AS suppressed
FROM conflicts GROUP BY ALL

-- name: lost
-- Merged, and removed or discarded. A row that takes part in conflicts of one type with rows of both kinds is counted in both.
SELECT conflict_type, source,
    count(*) FILTER (event = 'merged') AS merged, count(*) FILTER (event <> 'merged') AS removed
FROM (
    SELECT DISTINCT conflict_type, source, finding_id, event
    FROM (SELECT conflict_type, source, unnest(finding_ids) AS finding_id FROM conflicts)
    JOIN (
        SELECT finding_id, conflict_type, event FROM resolution_log
        WHERE stage = 'resolve' AND event IN ('merged', 'removed', 'discarded')
    ) USING (finding_id, conflict_type)
) GROUP BY ALL
