"""What a caller may change of a pipeline that it names."""

import pytest

from assay.config.resolve import resolve
from assay.errors import ConfigError


def test_a_pipeline_stays_itself_when_nothing_is_asked():
    assert resolve(resolve("rrf")) is resolve("rrf")


def test_the_shorter_time_budget_counts_and_is_part_of_the_digest():
    patient = resolve("rrf", budget_ms=50)
    assert (patient.budget_ms, resolve("rrf").budget_ms) == (50.0, None)
    assert resolve(patient, budget_ms=80) is patient
    hurried = resolve(patient, budget_ms=20)
    assert hurried.budget_ms == 20.0
    assert len({resolve("rrf").digest, patient.digest, hurried.digest}) == 3


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf"), True])
def test_a_time_budget_is_a_number_above_zero(budget):
    with pytest.raises(ConfigError, match="budget_ms"):
        resolve("rrf", budget_ms=budget)
