"""Clinical uncertainty in radiology reports as Dagster data assets (Lunguage++).

The packages `corpus`, `judges`, `explicit`, `implicit` and `release` hold the method and know nothing of
Dagster; `orchestration` wires them into assets, checks, partitions and jobs; `cli` is the `lunguage` command.
"""
