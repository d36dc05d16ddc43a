"""Quality of predictions where classes are not equally frequent."""

import numpy as np
from numpy.typing import NDArray


def matthews(predicted: NDArray[np.integer], labels: NDArray[np.integer]) -> float:
    """Return Matthews' correlation for any number of classes; 0 for a constant predictor.

        (c n - sum_k p_k t_k)/sqrt((n^2 - sum_k p_k^2)(n^2 - sum_k t_k^2))

    Of n samples c are right; class k has p_k predictions and t_k samples. Both arrays are [n].
    """
    number, classes = len(labels), int(max(predicted.max(), labels.max())) + 1
    p, t = (np.bincount(values, minlength=classes).astype(float) for values in (predicted, labels))
    spread = np.sqrt((number**2 - p @ p) * (number**2 - t @ t))
    right = float(np.sum(predicted == labels))
    return float((right * number - p @ t) / spread) if spread > 0 else 0.0
