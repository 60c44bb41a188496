"""XML that is safe to read: without declarations of types and entities, and without a look at any other file."""

import codecs
import re
from typing import Any, NoReturn, cast

from lxml import etree

from shoal.errors import FileError
from shoal.tables.atomic import not_complete
from shoal.tables.xml import SAFE

_DECLARATION = re.compile(r"<\?xml\s(?:[^>]*encoding\s*=\s*[\"']([^\"']*)[\"'])?[^>]*\?>")
_ENTITY = re.compile(r"<!ENTITY\s+(?:%\s+)?([^\s\"'<>%&]{1,60})")
_MOST_NAMED = 5  # entities in a message
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_TWO_ROOTS = etree.ErrorTypes.ERR_DOCUMENT_END


def read_markup(data: bytes, name: str) -> etree._Element:
    """Read a document; several roots one after another are put into one that has no name of its own, `schema`."""
    try:
        return _tree(data, name)
    except etree.XMLSyntaxError as error:
        if cast("Any", error).code != _TWO_ROOTS:  # which the stubs do not know
            _refuse(error, name)
    try:
        return _tree(_with_one_root(data, name), name)
    except etree.XMLSyntaxError as error:
        _refuse(error, name)


def _tree(data: bytes, name: str) -> etree._Element:
    guard = etree.XMLParser(target=cast("Any", _Guard(data, name)), **SAFE)  # the stubs ask for more than lxml does
    guard.feed(data)
    guard.close()
    return etree.fromstring(data, etree.XMLParser(**SAFE))


def _with_one_root(data: bytes, name: str) -> bytes:
    """Wrap several roots in one, without changing line numbers."""
    try:
        text = _text(data, "strict")
    except UnicodeDecodeError:
        text = ""
    declared = _DECLARATION.match(text)
    if not text or (declared and (declared[1] or "utf-8").lower() not in ("utf-8", "utf-16", "us-ascii")):
        raise FileError("several-roots-not-utf8", file=name)
    rest = text[declared.end() :] if declared else text
    return f"<schema>{rest}</schema>".encode()


def _refuse(error: etree.XMLSyntaxError, name: str) -> NoReturn:
    raise not_complete(name, "XML", error.lineno) from None


class _Guard:
    """Takes no notice of a document, unless it declares its type: nothing of it is read then."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name

    def doctype(self, name: str, public: str | None, system: str | None) -> NoReturn:
        """Refuse declarations: entities may blow up, and external ones reach for other files."""
        entities = list(dict.fromkeys(_ENTITY.findall(_text(self._data, "replace"))))
        more = len(entities) - _MOST_NAMED
        raise FileError("doctype", file=self._name, entities=entities[:_MOST_NAMED], more=max(more, 0))

    def close(self) -> None:
        """Do nothing."""


def _text(data: bytes, errors: str) -> str:
    """Decode a document by its byte order mark, or else by where its first character has its zero, or as UTF-8."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors)
    start = data[:2]
    encoding = "utf-16-le" if start.endswith(b"\0") else "utf-16-be" if start.startswith(b"\0") else "utf-8"
    return data.decode(encoding, errors)
