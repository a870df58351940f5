"""One planted bank for the tests of the cascade: made once for each test process."""

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from assay.cascade import service as cascade
from assay.cascade.bank.index_build import build_index
from assay.cascade.bank.planted import PlantedSettings, plant_bank
from assay.cascade.bank.sequences import open_sequences
from assay.cascade.bank.train import train_model


@cache
def planted_folder() -> Path:
    """bank.npz, sequences.npz, index/ and lvm/ of 4,096 vectors × 32."""
    made = Path(mkdtemp(prefix="assay-planted-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    bank = plant_bank(made, PlantedSettings(4_096, 32, val_share=0.2))
    build_index(bank, made / "index")
    train_model(bank, open_sequences(made / "sequences.npz", bank), made / "lvm", context=4)
    return made


@cache
def open_planted() -> cascade.Cascade:
    made = planted_folder()
    return cascade.open_cascade(made / "bank.npz", made / "index", made / "lvm")


@cache
def planted_sequences():
    return open_sequences(planted_folder() / "sequences.npz", open_planted().snapshot.bank)
