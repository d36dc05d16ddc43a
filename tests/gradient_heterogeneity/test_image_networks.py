"""Images and networks for them, from their files to features."""

import gzip
import sys

import numpy as np
import pytest
import torch
from configured import NETWORKS, image_net
from small_networks import idx, write_images

from replication.base.errors import InputError
from transformer_dynamics.gradient_heterogeneity.data import (
    efficientnet,
    images,
    vit,
)
from transformer_dynamics.gradient_heterogeneity.data import pretrained as network_data
from transformer_dynamics.gradient_heterogeneity.data.synthetic import (
    VIT,
    efficientnet_tensors,
    encode_onnx,
    encode_vit,
)
from transformer_dynamics.gradient_heterogeneity.settings.data import (
    ImagesJob,
    PretrainedJob,
    source_paths,
)
from transformer_dynamics.gradient_heterogeneity.training.build import build_network, image_inputs

pytestmark = pytest.mark.numerical

CHOICE = image_net()


def random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def small_vit():
    from transformers import Dinov2Config, Dinov2Model

    torch.manual_seed(0)
    module = Dinov2Model(Dinov2Config(**VIT, attn_implementation="eager")).eval()
    for parameter in module.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images"))


def data(folder):
    return images.sample(ImagesJob(), [], _paths(folder))


def _paths(folder):
    from pathlib import Path

    return [Path(path) for path in source_paths("fashion_mnist", str(folder))]


def test_a_vision_transformer_is_read_from_its_file(tmp_path):
    module = small_vit()
    weights = {name: value.numpy() for name, value in module.state_dict().items()}
    path = tmp_path / "vit_s_focus.onnx"
    path.write_bytes(encode_vit(weights))
    found = network_data.sample(PretrainedJob(network="vit_s"), [], [path])
    assert found.keys() == weights.keys()
    assert all(np.array_equal(found[name], weights[name]) for name in weights)
    built = vit.build_network(found)
    pixels = random(2, 3, 28, 42)
    with torch.no_grad():
        expected = module(pixels).last_hidden_state[:, 0]
        assert torch.equal(vit.class_features(built, pixels), expected)


def test_what_is_no_onnx_file_is_refused():
    values = np.arange(6.0).reshape(2, 3)
    whole = encode_onnx([("a", values, "raw")], [("n", "MatMul", ["x", "a"])])
    for content in (b"no such thing", whole[:-20], whole[3:]):
        with pytest.raises(InputError, match="no ONNX file"):
            vit.convert_weights(content)
    for content in (b"", whole):
        with pytest.raises(InputError, match="onnx::Concat_1957"):
            vit.convert_weights(content)
    with pytest.raises(InputError, match=r"layernorm\.weight is missing"):
        vit.build_network({"a": values})


def test_no_other_file_is_read(tmp_path, monkeypatch):
    """A tensor may name a file beside that of its network."""
    import onnx

    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_bytes(np.zeros(6, "<f4").tobytes())
    model = onnx.load_model_from_string(encode_onnx([("a", np.zeros(6), "raw")], []))
    tensor = model.graph.initializer[0]
    onnx.external_data_helper.set_external_data(tensor, "secret")
    tensor.ClearField("raw_data")
    with pytest.raises(InputError, match="is in another file"):
        vit.convert_weights(model.SerializeToString())


def test_a_convolutional_network_computes_what_its_weights_say():
    published = efficientnet_tensors(4, 16)
    module = efficientnet.build_network(efficientnet.convert_weights(published), NETWORKS.renewed)
    pixels = random(2, 3, 64, 64, seed=1)

    def layer(state, convolution, normalisation, stride=1, cut=True):
        kernel = published[f"{convolution}.weight"]
        groups = state.shape[1] // kernel.shape[1]
        # As TensorFlow pads so that ceil(n/stride) places are left.
        edge = state.shape[-1]
        missing = (-(-edge // stride) - 1) * stride + kernel.shape[-1] - edge
        padding = 2 * (missing // 2, missing - missing // 2)
        state = torch.nn.functional.pad(state, padding)
        state = torch.nn.functional.conv2d(state, kernel, stride=stride, groups=groups)
        names = ("running_mean", "running_var", "weight", "bias")
        mean, variance, gain, shift = (
            published[f"{normalisation}.{name}"][:, None, None] for name in names
        )
        state = (state - mean) / (variance + 1e-3).sqrt() * gain + shift
        return state.clamp(0, 6) if cut else state

    state = layer(pixels, "_conv_stem", "_bn0", stride=2)
    # By stage: blocks, stride, edge of the kernel and width; a narrow network has all of them.
    stages = [
        (1, 1, 3, 2),
        (2, 2, 3, 3),
        (2, 2, 5, 5),
        (3, 2, 3, 10),
        (3, 1, 5, 14),
        (4, 2, 5, 24),
        (1, 1, 3, 40),
    ]
    number = 0
    for blocks, stride, edge, width in stages:
        for place in range(blocks):
            name, inner = f"_blocks.{number}", state
            if number:
                inner = layer(inner, f"{name}._expand_conv", f"{name}._bn0")
                assert inner.shape[1] == 6 * state.shape[1]
            assert published[f"{name}._depthwise_conv.weight"].shape[-1] == edge
            inner = layer(
                inner, f"{name}._depthwise_conv", f"{name}._bn1", stride=1 if place else stride
            )
            inner = layer(inner, f"{name}._project_conv", f"{name}._bn2", cut=False)
            assert inner.shape[1] == width
            state = inner + state if place else inner
            number += 1
    assert number == 16
    expected = layer(state, "_conv_head", "_bn1").mean(dim=(2, 3))
    with torch.no_grad():
        found = module(pixels)
    assert found.shape == (2, 160)
    assert (found - expected).abs().max() < 1e-4 * expected.abs().max()


def test_weights_are_read_as_tensors_alone(tmp_path):
    path = tmp_path / "efficientnet-lite0.pth"
    job = PretrainedJob(network="efficientnet")
    torch.save(efficientnet_tensors(), path)
    assert "blocks.1.depthwise.convolution.weight" in network_data.sample(job, [], [path])
    torch.save({"_conv_stem.weight": torch.nn.Linear(1, 1)}, path)
    with pytest.raises(InputError, match="holds no weights"):
        network_data.sample(job, [], [path])
    torch.save({"_squeeze.weight": torch.zeros(1)}, path)
    with pytest.raises(InputError, match=r"has no _squeeze\.weight"):
        network_data.sample(job, [], [path])
    with pytest.raises(InputError, match="results/datasets/efficientnet_lite0"):
        network_data.sample(job, [], [tmp_path / "other"])
    with pytest.raises(InputError, match="no weights of EfficientNet-lite0"):
        efficientnet.build_network(
            {"stem.convolution.weight": np.zeros((1, 3, 3, 3))}, NETWORKS.renewed
        )


def test_a_file_with_other_weights_is_named(tmp_path):
    path = tmp_path / "efficientnet-lite0.pth"
    job = PretrainedJob(network="efficientnet")
    whole = efficientnet_tensors()
    name = "_blocks.1._depthwise_conv.weight"
    unreadable = (
        torch.eye(2).to_sparse(),
        torch.zeros(2, dtype=torch.complex64),
        torch.zeros(1).expand(10**6, 10**6),
        torch.zeros(2, device="meta"),
    )
    for content, said in (
        (b"<html>", "holds no weights"),
        ([torch.zeros(2)], "holds no tensors by name"),
        (whole | {name: 3}, f"{name} is no dense tensor"),
        *((whole | {name: other}, f"{name} is no dense tensor") for other in unreadable),
        (whole | {name: torch.zeros(2)}, "has the shape 2, not "),
        (whole | {"_bn1.weight": torch.zeros(3)}, "weight has the shape 3, not "),
        (whole | {name: whole[name][:1]}, "weight has the shape 1 x 1 x 3 x 3, not "),
        (whole | {name: torch.full_like(whole[name], np.nan)}, "is not finite"),
        (
            whole | {"_bn1.running_var": -torch.ones_like(whole["_bn1.running_var"])},
            "features of a picture are not finite",
        ),
    ):
        path.write_bytes(content) if isinstance(content, bytes) else torch.save(content, path)
        with pytest.raises(InputError, match=f"{path.name}: .*{said}"):
            network_data.sample(job, [], [path])


def test_a_file_with_another_vision_transformer_is_named(tmp_path):
    path = tmp_path / "vit_s_focus.onnx"
    whole = {name: value.numpy() for name, value in small_vit().state_dict().items()}
    positions = "embeddings.position_embeddings"
    without = {name: value for name, value in whole.items() if not name.startswith("layernorm")}
    path.write_bytes(encode_vit(whole))
    job = PretrainedJob(network="vit_s")
    assert network_data.sample(job, [], [path]).keys() == whole.keys()
    for content, said in (
        (b"<html>", "no ONNX file"),
        (encode_vit(without), r"layernorm\.\w+ is missing"),
        (encode_vit(whole | {"layernorm.weight": np.zeros(0)}), "division"),
        (encode_vit(whole | {"layernorm.weight": np.zeros(())}), "vision transformer"),
        (encode_vit(whole | {positions: whole[positions][:, :0]}), "vision transformer"),
        (encode_vit(whole | {positions: whole[positions][0]}), "are no positions"),
        (encode_vit(whole | {positions: whole[positions][:, :-1]}), "has the shape 1 x 9 x 8, not"),
        (encode_vit(whole | {positions: whole[positions][:, :1]}), "a picture"),
        (encode_vit(whole | {positions: whole[positions] * np.float32(1e38)}), "not finite"),
        (encode_vit(whole | {"encoder.layer.3000.x": np.zeros(1)}), "is of layer 3000"),
        (encode_vit(whole | {"layernorm.bias": whole["layernorm.bias"] * np.inf}), "not finite"),
        (encode_onnx([], [("/backbone/encoder/layer.0/x/MatMul", "MatMul", [])]), "onnx::Concat"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"{path.name}: .*{said}"):
            network_data.sample(job, [], [path])


def test_a_missing_package_is_no_damaged_file(tmp_path, monkeypatch):
    path = tmp_path / "weights"
    torch.save(efficientnet_tensors(), path)
    for package, network in (("transformers", "efficientnet"), ("onnx", "vit_s")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(InputError, match=f"^the package {package} is needed.*make encoders"):
            network_data.sample(PretrainedJob(network=network), [], [path])


def test_images_are_read_and_drawn(folder):
    arrays = data(folder)
    assert arrays["train_pixels"].shape == (40, 28, 28)
    assert arrays["test_labels"].dtype == np.int64
    train, validation, test = images.image_samples(CHOICE, 3, arrays)
    assert [len(part.labels) for part in (train, validation, test)] == [20, 6, 8]
    drawn = np.concatenate([train.pixels, validation.pixels])
    assert len(np.unique(drawn.reshape(26, -1), axis=0)) == 26
    again = images.image_samples(CHOICE, 4, arrays)
    assert not np.array_equal(again[0].pixels, train.pixels)
    assert np.array_equal(again[2].pixels, test.pixels)
    whole = {image.tobytes(): label for image, label in zip(
        arrays["train_pixels"], arrays["train_labels"], strict=True
    )}  # fmt: skip
    assert all(whole[image.tobytes()] == label for image, label in zip(*train, strict=True))
    with pytest.raises(InputError, match="40 training images"):
        images.image_samples(CHOICE.model_copy(update={"train": 38}), 3, arrays)


def test_other_files_are_no_images(folder, tmp_path):
    paths = _paths(folder)
    with pytest.raises(InputError, match="results/datasets/fashion_mnist"):
        images.read_images([*paths[:3], tmp_path / "missing"])
    for content in (b"nothing", gzip.compress(b"\0\0\x0d\x01\0\0\0\0"), gzip.compress(b"")):
        wrong = tmp_path / "wrong.gz"
        wrong.write_bytes(content)
        with pytest.raises(InputError, match="no compressed idx file"):
            images.read_images([wrong, *paths[1:]])
    for place, values, said in (
        (1, np.full(40, 10), "a label is 10"),
        (1, np.zeros(39), "not those of Fashion-MNIST"),
        (0, np.zeros(()), "not those of Fashion-MNIST"),
        (0, np.zeros((40, 14, 14)), "not those of Fashion-MNIST"),
        (0, np.zeros((40, 0, 0)), "not those of Fashion-MNIST"),
        (0, np.zeros((0, 28, 28)), "not those of Fashion-MNIST"),
    ):
        wrong.write_bytes(gzip.compress(idx(values.astype(np.uint8))))
        changed = [wrong if index == place else path for index, path in enumerate(paths)]
        with pytest.raises(InputError, match=said):
            images.read_images(changed)


def test_pixels_are_enlarged_and_normalised():
    grey = np.zeros((1, 28, 28), np.uint8)
    grey[:, :, 14:] = 255
    inputs = image_inputs(56, "bilinear", (0.5, 0.25, 0.0), (0.5, 0.25, 2.0))
    (pixels,) = inputs(images.Images(grey, np.zeros(1, np.int64)), torch.zeros(1).double())
    assert pixels.shape == (1, 3, 56, 56)
    assert pixels.dtype == torch.float64
    assert pixels[0, :, 0, 0].tolist() == [-1, -1, 0]
    assert pixels[0, :, 0, -1].tolist() == [1, 3, 0.5]
    # Bilinear: the edge between columns 27 and 28 is a ramp of two pixels.
    assert pixels[0, 2, 0, 26:30].tolist() == [0, 0.125, 0.375, 0.5]


def test_pixels_are_enlarged_as_is_asked_for():
    grey = np.arange(28 * 28, dtype=np.uint8).reshape(1, 28, 28)
    batch = images.Images(grey, np.zeros(1, np.int64))
    found = [
        image_inputs(56, how, (0, 0, 0), (1, 1, 1))(batch, torch.zeros(1))[0]
        for how in ("nearest", "bilinear", "bicubic")
    ]
    assert torch.equal(found[0][0, 0, ::2, ::2] * 255, torch.from_numpy(grey[0]).float())
    assert not any(torch.allclose(found[i], found[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


def test_a_network_with_a_head(folder):
    weights = efficientnet.convert_weights(efficientnet_tensors())
    net = build_network(CHOICE, 1, [data(folder), weights])
    kinds = {name: (block.layer, block.kind) for name, block in net.blocks.items()}
    assert kinds["body.stem.convolution.weight"] == (0, "embedding")
    assert kinds["body.blocks.2.depthwise.convolution.weight"] == (3, "matrix")
    assert kinds["body.blocks.0.project.normalisation.weight"] == (1, "normalisation")
    assert kinds["body.top.convolution.weight"] == (4, "matrix")
    assert kinds["head.weight"] == (5, "head")
    assert kinds["head.bias"] == (5, "bias")
    batch = net.train.take(np.arange(5))
    before = {name: value.clone() for name, value in net.statistics.items()}
    assert len(before) == 2 * sum(block.kind == "normalisation" for block in net.blocks.values())
    loss = net.loss(net.start, batch)
    assert all(torch.equal(net.statistics[name], before[name]) for name in before)
    # In training, the batch's own statistics act, and a share of them is kept.
    torch.manual_seed(0)
    trained = net.loss(net.start, batch, training=True)
    assert trained != loss
    stem = "body.stem.normalisation.running_mean"
    assert not torch.equal(net.statistics[stem], before[stem])
    for name, value in before.items():
        net.statistics[name].copy_(value)
    assert torch.equal(net.loss(net.start, batch), loss)


@pytest.mark.parametrize("renewed", [0.0, 0.1, 0.4])
def test_running_statistics_take_the_share_that_is_asked_for(folder, renewed):
    weights = efficientnet.convert_weights(efficientnet_tensors())
    whole, own = (
        build_network(image_net(renewed=share), 1, [data(folder), weights])
        for share in (1.0, renewed)
    )
    stem = "body.stem.normalisation.running_mean"
    before = own.statistics[stem].clone()
    for net in (whole, own):
        net.loss(net.start, net.train.take(np.arange(5)), training=True)
    expected = before + renewed * (whole.statistics[stem] - before)
    assert torch.allclose(own.statistics[stem], expected, atol=1e-6)


@pytest.mark.parametrize(("name", "size"), [("efficientnet", 64), ("vit_s", 42)])
def test_features_are_left_out_in_training_alone(folder, name, size):
    if name == "vit_s":
        weights = {key: value.numpy() for key, value in small_vit().state_dict().items()}
    else:
        weights = efficientnet.convert_weights(efficientnet_tensors())
    none, some = (
        build_network(image_net(name, size=size, dropout=share), 1, [data(folder), weights])
        for share in (0.0, 0.5)
    )
    batch = none.train.take(np.arange(3))
    assert torch.equal(none.loss(none.start, batch), some.loss(some.start, batch))
    torch.manual_seed(0)
    lost = [float(net.loss(net.start, batch, training=True)) for net in (none, some)]
    assert lost[0] != lost[1]


def test_losses_are_means_over_all_samples(folder):
    module = small_vit()
    weights = {name: value.numpy() for name, value in module.state_dict().items()}
    choice = image_net("vit_s", size=42)
    net = build_network(choice, 1, [data(folder), weights])
    assert not net.statistics
    assert net.blocks["body.layernorm.weight"][:2] == (3, "normalisation")
    assert net.blocks["body.encoder.layer.1.layer_scale1.lambda1"][:2] == (2, "normalisation")
    assert net.blocks["body.embeddings.patch_embeddings.projection.weight"][:2] == (0, "embedding")
    assert net.blocks["body.embeddings.cls_token"][:2] == (0, "embedding")
    loss, accuracy = net.evaluate(net.start, net.train, size=7)
    with torch.no_grad():
        (pixels,) = image_inputs(42, choice.enlarged, vit.MEAN, vit.DEVIATION)(
            net.train, torch.zeros(1)
        )
        logits = vit.class_features(module, pixels) @ net.start["head.weight"].T
    labels = torch.from_numpy(net.train.labels)
    expected = torch.nn.functional.cross_entropy(logits, labels)
    assert loss == pytest.approx(float(expected), rel=1e-5)
    assert accuracy == float((logits.argmax(1) == labels).double().mean())
