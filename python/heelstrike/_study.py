"""What a comparison and a sweep have in common: several runs of one scenario, and one row of results for each."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._errors import Error, unknown
from ._run import Run
from ._tables import dataframe, dataset, is_installed


class Study:
    """Several runs of one scenario.

    scenario  its name
    runs      {name: Run}
    failures  {name: Error} of runs that failed
    """

    def __init__(self, scenario: str, runs: dict[str, Run], failures: dict[str, Error]) -> None:
        self.scenario, self.runs, self.failures = scenario, runs, failures

    @property
    def index(self) -> list[str]:
        """Columns of the table that identify its rows."""
        raise NotImplementedError

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each run: the index, and the results with units in their names; None where a run has none."""
        raise NotImplementedError

    @property
    def table(self) -> Any:
        """The rows as a pandas.DataFrame, or `rows` without pandas."""
        return self.to_dataframe() if is_installed("pandas") else self.rows

    def to_dataframe(self) -> Any:
        """The rows as a pandas.DataFrame with `index` as its index. Raises MissingPackage without pandas."""
        return dataframe(self.rows, self.index, f"{type(self).__name__}.to_dataframe()")

    def to_xarray(self) -> Any:
        """The rows as an xarray.Dataset with `index` as its dimensions; each quantity has its unit as the attribute `units`.

        Raises MissingPackage without xarray.
        """
        return dataset(self.rows, self.index, f"{type(self).__name__}.to_xarray()")

    def __getitem__(self, name: str) -> Run:
        if name not in self.runs:
            raise unknown("run", name, self.runs)
        return self.runs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        failed = f"; without {', '.join(self.failures)}" if self.failures else ""
        return f"{type(self).__name__}('{self.scenario}': {', '.join(self.runs)}{failed})"
