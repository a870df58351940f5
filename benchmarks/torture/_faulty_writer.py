"""A process whose system calls fail: `python -m benchmarks.torture._faulty_writer KIND ADDRESS SEED STEPS`.

It prints one line of JSON for each step: what happened, the step, the error.
"""

from __future__ import annotations

import json
import sys
import warnings

from benchmarks.torture._steps import take_steps


def main() -> None:
    warnings.simplefilter("ignore")
    kind, address, seed, steps = sys.argv[1:]
    for line in take_steps(kind, address, int(seed), int(steps)):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
