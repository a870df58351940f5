"""Generates the block of docs/mcp.md that lists the tools of the MCP server.

    <!-- tools -->
    … written by this module …
    <!-- end -->

`python -m tools.docs.mcp_reference docs/mcp.md` writes the block; with `--check` it reports whether it is up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

from tools.docs.generated_page import update

_BLOCK = re.compile(r"(<!-- tools -->\n).*?(<!-- end -->)", re.DOTALL)
_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def tools_markdown() -> str:
    """Every tool with its arguments and result, then the schemas of the results."""
    from assay.serve.mcp.server import describe_tool
    from assay.serve.mcp.tools import DOCUMENT_TOOLS, TOOLS

    lines: list[str] = []
    schemas: dict[str, Any] = {}
    for name, tool in {**TOOLS, **DOCUMENT_TOOLS}.items():
        description = describe_tool(name, tool)
        inputs, outputs = description.input_schema, description.output_schema or {}
        schemas |= {outputs["title"]: outputs, **outputs.get("$defs", {})}
        lines += [f"### {name}", "", f"{tool.title}: {_hints(tool.read_only, tool.destructive, tool.idempotent)}.", ""]
        lines += [tool.description, "", "| argument | type | default | what it means |", "|---|---|---|---|"]
        lines += [_argument(key, part, inputs) for key, part in inputs["properties"].items()]
        lines += ["", f"Returns {_link(outputs['title'])}.", ""]
    lines += ["## Results", ""]
    for name in sorted(schemas):
        schema = schemas[name]
        lines += [
            f"### {name}",
            "",
            schema.get("description", ""),
            "",
            "| field | type | what it means |",
            "|---|---|---|",
        ]
        lines += [f"| `{key}` | {_type(part)} | {_about(part)} |" for key, part in schema["properties"].items()]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _hints(reads: bool, destroys: bool, repeats: bool) -> str:
    if reads:
        return "changes nothing"
    changed = "may delete something, so hosts ask first" if destroys else "adds, and deletes nothing"
    return f"{changed}; {'idempotent' if repeats else 'not idempotent'}"


def _argument(name: str, part: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    if name in inputs.get("required", ()):
        default = "must be given"
    else:
        value = part.get("default", [] if part.get("type") == "array" else None)
        default = "not set" if value is None else "none" if value == [] else f"`{str(value).lower()}`"
    kind = _type(part).removesuffix(" or nothing")  # the default column already says "not set"
    return f"| `{name}` | {kind}{_limits(part)} | {default} | {_about(part)} |"


def _type(part: Mapping[str, Any]) -> str:
    if "$ref" in part:
        return _link(part["$ref"].rpartition("/")[2])
    if "anyOf" in part:
        return " or ".join("nothing" if option.get("type") == "null" else _type(option) for option in part["anyOf"])
    if "enum" in part:
        return " or ".join(f'`"{value}"`' for value in part["enum"])
    if part.get("type") == "array":
        return f"list of {_type(part['items'])}"
    if part.get("type") == "object":
        return f"{_type(part['additionalProperties'])} by name"
    return _WORDS[part["type"]]


def _limits(part: Mapping[str, Any]) -> str:
    """The bounds of a value in words; for an optional value, the bounds when it is set."""
    for option in (part, *part.get("anyOf", ())):
        if "minimum" in option and "maximum" in option:
            return f", {option['minimum']:g} to {option['maximum']:,}".removesuffix(".0")
        if "maxItems" in option:
            return f", at most {option['maxItems']}"
        if "maxLength" in option:
            return f", at most {option['maxLength']:,} characters"
    return ""


def _about(part: Mapping[str, Any]) -> str:
    text: str = part.get("description", "")
    return text.replace("|", "\\|")


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def update_page(page: str) -> str:
    """The page with its block generated from the code."""
    return _BLOCK.sub(lambda block: f"{block[1]}\n{tools_markdown()}\n{block[2]}", page)


def main(arguments: list[str]) -> int:
    """`python -m tools.docs.mcp_reference PAGE [--check]`."""
    return update(arguments, update_page)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
