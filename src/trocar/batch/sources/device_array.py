"""Minimal GPU arrays for states and logs: views by slices, and copies to NumPy."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from trocar.spatial import Array


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
            span = (
                1
                + sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))
                // self.dtype.itemsize
            )
            memory = np.empty(span, self.dtype)
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
