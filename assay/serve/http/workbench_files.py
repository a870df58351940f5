"""The files of the workbench, with the headers that keep it from running anything but its own scripts."""

from __future__ import annotations

import os

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from assay.page.document import STYLE_FILE

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
    """Static files under the policy, with the style sheet that the lab's reports have too. They are checked for changes
    at every visit: a page and its scripts belong to one version."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        if path == STYLE_FILE.name:
            return str(STYLE_FILE), STYLE_FILE.stat()
        return super().lookup_path(path)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "no-cache"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        return response
