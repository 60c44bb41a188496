"""XPath by its grammar alone: what elementpath makes of a text, or why it makes nothing of it."""

from dataclasses import dataclass

from elementpath import ElementPathError, XPath2Parser, XPathToken
from elementpath.tdop import Parser

from shoal.edits.messages import refuse, refuse_long, refuse_parts


class _Parser(XPath2Parser):
    """XPath 2.0 with the function document() of XSLT."""

    def parse(self, source: str) -> XPathToken:
        """Parse alone: the method of XPath2Parser also evaluates what is constant, such as `1 to 1000000000`."""
        return Parser.parse(self, source)


_Parser.function("document", nargs=(1, 2))
_Parser.tokenizer = _Parser.create_tokenizer(_Parser.symbol_table)


@dataclass(frozen=True)
class Parsed:
    """An expression that is right by the grammar of XPath, and where it stands."""

    text: str
    where: str
    token: XPathToken


def parse(text: str, where: str) -> Parsed:
    """Read an expression by the grammar of XPath alone."""
    refuse_long(where, text)
    try:
        return Parsed(text, where, _Parser().parse(text))
    except ElementPathError as error:
        at = len(text) if error.token is None or error.token.symbol == "(end)" else error.token.span[0]
        refuse(where, at, f"this is not XPath: {error.message}")
    except RecursionError:
        refuse_parts(where)
    except Exception:  # the parser is not ours, and there are texts that it was not written for, such as 5,000 digits
        refuse(where, 0, "this is not XPath that can be read")


def speaks_of_itself(parsed: Parsed) -> bool:
    """Tell whether an expression uses the value of the very element where it starts."""
    waiting = [parsed.token]
    while waiting:
        token = waiting.pop()
        if token.symbol in (".", "..", "text") or (token.symbol in ("number", "string") and not len(token)):
            return True
        # the point of ./V1 is no use of the value
        is_path = token.symbol == "/" and len(token) == 2 and token[0].symbol == "."
        waiting += [token[1]] if is_path else list(token)
    return False
