"""What the configuration says that all networks, trainings and metrics share."""

from replication.plan.configuration import read_yaml
from replication.study.studies import find_studies
from transformer_dynamics.gradient_heterogeneity.settings.configuration import Settings
from transformer_dynamics.gradient_heterogeneity.settings.networks import (
    ImageNetwork,
    ImageNetworkSetting,
    SmallTransformer,
    TextNetwork,
)
from transformer_dynamics.gradient_heterogeneity.settings.training import (
    TrainingSetting,
    UpdateRule,
)

STUDY = find_studies()["gradient_heterogeneity"]
SETTINGS = Settings.model_validate(read_yaml(STUDY.folder / "config.yaml"))
NETWORKS, TRAINING, BLOCKS = SETTINGS.networks, SETTINGS.training, SETTINGS.blocks
MEASURING, MASKING = SETTINGS.heterogeneity.measuring, SETTINGS.pairs.masking
DEVIATION = NETWORKS.head_deviation


def optimizer(name, **changes):
    """One with the configured averages."""
    momentum, second = TRAINING.averages.shares(name)
    return UpdateRule(name, momentum, second)._replace(**changes)


def training(optimiser="adam", **changes):
    """One with the configured constants; names of `TrainingSetting` and `Training` may change."""
    plain = {name: value for name, value in changes.items() if name in TrainingSetting.model_fields}
    own = {name: value for name, value in changes.items() if name not in plain}
    if own.get("exponent") or own.get("block_rates"):
        own = {"blocks": BLOCKS} | own
    found = TRAINING.complete(TrainingSetting(optimiser=optimiser, **plain))
    return type(found).model_validate(dict(found) | own)


def measuring(**changes):
    """The configured one but for some settings."""
    return MEASURING.model_validate(dict(MEASURING) | changes)


def text_net(texts, **changes):
    """A pretrained encoder."""
    given = {"head_deviation": DEVIATION, "dropout": NETWORKS.dropout.encoder}
    return TextNetwork(texts=texts, **(given | changes))


def image_net(net="efficientnet", **changes):
    """A network for images."""
    given = {"size": 64, "train": 20, "validation": 6, "test": 8}
    own = {name: changes.pop(name) for name in given if name in changes}
    found = NETWORKS.complete(ImageNetworkSetting(net=net, **(given | own)))
    return ImageNetwork.model_validate(dict(found) | changes)


def tiny_net(shape, texts, **changes):
    """A small transformer that knows 30 words."""
    return SmallTransformer(
        shape=shape, texts=texts, **({"words": 30, "head_deviation": DEVIATION} | changes)
    )
