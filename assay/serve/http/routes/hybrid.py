"""/search/hybrid and the cascade's metrics beside the other routes, with their own bodies of errors."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from assay.serve.http.context import ServerContext, needs
from assay.serve.http.hybrid import CascadeServer, make_endpoints
from assay.serve.http.hybrid_request import HybridRequest, OfflineRequest

_BODIES: dict[str, type[BaseModel]] = {"/search/hybrid": HybridRequest, "/metrics/hitk_offline": OfflineRequest}
_REFERENCE = "#/components/schemas/{model}"


def add_hybrid_routes(app: FastAPI, context: ServerContext, server: CascadeServer) -> dict[str, Any]:
    """Add the cascade's routes to an app; the schemas of their requests, for its description."""
    schemas: dict[str, Any] = {}
    for (method, path), endpoint in make_endpoints(server, context.pool.run).items():
        extra: dict[str, Any] = {}
        if method == "POST":
            kind = _BODIES[path]
            schema = kind.model_json_schema(ref_template=_REFERENCE)
            schemas |= {**schema.pop("$defs", {}), kind.__name__: schema}
            reference = {"$ref": _REFERENCE.format(model=kind.__name__)}
            extra = {"requestBody": {"required": True, "content": {"application/json": {"schema": reference}}}}
        app.add_api_route(
            path,
            endpoint,
            methods=[method],
            tags=["cascade"],
            operation_id=f"{method.lower()}{path.replace('/', '_')}",
            openapi_extra=extra,
            dependencies=[needs("read")],
        )
    return schemas
