import numpy as np
import pytest

from calibdash.models import elimination
from calibdash.models.elimination import plan
from calibdash.models.factor import backward, factor, selected_inverse, solve

GRAPHS = {
    "chain": [(i, i + 1) for i in range(14)],
    "star": [(0, i) for i in range(1, 15)],
    "statics and mobiles": [(m, s) for s in range(3, 15) for m in range(3) if (m + s) % 2],
    "permanent pairs": [(0, i) for i in range(1, 15)] + [(i, i + 1) for i in range(1, 14, 2)],
    "nobody met": [],
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("dense", [0, 12, 1000])
def test_block_sparse_equals_dense(name, dense, monkeypatch):
    monkeypatch.setattr(elimination, "DENSE", dense)
    rng = np.random.default_rng(0)
    S, n, edges = 15, 4, np.array(GRAPHS[name], dtype=np.int64).reshape(-1, 2)
    P = np.zeros((S, n, S, n))
    for i, j in edges:
        block = rng.standard_normal((2 * n, 2 * n))
        block = (block @ block.T).reshape(2, n, 2, n)
        for row, s in enumerate((i, j)):
            for column, t in enumerate((i, j)):
                P[s, :, t] += block[row, :, column]
    P = P.reshape(S * n, S * n) + np.eye(S * n)
    blocks = P.reshape(S, n, S, n)
    diagonal = np.stack([blocks[s, :, s] for s in range(S)])
    off = np.stack([blocks[i, :, j] for i, j in edges]) if len(edges) else np.zeros((0, n, n))
    order = plan(S, edges, n)
    parts = factor(order, diagonal, off)
    inverse = np.linalg.inv(P)
    dense_inverse = inverse.reshape(S, n, S, n)

    sigma_diagonal, sigma_off = selected_inverse(parts)
    for s in range(S):
        np.testing.assert_allclose(sigma_diagonal[s], dense_inverse[s, :, s], atol=1e-12)
    for block, (i, j) in zip(sigma_off, order.edges, strict=True):
        np.testing.assert_allclose(block, dense_inverse[i, :, j], atol=1e-12)
    assert parts.half_logdet == pytest.approx(0.5 * np.linalg.slogdet(P)[1], abs=1e-9)
    right = rng.standard_normal((S, n, 3))
    np.testing.assert_allclose(P @ solve(parts, right).reshape(S * n, 3), right.reshape(S * n, 3), atol=1e-9)
    root = backward(parts, np.eye(S * n).reshape(S, n, S * n)).reshape(S * n, S * n)
    np.testing.assert_allclose(root @ root.T, inverse, atol=1e-12)
