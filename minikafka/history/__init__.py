"""Histories of what clients did and were told, and a checker that judges them with Jepsen's names."""

from .checker import NAMES, check
from .history import History
from .report import Evidence, Report, Verdict

__all__ = ["NAMES", "Evidence", "History", "Report", "Verdict", "check"]
