-- The ledger has a database of its own: it is worth money, and outlives any instance of Dagster. Run once, when the volume is empty.
CREATE DATABASE ledger;
