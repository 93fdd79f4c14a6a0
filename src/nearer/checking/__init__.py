"""The data doctor: what is wrong with answers, and what is right, before a map is made of them."""

from nearer.checking.doctor import check, check_errors
from nearer.checking.findings import Finding, Findings

__all__ = ["Finding", "Findings", "check", "check_errors"]
