"""Unrolled factorisation of the mass matrix: M = L' D L, eliminated from the tips to the base.

Entries of L between independent branches of the tree are zero, and elimination in this order keeps them zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from trocar.batch.equations.dynamics import Matrix
from trocar.batch.graph import Node, total


class Factor:
    """L' D L of a symmetric positive definite matrix, unrolled; zeros cost nothing."""

    def __init__(self, M: Matrix) -> None:
        n, graph = len(M), M[0][0].graph
        A = [list(row) for row in M]
        self._L: Matrix = [[graph.zero] * n for _ in range(n)]
        self._inverse_D: list[Node] = [graph.zero] * n
        for k in reversed(range(n)):
            self._inverse_D[k] = 1.0 / A[k][k]
            for i in range(k):
                self._L[k][i] = A[k][i] * self._inverse_D[k]
                for j in range(i + 1):
                    A[i][j] = A[i][j] - self._L[k][i] * A[k][j]

    def solved(self, b: Sequence[Node]) -> list[Node]:
        """x with M x = b."""
        n, L, x = len(b), self._L, list(b)
        for k in reversed(range(n)):
            for i in range(k):
                x[i] = x[i] - L[k][i] * x[k]
        x = [x[k] * self._inverse_D[k] for k in range(n)]
        for k in range(n):
            for i in range(k):
                x[k] = x[k] - L[k][i] * x[i]
        return x

    def inverse(self, scale: Node) -> Matrix:
        """scale M^-1, symmetric: equal entries are one node. Cheaper than n solutions."""
        n, graph = len(self._L), scale.graph
        N = [[graph.constant(float(i == j)) for j in range(n)] for i in range(n)]  # L^-1
        for i in range(n):
            for j in range(i):
                N[i][j] = -total(graph, (self._L[i][k] * N[k][j] for k in range(j, i)))
        scaled = [[x * (scale * d) for x, d in zip(row, self._inverse_D, strict=True)] for row in N]
        columns = [[graph.zero] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                columns[i][j] = columns[j][i] = total(graph, (N[i][k] * scaled[j][k] for k in range(j + 1)))
        return columns
