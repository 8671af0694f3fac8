"""Adds the product of a sparse matrix and a vector to another vector.

The two loops in C behind scipy's own products take the arrays as they are and make no others. They
are private parts of scipy. Without them, its public products do the same; these make a vector of
all nodes for each block of links.

    multiply(starts, targets, weights, x, sums)            sums += A x, A given by its rows
    multiply_transposed(starts, targets, weights, x, sums) sums += Aᵀ x, of the same rows

Import this only when it is needed: scipy.sparse takes 25 MB of memory.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int32]
Product = Callable[[Ints, Ints, Floats, Floats, Floats], None]


def _private_products() -> tuple[Product, Product] | None:
    try:
        from scipy.sparse._sparsetools import csc_matvec, csr_matvec
    except ImportError:
        return None

    def multiply(starts: Ints, targets: Ints, weights: Floats, x: Floats, sums: Floats) -> None:
        csr_matvec(len(sums), len(x), starts, targets, weights, x, sums)

    def multiply_transposed(
        starts: Ints, targets: Ints, weights: Floats, x: Floats, sums: Floats
    ) -> None:
        csc_matvec(len(sums), len(x), starts, targets, weights, x, sums)

    return multiply, multiply_transposed


def _public_multiply(starts: Ints, targets: Ints, weights: Floats, x: Floats, sums: Floats) -> None:
    sums += sparse.csr_array((weights, targets, starts), shape=(len(sums), len(x))) @ x


def _public_multiply_transposed(
    starts: Ints, targets: Ints, weights: Floats, x: Floats, sums: Floats
) -> None:
    sums += sparse.csc_array((weights, targets, starts), shape=(len(sums), len(x))) @ x


PUBLIC_PRODUCTS: tuple[Product, Product] = _public_multiply, _public_multiply_transposed
multiply, multiply_transposed = _private_products() or PUBLIC_PRODUCTS
