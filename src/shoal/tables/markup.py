"""Text between the tags of XML, whole columns at a time."""

import pyarrow as pa

from shoal.tables.arrow import Array
from shoal.tables.arrow import compute as pc

# control characters but for the tab and the ends of lines, and the two that are no characters
NO_CHARACTER = r"[\x{0}-\x{8}\x{B}\x{C}\x{E}-\x{1F}\x{FFFE}\x{FFFF}]"

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


def escaped(text: Array) -> Array:
    """Write text so that an XML parser gives it back; a carriage return would come back as a line feed otherwise."""
    text = text.cast(pa.large_string())
    for character, entity in _ENTITIES.items():
        text = pc.replace_substring(text, character, entity)
    return text
