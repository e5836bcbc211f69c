-- What `lunguage analyse --cues` prints: rows of raw reports by the cue that decided them and by status. A row that several
-- cues decided counts for each of them, a row that none decided for the cue "none". docs/method/assertion.md lists the cues.
CREATE TEMP VIEW rows_by_cue AS
WITH findings AS (
    SELECT row_number() OVER () AS number, report_batch, study_id, status, cues
    FROM structured_findings
    WHERE structurer = 'rules'
), uses AS (
    SELECT * EXCLUDE (cues), string_split(unnest(string_split(cues, '; ')), ' ') AS use
    FROM findings
), named AS (
    SELECT number, status, use[1] AS cue, string_split(use[2], '-') AS span, report
    FROM uses JOIN report_texts USING (report_batch, study_id)
), told AS (
    SELECT number, status,
        CASE
            WHEN cue = '' THEN 'none'
            -- With the word, so that a person can call it harmless: "unanswered.unknown xyz".
            WHEN cue LIKE 'unanswered.%'
            THEN cue || ' ' || lower(report[CAST(span[1] AS INTEGER) + 1 : CAST(span[2] AS INTEGER)])
            ELSE cue
        END AS cue
    FROM named
)
SELECT cue, count(DISTINCT number) AS "rows",
    count(DISTINCT number) FILTER (status = 'dp') AS dp, count(DISTINCT number) FILTER (status = 'dn') AS dn,
    count(DISTINCT number) FILTER (status = 'tp') AS tp, count(DISTINCT number) FILTER (status = 'tn') AS tn
FROM told
GROUP BY cue;

SELECT * FROM rows_by_cue WHERE cue NOT LIKE 'unanswered.%' ORDER BY "rows" DESC, cue;

SELECT * FROM rows_by_cue WHERE cue LIKE 'unanswered.%' ORDER BY "rows" DESC, cue LIMIT 50;
