"""From records to a verdict: comparisons, caveats, and one sentence an arm.

Pure functions of records, so that deleting a result loses nothing: `judge` makes the
same one again from the trials. `list_remaining` says which trials are still worth
running; an executor that always runs the first of them carries out the plan.
"""

from betterhalf.judging.assessing import list_remaining as list_remaining
from betterhalf.judging.verdicts import find_best as find_best
from betterhalf.judging.verdicts import judge as judge


__all__ = ["find_best", "judge", "list_remaining"]
