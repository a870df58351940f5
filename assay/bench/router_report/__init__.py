"""The report of the router policy: how often the second source is asked, what it gains and what it costs.

| file | what it does |
|---|---|
| `arms.py` | a router and its comparisons: its first source alone, its second alone, both always |
| `questions.py` | the metadata of one question, from the trace of its answer |
| `assemble.py` | all questions, counters, metrics, latency and gates as one JSON report |
| `verdict.py` | the verdict of all gates, and the exit code |
| `markdown.py` | the same for people |
| `measure.py` | a whole run: receipts, then the report |
| `table_writer.py` | writes the dataset as a LanceDB table, to serve as a second source |
"""

from assay.bench.router_report.arms import RouterArms, build_arms
from assay.bench.router_report.markdown import render_router_report
from assay.bench.router_report.measure import RouterMeasurement, measure_router
from assay.bench.router_report.table_writer import write_lance_table
from assay.bench.router_report.verdict import EXIT_CODES

__all__ = [
    "EXIT_CODES",
    "RouterArms",
    "RouterMeasurement",
    "build_arms",
    "measure_router",
    "render_router_report",
    "write_lance_table",
]
