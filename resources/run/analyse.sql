-- What `lunguage analyse` prints of the analyses of a ranker, a table a query; the rest is in the tables.
SELECT measure, coding, "first", "second", value, low, high
FROM judge_agreement
WHERE ranker = getvariable('ranker')
    AND measure IN ('pairwise agreement', 'fleiss kappa', 'krippendorff alpha');

SELECT comparisons, avg(mean_abs_mu) AS mean_abs_mu, avg(mean_abs_rank) AS mean_abs_rank, avg(spearman) AS spearman
FROM ranking_robustness
WHERE ranker = getvariable('ranker')
GROUP BY comparisons
ORDER BY comparisons;

-- Earlier steps say how fast a fit comes near, the last one how near.
SELECT strategy, avg(mean_distance) AS mean_distance
FROM fit_validation
WHERE ranker = getvariable('ranker') AND judges = 'all'
    AND step = (SELECT max(step) FROM fit_validation WHERE ranker = getvariable('ranker') AND judges = 'all')
GROUP BY strategy
ORDER BY strategy;

-- Rows without a name are averages over experts; each expert's are in the table.
SELECT measure, value, low, high
FROM expert_agreement
WHERE ranker = getvariable('ranker') AND measure = 'with ranking' AND "first" = '';
