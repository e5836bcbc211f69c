"""The UI of a home: who may ask it (`access`), and the processes that serve it.

`lunguage ui` starts the processes; `python -m lunguage_assets.ui` is Dagster's
webserver behind the access policy, and the containers start it too. What the UI shows
is Dagster's, from the assets and checks in `orchestration`; nothing of it is here.
"""
