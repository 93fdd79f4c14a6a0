"""Checks of answers before a map is made of them."""

from nearer._common.findings import Finding
from nearer.checking.doctor import check, check_errors
from nearer.checking.findings import Findings
from nearer.checking.messages import Message, message_of

__all__ = ["Finding", "Findings", "Message", "check", "check_errors", "message_of"]
