"""Changes to a scenario as Python values."""
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import InputError, expected


def _yaml(key: str, value: Any, argument: str) -> str:
    if isinstance(value, str):
        return value
    if hasattr(value, "tolist"):  # arrays and numbers of numpy
        value = value.tolist()
    try:
        # YAML reads JSON; its shortest numbers read back to the same bits.
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{argument}: {key}: expected a number, text, flag, list or mapping of these, found {value!r} "
                         f"({problem})", code="invalid input", key=key) from None


def assignments(changes: Mapping[str, Any] | Iterable[str] | None, argument: str = "set") -> list[str]:
    """["KEY=VALUE", ...] from {"KEY": value} or from such texts; errors name the argument."""
    if changes is None:
        return []
    if isinstance(changes, Mapping):
        return [f"{key}={_yaml(key, value, argument)}" for key, value in changes.items()]
    if not isinstance(changes, Iterable):
        raise expected(argument, "{'KEY': value} or texts 'KEY=VALUE'", changes)
    texts = [changes] if isinstance(changes, str) else list(changes)
    for text in texts:
        if not isinstance(text, str) or "=" not in text:
            raise InputError(f"{argument}: expected {{'KEY': value}} or texts 'KEY=VALUE', found {text!r}", code="invalid input",
                             key=argument)
    return texts
