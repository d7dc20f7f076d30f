"""Laws as functions of Warp's kernels: those on arrays, within float32."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import numpy as np
import pytest
from laws.test_laws import LAWS, inputs

from trocar.laws.law import ScalarLaw
from trocar.laws.sources.function_source import on_arrays, on_warp

COMPILES = "Warp compiles kernels for many seconds; TROCAR_WARP_TESTS=1 or make gpu runs them"
pytestmark = pytest.mark.skipif(not os.environ.get("TROCAR_WARP_TESTS"), reason=COMPILES)

KERNEL = """
import warp as wp

def kernel_of(law):
    @wp.kernel(enable_backward=False, module="unique")
    def run(u: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i = wp.tid()
        {results} = law({arguments})
{stores}
    return run
"""


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_law_of_warp_is_that_on_arrays(law: ScalarLaw, tmp_path: Path) -> None:
    import warp as wp

    values = inputs(law, 64).astype(np.float32)
    names = [f"y{k}" for k in range(len(law.outputs))]
    source = KERNEL.format(
        results=", ".join(names),
        arguments=", ".join(f"u[{k}, i]" for k in range(len(values))),
        stores="\n".join(f"        y[{k}, i] = {name}" for k, name in enumerate(names)),
    )
    file = tmp_path / f"kernel_of_{law.name}.py"
    file.write_text(source)
    kernel = runpy.run_path(str(file), run_name=file.stem)["kernel_of"](on_warp(law))
    results = wp.zeros((len(names), 64), dtype=float, device="cpu")
    wp.launch(kernel, 64, inputs=[wp.array(values, dtype=float, device="cpu"), results], device="cpu")
    expected = np.atleast_2d(on_arrays(law)(*values.astype(float)))
    np.testing.assert_allclose(results.numpy(), expected, rtol=2e-4, atol=1e-5)
