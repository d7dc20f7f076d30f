"""The CUDA backend: programs as kernels, compiled by NVRTC through NVIDIA's own bindings.

States live in the GPU's memory. Efforts and references may be NumPy arrays, which are copied, or arrays of any library
with `__cuda_array_interface__` (PyTorch, CuPy, JAX), which are read in place.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import numpy as np

from trocar.batch.backend import Backend, Kernel
from trocar.errors import TrocarError
from trocar.laws.program import Program
from trocar.laws.sources.c_source import BLOCK, KernelForm, cuda_source, tiles
from trocar.spatial import Array, Values

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
    """Compiles programs for the first GPU, in its primary context, which other libraries in the process share."""

    name, default_precision, in_host_memory = "cuda", "float32", False

    def __init__(self, precision: str | None = None, threads: int = 1) -> None:
        if MISSING:
            raise TrocarError(
                f'backend="cuda" requires NVIDIA\'s bindings ({MISSING}): pip install cuda-bindings '
                'nvidia-cuda-nvrtc, or use backend="c"'
            )
        super().__init__(precision, threads)
        try:
            checked(driver.cuInit(0))
            device = checked(driver.cuDeviceGet(0))
            self._context = checked(driver.cuDevicePrimaryCtxRetain(device))
            checked(driver.cuCtxSetCurrent(self._context))
        except (TrocarError, RuntimeError) as error:
            raise TrocarError(
                f'backend="cuda" requires an NVIDIA GPU and its driver: {_line(error)}; use backend="c"'
            ) from error
        kinds = driver.CUdevice_attribute
        major, minor, processors = (
            checked(driver.cuDeviceGetAttribute(getattr(kinds, f"CU_DEVICE_ATTRIBUTE_{name}"), device))
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

    def kernel(self, program: Program) -> CudaKernel:
        return CudaKernel(program, self)

    def array(self, values: Values) -> Values:
        """A host array, or a contiguous GPU array of this type without a copy."""
        if isinstance(values, DeviceArray) and values.contiguous and values.dtype == self.dtype:
            return values
        interface = getattr(values, "__cuda_array_interface__", None)
        if interface is None:
            return super().array(values)
        kind = interface["typestr"]
        if np.dtype(kind) != self.dtype or interface.get("strides") is not None:
            raise TrocarError(f"arrays on the GPU must be contiguous and of type {self.dtype}, got {kind}")
        return self._at(values, int(interface["data"][0]), interface["shape"])

    def fetched(self, array: DeviceArray) -> Array:
        return np.asarray(array)

    def placed(self, rows: Values) -> DeviceArray:
        """A GPU array without a copy, or a copy of a host array."""
        host = self.array(rows)
        if isinstance(host, DeviceArray):
            return host
        host = np.ascontiguousarray(host)
        new = self.empty(host.shape)
        if host.nbytes:
            checked(driver.cuMemcpyHtoD(new.address, host.ctypes.data, host.nbytes))
        return new

    def empty(self, shape: Sequence[int]) -> DeviceArray:
        """Memory that returns to the pool when the array and all its views are deleted."""
        size = max(1, prod(shape)) * self.dtype.itemsize
        free = self._pool.get(size)
        address = free.pop() if free else self._allocated(size)
        return self._at(GpuMemory(address, size, self._pool), address, shape)

    def zeros(self, shape: Sequence[int]) -> DeviceArray:
        new = self.empty(shape)
        checked(driver.cuMemsetD8(new.address, 0, max(1, new.nbytes)))
        return new

    def joined(self, arrays: Sequence[Any]) -> DeviceArray:
        parts = [self.placed(array) for array in arrays]
        new = self.empty((sum(map(len, parts)), *parts[0].shape[1:]))
        address = new.address
        for part in parts:
            checked(driver.cuMemcpyDtoD(address, part.address, part.nbytes))
            address += part.nbytes
        return new

    def _at(self, owner: Any, address: int, shape: Sequence[int]) -> DeviceArray:
        return DeviceArray(owner, address, tuple(shape), self.dtype, self._download)

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
        first = len(before)
        starts = [*range(first + 2), *range(first + 1 + 4 * sources, len(words))]
        places = [words.ctypes.data + 8 * k for k in starts]
        places.insert(first, shared.ctypes.data)
        at = np.array(places, dtype=np.uint64)
        block = WARP if arms <= self._few else BLOCK
        with self._lock:
            self._bad.value = 0
            checked(driver.cuLaunchKernel(function, -(-arms // block), 1, 1, block, 1, 1, 0, 0, at.ctypes.data, 0))
            checked(driver.cuCtxSynchronize())
            return not self._bad.value

    def _download(self, host: Array, address: int) -> None:
        """Copy to a contiguous host array."""
        checked(driver.cuCtxSetCurrent(self._context))
        checked(driver.cuMemcpyDtoH(host.ctypes.data, address, host.nbytes))


BACKEND = CudaBackend


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
        self.program, self._backend, self._dtype = program, backend, backend.dtype
        self._functions: dict[KernelForm, Any] = {}

    def fixed(self, parameters: Sequence[Array]) -> FixedValues:
        values = self.preparation(parameters)
        own = tuple(k for k, value in enumerate(values) if np.ndim(value))
        if (len(values) - len(own) + 1) * self._dtype.itemsize > ARGUMENTS:
            own = tuple(range(len(values)))
        rows = np.array(np.broadcast_arrays(*values), dtype=self._dtype) if values else np.zeros(0, self._dtype)
        shared = np.append([values[k] for k in range(len(values)) if k not in own], 0.0).astype(self._dtype)
        own_rows = rows[list(own)]
        memory = self._backend.placed(tiles(own_rows) if own_rows.ndim == 2 else own_rows)
        return FixedValues(own, shared, memory, rows)

    def batch(self, fixed: FixedValues) -> tuple[int, ...]:
        return fixed.values.shape[1:]

    def run(
        self, rows: Values, fixed: FixedValues, inputs: Values, steps: int, held: bool, every: int = 0
    ) -> tuple[DeviceArray, DeviceArray | None, int]:
        return self._launched(rows, fixed, [inputs], steps, held, every, False)

    def run_backwards(
        self, rows: Values, fixed: FixedValues, inputs: Sequence[Any]
    ) -> tuple[DeviceArray, DeviceArray | None, int]:
        return self._launched(rows, fixed, inputs, len(inputs[0]), False, 1, True)

    def _launched(
        self,
        rows: Values,
        fixed: FixedValues,
        inputs: Sequence[Any],
        steps: int,
        held: bool,
        every: int,
        backwards: bool,
    ) -> tuple[DeviceArray, DeviceArray | None, int]:
        backend, program, item = self._backend, self.program, self._dtype.itemsize
        rows, taken = backend.placed(rows), [backend.placed(x) for x in inputs]
        batch = rows.shape[1:]
        arms = batch[0] if batch else 1
        sources: list[int] = []
        for x in taken:
            step = 0 if held else x.size // len(x)
            each = (arms, 1) if x.ndim == (2 if held else 3) else (1, 0)  # a value for each arm, or shared
            sources += [x.address + (steps - 1) * step * item, -step, *each] if backwards else [x.address, step, *each]
        end, log, first = backend.empty(rows.shape), None, 0
        sample = (program.logged + len(program.outputs)) * arms
        if every:
            log = backend.empty((-(-steps // every), sample // arms, *batch))
            first = log.address + ((len(log) - 1) * sample * item if backwards else 0)
        after = (fixed.memory.address, *sources, first, -sample if backwards else sample, max(1, every), arms, steps)
        counts = tuple(x.shape[1] for x in taken) if backwards else None
        function = self._function(KernelForm(fixed.own, fixed.values.ndim == 2, held, log is not None, counts))
        fine = backend.launched(function, arms, (rows.address, end.address), fixed.shared, after, len(taken))
        return end, log, -1 if fine else int(np.argmax(program.diverged(np.asarray(end))))

    def _function(self, form: KernelForm) -> Any:
        if form not in self._functions:
            precision = self._backend.precision
            binary = compiled(cuda_source(self.program, precision, form), self._backend.architecture, precision)
            module = checked(driver.cuModuleLoadData(binary))
            self._functions[form] = checked(driver.cuModuleGetFunction(module, b"trocar_run"))
        return self._functions[form]


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


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def checked(result: tuple[Any, ...]) -> Any:
    """Results of a call to the driver or NVRTC; raises an error if its status is an error."""
    code, *values = result
    if int(code) != 0:
        raise TrocarError(f"CUDA reports {getattr(code, 'name', code)}")
    return values[0] if len(values) == 1 else tuple(values)


# -- arrays ------------------------------------------------------------------------------------------------------------


class DeviceArray:
    """An array (shape, dtype, strides as in NumPy) at a GPU address.

    `np.asarray(array)` copies it to the host. Libraries with `__cuda_array_interface__` use it without a copy.

    Args:
        owner: object kept alive with the array. download: copies contiguous memory at an address to a host array.
    """

    def __init__(
        self,
        owner: Any,
        address: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        download: Callable[[Array, int], None],
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self.owner, self.address, self.shape, self.dtype, self._download = owner, address, shape, dtype, download
        self.strides = strides or _dense(shape, dtype.itemsize)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def contiguous(self) -> bool:
        return self.strides == _dense(self.shape, self.dtype.itemsize) or bool(self._shadow().flags.c_contiguous)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None if self.contiguous else self.strides,
        }

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> DeviceArray:
        """A view; for slices and whole numbers."""
        if isinstance(index, slice):  # rows: the short way, which a short rollout notices
            first, rest = range(self.shape[0])[index], self.shape[1:]
            address = self.address + first.start * self.strides[0]
            strides = (first.step * self.strides[0], *self.strides[1:])
            return DeviceArray(self.owner, address, (len(first), *rest), self.dtype, self._download, strides)
        whole = self._shadow()
        part = whole[index if isinstance(index, tuple) else (index,)]
        offset = _address(part) - _address(whole)
        return DeviceArray(self.owner, self.address + offset, part.shape, self.dtype, self._download, part.strides)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if self.contiguous:
            host = np.empty(self.shape, self.dtype)
            if host.size:
                self._download(host, self.address)
        else:
            # the memory from the first element to the last, then the view of it
            span = sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))
            memory = np.empty(1 + span // self.dtype.itemsize, self.dtype)
            self._download(memory, self.address)
            host = np.ascontiguousarray(np.lib.stride_tricks.as_strided(memory, self.shape, self.strides))
        return host if dtype is None else host.astype(dtype, copy=False)

    def _shadow(self) -> Array:
        """A dummy array with this shape and these strides, never read, to apply NumPy's slicing rules."""
        return np.lib.stride_tricks.as_strided(np.empty(1, self.dtype), self.shape, self.strides, writeable=False)


def _dense(shape: tuple[int, ...], item: int) -> tuple[int, ...]:
    """Strides of a contiguous array."""
    return tuple(prod(shape[k + 1 :]) * item for k in range(len(shape)))


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
