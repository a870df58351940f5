"""Sends rows to a collection by gRPC. The client shares the processors with the servers it measures, so it must cost
little: messages are made without checks of types, and one is prepared while another is stored."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from assay.types import Vectors
from benchmarks.data import vectors

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

WORKERS = 2
_BATCH = 2_000


def send_rows(client: QdrantClient, collection: str, size: int, nodes: int) -> None:
    """Send the first `size` rows of the data; row r goes to shard `r mod nodes`."""
    vectors(0, 1)  # reads what all workers need once
    keys = [f"s{place}" for place in range(nodes)] if nodes > 1 else [None]

    def send(start: int) -> None:
        block = vectors(start, min(_BATCH, size - start))
        for place, key in enumerate(keys):
            points = _points(block, start, range(place, len(block), len(keys)))
            client.upsert(collection, points, wait=True, shard_key_selector=key)

    with ThreadPoolExecutor(WORKERS) as pool:
        for _ in pool.map(send, range(0, size, _BATCH)):
            pass


def _points(block: Vectors, start: int, rows: Sequence[int]) -> list[Any]:
    from qdrant_client import grpc

    empty = grpc.Value(list_value=grpc.ListValue()), grpc.Value(struct_value=grpc.Struct())
    return [
        grpc.PointStruct(
            id=grpc.PointId(num=start + row),
            vectors=grpc.Vectors(
                vectors=grpc.NamedVectors(
                    vectors={"dense": grpc.Vector(dense=grpc.DenseVector(data=block[row].tolist()))}
                )
            ),
            payload={
                "born": grpc.Value(integer_value=1),
                "doc_id": grpc.Value(string_value=f"d{(start + row) // 8}"),
                "fields": empty[1],
                "scope": empty[0],
            },
        )
        for row in rows
    ]
