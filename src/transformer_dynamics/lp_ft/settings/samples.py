"""Settings of the samples that runs draw."""

from transformer_dynamics.encoders.settings import EncoderJob, TextChoice, TextJob


class DrawnJob(EncoderJob):
    """Job that computes features of the samples that a seed draws."""

    texts: TextChoice
    """Set, and numbers of samples to draw of it."""

    @property
    def whole(self) -> TextJob:
        """Job of all texts of the set."""
        return TextJob(encoder=self.encoder, texts=self.texts.name, length=self.texts.length)


def drawing_seed(choice: TextChoice, seed: int) -> int:
    """Return the seed that draws a run's samples: 0 where all seeds have the same samples."""
    return 0 if choice.train is None else seed
