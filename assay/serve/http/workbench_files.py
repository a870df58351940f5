"""The files of the workbench, with the headers that keep it from running anything but its own scripts."""

from __future__ import annotations

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""No inline script or style, nothing from elsewhere, no frames. With trusted types the browser refuses every call that
parses a string as HTML, so a text of the store cannot become markup even by mistake."""


class WorkbenchFiles(StaticFiles):
    """Static files under the policy. They are checked for changes at every visit: a page and its scripts belong to one
    version."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "no-cache"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        return response
