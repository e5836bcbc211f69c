"""Group `corpus`: a delivered batch becomes validated rows; what cannot be used is kept with its reason."""

import dagster as dg
import pandas as pd

from lunguage_assets.corpus.findings.structured import take_in_structured
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.current.standing import Keys
from lunguage_assets.orchestration.assets.step import Compute, Made
from lunguage_assets.orchestration.resources import HomeResource


def intake(home: HomeResource, keys: Keys, **read: pd.DataFrame) -> Made:
    """Read and validate the registered files of a batch, or take in what was read in its raw reports."""
    batch = home.home.batch(*keys)
    delivery, settings = home.home.delivery(batch.key), home.settings.corpus
    if read:
        terms = read_terms(delivery.vocabulary, IntakeLog())  # what is odd about it is in reading_notes
        received = Received(read["report_texts"], read["rejected_reports"], read["reading_notes"], terms)
        taken = take_in_structured(received, read["structured_findings"], settings)
    else:
        taken = take_in(delivery, settings)
    about = {
        "batch_sha256": batch.sha256,
        "files": ", ".join(batch.files),
        "studies": int(taken.findings["study_id"].nunique()),
        "tentative": int(taken.findings["status"].isin(["tp", "tn"]).sum()),
    }
    for table in RECIPES["intake"].tables:
        yield dg.Output(getattr(taken, table), table, metadata=about if table == "findings" else None)


STEPS: dict[str, Compute] = {"intake": intake}
