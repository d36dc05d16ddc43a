"""Settings of the samples that runs draw."""

from transformer_dynamics.encoders.settings import (
    EncoderJob,
    Featured,
    FeatureJob,
    TextChoice,
    TextName,
)

SMALL_TEST_SETS: frozenset[TextName] = frozenset({"cb", "rte", "mrpc"})
"""Sets with fewer than 500 test samples (56, 277, 408), on which an accuracy or a calibration error
is known to several points only: claims on these are shown and not judged there, unless the set is
whole, as in the paper."""


class DrawnJob(EncoderJob, Featured):
    """Job that computes features of the samples that a seed draws."""

    texts: TextChoice
    """Set, and numbers of samples to draw of it."""

    @property
    def whole(self) -> FeatureJob:
        """Job of all texts of the set."""
        return FeatureJob(
            encoder=self.encoder,
            texts=self.texts.name,
            length=self.texts.length,
            device=self.device,
        )


def drawing_seed(choice: TextChoice, seed: int) -> int:
    """Return the seed that draws a run's samples: 0 where all seeds have the same samples."""
    return 0 if choice.train is None else seed
