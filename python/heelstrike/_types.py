"""Types that signatures share."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Path = Union[str, "os.PathLike[str]"]
Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Changes = Union[Mapping[str, Any], Iterable[str], None]
Progress = Union[bool, Callable[[str, float, float, float, float], Any], None]

__all__ = ["Array", "ArrayLike", "Changes", "Path", "Progress", "Scenario"]
