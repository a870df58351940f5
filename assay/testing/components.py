"""What every contract suite checks first: a component has all of its methods, and its settings are plain config.

A missing method or attribute is named, with the signature its protocol asks for; an AttributeError names neither.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from assay.errors import LawBroken

NEEDS = frozenset({"vector", "lexical", "dense", "exact", "graph", "tree"})
"""What a component may ask of the pipeline in `needs`."""
C = TypeVar("C")


def class_name(component: object) -> str:
    return type(component).__name__


def check_members(component: object, protocol: type, role: str) -> None:
    """Raise LawBroken for the first method or attribute of `protocol` that an object lacks; `role` is "leg" or so."""
    for name, member in _members(protocol):
        called = inspect.isfunction(member)
        word = "method" if called else "attribute"
        if not hasattr(component, name):
            raise LawBroken(
                f"class {class_name(component)} has no {word} `{name}`: every {role} needs it",
                f"add: {_declared(name, member)}",
            )
        if called and not callable(getattr(component, name)):
            raise LawBroken(
                f"class {class_name(component)}: `{name}` is no method, and every {role} needs it to be one",
                f"add: {_declared(name, member)}",
            )


def _members(protocol: type) -> Iterator[tuple[str, Any]]:
    """(name, function, property or annotation) of everything a protocol asks for, in the order of its text."""
    for base in reversed(protocol.__mro__):
        if getattr(base, "_is_protocol", False):
            public = {**inspect.get_annotations(base), **vars(base)}
            yield from ((name, member) for name, member in public.items() if not name.startswith("_"))


def _declared(name: str, member: Any) -> str:
    """A member as a class declares it."""
    if inspect.isfunction(member):
        return f"def {name}{str(inspect.signature(member)).replace(chr(39), '')}"
    if isinstance(member, property) and member.fget is not None:
        return f"{name}: {inspect.get_annotations(member.fget).get('return', 'Any')}"
    return f"{name}: {member}"


def check_component(component: object, protocol: type, role: str) -> None:
    """Every member of the protocol is there, the class is a frozen dataclass, and `needs` holds known words."""
    check_members(component, protocol, role)
    parameters = getattr(component, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise LawBroken(f"{class_name(component)}: a component is a frozen dataclass; its fields are its config")
    needs: object = getattr(component, "needs", frozenset())
    if not isinstance(needs, frozenset) or not needs <= NEEDS:
        raise LawBroken(f"{class_name(component)}: needs is a frozenset of {', '.join(sorted(NEEDS))}")


def reordered(component: C) -> list[tuple[str, C]]:
    """(setting, the component with the keys of that setting's mappings in reverse order), for each setting that has
    any. A digest covers sorted settings, so both are one config and must give one answer."""
    if not dataclasses.is_dataclass(component) or isinstance(component, type):
        return []
    variants: list[tuple[str, C]] = []
    for field in dataclasses.fields(component):
        value = getattr(component, field.name)
        if field.init and _has_keys(value):
            variants.append((field.name, dataclasses.replace(component, **{field.name: _reversed(value)})))
    return variants


def _has_keys(value: Any) -> bool:
    """Is there a mapping of two keys or more in this value?"""
    if isinstance(value, Mapping):
        return len(value) > 1 or any(map(_has_keys, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_keys, value))
    return bool(reordered(value))


def _reversed(value: Any) -> Any:
    """A value whose mappings, however deep, have their keys in reverse order."""
    if isinstance(value, Mapping):
        return {key: _reversed(inner) for key, inner in reversed(list(value.items()))}
    if isinstance(value, list | tuple):
        return type(value)([_reversed(inner) for inner in value])
    for name, _ in reordered(value):
        value = dataclasses.replace(value, **{name: _reversed(getattr(value, name))})
    return value
