"""The CUDA backend: programs as kernels, compiled by NVRTC through NVIDIA's own bindings.

States live in the GPU's memory. Efforts and references may be NumPy arrays, which are copied, or arrays of any library
with `__cuda_array_interface__` (PyTorch, CuPy, JAX), which are read in place.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import numpy as np

from trocar.batch.backend import Backend, Kernel
from trocar.batch.program import Program
from trocar.batch.sources import array_source
from trocar.batch.sources.c_source import BLOCK, KernelForm, cuda_source, tiles
from trocar.batch.sources.device_array import DeviceArray
from trocar.errors import TrocarError
from trocar.spatial import Array

try:
    driver: Any = import_module("cuda.bindings.driver")
    nvrtc: Any = import_module("cuda.bindings.nvrtc")
    MISSING = ""
except ImportError as error:
    MISSING = str(error)

WARP = 32
MAPPED = 2  # CU_MEMHOSTALLOC_DEVICEMAP
ARGUMENTS = 4000  # largest size of fixed values passed as a kernel argument [bytes]; CUDA allows 4096 for all arguments


class CudaBackend(Backend):
    """Compiles programs for the first GPU."""

    name, default_precision, in_host_memory = "cuda", "float32", False

    def __init__(self, precision: str | None = None, threads: int = 1) -> None:
        if MISSING:
            raise TrocarError(
                f'backend="cuda" requires NVIDIA\'s bindings ({MISSING}): pip install cuda-bindings '
                'nvidia-cuda-nvrtc, or use backend="c"'
            )
        super().__init__(precision, threads)
        self.device = Gpu()

    def array(self, values: Any) -> Any:
        """A host array, or a GPU array without a copy."""
        on_gpu = on_device(values, self.dtype, self.device.downloaded)
        return np.asarray(values, dtype=self.dtype) if on_gpu is None else on_gpu

    def fetched(self, array: DeviceArray) -> Array:
        return np.asarray(array)

    def placed(self, rows: Array) -> DeviceArray:
        return self.device.uploaded(rows, self.dtype)

    def zeros(self, shape: Sequence[int]) -> DeviceArray:
        return self.device.zeros(shape, self.dtype)

    def joined(self, arrays: Sequence[Any]) -> DeviceArray:
        return self.device.joined(arrays, self.dtype)

    def kernel(self, program: Program) -> CudaKernel:
        return CudaKernel(program, self)


BACKEND = CudaBackend


class Gpu:
    """The first GPU with its primary context, shared with other libraries in the process."""

    def __init__(self) -> None:
        try:
            checked(driver.cuInit(0))
            self._device = checked(driver.cuDeviceGet(0))
            self._context = checked(driver.cuDevicePrimaryCtxRetain(self._device))
            checked(driver.cuCtxSetCurrent(self._context))
        except (TrocarError, RuntimeError) as error:
            raise TrocarError(
                f'backend="cuda" requires an NVIDIA GPU and its driver: {_line(error)}; use backend="c"'
            ) from error
        major, minor, processors = (
            checked(
                driver.cuDeviceGetAttribute(
                    getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), self._device
                )
            )
            for name in ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", "MULTIPROCESSOR_COUNT")
        )
        self.architecture = f"sm_{major}{minor}"
        # up to this many arms, each of a multiprocessor's four schedulers has at most one warp
        self._few = processors * 4 * WARP
        self._pool: dict[int, list[int]] = {}  # free memory by size
        # Kernels set this number if a state is not finite. It is in host memory, so reading it is free.
        self._bad_address = int(checked(driver.cuMemHostAlloc(8, MAPPED)))
        self._bad = ctypes.c_int32.from_address(self._bad_address)
        self._lock = threading.Lock()  # used by one kernel at a time

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> DeviceArray:
        """Memory that returns to the pool when the array and all its views are deleted."""
        size = max(1, prod(shape)) * dtype.itemsize
        free = self._pool.get(size)
        address = free.pop() if free else self._allocated(size)
        return DeviceArray(GpuMemory(address, size, self._pool), address, tuple(shape), dtype, self.downloaded)

    def zeros(self, shape: Sequence[int], dtype: np.dtype[Any]) -> DeviceArray:
        new = self.empty(shape, dtype)
        checked(driver.cuMemsetD8(new.address, 0, max(1, new.nbytes)))
        return new

    def _allocated(self, size: int) -> int:
        checked(driver.cuCtxSetCurrent(self._context))
        code, address = driver.cuMemAlloc(size)
        if code == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            for free in self._pool.values():
                while free:
                    checked(driver.cuMemFree(free.pop()))
            code, address = driver.cuMemAlloc(size)
        if code == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            left, total = checked(driver.cuMemGetInfo())
            raise TrocarError(
                f"the batch does not fit: it needs {size / 1e9:.2f} GB, {left / 1e9:.2f} of {total / 1e9:.2f} GB of "
                "the GPU are free; use fewer arms, record fewer steps with every=, or nothing with log=False"
            )
        checked((code,))
        return int(address)

    def taken(self, array: Any, dtype: np.dtype[Any]) -> DeviceArray:
        """A GPU array without a copy, or a copy of a host array."""
        on_gpu = on_device(array, dtype, self.downloaded)
        return self.uploaded(array, dtype) if on_gpu is None else on_gpu

    def uploaded(self, array: Any, dtype: np.dtype[Any]) -> DeviceArray:
        """A GPU copy of a host array."""
        host = np.ascontiguousarray(array, dtype=dtype)
        new = self.empty(host.shape, dtype)
        if host.nbytes:
            checked(driver.cuMemcpyHtoD(new.address, host.ctypes.data, host.nbytes))
        return new

    def joined(self, arrays: Sequence[Any], dtype: np.dtype[Any]) -> DeviceArray:
        """The rows of several arrays of the same batch, stacked."""
        parts = [self.taken(array, dtype) for array in arrays]
        new = self.empty((sum(map(len, parts)), *parts[0].shape[1:]), dtype)
        address = new.address
        for part in parts:
            checked(driver.cuMemcpyDtoD(address, part.address, part.nbytes))
            address += part.nbytes
        return new

    def launched(
        self, function: Any, arms: int, before: Sequence[int], shared: Array, after: Sequence[int], sources: int
    ) -> bool:
        """Run a kernel, wait for it, and return True if all states are finite.

        Args:
            before, shared, after: kernel arguments in this order; the inputs follow the first of `after`,
                structures of four numbers that form one argument. sources: number of these structures.
        """
        checked(driver.cuCtxSetCurrent(self._context))
        words = np.array([*before, *after, self._bad_address], dtype=np.int64)
        at, first = words.ctypes.data, len(before)
        starts = [*range(first), *range(first, first + 2), *range(first + 1 + 4 * sources, len(words))]
        places = [at + 8 * k for k in starts]
        places.insert(first, shared.ctypes.data)
        pointers = np.array(places, dtype=np.uint64)
        block = WARP if arms <= self._few else BLOCK
        blocks = -(-arms // block)
        with self._lock:
            self._bad.value = 0
            checked(driver.cuLaunchKernel(function, blocks, 1, 1, block, 1, 1, 0, 0, pointers.ctypes.data, 0))
            checked(driver.cuCtxSynchronize())
            return not self._bad.value

    def downloaded(self, host: Array, address: int) -> None:
        """Copy to a contiguous host array."""
        checked(driver.cuCtxSetCurrent(self._context))
        checked(driver.cuMemcpyDtoH(host.ctypes.data, address, host.nbytes))


class GpuMemory:
    """GPU memory that returns to its pool when this object is deleted."""

    def __init__(self, address: int, size: int, pool: dict[int, list[int]]) -> None:
        self._address, self._size, self._pool = address, size, pool

    def __del__(self) -> None:
        self._pool.setdefault(self._size, []).append(self._address)


class FixedValues(NamedTuple):
    """Fixed values of a program.

    Attributes:
        own: indices of those that differ between arms. shared: the others, an argument of the kernel.
        memory: those that differ, in tiles, in GPU memory; all (F,) if they are too many for an argument.
        values: all values (F,) or (F, N), in host memory.
    """

    own: tuple[int, ...]
    shared: Array
    memory: DeviceArray
    values: Array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.values if dtype is None else self.values.astype(dtype, copy=False)


class CudaKernel(Kernel):
    """A program, compiled once per variant, for batches of any size and any number of steps."""

    def __init__(self, program: Program, backend: CudaBackend) -> None:
        self.program, self._backend, self._device, self._dtype = program, backend, backend.device, backend.dtype
        self._functions: dict[KernelForm, Any] = {}

    def fixed(self, parameters: Sequence[Array]) -> FixedValues:
        """Fixed values for parameters () or (N,)."""
        values = self._preparation(parameters)
        own = tuple(k for k, value in enumerate(values) if np.ndim(value))
        if (len(values) - len(own) + 1) * self._dtype.itemsize > ARGUMENTS:
            own = tuple(range(len(values)))
        rows = np.array(np.broadcast_arrays(*values), dtype=self._dtype) if values else np.zeros(0, self._dtype)
        shared = np.append([values[k] for k in range(len(values)) if k not in own], 0.0).astype(self._dtype)
        own_rows = rows[list(own)]
        memory = self._device.uploaded(tiles(own_rows) if own_rows.ndim == 2 else own_rows, self._dtype)
        return FixedValues(own, shared, memory, rows)

    def batch(self, fixed: FixedValues) -> tuple[int, ...]:
        return fixed.values.shape[1:]

    @cached_property
    def _preparation(self) -> Any:
        return array_source.numpy_preparation(self.program)

    def run(
        self, rows: Any, fixed: FixedValues, inputs: Any, steps: int, held: bool, every: int = 0
    ) -> tuple[DeviceArray, DeviceArray | None, int]:
        inputs = self._device.taken(inputs, self._dtype)
        arms = rows.shape[1] if rows.ndim == 2 else 1
        each = inputs.ndim == (1 if held else 2) + 1  # a value for each arm
        over_time = 0 if held else inputs.size // len(inputs)
        source = (inputs.address, over_time, *((arms, 1) if each else (1, 0)))
        return self._launched(rows, fixed, source, None, steps, held, every, False)

    def run_backwards(
        self, rows: Any, fixed: FixedValues, inputs: Sequence[Any]
    ) -> tuple[DeviceArray, DeviceArray | None, int]:
        steps, arms = len(inputs[0]), rows.shape[1] if rows.ndim == 2 else 1
        sources: list[int] = []
        taken = [self._device.taken(x, self._dtype) for x in inputs]
        for x in taken:
            step = x.size // len(x)
            own = (arms, 1) if x.ndim == rows.ndim + 1 else (1, 0)
            sources += [x.address + (steps - 1) * step * self._dtype.itemsize, -step, *own]
        return self._launched(rows, fixed, sources, tuple(x.shape[1] for x in taken), steps, False, 1, True)

    def _launched(
        self,
        rows: Any,
        fixed: FixedValues,
        sources: Sequence[int],
        counts: tuple[int, ...] | None,
        steps: int,
        held: bool,
        every: int,
        backwards: bool,
    ) -> tuple[DeviceArray, DeviceArray | None, int]:
        device, program = self._device, self.program
        rows = device.taken(rows, self._dtype)
        batch = rows.shape[1:]
        arms = batch[0] if batch else 1
        end, log, first = device.empty(rows.shape, self._dtype), None, 0
        sample = (program.logged + len(program.outputs)) * arms
        if every:
            log = device.empty((-(-steps // every), sample // arms, *batch), self._dtype)
            first = log.address + ((len(log) - 1) * sample * self._dtype.itemsize if backwards else 0)
        over = -sample if backwards else sample
        before = (rows.address, end.address)
        after = (fixed.memory.address, *sources, first, over, max(1, every), arms, steps)
        function = self._function(KernelForm(fixed.own, fixed.values.ndim == 2, held, log is not None, counts))
        fine = device.launched(function, arms, before, fixed.shared, after, len(sources) // 4)
        return end, log, -1 if fine else _first_bad(np.asarray(end))

    def _function(self, form: KernelForm) -> Any:
        if form not in self._functions:
            module = checked(driver.cuModuleLoadData(self.compiled(self._device.architecture, form)))
            self._functions[form] = checked(driver.cuModuleGetFunction(module, b"trocar_run"))
        return self._functions[form]

    def compiled(self, architecture: str, form: KernelForm) -> bytes:
        """Machine code for an architecture such as sm_90."""
        precision = self._backend.precision
        return compiled(cuda_source(self.program, precision, form), architecture, precision)


def _first_bad(rows: Array) -> int:
    return int(np.argmax(~np.isfinite(rows).all(axis=0)))


def compiled(source: str, architecture: str, precision: str) -> bytes:
    """Machine code of a CUDA source, compiled by NVRTC."""
    options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17"]
    if precision == "float32":
        options.append(b"--use_fast_math")  # as accurate after 100 steps, in two thirds of the time
    try:
        program = checked(nvrtc.nvrtcCreateProgram(source.encode(), b"arm.cu", 0, [], []))
    except RuntimeError as error:
        raise TrocarError(f"NVRTC was not found ({_line(error)}): pip install nvidia-cuda-nvrtc") from error
    (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        log = bytearray(checked(nvrtc.nvrtcGetProgramLogSize(program)))
        checked(nvrtc.nvrtcGetProgramLog(program, log))
        lines = [line for line in log.decode(errors="replace").splitlines() if "error" in line]
        raise TrocarError(f"NVRTC failed to compile the generated code: {lines[0] if lines else code.name}")
    binary = bytearray(checked(nvrtc.nvrtcGetCUBINSize(program)))
    checked(nvrtc.nvrtcGetCUBIN(program, binary))
    checked(nvrtc.nvrtcDestroyProgram(program))
    return bytes(binary)


def on_device(array: Any, dtype: np.dtype[Any], download: Any) -> DeviceArray | None:
    """A contiguous GPU array of this type without a copy; None for a host array."""
    if isinstance(array, DeviceArray) and array.contiguous and array.dtype == dtype:
        return array
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        return None
    if np.dtype(interface["typestr"]) != dtype or interface.get("strides") is not None:
        raise TrocarError(f"arrays on the GPU must be contiguous and of type {dtype}, got {interface['typestr']}")
    return DeviceArray(array, int(interface["data"][0]), tuple(interface["shape"]), dtype, download)


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def checked(result: tuple[Any, ...]) -> Any:
    """Results of a call to the driver or NVRTC; raises an error if its status is an error."""
    code, *values = result
    if int(code) != 0:
        raise TrocarError(f"CUDA reports {getattr(code, 'name', code)}")
    return values[0] if len(values) == 1 else tuple(values)
