"""The report of 000: how often the second source was asked, what it gained and what it cost.

| file | what it does |
|---|---|
| `arms.py` | a router and what it is held against: its first source alone, its second alone, both always |
| `questions.py` | what became of one question, from the trace of its answer |
| `assemble.py` | all questions, counters, metrics, latency and gates as one JSON report |
| `markdown.py` | the same for people |
| `measure.py` | a whole run: receipts, then the report |
| `table.py` | a second source for whoever has none: the dataset as a LanceDB table |
"""

from assay.bench.router_report.arms import Arms, arms
from assay.bench.router_report.markdown import markdown
from assay.bench.router_report.measure import RouterMeasurement, measure
from assay.bench.router_report.table import make_table

__all__ = ["Arms", "RouterMeasurement", "arms", "make_table", "markdown", "measure"]
