"""The paper's settings of training on text: the defaults of this section of the configuration."""

from transformer_dynamics.scan_and_snap.wikitext.config import (
    CorpusFiles,
    Fig7,
    Fig10,
    TextFile,
    WikitextDynamics,
    WikitextSettings,
)
from transformer_dynamics.scan_and_snap.wikitext.experiments import TextExperiment
from transformer_dynamics.scan_and_snap.wikitext.settings import TextModel, TextTraining

_ONE_LAYER = TextModel(layers=1)
_MAPS = TextTraining(
    updates=1500, feed_forward_ratio=2, dropout=0.3, recorded=list(range(0, 1501, 100))
)
_SWITCHES = _MAPS.model_copy(update={"updates": 400, "recorded": list(range(0, 401, 100))})
_RATES = [1.0, 2.0, 3.0, 4.0, 5.0]

WIKITEXT = WikitextSettings(
    corpora={
        "wikitext2": CorpusFiles(
            train=TextFile(
                name="wiki.train.tokens",
                sha256="9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f",
            ),
            valid=TextFile(
                name="wiki.valid.tokens",
                sha256="f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8",
            ),
        ),
    },
    experiments={
        "wikitext_maps": TextExperiment(
            corpora=["wikitext2"],
            models={"one_layer": _ONE_LAYER, "three_layers": TextModel(layers=3)},
            learning_rates=[5.0],
            seeds=[1, 2, 3],
            training=_MAPS,
        ),
        "wikitext_switches": TextExperiment(
            corpora=["wikitext2"],
            models={
                "no_positions": TextModel(layers=1, positions=False),
                "no_feed_forward": TextModel(layers=1, feed_forward=False),
                "no_residual": TextModel(layers=1, residual=False),
                "attention_only": TextModel(
                    layers=1, positions=False, feed_forward=False, residual=False
                ),
            },
            learning_rates=[5.0],
            seeds=[1, 2, 3],
            training=_SWITCHES,
        ),
        "wikitext_rates": TextExperiment(
            corpora=["wikitext2"],
            models={"one_layer": _ONE_LAYER},
            learning_rates=_RATES,
            seeds=[1, 2, 3, 4, 5],
            training=TextTraining(
                epochs=5,
                dropout=0.2,
                recorded=[0, 100, 200, 300, 500, 700, 1000, 1500, 2000, 2500],
            ),
        ),
        "wikitext_rates_early": TextExperiment(
            corpora=["wikitext2"],
            models={"one_layer": _ONE_LAYER},
            learning_rates=_RATES,
            seeds=[2],
            training=TextTraining(updates=300, dropout=0.2, recorded=[0, 100, 200]),
        ),
    },
    figures={
        "fig7": Fig7(
            drawing="fig7",
            experiments=["wikitext_maps"],
            seed=1,
            iterations=[0, 500, 1000, 1500],
        ),
        "fig10": Fig10(
            drawing="fig10",
            experiments=["wikitext_rates"],
            panels={"wikitext2": "WikiText-2", "wikitext103": "WikiText-103"},
        ),
        "wikitext_dynamics": WikitextDynamics(
            drawing="wikitext_dynamics", experiments=["wikitext_maps", "wikitext_switches"]
        ),
    },
)
