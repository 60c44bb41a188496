"""The directive `plan-fields`: the fields of a plan by group, or of its tables, read from the JSON Schema."""

from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from shoal.plan import Plan
from shoal.plan.fields import GROUPS
from shoal.plan.options import options_of

Schema = dict[str, Any]
WORDS = {"string": "text", "boolean": "true or false", "integer": "whole number", "number": "number"}
LIMITS = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}


def in_words(schema: Schema) -> str:
    """Describe what may be given."""
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


def table(properties: dict[str, Schema], path: tuple[str, ...] = ()) -> str:
    """Write fields as a table, in Markdown."""
    rows = [
        f"| `{name}` | {_spelled((*path, name))} | {field['description']} | {in_words(field)} | "
        f"{_default(field.get('default'))} |"
        for name, field in properties.items()
    ]
    return "\n".join(["| field | option | meaning | may be | if left out |", "|---|---|---|---|---|", *rows])


def by_group(properties: dict[str, Schema]) -> str:
    """Write a table for each group of fields."""
    parts = []
    for group in GROUPS:
        fields = {name: field for name, field in properties.items() if field["x-group"] == group}
        parts.append(f"**{group.capitalize()}**\n\n{table(fields)}")
    return "\n\n".join(parts)


def _spelled(path: tuple[str, ...]) -> str:
    return ", ".join(f"`{spelling}`" for each in options_of(Plan) if each.path == path for spelling in each.spellings)


def _default(value: Any) -> str:
    if value in (None, [], {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


class PlanFields(SphinxDirective):
    """Describe the fields of a plan; the argument names one of its tables."""

    optional_arguments = 1
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Read them from the model."""
        schema = Plan.model_json_schema()
        if not self.arguments:
            return self.parse_text_to_nodes(by_group(schema["properties"]))
        [name] = self.arguments
        return self.parse_text_to_nodes(table(schema["$defs"][name.title()]["properties"], (name,)))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("plan-fields", PlanFields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
