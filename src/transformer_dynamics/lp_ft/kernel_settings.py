"""Settings of kernels and FT ratios at the start of fine-tuning, and of their tables."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import Count, Positives, Strict, refuse_repeated
from transformer_dynamics.encoders.settings import EncoderName, TextChoice, TextName
from transformer_dynamics.lp_ft.run_settings import Adapters


class StartJob(Strict):
    """Where fine-tuning starts, for whatever seed: the random head, and the probe."""

    encoder: EncoderName
    """What is under the head."""
    texts: TextChoice
    """The probe's samples, and those that it is chosen on."""
    strengths: Positives
    """C_reg to choose from, as in `probe`."""
    samples: Count
    """N: of the probe's samples, those of the kernel, or of its subset, drawn by the seed."""
    device: Literal["cpu", "cuda"]
    """Where."""


class KernelJob(StartJob):
    """Explicit kernels, in float64."""

    test_samples: Count
    """M, the largest number of test samples; they are drawn if there are more."""
    adapters: Adapters
    """r and alpha."""
    draws: Count
    """How often A is drawn; the first is that from which LoRA is trained."""
    megabytes: Count = 2000
    """Of factors of gradients at a time; fewer take more passes, each of them shorter."""


class HeadControlJob(StartJob):
    """FT ratios without a kernel, of heads with the direction and the norm of either head."""

    batch_size: Count = 32
    """Texts at a time; it changes nothing but memory."""


class MeasureKernels(Strict):
    """One table of all kernels."""

    runs: KernelJob
    """What made them."""


class Regression(Strict):
    """Kernel regression, as the paper's code has it."""

    strengths: Positives
    """C to choose from; scikit-learn's ten are 1e-4 to 1e4, evenly spaced in the logarithm."""
    folds: int = Field(ge=2)
    """Of the cross-validation that chooses."""


class RegressionJob(Regression):
    """The table of it."""

    runs: KernelJob
    """What made the kernels."""


class Kernels(Strict):
    """Which kernels there are, besides what all experiments share."""

    texts: Annotated[list[TextName], AfterValidator(refuse_repeated)]
    """Sets; `kernels_<set>` is an experiment each."""
    samples: Count
    """N, drawn from the probe's samples; all if there are no more."""
    test_samples: Count
    """M, drawn from the test samples; all if there are no more."""
    draws: Count
    """How often A of LoRA is drawn."""
    regression: Regression
    """How kernels are fitted."""

    @model_validator(mode="after")
    def _check_folds(self) -> Self:
        if self.regression.folds > self.samples:
            raise ValueError(
                f"regression > folds: must be at most samples ({self.samples}), got"
                f" {self.regression.folds}"
            )
        return self


class HeadControl(Strict):
    """Where heads are told apart by direction and norm."""

    texts: Annotated[list[TextName], AfterValidator(refuse_repeated)]
    """Sets; `head_control_<set>` is an experiment each."""
    samples: Count
    """Of the subset, drawn from the probe's samples; all if there are no more."""


class MeasureHeadControl(Strict):
    """The table of the heads."""

    runs: HeadControlJob
    """What made it."""
