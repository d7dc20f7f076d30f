"""The CUDA backend: programs as kernels, compiled by NVRTC through NVIDIA's own bindings.

States live in the GPU's memory. Efforts and references may be NumPy arrays, which are copied, or arrays of any library
with `__cuda_array_interface__` (PyTorch, CuPy, JAX), which are read in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from trocar.batch.backends import array_source
from trocar.batch.backends.cuda_source import BLOCK, cuda_source
from trocar.batch.backends.device_array import DeviceArray
from trocar.batch.program import Program
from trocar.errors import TrocarError
from trocar.spatial import Array

try:
    driver: Any = import_module("cuda.bindings.driver")
    nvrtc: Any = import_module("cuda.bindings.nvrtc")
    MISSING = ""
except ImportError as error:
    MISSING = str(error)

ARGUMENTS = 4000  # bytes of fixed values that a kernel takes as an argument; CUDA allows 4096 for all arguments


class CudaBackend:
    """Compiles programs for the first GPU.

    Args:
        precision: float64 or float32; None for float32.
    """

    name = "cuda"
    arrays = np

    def __init__(self, precision: str | None) -> None:
        if MISSING:
            raise TrocarError(
                f'backend="cuda" needs NVIDIA\'s bindings ({MISSING}): pip install cuda-bindings nvidia-cuda-nvrtc, or '
                'use backend="c"'
            )
        self.precision = precision or "float32"
        self.dtype = np.dtype(self.precision)
        self.device = Device()

    def traced(self, value: Any) -> bool:
        return False

    def check_finite(self, array: Array, name: str) -> None:
        if not np.isfinite(array).all():
            raise TrocarError(f"{name} must be finite")

    def array(self, values: Any) -> Any:
        """An array of the host, or one of the GPU as it is."""
        given = on_device(values, self.dtype, self.device.downloaded)
        return np.asarray(values, dtype=self.dtype) if given is None else given

    def fetched(self, array: DeviceArray) -> Array:
        """A copy in the memory of the host."""
        return np.asarray(array)

    def placed(self, rows: Array) -> DeviceArray:
        """Rows in the memory of the GPU."""
        return self.device.uploaded(rows, self.dtype)

    def kernel(self, program: Program) -> CudaKernel:
        return CudaKernel(program, self)


class Device:
    """The first GPU, with its primary context, which it shares with other libraries of the process."""

    def __init__(self) -> None:
        try:
            checked(driver.cuInit(0))
            self._device = checked(driver.cuDeviceGet(0))
            self._context = checked(driver.cuDevicePrimaryCtxRetain(self._device))
            checked(driver.cuCtxSetCurrent(self._context))
        except (TrocarError, RuntimeError) as error:
            raise TrocarError(
                f'backend="cuda" needs an NVIDIA GPU and its driver: {_line(error)}; use backend="c"'
            ) from error
        attribute = driver.CUdevice_attribute
        major, minor = (
            checked(
                driver.cuDeviceGetAttribute(
                    getattr(attribute, f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}"), self._device
                )
            )
            for part in ("MAJOR", "MINOR")
        )
        self.architecture = f"sm_{major}{minor}"

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> DeviceArray:
        """New memory; released when the array and all views of it are gone."""
        size = max(1, int(np.prod(shape, dtype=np.int64))) * dtype.itemsize
        checked(driver.cuCtxSetCurrent(self._context))
        code, address = driver.cuMemAlloc(size)
        if code == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            free, total = checked(driver.cuMemGetInfo())
            raise TrocarError(
                f"the batch does not fit: it needs {size / 1e9:.2f} GB, {free / 1e9:.2f} of {total / 1e9:.2f} GB of "
                "the GPU are free; use fewer arms, record fewer steps with every=, or nothing with log=False"
            )
        checked((code,))
        return DeviceArray(Memory(int(address)), int(address), tuple(shape), dtype, self.downloaded)

    def uploaded(self, array: Any, dtype: np.dtype[Any]) -> DeviceArray:
        """A copy of an array of the host, or of the GPU."""
        given = on_device(array, dtype, self.downloaded)
        if given is not None:
            new = self.empty(given.shape, dtype)
            checked(driver.cuMemcpyDtoD(new.address, given.address, given.nbytes))
            return new
        host = np.ascontiguousarray(array, dtype=dtype)
        new = self.empty(host.shape, dtype)
        if host.nbytes:
            checked(driver.cuMemcpyHtoD(new.address, host.ctypes.data, host.nbytes))
        return new

    def downloaded(self, host: Array, address: int) -> None:
        """Fill a contiguous array of the host."""
        checked(driver.cuCtxSetCurrent(self._context))
        checked(driver.cuMemcpyDtoH(host.ctypes.data, address, host.nbytes))


class Memory:
    """Memory of the GPU that is released with this object."""

    def __init__(self, address: int) -> None:
        self._address, self._free = address, driver.cuMemFree

    def __del__(self) -> None:
        self._free(self._address)  # no check: at the end of the process the context may be gone


class FixedValues(NamedTuple):
    """Fixed values in the GPU's memory, and those that all arms share as an argument of the kernel, if they fit."""

    memory: DeviceArray
    shared: Array | None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.memory, dtype=dtype)


class CudaKernel:
    """A compiled program, for batches of any size and any number of steps."""

    def __init__(self, program: Program, backend: CudaBackend) -> None:
        self.program, self._backend, self._device, self._dtype = program, backend, backend.device, backend.dtype

    def fixed(self, parameters: Sequence[Array]) -> FixedValues:
        """Fixed values (F,), or (F, N) if a parameter has a value for each arm."""
        values = self._preparation(parameters)
        rows = np.array(np.broadcast_arrays(*values)) if values else np.zeros(1)
        shared = None
        if rows.ndim == 1 and (len(rows) + 1) * self._dtype.itemsize <= ARGUMENTS:
            shared = np.append(rows, 0.0).astype(self._dtype)
        return FixedValues(self._device.uploaded(rows, self._dtype), shared)

    def batch(self, fixed: FixedValues) -> tuple[int, ...]:
        """Shape of the batch that fixed values are for, () for any."""
        return fixed.memory.shape[1:]

    @cached_property
    def _preparation(self) -> Any:
        return array_source.preparation(self.program, np)

    def run(
        self, rows: Any, fixed: FixedValues, inputs: Any, steps: int, held: bool, every: int = 0
    ) -> tuple[DeviceArray, DeviceArray | None, int]:
        """Step all arms; arguments and results as in `CKernel.run`, arrays in the GPU's memory."""
        device, program = self._device, self.program
        rows = device.uploaded(rows, self._dtype)
        given = on_device(inputs, self._dtype, device.downloaded)
        inputs = device.uploaded(inputs, self._dtype) if given is None else given
        batch = rows.shape[1:]
        arms = batch[0] if batch else 1
        each = inputs.ndim == (1 if held else 2) + 1  # a value for each arm
        log = None
        if every:
            log = device.empty((-(-steps // every), program.logged + len(program.outputs), *batch), self._dtype)
        first = device.uploaded(np.array([arms]), np.dtype(np.int32))
        function, taken = self._functions[fixed.shared is not None], [np.array([rows.address])]
        if fixed.shared is not None:
            taken.append(fixed.shared)
        else:
            stride = (arms, 1) if fixed.memory.ndim == 2 else (1, 0)
            taken += [np.array([number]) for number in (fixed.memory.address, *stride)]
        over_time = 0 if held else int(np.prod(inputs.shape[1:]))
        own = (arms, 1) if each else (1, 0)
        others = (
            inputs.address,
            over_time,
            *own,
            0 if log is None else log.address,
            max(1, every),
            arms,
            steps,
            first.address,
        )
        taken += [np.array([number]) for number in others]
        arguments = np.array([x.ctypes.data for x in taken], dtype=np.uint64)
        blocks = -(-arms // BLOCK)
        checked(driver.cuLaunchKernel(function, blocks, 1, 1, BLOCK, 1, 1, 0, 0, arguments.ctypes.data, 0))
        bad = int(np.asarray(first)[0])  # waits for the kernel
        return rows, log, bad if bad < arms else -1

    @cached_property
    def _functions(self) -> tuple[Any, Any]:
        """Kernels for fixed values in memory, and for those that are an argument."""
        self._module = checked(driver.cuModuleLoadData(self.compiled(self._device.architecture)))
        names = b"trocar_run", b"trocar_run_shared"
        memory, shared = (checked(driver.cuModuleGetFunction(self._module, name)) for name in names)
        return memory, shared

    def compiled(self, architecture: str) -> bytes:
        """Machine code for an architecture such as sm_90."""
        return compiled(cuda_source(self.program, self._backend.precision), architecture, self._backend.precision)


def compiled(source: str, architecture: str, precision: str) -> bytes:
    """Machine code of a CUDA source, by NVRTC."""
    options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17"]
    if precision == "float32":
        options.append(b"--use_fast_math")  # states after 100 steps are as exact, in two thirds of the time
    try:
        program = checked(nvrtc.nvrtcCreateProgram(source.encode(), b"arm.cu", 0, [], []))
    except RuntimeError as error:
        raise TrocarError(f"NVRTC was not found ({_line(error)}): pip install nvidia-cuda-nvrtc") from error
    (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        log = bytearray(checked(nvrtc.nvrtcGetProgramLogSize(program)))
        checked(nvrtc.nvrtcGetProgramLog(program, log))
        lines = [line for line in log.decode(errors="replace").splitlines() if "error" in line]
        raise TrocarError(f"NVRTC does not compile the generated code: {lines[0] if lines else code.name}")
    binary = bytearray(checked(nvrtc.nvrtcGetCUBINSize(program)))
    checked(nvrtc.nvrtcGetCUBIN(program, binary))
    checked(nvrtc.nvrtcDestroyProgram(program))
    return bytes(binary)


def on_device(array: Any, dtype: np.dtype[Any], download: Any) -> DeviceArray | None:
    """An array of the GPU as it is, if it is one, contiguous and of this type; None for one of the host."""
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
    """Results of a call of the driver or of NVRTC; raises an error if its status is one."""
    code, *values = result
    if int(code) != 0:
        raise TrocarError(f"CUDA reports {getattr(code, 'name', code)}")
    return values[0] if len(values) == 1 else tuple(values)
