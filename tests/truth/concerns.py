"""Every concern of which there are cells, in the order of the table."""
import cluster_cells
import conflict_cells
import dataset_cells
import log_cells
import observed_cells
import script_cells
import server_cells
import settings_cells
import shard_cells
import weights_cells

CONCERNS = [
    log_cells,
    dataset_cells,
    shard_cells,
    settings_cells,
    conflict_cells,
    cluster_cells,
    observed_cells,
    script_cells,
    weights_cells,
    server_cells,
]


def cells(seed):
    return [cell for concern in CONCERNS for cell in concern.cells(seed)]
