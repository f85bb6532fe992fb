"""The narrator of a story: one sentence for each event of a broker's trace that matters to a reader."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

KINDS = ("role", "isr", "truncate")


def sentence(event: dict[str, Any], kinds: Container[str], topics: Container[str]) -> str | None:
    """Return what happened as a sentence, None if the event is not of these kinds or not about these topics."""
    kind, tp = event["k"], event.get("tp")
    if kind not in kinds or (tp is not None and tp.rpartition("-")[0] not in topics):
        return None
    return SENTENCES[kind](event) if kind in SENTENCES else None


def _role(e: dict[str, Any]) -> str:
    if e["role"] == "leader":
        return f"{e['b']} leads {e['tp']} in epoch {e['epoch']}"
    whom = f"follows {e['leader']}" if e["leader"] >= 0 else "sees no leader"
    return f"{e['b']} {whom} in epoch {e['epoch']}"


def _isr(e: dict[str, Any]) -> str:
    return f"{e['b']}: ISR of {e['tp']} is {' '.join(map(str, sorted(e['isr'])))}"


def _truncate(e: dict[str, Any]) -> str:
    lost = f", {e['records']} record{'s' * (e['records'] != 1)} gone" if e["records"] else ""
    return f"{e['b']} truncates {e['tp']} to {e['to']}{lost}"


def _hw(e: dict[str, Any]) -> str:
    return f"{e['b']}: high watermark {e['hw']}"


def _recover(e: dict[str, Any]) -> str:
    return f"{e['b']} opens {e['tp']}: {e['truncated_bytes'] or 'no'} bytes cut off, log end {e['leo']}"


def _compact(e: dict[str, Any]) -> str:
    return f"{e['b']} has compacted {e['tp']} up to {e['clean']}"


SENTENCES = {"compact": _compact, "recover": _recover, "role": _role, "isr": _isr, "truncate": _truncate, "hw": _hw}
