"""Draw docs/images/batch_rate.png from the measured rates in docs/images/batch_rate.json."""

import json
from pathlib import Path

import matplotlib.pyplot as plt

from trocar.plots import save

IMAGES = Path(__file__).parents[1] / "docs" / "images"

measured = json.loads((IMAGES / "batch_rate.json").read_text())
figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
for steps, style in (("1000", "o-"), ("100", "o--")):
    for k, (name, rates) in enumerate(measured["steps_per_launch"][steps].items()):
        axes.loglog([int(n) for n in rates], list(rates.values()), style, color=f"C{k}", label=f"{name}, {steps} steps")
axes.set(xlabel="arms", ylabel="steps of one arm per second", title=f"{measured['arm']} on one {measured['device']}")
axes.grid(which="both", alpha=0.3)
axes.legend(title="rollouts under", fontsize=8)
save(figure, IMAGES / "batch_rate.png")
