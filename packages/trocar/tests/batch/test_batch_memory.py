"""A GPU without memory: one clear line, and the memory is used again. The driver is a stand-in with 1 GB."""

import ctypes
import enum
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from trocar.batch.backends import cuda
from trocar.errors import TrocarError

TOTAL = 10**9  # [bytes]


class Result(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2


class SmallGpu:
    """The part of NVIDIA's driver that allocates."""

    CUresult = Result
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=0,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=1,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT=2,
    )

    def __init__(self):
        self.allocated, self._addresses = {}, itertools.count(4096, 4096)
        self._flag = ctypes.c_int64()

    @property
    def free(self):
        return TOTAL - sum(self.allocated.values())

    def __getattr__(self, name):
        return lambda *_: (Result.CUDA_SUCCESS, 0)

    def cuMemHostAlloc(self, *_):
        return Result.CUDA_SUCCESS, ctypes.addressof(self._flag)

    def cuMemGetInfo(self):
        return Result.CUDA_SUCCESS, self.free, TOTAL

    def cuMemAlloc(self, size):
        if size > self.free:
            return Result.CUDA_ERROR_OUT_OF_MEMORY, 0
        self.allocated[address := next(self._addresses)] = size
        return Result.CUDA_SUCCESS, address

    def cuMemFree(self, address):
        del self.allocated[address]
        return (Result.CUDA_SUCCESS,)


@pytest.fixture
def gpu(monkeypatch):
    gpu = SmallGpu()
    monkeypatch.setattr(cuda, "driver", gpu, raising=False)
    monkeypatch.setattr(cuda, "MISSING", "")
    return gpu


def test_a_batch_that_does_not_fit_on_the_gpu_is_one_clear_line(gpu):
    backend = cuda.CudaBackend()
    kept = backend.empty((100_000_000,))  # 0.4 GB
    with pytest.raises(TrocarError, match=r"needs 0\.80 GB, 0\.60 of 1\.00 GB .* use fewer arms") as caught:
        backend.zeros((200_000_000,))
    assert "\n" not in str(caught.value)
    assert backend.zeros((100,)).shape == (100,)  # the GPU is as usable as before
    assert kept.shape == (100_000_000,)


def test_memory_of_deleted_arrays_is_given_back_before_the_gpu_counts_as_full(gpu):
    backend = cuda.CudaBackend()
    for numbers in (150_000_000, 200_000_000, 240_000_000):  # 0.6 to 0.96 GB, one after the other
        array = backend.empty((numbers,))
        del array
    assert sum(gpu.allocated.values()) <= TOTAL


@pytest.mark.parametrize("values", ["text", [1j, 2.0], None, [[1.0], [1.0, 2.0]], np.ma.array([1.0, 2.0], mask=[0, 1])])
def test_values_that_are_no_real_numbers_are_refused_before_they_reach_the_gpu(gpu, values):
    with pytest.raises(TrocarError, match="must be an array of numbers"):
        cuda.CudaBackend().placed(values)
