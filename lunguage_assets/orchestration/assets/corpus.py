"""Group `corpus`: a delivered batch becomes validated rows; what cannot be used is kept with its reason."""

from collections.abc import Sequence

import dagster as dg
import pandas as pd

from lunguage_assets.corpus.intake import take_in, take_in_structured
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.current.standing import Keys
from lunguage_assets.orchestration.assets.table_asset import Result, table_asset
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.quality.set_aside import Aside, studies_of, without_studies


@table_asset("corpus")
def findings(home: HomeResource, keys: Keys, set_aside: Sequence[Aside] = (), **read: pd.DataFrame) -> Result:
    """Read and validate the registered files of a batch, or take in what was read in its raw reports."""
    batch = home.home.batch(*keys)
    delivery, settings = home.home.delivery(batch.key), home.settings.corpus
    if read:
        terms = read_terms(delivery.vocabulary, IntakeLog())  # what is odd about it is in reading_notes
        received = Received(read["report_texts"], read["rejected_reports"], read["reading_notes"], terms)
        taken = take_in_structured(received, read["structured_findings"], settings)
    else:
        taken = take_in(delivery, settings)
    tables = {table: getattr(taken, table) for table in RECIPES["findings"].tables}
    tables = without_studies(tables, studies_of(set_aside))
    accepted = tables["findings"]
    counts = {
        "studies": int(accepted["study_id"].nunique()),
        "tentative": int(accepted["status"].isin(["tp", "tn"]).sum()),
    }
    return dg.MaterializeResult(value=tables, metadata={"batch_sha256": batch.sha256, **counts})
