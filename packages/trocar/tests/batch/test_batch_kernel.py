"""The CUDA backend without a GPU: its kernel, built as C++, runs thread by thread under a host driver."""

import ctypes
import shutil
import subprocess
from enum import IntEnum

import numpy as np
import pytest
from batch.test_batch import DT, states

import trocar as tr
from tools.bench import gpu
from trocar import batch
from trocar.batch import speed
from trocar.batch.backends import cuda
from trocar.batch.backends.cuda import DeviceArray

pytestmark = pytest.mark.xdist_group("batch_kernel")  # one worker: fixtures are built once

# The kernel as C++: every thread in turn.
STUBS = """
struct Index { int x; };
static Index blockIdx, blockDim, threadIdx;
#define __global__
#define __device__
#define __restrict__
#include <math.h>
"""
LOOP = """
extern "C" void all(const real *s, real *e, const Shared *p, const real *own, const Sources *from, real *log,
                    long long log_step, long long every, long long arms, long long steps, int *bad) {
  blockDim.x = 4;
  for (blockIdx.x = 0; blockIdx.x * 4 < arms; blockIdx.x++)
    for (threadIdx.x = 0; threadIdx.x < 4; threadIdx.x++)
      trocar_run(s, e, *p, own, *from, log, log_step, every, arms, steps, bad);
}
"""
POINTERS = (0, 1, 2, 3, 4, 5, 10)  # among the arguments


class HostDriver:
    """The NVIDIA driver calls used by the backend, in host memory."""

    class CUresult(IntEnum):
        CUDA_SUCCESS = 0
        CUDA_ERROR_OUT_OF_MEMORY = 2

    class CUdevice_attribute:
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 9
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 0
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 0

    def __init__(self, folder, limit=10**9):
        self._folder, self._limit, self.blocks, self.launches = folder, limit, {}, 0
        self.flags = []

    def __getattr__(self, name):
        """Calls without a result: cuInit, cuCtxSetCurrent, ..."""
        return lambda *_: (0,)

    def cuDeviceGet(self, index):
        return 0, index

    def cuDevicePrimaryCtxRetain(self, device):
        return 0, "context"

    def cuDeviceGetAttribute(self, attribute, device):
        return 0, attribute

    def cuMemGetInfo(self):
        return 0, self._limit, self._limit

    def cuMemAlloc(self, size):
        if size > self._limit:
            return self.CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        block = np.full(size, 0xFF, dtype=np.uint8)  # not a number until it is written
        self.blocks[block.ctypes.data] = block
        return 0, block.ctypes.data

    def cuMemFree(self, address):
        del self.blocks[address]
        return (0,)

    def _copied(self, to, source, size):
        ctypes.memmove(to, source, size)
        return (0,)

    def cuMemsetD8(self, address, value, size):
        ctypes.memset(address, value, size)
        return (0,)

    cuMemcpyHtoD = cuMemcpyDtoH = cuMemcpyDtoD = _copied

    def cuModuleLoadData(self, source):
        number = len(list(self._folder.iterdir()))
        file, target = self._folder / f"{number}.cpp", self._folder / f"{number}.so"
        file.write_text(STUBS + source.decode() + LOOP)
        subprocess.run(["g++", "-O0", "-w", "-shared", "-fPIC", str(file), "-o", str(target)], check=True)
        return 0, ctypes.CDLL(str(target))

    def cuModuleGetFunction(self, module, name):
        return 0, module.all

    def cuMemHostAlloc(self, size, flags):
        self.flags.append(np.zeros(size, dtype=np.uint8))  # one of each device, for as long as it may be written to
        return 0, self.flags[-1].ctypes.data

    def cuLaunchKernel(self, function, *arguments):
        blocks, threads, pointers = arguments[0], arguments[3], arguments[8]
        places = list((ctypes.c_uint64 * 11).from_address(pointers))
        values = [ctypes.c_longlong.from_address(place).value for place in places]
        values[2], values[4] = places[2], places[4]  # structures, passed by value
        assert blocks * threads >= values[8] > (blocks - 1) * threads
        kinds = [ctypes.c_void_p if k in POINTERS else ctypes.c_longlong for k in range(len(places))]
        function(*(kind(value) for kind, value in zip(kinds, values, strict=True)))
        self.launches += 1
        return (0,)


def _nowhere(array):
    """JAX on the CPU must copy an array of the device."""
    raise AttributeError("__cuda_array_interface__")


@pytest.fixture
def driver(monkeypatch, tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    found = HostDriver(tmp_path)
    monkeypatch.setattr(cuda, "MISSING", "")
    monkeypatch.setattr(cuda, "driver", found, raising=False)
    monkeypatch.setattr(cuda, "compiled", lambda source, architecture, precision: source.encode())
    return found


@pytest.fixture(scope="module")
def psm():
    return batch.load("PSM")


def test_rollouts_steps_and_logs_are_those_of_the_c_backend(psm, driver):
    arms = batch.load("PSM", backend="cuda", precision="float64")
    q, dq, tau = states(psm.mechanism, 70)  # more than a block
    efforts = tau + 0.01 * np.arange(7)[:, None, None]
    start = arms.state(q, dq)
    end, log = arms.rollout(start, efforts, DT, every=3)
    expected, expected_log = psm.rollout(psm.state(q, dq), efforts, DT, every=3)
    np.testing.assert_allclose(np.asarray(end.rows), expected.rows, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(np.asarray(log.dq), expected_log.dq, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(log.recording(69).ddq, expected_log.recording(69).ddq, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(np.asarray(start.q), q)
    after = arms.step(end, tau, DT)
    np.testing.assert_allclose(np.asarray(after.q), psm.step(expected, tau, DT).q, rtol=1e-9)
    # efforts that are on the device already, and a reset by mask
    again = arms.step(end, arms.backend.placed(tau), DT)
    np.testing.assert_array_equal(np.asarray(again.rows), np.asarray(after.rows))
    back = arms.reset(after, np.arange(70) == 3, q[:, 0])
    np.testing.assert_array_equal(np.asarray(back.q)[:, 3], q[:, 0])
    np.testing.assert_array_equal(np.asarray(back.q)[:, 4:], np.asarray(after.q)[:, 4:])
    bad = tau.copy()
    bad[2, 66] = np.nan
    with pytest.raises(batch.NotFinite, match="arm 66 of 70"):
        arms.step(end, bad, DT)


def test_queries_and_parameters_of_each_arm_are_those_of_the_c_backend(psm, driver):
    q, dq, tau = states(psm.mechanism, 5)
    gravity = np.random.default_rng(0).normal(size=(3, 5))
    ours, theirs = (
        x.with_parameters(gravity=gravity) for x in (batch.load("PSM", backend="cuda", precision="float64"), psm)
    )
    np.testing.assert_allclose(ours.forward_dynamics(q, dq, tau), theirs.forward_dynamics(q, dq, tau), rtol=1e-9)
    np.testing.assert_allclose(ours.tip_pose(q), theirs.tip_pose(q), atol=1e-12)


def test_branches_of_joint_stops_and_of_arms_at_rest_are_those_of_the_c_backend(psm, driver):
    """A third of the arms at rest, a third driven into a limit, one of them beyond it, a third in free motion."""
    arms = batch.load("PSM", backend="cuda", precision="float64")
    q, dq, tau = states(psm.mechanism, 9)
    dq[:, :3], tau[:, :3] = 0.0, psm.mechanism.gravity(q[:, :3].T).T
    q[1, 3:6], dq[1, 3:6] = psm.mechanism.arm.upper[1] + np.array([-1e-4, 0.0, 1e-3]), 1.0
    ends = [x.rollout(x.state(q, dq), tau, DT, 20, log=False)[0] for x in (arms, psm)]
    assert (ends[1].stops[1, 3:6] != 0).all()
    assert np.abs(ends[1].q[:, :3] - q[:, :3]).max() < 1e-9
    np.testing.assert_allclose(np.asarray(ends[0].rows), ends[1].rows, rtol=1e-9, atol=1e-11)
    weights = np.random.default_rng(3).normal(size=(21, 7, 9))
    found = [x.gradients(x.state(q, dq), np.repeat(tau[None], 20, axis=0), DT, weights) for x in (arms, psm)]
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-7, atol=1e-9 * np.abs(theirs).max())


def test_gradients_and_controllers_are_those_of_the_c_backend(psm, driver):
    q, dq, tau = states(psm.mechanism, 5)
    mass = psm.mechanism.tree.mass[:, None] * np.linspace(0.8, 1.2, 5)
    arms = batch.load("PSM", backend="cuda", precision="float64")
    weights = np.random.default_rng(2).normal(size=(2, 5, 7, 5))
    found = []
    for x in (arms.with_parameters(mass=mass), psm.with_parameters(mass=mass)):
        *by, by_parameters = x.gradients(
            x.state(q, dq), np.repeat(tau[None], 4, axis=0), DT, *weights, parameters=["mass", "Fc"]
        )
        pid = x.rollout(x.state(q, dq), batch.JointPID(q, ki=10.0), DT, 5, log=False)[0]
        found.append([*by, *by_parameters.values(), pid.q, pid.integral])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-7, atol=1e-9 * np.abs(theirs).max())


def test_figures_of_the_gpu_are_measured(driver, monkeypatch):
    """With JAX on the CPU instead of the GPU."""
    jax = pytest.importorskip("jax")
    monkeypatch.setattr(gpu, "jax_on_gpu", lambda: jax)
    monkeypatch.setattr(DeviceArray, "__cuda_array_interface__", property(_nowhere))
    found = speed.gpu_figures(sizes=(3, 40), steps=2, seconds=0.0)
    found |= gpu.figures(1, lambda fraction: None, arms=40, seconds=0.0)
    names = {f"cuda_{name}_40" for name in ("steps_per_s", "cables_steps_per_s")}
    names |= {"cuda_compile_s", "cuda_steps_per_s_3", "cuda_gradient_ms", "cuda_mppi_ms"}
    assert names < set(found)
    assert all(np.isfinite(value) and value > 0 for value in found.values())


def test_memory_is_released_and_its_lack_is_reported_in_one_line(psm, driver):
    arms = batch.load("PSM", backend="cuda")
    state = arms.state(psm.mechanism.arm.home)
    state = arms.step(state, np.zeros(7), DT)
    kept = len(driver.blocks)
    for _ in range(5):
        state = arms.step(state, np.zeros(7), DT)
    assert len(driver.blocks) == kept
    driver._limit = 1000
    with pytest.raises(tr.TrocarError, match=r"the batch does not fit: it needs .* use fewer arms") as caught:
        arms.state(np.tile(np.array(psm.mechanism.arm.home)[:, None], 1000))
    assert "\n" not in str(caught.value)
    with pytest.raises(tr.TrocarError, match="the batch does not fit"):
        arms.rollout(state, np.zeros(7), DT, 1000)  # its log


def test_a_missing_gpu_is_reported_in_one_line(driver, monkeypatch):
    monkeypatch.setattr(driver, "cuInit", lambda flags: (100,), raising=False)
    with pytest.raises(tr.TrocarError, match=r"requires an NVIDIA GPU and its driver: .*100") as caught:
        batch.load("PSM", backend="cuda")
    assert "\n" not in str(caught.value)


def test_missing_cuda_bindings_are_reported_in_one_line(monkeypatch):
    monkeypatch.setattr(cuda, "MISSING", "No module named 'cuda'")
    with pytest.raises(tr.TrocarError, match=r"requires NVIDIA's bindings .*pip install cuda-bindings") as caught:
        batch.load("PSM", backend="cuda")
    assert "\n" not in str(caught.value)


def test_arrays_of_a_device_are_sliced_and_copied_as_numpy_arrays_are():
    """A device with host memory."""
    memory = np.arange(2.0 * 6 * 3).reshape(2, 6, 3)

    def download(host, address):
        ctypes.memmove(host.ctypes.data, address, host.nbytes)

    array = DeviceArray(memory, memory.ctypes.data, memory.shape, memory.dtype, download)
    for index in (
        0,
        slice(1, 2),
        slice(None, None, 2),
        slice(2, 3),
        (slice(None), slice(2, 4)),
        (slice(None), 3),
        (1, slice(2, 5), 1),
    ):
        np.testing.assert_array_equal(np.asarray(array[index]), memory[index])
    assert array[1].contiguous
    assert not array[:, 2:4].contiguous
    assert array[:, 2:4].__cuda_array_interface__["strides"] == memory[:, 2:4].strides
