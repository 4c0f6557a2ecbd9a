"""What can be wrong with a value that comes in: a sentence for each of pydantic's names of it."""

from __future__ import annotations

from collections.abc import Mapping

_TEXT = "Expected a text."
_WHOLE = "Expected a whole number."
_NUMBER = "Expected a number."
_TRUTH = "Expected true or false."
_LIST = "Expected a list."
_OBJECT = "Expected a JSON object."
_TIME = "Expected a time (ISO 8601)."
_UNKNOWN = "There is no such field."
_MISSING = "This field is required."
_KNOWN = "Known are {known}."

OF_VALUES: Mapping[str, str] = {
    "missing": _MISSING,
    "extra_forbidden": _UNKNOWN,
    "json_invalid": "This is not JSON.",
    "string_type": _TEXT,
    "string_unicode": "May not contain half a character.",
    "string_too_short": "May not be empty.",
    "string_too_long": "May have at most {limit} characters.",
    "too_short": "May not be empty.",
    "string_pattern_mismatch": "Expected a month, for example 2026-11.",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing_size": "Expected a smaller number.",
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "Expected a smaller number.",
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "list_type": _LIST,
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "dataclass_type": _OBJECT,
    "enum": _KNOWN,
    "literal_error": _KNOWN,
    "greater_than_equal": "Expected {low} or more.",
    "less_than_equal": "Expected {high} or less.",
    "timezone_aware": "A time needs a zone, for example 2026-11-30T09:00:00+01:00.",
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_from_date_parsing": _TIME,
}
