"""A recurrent network of the published size on the joints of Hwang et al. 2020, by the folds of docs/wrist.md.

    python -m tools.wrist_lstm export DATA rows.npz         # commands, seen joints and folds
    python tools/wrist_lstm.py train rows.npz predicted.npz # needs torch, not trocar; ten minutes on one core
    python -m tools.wrist_lstm score DATA predicted.npz     # the table

Their forward model (github BerkeleyAutomation/dvrkCalibration, modeling/models.py and train.py): one LSTM layer of 120
units and a linear layer, from the commanded wrist joints of this row and the four before to the seen ones; Adam at
1e-3, batches of 100 rows, mean squared error, 1000 iterations. As for cables and polynomial, the mean error of each
motion is removed: that of the training rows before training, that of the judged rows before scoring.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

HIDDEN, HISTORY, BATCH, RATE = 120, 4, 100, 1e-3
SEEDS = {1000: 3, 5000: 1}  # networks by the number of iterations: theirs, and longer
WRIST = slice(3, 6)


def export(data: Path, file: Path) -> None:
    """Write all motions and the rows that each fold holds out."""
    from tools.derive_wrist import motions
    from trocar.identification.wrist.fit import FOLDS, SETTLE

    arrays: dict[str, Any] = {}
    for k, motion in enumerate(motions(data)):
        rows = np.arange(len(motion.command))
        folds = {f"part {f}": rows * FOLDS // len(rows) == f for f in range(FOLDS)}
        folds |= {f"motion {m}": np.full(len(rows), m == k) for m in range(6)}
        arrays |= {f"command {k}": motion.command, f"seen {k}": motion.seen}
        arrays |= {f"{name} of {k}": held_out for name, held_out in folds.items()}
        arrays[f"settled {k}"] = rows >= SETTLE
    np.savez(file, **arrays)


def predictions(file: str, fold: str, iterations: int, seed: int) -> dict[str, Any]:
    """Wrist joints (N, 3) of every motion, from a network trained without the rows of the fold."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rows = np.load(file)
    count = sum(name.startswith("command") for name in rows)
    windows, inputs, targets = [], [], []
    for k in range(count):
        q, seen = rows[f"command {k}"][:, WRIST], rows[f"seen {k}"][:, WRIST]
        padded = np.concatenate([np.repeat(q[:1], HISTORY, axis=0), q])
        windows.append(np.stack([padded[i : i + len(q)] for i in range(HISTORY + 1)], axis=1))
        used = rows[f"settled {k}"] & ~rows[f"{fold} of {k}"]
        if used.any():
            inputs.append(windows[-1][used])
            targets.append(seen[used] - (seen - q)[used].mean(0))
    X, Y = (torch.tensor(np.concatenate(parts), dtype=torch.float32) for parts in (inputs, targets))
    lstm, linear = torch.nn.LSTM(3, HIDDEN, batch_first=True), torch.nn.Linear(HIDDEN, 3)
    optimizer = torch.optim.Adam([*lstm.parameters(), *linear.parameters()], lr=RATE)
    for _ in range(iterations):
        batch = torch.randint(len(X), (BATCH,))
        loss = torch.nn.functional.mse_loss(linear(lstm(X[batch])[0][:, -1]), Y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        outputs = [linear(lstm(torch.tensor(w, dtype=torch.float32))[0][:, -1]).numpy() for w in windows]
    return {f"{fold} of {k}, {iterations}, {seed}": output for k, output in enumerate(outputs)}


def train(file: Path, output: Path) -> None:
    """Train all networks, one per core at a time, and write what they predict."""
    folds = sorted({name.rpartition(" of ")[0] for name in np.load(file) if " of " in name})
    jobs = [(str(file), fold, n, seed) for n in SEEDS for fold in folds for seed in range(SEEDS[n])]
    with ProcessPoolExecutor() as pool:
        results = pool.map(predictions, *zip(*jobs, strict=True))
        np.savez(output, **{name: value for result in results for name, value in result.items()})


def score(data: Path, file: Path) -> None:
    """Print held-out tip errors [mm], arm registered and all offsets removed, and wrist residuals [mrad]."""
    from tools.derive_wrist import motions
    from trocar.identification.wrist.cable_numbers import START
    from trocar.identification.wrist.fit import FOLDS, SETTLE, MotionRows, registration
    from trocar.mechanics import load_mechanism

    mechanism, predicted, every = load_mechanism("PSM"), np.load(file), motions(data)

    def tips(q: np.ndarray) -> np.ndarray:
        return mechanism.forward_kinematics(np.column_stack([q, np.zeros(len(q))]))[:, :3, 3]

    for iterations, seeds in SEEDS.items():
        for kind in ("part", "motion"):
            print(f"{iterations} iterations, held out: {kind}")
            for k, motion in enumerate(every):
                errors, residuals = [], []
                index = np.arange(len(motion.command))
                for f in range(FOLDS) if kind == "part" else [k]:
                    parts = [np.arange(len(m.command)) * FOLDS // len(m.command) == f for m in every]
                    others = [np.full(len(m.command), j == f) for j, m in enumerate(every)]
                    held_out = parts if kind == "part" else others
                    used = held_out[k] & (index >= SETTLE)
                    training = [MotionRows(m, ~rows) for m, rows in zip(every, held_out, strict=True) if (~rows).any()]
                    seen = motion.seen[used]
                    arm = registration(training, START).arm_joints(motion.command[used])
                    for seed in range(seeds):
                        wrist = predicted[f"{kind} {f} of {k}, {iterations}, {seed}"][used]
                        q = np.column_stack([arm, wrist])
                        q += (seen - q).mean(0)
                        distance = np.linalg.norm(tips(q) - tips(seen), axis=1)
                        errors.append((distance.mean(), len(q)))
                        residuals.append((seen - q)[:, WRIST].std(0) ** 2 * len(q))
                weights = np.array([n for _, n in errors])
                mean = np.average([e for e, _ in errors], weights=weights)
                residual = np.sqrt(np.sum(residuals, axis=0) / weights.sum())
                print(f"  {motion.name:12s} {1e3 * mean:.3f} mm  {np.round(1e3 * residual)} mrad")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("export", "train", "score"):
        sys.exit(__doc__)
    {"export": export, "train": train, "score": score}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
