"""The tools of the MCP server as Markdown, written from the code into a block of docs/mcp.md.

    <!-- tools -->
    … written by this module …
    <!-- end -->

`python -m tools.docs.mcp_reference docs/mcp.md` writes the block anew; with `--check` it says whether it is in step.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"(<!-- tools -->\n).*?(<!-- end -->)", re.DOTALL)
_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def tools_markdown() -> str:
    """Every tool with what it takes and gives, then the shapes that results are made of."""
    from assay.serve.mcp.server import described
    from assay.serve.mcp.tools import TOOLS

    lines: list[str] = []
    shapes: dict[str, Any] = {}
    for name, tool in TOOLS.items():
        seen = described(name, tool)
        takes, gives = seen.input_schema, seen.output_schema or {}
        shapes |= {gives["title"]: gives, **gives.get("$defs", {})}
        lines += [f"### {name}", "", f"{tool.title}: {_hints(tool.reads, tool.destroys, tool.repeats)}.", ""]
        lines += [tool.about, "", "| argument | type | default | what it means |", "|---|---|---|---|"]
        lines += [_argument(key, part, takes) for key, part in takes["properties"].items()]
        lines += ["", f"Gives {_link(gives['title'])}.", ""]
    lines += ["## What tools give", ""]
    for name in sorted(shapes):
        shape = shapes[name]
        lines += [
            f"### {name}",
            "",
            shape.get("description", ""),
            "",
            "| field | type | what it means |",
            "|---|---|---|",
        ]
        lines += [f"| `{key}` | {_type(part)} | {_about(part)} |" for key, part in shape["properties"].items()]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _hints(reads: bool, destroys: bool, repeats: bool) -> str:
    if reads:
        return "changes nothing"
    changed = "may take something away, so hosts ask first" if destroys else "adds, and takes nothing away"
    return f"{changed}; {'calling it twice is as calling it once' if repeats else 'each call counts'}"


def _argument(name: str, part: Mapping[str, Any], takes: Mapping[str, Any]) -> str:
    if name in takes.get("required", ()):
        default = "must be given"
    else:
        value = part.get("default", [] if part.get("type") == "array" else None)
        default = "not set" if value is None else "none" if value == [] else f"`{str(value).lower()}`"
    kind = _type(part).removesuffix(" or nothing")  # not set is said by the default
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
    """The bounds of a value, in words; of an optional one, those of the value when it is there."""
    for option in (part, *part.get("anyOf", ())):
        if "minimum" in option and "maximum" in option:
            return f", {option['minimum']:g} to {option['maximum']:,}".removesuffix(".0")
        if "maxItems" in option:
            return f", at most {option['maxItems']}"
        if "maxLength" in option:
            return f", at most {option['maxLength']:,} characters"
    return ""


def _about(part: Mapping[str, Any]) -> str:
    said: str = part.get("description", "")
    return said.replace("|", "\\|")


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def written(page: str) -> str:
    """A page with its block as the code has it."""
    return _BLOCK.sub(lambda block: f"{block[1]}\n{tools_markdown()}\n{block[2]}", page)


def main(arguments: list[str]) -> int:
    """`python -m tools.docs.mcp_reference PAGE [--check]`."""
    path = Path(next(argument for argument in arguments if not argument.startswith("-")))
    old = path.read_text("utf-8")
    new = written(old)
    if new == old:
        return 0
    if "--check" in arguments:
        print(f"{path} is out of date; cure: make docs")
        return 1
    path.write_text(new, "utf-8")
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
