"""Writes what the parts of rivals' methods compute, with all gradients, that the Go tests compare with.

    /usr/bin/python3 methods.py          # from any directory; writes methods.json beside it

Inputs and parameters are waves: element i of NAME is sin(1.7 i + the sum of NAME's bytes) / 2, as float32, and 1 more in NAMEs that end
in "deviation". The loss whose gradients are stored is the sum of all outputs, each times a wave of its own. Shapes are those of
package rivals.
"""
import json
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "testdata" / "twin"))
from network import positions, up2

torch.set_num_threads(1)


def wave(name, *shape):
    values = np.sin(1.7 * np.arange(math.prod(shape)) + sum(name.encode())) / 2 + name.endswith("deviation")
    return torch.tensor(values.astype(np.float32).astype(np.float64).reshape(shape))


class Case:
    """Variables of a part by name, and what it computes."""

    def __init__(self):
        self.leaves = {}

    def __call__(self, name, *shape):
        if name not in self.leaves:
            self.leaves[name] = wave(name, *shape).requires_grad_()
        return self.leaves[name]

    def linear(self, name, x, out, bias=True):
        y = x @ self(name + ".weight", x.shape[-1], out)
        return y + self(name + ".bias", out) if bias else y

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self(name + ".weight", x.shape[-1]), self(name + ".bias", x.shape[-1]), 1e-5)

    def mlp(self, name, x):
        return self.linear(name + ".2", F.gelu(self.linear(name + ".0", x, x.shape[-1])), x.shape[-1])

    def golden(self, outputs):
        sum((wave("seed of " + name, *y.shape) * y).sum() for name, y in outputs.items()).backward()
        rounded = lambda x: [float(f"{v:.6g}") for v in x.detach().flatten().tolist()]
        return {
            "outputs": {name: rounded(y) for name, y in outputs.items()},
            "gradients": {name: rounded(x.grad) for name, x in self.leaves.items() if x.grad is not None},
        }


def pionono(M=3, K=2, B=2, d=8, prior=2.0, kappa=5e-4):
    """Latents, head and KL, by torch.distributions."""
    v = Case()
    f, draws = v("f", B, 3, 4, 16), v("draws", B, M, d)
    mean, deviation = v("pionono.mean", M, d), v("pionono.deviation", M, d, d)
    lower = torch.tril(deviation.transpose(1, 2))
    z = mean + torch.einsum("mij,bmj->bmi", lower, draws)
    both = torch.cat([f[:, :, :, None].expand(-1, -1, -1, M, -1), z[:, None, None].expand(-1, 3, 4, -1, -1)], -1)
    weight = torch.cat([v("pionono.head.0.features.weight", 16, 16), v("pionono.head.0.latent.weight", d, 16)])
    x = F.relu(both @ weight + v("pionono.head.0.features.bias", 16))
    x = F.relu(v.linear("pionono.head.1", x, 16))
    rated = torch.sigmoid(v.linear("pionono.head.2", x, K))
    normal = torch.distributions.MultivariateNormal
    q = normal(mean, scale_tril=lower)
    kl = torch.distributions.kl_divergence(q, normal(torch.zeros(d, dtype=mean.dtype), scale_tril=prior * torch.eye(d, dtype=mean.dtype)))
    return v.golden({"rated": rated, "kl": kappa * kl.mean().reshape(1)})


def padl(M=3, K=2, B=2, C=6):
    """Meta mask, preferences and errors, one rater after another as in the authors' code. Each parameter holds all raters' values."""
    v = Case()
    x = v("x", B, 3, 4, C)
    meta = x @ v("padl.meta.weight", 1, 1, C, K)[0, 0] + v("padl.meta.bias", K)
    p = torch.sigmoid(meta).detach()
    doubt = -(p * torch.log2(p) + (1 - p) * torch.log2(1 - p))

    def head(name, people, m, logits):
        own = slice(m * K, (m + 1) * K)
        reduced = x @ v(f"padl.{name}.reduction.weight", 1, 1, C, people * K)[0, 0, :, own]
        mean, variance = reduced.mean((0, 1, 2)), reduced.var((0, 1, 2), unbiased=False)
        scale, shift = v(f"padl.{name}.bn.weight", people * K)[own], v(f"padl.{name}.bn.bias", people * K)[own]
        reduced = F.relu((reduced - mean) / torch.sqrt(variance + 1e-5) * scale + shift)
        both = torch.cat([(1 + doubt) * reduced, logits], -1)
        return both @ v(f"padl.{name}.output.weight", people, 2 * K, K)[m] + v(f"padl.{name}.output.bias", people, K)[m]

    own = [meta + head("preference", M, m, meta) for m in range(M)]
    errors = [head("errors", M, m, own[m]).abs() for m in range(M)]
    return v.golden({"meta": meta, "metaError": head("error", 1, 0, meta).abs(), "own": torch.cat(own, -1), "ownError": torch.cat(errors, -1)})


def attend(q, k, v, heads):
    """softmax(q kᵀ / √d) v of each head, tokens (B, N, C)."""
    split = lambda t: t.reshape(t.shape[0], t.shape[1], heads, -1).transpose(1, 2)
    q, k, v = split(q), split(k), split(v)
    y = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(q.shape[-1]), -1) @ v
    return y.transpose(1, 2).flatten(2)


def tab(M=2, K=1, h=3, w=2, C=5, D=8, heads=2, rank=8):
    """The transformer of one image, maps and mask head, one query after another."""
    v = Case()
    e, x = v("e", 1, h, w, C), v("x", 1, 2 * h, 2 * w, 4)
    place = positions(h, w, D, e).permute(1, 2, 0).reshape(1, h * w, D)

    src = e.reshape(1, h * w, C) @ v("tab.project.weight", 1, 1, C, D)[0, 0] + v("tab.project.bias", D)
    q, k = v.linear("tab.encoder.attention.query", src + place, D), v.linear("tab.encoder.attention.key", src + place, D, False)
    attended = attend(q, k, v.linear("tab.encoder.attention.value", src, D), heads)
    a = v.norm("tab.encoder.norm1", src + v.linear("tab.encoder.attention.output", attended, D))
    memory = v.norm("tab.encoder.norm2", a + v.mlp("tab.encoder.mlp", a))

    queries = v("tab.queries", M + 1, D)[None]
    q = v.linear("tab.decoder.query", queries, D)
    k = v.linear("tab.decoder.key", memory + place, D, False)
    attended = attend(q, k, v.linear("tab.decoder.value", memory, D), heads)
    p = v.norm("tab.decoder.norm1", queries + v.linear("tab.decoder.output", attended, D))
    p = v.norm("tab.decoder.norm2", p + v.mlp("tab.decoder.mlp", p))

    key, query = v.linear("tab.maps.key", memory, D), v.linear("tab.maps.query", p, D)
    split = lambda t: t.reshape(t.shape[1], heads, D // heads)
    maps = torch.sigmoid(torch.einsum("phd,qhd->pqh", split(key), split(query)) / math.sqrt(D // heads))

    weight = torch.cat([v("tab.head.0.features.weight", 4, 4), v("tab.head.0.maps.weight", heads, 4)])
    results = []
    for q in range(M + 1):
        large = up2(maps[:, q].reshape(1, h, w, heads).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        seen = F.relu(torch.cat([x, large], -1) @ weight + v("tab.head.0.features.bias", 4))
        results.append(v.linear("tab.head.1", seen, K * (2 + rank)))
    all = torch.stack(results, 3)
    return v.golden({"maps": maps, "mean": all[..., :K], "deviation": all[..., K : 2 * K].abs(), "factors": all[..., 2 * K :]})


def mrnet(M=3, K=1, B=2, C=4, D=3):
    """The ConvLSTM's step and the refinement, channels first as in the authors' code; c is the coarse mask."""
    v = Case()
    first = lambda t: t.permute(0, 3, 1, 2)
    last = lambda t: t.permute(0, 2, 3, 1)
    conv = lambda name, t, inputs, outputs: F.conv2d(t, v(name + ".weight", 3, 3, inputs, outputs).permute(3, 2, 0, 1).contiguous(), v(name + ".bias", outputs), padding=1)

    bridge, expertness = first(v("bridge", B, 3, 2, C)), v("v", B, M, K).reshape(B, M * K, 1, 1)
    state = conv("mrnet.state", expertness.expand(-1, -1, 3, 2), M * K, C)
    both = torch.cat([bridge, state], 1)
    i, f, o, g = [conv("mrnet.lstm." + gate, both, 2 * C, C) for gate in ("input", "forget", "output", "candidate")]
    cell = torch.sigmoid(f) * state + torch.sigmoid(i) * torch.tanh(g)
    heeded = torch.sigmoid(o) * torch.tanh(cell)

    x, c, r = first(v("x", B, 6, 5, D)), torch.sigmoid(first(v("coarse", B, 6, 5, K))), torch.sigmoid(v("raters", B, 6, 5, M, K))
    maps = torch.cat([c, first(r.std(3))], 1)
    window = v("mrnet.refine.gaussian", 31 * 31, 1).reshape(1, 1, 31, 31)
    seen = []
    for k in range(2 * K):
        a = maps[:, k : k + 1]
        soft = F.conv2d(a, window, padding=15)
        least, most = soft.amin((2, 3), True), soft.amax((2, 3), True)
        seen.append(x * torch.maximum((soft - least) / (most - least), a) + x)
    y = torch.sigmoid(conv("mrnet.refine.output", torch.cat(seen, 1), 2 * K * D, K))
    return v.golden({"heeded": last(heeded), "y": last(y)})


def adversary(K=2, S=32, low=1e-3):
    """The discriminator of BEAL and pOSAL, pOSAL's smoothness pixel by pixel, BEAL's band of boundaries and its entropy."""
    v = Case()
    x, label, present = v("x", 1, S, S, K), v("label", 1, S, S, K), wave("present", 1, 1, K)
    y = 0.02 * x.permute(0, 3, 1, 2)
    for i, out in enumerate((2, 4, 8, 16, 1)):
        y = F.conv2d(y, v(f"judge.{i}.weight", 4, 4, y.shape[1], out).permute(3, 2, 0, 1).contiguous(), stride=2, padding=1)
        if i < 4:
            y = F.leaky_relu(y, 0.2)

    rough = 0
    for axis in (1, 2):
        for step in (1, -1):
            kept = torch.ones(S, dtype=x.dtype)
            kept[0 if step == 1 else -1] = 0  # the pixels at an edge have no neighbour there
            kept = kept.reshape([1, -1, 1, 1] if axis == 1 else [1, 1, -1, 1])
            rough = rough + kept * label * label.roll(step, axis) * (x - x.roll(step, axis)).abs()
    rough = (rough.sum((0, 1, 2)) * present[0, 0]).sum().reshape(1)

    planes = label.permute(0, 3, 1, 2)
    band = F.max_pool2d(planes, 3, 1, 1) - (1 - F.max_pool2d(1 - planes, 3, 1, 1))
    window = torch.exp(-torch.arange(-2, 3, dtype=x.dtype) ** 2 / (2 * 0.6**2))
    window = torch.outer(window, window) / window.sum() ** 2
    band = F.conv2d(band, window.repeat(K, 1, 1, 1), padding=2, groups=K).permute(0, 2, 3, 1)
    return v.golden({"judged": torch.sigmoid(y), "rough": rough, "band": band, "entropy": -x * torch.log(x.clamp(low, 1))})


if __name__ == "__main__":
    goldens = {part.__name__: part() for part in (pionono, padl, tab, mrnet, adversary)}
    (HERE / "methods.json").write_text(json.dumps(goldens, separators=(",", ":")) + "\n")
