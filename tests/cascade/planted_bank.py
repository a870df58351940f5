"""One planted bank for the tests of the cascade: made once for each test process."""

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from assay.cascade import service as cascade
from assay.cascade.bank.index_build import build_index
from assay.cascade.bank.planted import PlantedPlan, plant
from assay.cascade.bank.sequences import open_sequences
from assay.cascade.bank.train import train


@cache
def folder() -> Path:
    """bank.npz, sequences.npz, index/ and lvm/ of 4,096 vectors × 32."""
    made = Path(mkdtemp(prefix="assay-planted-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    bank = plant(made, PlantedPlan(4_096, 32, val_share=0.2))
    build_index(bank, made / "index")
    train(bank, open_sequences(made / "sequences.npz", bank), made / "lvm", context=4)
    return made


@cache
def opened() -> cascade.Cascade:
    made = folder()
    return cascade.open(made / "bank.npz", made / "index", made / "lvm")


@cache
def sequences():
    return open_sequences(folder() / "sequences.npz", opened().snapshot.bank)
