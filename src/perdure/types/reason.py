"""Why something was refused or left out."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why something was refused or left out. Every one is named in the reference."""

    # a turn is not learnt from
    DISABLED = "DISABLED"
    MODE_OFF = "MODE_OFF"
    AUTO_LEARN_OFF = "AUTO_LEARN_OFF"
    NOT_COMPLETED = "NOT_COMPLETED"
    CONVERSATION_KIND = "CONVERSATION_KIND"
    NO_USER_MESSAGE = "NO_USER_MESSAGE"
    NO_REPLY = "NO_REPLY"
    TOO_SHORT = "TOO_SHORT"
    NOT_ENOUGH_NEW = "NOT_ENOUGH_NEW"
    NOTHING_SAID = "NOTHING_SAID"
    ALREADY_LEARNT = "ALREADY_LEARNT"
    ERASED = "ERASED"  # said before its user was erased
    COST_CAP = "COST_CAP"  # the month's money is spent; it is learnt from later
    REPLY_UNUSABLE = "REPLY_UNUSABLE"  # given up, as the policy says; never "nothing to remember"
    # a candidate is refused
    EMPTY = "EMPTY"
    TOO_LONG = "TOO_LONG"
    TOO_MANY_ITEMS = "TOO_MANY_ITEMS"
    NOT_A_STATEMENT = "NOT_A_STATEMENT"
    QUESTION = "QUESTION"
    HYPOTHETICAL = "HYPOTHETICAL"
    QUOTED = "QUOTED"
    NOT_ABOUT_USER = "NOT_ABOUT_USER"
    PASSING = "PASSING"
    UNSUPPORTED = "UNSUPPORTED"
    SECRET = "SECRET"  # noqa: S105 - the name of a reason, not a secret
    INJECTED = "INJECTED"
    SENSITIVE_NOT_LEARNT = "SENSITIVE_NOT_LEARNT"
    UNKNOWN_REFERENCE = "UNKNOWN_REFERENCE"
    UNKNOWN_ACTION = "UNKNOWN_ACTION"
    PROTECTED = "PROTECTED"
    LIKE_DISMISSED = "LIKE_DISMISSED"
    DELETED_EARLIER = "DELETED_EARLIER"
    CAPACITY = "CAPACITY"
    CHANGED_MEANWHILE = "CHANGED_MEANWHILE"
    REPEATED = "REPEATED"
    KNOWN = "KNOWN"
    LOSES_DETAILS = "LOSES_DETAILS"
    # a memory is left out of an answer
    LOW_SCORE = "LOW_SCORE"
    LOW_CONFIDENCE = "LOW_CONFIDENCE"
    EXPIRED = "EXPIRED"
    SENSITIVE_BLOCKED = "SENSITIVE_BLOCKED"
    DUP_TOPIC = "DUP_TOPIC"
    OTHER_TIME = "OTHER_TIME"
    DISMISSED = "DISMISSED"
    SCOPE = "SCOPE"
    SWITCHED_OFF = "SWITCHED_OFF"
    OVER_TYPE_LIMIT = "OVER_TYPE_LIMIT"
    OVER_BUDGET = "OVER_BUDGET"
    SUSPICIOUS = "SUSPICIOUS"
    NOT_FOUND = "NOT_FOUND"  # by no arm of the search; told on explain
    # a part of an answer is missing
    SEARCH_FAILED = "SEARCH_FAILED"
    SEARCH_LATE = "SEARCH_LATE"
    VECTORS_OFF = "VECTORS_OFF"
    RERANK_FAILED = "RERANK_FAILED"
    DATABASE_UNAVAILABLE = "DATABASE_UNAVAILABLE"
    DEADLINE = "DEADLINE"
