"""Progress of a preparation or a run: a bar in a terminal or a notebook; nothing elsewhere."""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

Progress = Callable[[str, float, float, float, float], Any]


def bar_text(label: str, stage: str, fraction: float, time: float, end_time: float) -> str:
    """One line: "flores [########        ]  42 %  0.84 of 2 s"."""
    done = min(max(fraction, 0.0), 1.0)
    cells = round(20 * done)
    known = f"[{'#' * cells}{' ' * (20 - cells)}] {100 * done:3.0f} %" if fraction >= 0 else "..."
    return f"{label} {known}  " + (stage if stage else f"{time:.4g} of {end_time:.4g} s")


class _Terminal:
    def __init__(self, label: str) -> None:
        self.label, self.width = label, 0

    def __call__(self, stage: str, fraction: float, time: float, end_time: float, wall_time: float) -> None:
        text = bar_text(self.label, stage, fraction, time, end_time)
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def clear(self) -> None:
        """Removes the bar before other output; the next update draws it again."""
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
            self.width = 0

    def close(self) -> None:
        self.clear()


class _Notebook:
    """One output that is rewritten, and removed at the end."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.handle = importlib.import_module("IPython.display").display({"text/plain": ""}, raw=True, display_id=True)

    def __call__(self, stage: str, fraction: float, time: float, end_time: float, wall_time: float) -> None:
        self.handle.update({"text/plain": bar_text(self.label, stage, fraction, time, end_time)}, raw=True)

    def clear(self) -> None:
        pass

    def close(self) -> None:
        self.handle.update({"text/plain": ""}, raw=True)


class _Callback:
    def __init__(self, callback: Progress) -> None:
        self.callback = callback

    def __call__(self, *news: Any) -> None:
        self.callback(*news)

    def clear(self) -> None:
        pass

    def close(self) -> None:
        pass


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def display(progress: bool | Progress | None, label: str) -> _Terminal | _Notebook | _Callback | None:
    """The progress display; None when progress is off."""
    if progress is False:
        return None
    if callable(progress):
        return _Callback(progress)
    if _in_notebook():
        return _Notebook(label)
    return _Terminal(label) if progress or sys.stderr.isatty() else None
