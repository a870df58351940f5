"""Everything a pipeline would do outside of this process: programs it starts, hosts it contacts, variables and files it
reads."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from assay.config.nested import Nested
from assay.engine.pipeline import Pipeline
from assay.util.permissions import Effect


@runtime_checkable
class ActsOutside(Protocol):
    """A component that does something outside of this process. It must call `permissions.require` before it acts."""

    def effects(self) -> tuple[Effect, ...]: ...


@runtime_checkable
class ReadsFiles(Protocol):
    """A component that reads files or folders which its settings name."""

    def reads(self) -> tuple[str, ...]: ...


def find_effects(pipeline: Pipeline) -> list[tuple[str, Effect]]:
    """(leg or step, what it would do), in the order of the pipeline, pipelines inside legs included."""
    found: list[tuple[str, Effect]] = []
    for name, component in _list_components(pipeline):
        if isinstance(component, Nested):
            found += [(f"{name}: {where}", effect) for where, effect in find_effects(component.pipeline)]
        elif isinstance(component, ActsOutside):
            found += [(name, effect) for effect in component.effects()]
    return found


def find_reads(pipeline: Pipeline) -> list[tuple[str, str]]:
    """(leg or step, file or folder it reads), in the order of the pipeline, pipelines inside legs included."""
    found: list[tuple[str, str]] = []
    for name, component in _list_components(pipeline):
        if isinstance(component, Nested):
            found += [(f"{name}: {where}", path) for where, path in find_reads(component.pipeline)]
        elif isinstance(component, ReadsFiles):
            found += [(name, path) for path in component.reads()]
    return found


def _list_components(pipeline: Pipeline) -> list[tuple[str, object]]:
    return [
        *((f"legs.{plan.name}", plan.leg) for plan in pipeline.legs),
        *((f"step {plan.name}", plan.step) for plan in pipeline.steps),
    ]
