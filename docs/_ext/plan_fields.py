"""The directive `plan-fields`: the fields of a plan, or of its tables `csv` and `scale`, read from the JSON Schema."""

from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from shoal.plan import Plan

Schema = dict[str, Any]
WORDS = {"string": "text", "boolean": "true or false", "integer": "whole number", "number": "number"}
LIMITS = {
    "ge": "at least",
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
}


def in_words(schema: Schema) -> str:
    """Say what may be given, as people would."""
    if "$ref" in schema:
        return "a table, see below"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return "; or ".join(in_words(each) for each in choices if each.get("type") != "null")
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{each}`" for each in schema.get("enum") or [schema["const"]])
    if schema["type"] == "array":
        items = in_words(schema["items"])
        return "names" if items == "text" else f"list of: {items}"
    if schema["type"] == "object":
        return f"by attribute: {in_words(schema['additionalProperties'])}"
    limits = [f"{words} {schema[key]}" for key, words in LIMITS.items() if key in schema]
    return ", ".join([WORDS[schema["type"]], *limits])


def table(schema: Schema) -> str:
    """Write the fields as a table, in Markdown."""
    rows = [
        f"| `{name}` | {field['description']} | {in_words(field)} | {_default(field.get('default'))} |"
        for name, field in schema["properties"].items()
    ]
    return "\n".join(["| field | meaning | may be | if left out |", "|---|---|---|---|", *rows])


def _default(value: Any) -> str:
    if value in (None, [], {}, 0) and value is not False:  # 0 is the k of plans without groups, which nobody can give
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


class PlanFields(SphinxDirective):
    """Describe the fields of a plan; the argument names one of its tables."""

    optional_arguments = 1
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Read them from the model."""
        schema = Plan.model_json_schema()
        part = schema["$defs"][self.arguments[0].title()] if self.arguments else schema
        return self.parse_text_to_nodes(table(part))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("plan-fields", PlanFields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
