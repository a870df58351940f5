"""One planted bank for the tests of the cascade: made once for each test process."""

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from assay import cascade
from assay.bank.index_build import build_index
from assay.bank.planted import Plan, plant
from assay.bank.sequences import open_sequences
from assay.bank.train import train


@cache
def folder() -> Path:
    """bank.npz, sequences.npz, index/ and lvm/ of 4,096 vectors × 32."""
    made = Path(mkdtemp(prefix="assay-planted-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    bank = plant(made, Plan(4_096, 32, val_share=0.2))
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
