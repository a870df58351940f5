"""Requests drawn from the server's own description: no answer is an error of the server, and answers fit it."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from assay.serve.http.app import make_server_app
from assay.serve.http.context import ServerContext
from assay.serve.http.settings import ServerSettings
from tests.serve.http_server import running
from tests.serve.server_fixtures import make_store

EXAMPLES = 12
"""Requests for each operation."""


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    folder = tmp_path_factory.mktemp("openapi")
    (folder / "receipts").mkdir()
    with make_store(folder / "kb") as kb:
        settings_ = ServerSettings(workers=2, waiting=16, receipts=folder / "receipts")
        with running(make_server_app(ServerContext.make(kb, settings_))) as address:
            yield address, schemathesis.openapi.from_url(f"{address}/openapi.json")


def draw_requests(operation, address):
    """Send requests that the description of an operation allows, check the answers, and return their statuses."""
    statuses = set()

    @settings(max_examples=EXAMPLES, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy())
    def check(case):
        response = case.call(base_url=address)
        statuses.add(response.status_code)
        case.validate_response(
            response, checks=[not_a_server_error, content_type_conformance, response_schema_conformance]
        )

    check()
    return statuses


def test_every_operation_answers_every_request_that_its_description_allows(described):
    address, schema = described
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 30
    answered = {operation.label: draw_requests(operation, address) for operation in operations}
    assert 200 in answered["POST /search"]
    assert 200 in answered["GET /documents"]


def test_every_example_of_the_description_is_answered(described):
    import httpx

    address, _ = described
    description = httpx.get(f"{address}/openapi.json").json()
    tried = 0
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is None or "$ref" not in content["schema"]:
                continue
            schema = description["components"]["schemas"][content["schema"]["$ref"].rsplit("/", 1)[1]]
            for example in schema.get("examples", ()):
                response = httpx.request(method.upper(), address + path, json=example)
                # Without a model, and without the named receipts and documents, these examples have no subject here.
                assert response.status_code in (200, 201, 404, 409), (path, response.text)
                tried += 1
    assert tried >= 8


def test_every_operation_has_a_summary_a_tag_and_the_shape_of_its_errors(described):
    _, schema = described
    for path, methods in schema.raw_schema["paths"].items():
        for method, operation in methods.items():
            assert operation.get("summary"), (method, path)
            assert operation.get("tags"), (method, path)
            assert "application/problem+json" in operation["responses"]["4XX"]["content"], (method, path)
