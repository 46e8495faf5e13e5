"""Every concern of which there are cells, in the order of the table."""
import log_cells

CONCERNS = [log_cells]


def cells(seed):
    return [cell for concern in CONCERNS for cell in concern.cells(seed)]
