"""Writes the tables of the growth of a Qdrant index: measured parts, the fitted model, what it says of larger sizes."""

from __future__ import annotations

from typing import Any

from tools.docs.markdown_table import table


def cluster_growth(receipt: dict[str, Any]) -> str:
    """One row for each measured part; memory and times are of all nodes together."""
    rows = []
    for name, part in receipt["parts"].items():
        kind = name.split("-")[0]
        deep, build = part["query"]["k=100"], part["build"]
        rows.append(
            [
                kind,
                f"{part['rows']:,}",
                part["nodes"],
                part["query"].get("chosen", {}).get("ef", ""),
                deep["server_cpu_ms"],
                f"{deep['p50_ms']} / {deep['p95_ms']}",
                "1" if kind == "exact" else f"{part['query']['k=10']['recall']:.3f} / {deep['recall']:.3f}",
                f"{sum(part['query']['serving_mb']):,.0f}" if "serving_mb" in part["query"] else "",
                f"{sum(part['query']['resident_mb']):,.0f}",
                f"{part['query']['disk_mb']:,.0f}",
                f"{build['server_cpu_s']:,.0f}",
                f"{build['wall_s']:,.0f}",
                build.get("load_5m", ""),
            ]
        )
    head = [
        "vectors",
        "rows",
        "nodes",
        "ef",
        "CPU ms a query",
        "p50 / p95 ms",
        "recall@10 / @100",
        "MB, serving",
        "MB, all read",
        "disk MB",
    ]
    return table([*head, "build, CPU s", "build, s", "load"], rows)


def cluster_model(receipt: dict[str, Any]) -> str:
    """The parameters of the model, its largest error, and its errors on the parts it had not seen."""
    rows = [
        [
            form,
            "; ".join(f"{name} {value:g}" for name, value in report["parameters"].items()),
            report["points"],
            f"{report['largest_error']:.1%}",
            "; ".join(
                f"{name}: {held['predicted']:g}, measured {held['measured']:g} ({held['error']:+.1%})"
                for name, held in report["held_out"].items()
            ),
        ]
        for form, report in receipt["model"].items()
    ]
    return table(["what", "parameters", "fitted parts", "largest error", "predictions for what was held out"], rows)


def cluster_forecast(receipt: dict[str, Any]) -> str:
    """What the model says of sizes that nobody measured."""
    rows = [
        [
            entry["vectors"],
            f"{entry['rows'] / 1e6:,.0f} million",
            entry["nodes"],
            f"{entry['memory_gb']:,}",
            "{:g} to {:g}".format(*entry["query_cpu_ms"]),
            "{:g} to {:g}".format(*entry["build_core_hours"]),
        ]
        for entry in receipt["extrapolated"]
    ]
    head = [
        "vectors",
        "rows",
        f"nodes of {receipt['node_gb']:g} GB",
        "memory GB",
        "CPU ms a query, all nodes",
        "build, core-hours",
    ]
    return table(head, rows)


def whole_store(receipt: dict[str, Any]) -> str:
    """One row for each store: how long it took to fill, how long a search takes, whether its answers are the same."""
    searched = receipt["searched"]
    rows = []
    for name, built in receipt["built"].items():
        times = [searched[preset]["times"][name] for preset in searched]
        same = [searched[preset]["answers"].get(name, {}).get("same_ids_in_order") for preset in searched]
        rows.append(
            [
                name,
                f"{built['put_s']:g} + {built['index_s']:g}",
                *(f"{time['p50_ms']:.1f} / {time['p95_ms']:.1f}" for time in times),
                "the reference" if None in same else " / ".join(f"{share:.0%}" for share in same),
            ]
        )
    head = ["store", "adding + indexing, s", *(f"{preset}, p50 / p95 ms" for preset in searched)]
    load = "load {:g} to {:g}".format(*receipt["load"])
    about = f"{receipt['chunks']:,} chunks, {receipt['questions']} questions, {load}."
    return table([*head, "same ids in the same order: " + ", ".join(searched)], rows) + f"\n{about}\n"
