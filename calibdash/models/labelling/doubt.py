"""How much doubt about items an expert's labels would remove, each after those that are asked for before it.

The doubt about an item is 1 − Σ_k p_k²: the chance that two draws of its class differ. The class of item c tells of
item i through what both share, the people who labelled them. Over draws of the posterior, with p_ca the probability of
class a and V the covariance of such probabilities, the doubt about i that knowing c removes is expected to be

    Σ_ab V[ca, ib]² / p_ca

and after c is known V becomes V − V[·, c] diag(1 / p_c) V[c, ·]. So a list that is made one by one does not ask six
times for the same thing.
"""

from __future__ import annotations

import numpy as np

CLASSES_KEPT = 6  # of an item, the likeliest: the others' chances are small
LEAST = 1e-3  # of a probability that is divided by
GREEDY_MOST = 60  # items that are chosen one after the other; those after them as things are then


def asked(classes: np.ndarray, extra: np.ndarray, *, wider: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """In which order to ask about items, and the doubt each answer removes, those before it known.

    classes [S, C, K]: draws of p(class of an item | its labels, θ); extra [C]: what else speaks for an item; wider: how
    many times the doubt about these items all items hold.   → order [C], doubt [C] in that order, in items
    """
    S, C, K = classes.shape
    kept = min(K, CLASSES_KEPT)
    mean = classes.mean(axis=0)  # [C, K]
    likely = np.argsort(-mean, axis=1, kind="stable")[:, :kept]
    some = np.take_along_axis(classes, likely[None], axis=2).reshape(S, C * kept)
    p = np.maximum(np.take_along_axis(mean, likely, axis=1), LEAST)  # [C, k]
    centred = some - some.mean(axis=0)
    V = centred.T @ centred / S  # [C·k, C·k]
    own = 1.0 - np.sum(mean**2, axis=1)  # [C]
    left = np.ones(C, dtype=bool)
    order, doubt = [], []
    for _ in range(min(C, GREEDY_MOST)):
        removed = _removed(V, p, S)  # [C, C]
        worth = own + wider * (removed @ left - np.diag(removed) * left)
        best = int(np.argmax(np.where(left, worth + extra, -np.inf)))
        order.append(best)
        doubt.append(float(worth[best]))
        left[best] = False
        own = np.maximum(own - removed[best], 0.0)
        mine = slice(best * kept, (best + 1) * kept)
        V = V - (V[:, mine] / p[best]) @ V[mine]
    rest = np.flatnonzero(left)
    removed = _removed(V, p, S)
    worth = own + wider * (removed @ left - np.diag(removed) * left)
    rest = rest[np.argsort(-(worth + extra)[rest], kind="stable")]
    return np.array([*order, *rest], dtype=np.int64), np.array([*doubt, *worth[rest]])


def _removed(V: np.ndarray, p: np.ndarray, draws: int) -> np.ndarray:
    """Doubt about item i that knowing item c removes.   V [C·k, C·k], p [C, k] → [C(c), C(i)]

    The square of a covariance over few draws is too large by about the product of the variances ÷ draws.
    """
    C, k = p.shape
    variance = np.maximum(np.diag(V), 0.0)
    share = np.maximum(V**2 - np.outer(variance, variance) / draws, 0.0) / p.ravel()[:, None]
    return share.reshape(C, k, C, k).sum(axis=(1, 3))
