"""The sensor that notes new versions of what a person edits: the UI then shows what became stale."""

import dagster as dg

from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.assets.edited import changed
from lunguage_assets.orchestration.resources import HomeResource


def edited_sensor() -> dg.SensorDefinition:
    """Running from the start: it reads small files and starts nothing."""

    @dg.sensor(
        minimum_interval_seconds=15,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Notes new versions of settings, pathways, blacklist, anchors, corrections and judges. "
        "What follows from a changed one is shown as stale; nothing is made again by this.",
    )
    def note_edited_files(context: dg.SensorEvaluationContext, home: HomeResource) -> dg.SensorResult:
        try:
            found = changed(context.instance, home.standings())
        except LunguageError as error:  # says itself what to do; a failed tick would hide the message
            return dg.SensorResult(skip_reason=str(error))
        if not found:
            return dg.SensorResult(skip_reason="Nothing was edited.")
        return dg.SensorResult(asset_events=found)

    return note_edited_files
