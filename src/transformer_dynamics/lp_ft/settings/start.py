"""Settings of kernels and FT ratios at the start of fine-tuning."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import Count, Positive, Positives, Strict, refuse_repeated
from transformer_dynamics.encoders.settings import EncoderName, TextChoice, TextName
from transformer_dynamics.lp_ft.settings.runs import Adapters, Penalty


class StartJob(Penalty):
    """Start of fine-tuning of any seed: the random head, and the probe."""

    encoder: EncoderName
    """Encoder under the head."""
    texts: TextChoice
    """Samples of the probe, and those that it is chosen on."""
    head_deviation: Positive
    """Standard deviation of the entries of the random head, as in `training`."""
    samples: Count
    """Number N of samples of the kernel or the subset, drawn from the probe's by the seed."""
    device: Literal["cpu", "cuda"]
    """Device that differentiates the encoder."""


class KernelJob(StartJob):
    """Explicit kernels, in float64."""

    test_samples: Count
    """Largest number M of test samples; they are drawn if there are more."""
    adapters: Adapters
    """Settings of LoRA, r and alpha."""
    draws: Count
    """Number of draws of A; LoRA is trained from the first."""
    megabytes: Count = 2000
    """Memory of factors of gradients at a time; less takes more passes, each of them shorter."""


class HeadControlJob(StartJob):
    """FT ratios without a kernel, of heads with the direction and the norm of either head."""

    batch_size: Count = 32
    """Number of texts at a time; it changes nothing but memory."""


class Regression(Strict):
    """Kernel regression, as the paper's code has it."""

    strengths: Positives
    """Values of C to choose from; scikit-learn's ten are 1e-4 to 1e4, evenly spaced in log C."""
    folds: int = Field(ge=2)
    """Number of folds of the cross-validation that chooses."""


class Kernels(Strict):
    """Experiments with explicit kernels, besides what all experiments share."""

    texts: Annotated[list[TextName], AfterValidator(refuse_repeated)]
    """Names of sets; `kernels_<set>` is the experiment of each."""
    samples: Count
    """Number N of training samples, drawn from the probe's; all if there are no more."""
    test_samples: Count
    """Number M of test samples, drawn from those of the set; all if there are no more."""
    draws: Count
    """Number of draws of LoRA's A."""
    regression: Regression
    """Settings of kernel regression."""

    @model_validator(mode="after")
    def _check_folds(self) -> Self:
        if self.regression.folds > self.samples:
            raise ValueError(
                f"regression > folds: must be at most samples ({self.samples}), got"
                f" {self.regression.folds}"
            )
        return self


class HeadControl(Strict):
    """Experiments with heads by direction and norm."""

    texts: Annotated[list[TextName], AfterValidator(refuse_repeated)]
    """Names of sets; `head_control_<set>` is the experiment of each."""
    samples: Count
    """Number of samples of the subset, drawn from the probe's; all if there are no more."""
