"""The network of package model, written once more in PyTorch.

Development only (Debian's python3-torch 1.13, CPU). Parameters live in one dict, name -> tensor, in the
layouts of our weight files: convolution [kh,kw,Cin,Cout], depthwise [kh,kw,C], transposed convolution
2x2/2 [2,2,Cin,Cout], linear [Cin,Cout], rater output [M,D,K]. Activations are NCHW here and NHWC in the
goldens; rater maps are (B, M, K, H, W) here and (B, H, W, M, K) in the goldens.
"""
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

CLAMP = 1e-3  # lower clamp of every probability before a log; 1 - CLAMP is the upper one of zUp


@dataclass
class Config:
    blocks: tuple
    widths: tuple
    stem: int
    bridge: int
    conp: tuple
    max_keys: int
    divp: tuple = (32, 64, 64, 32)
    divp_stem: int = 64
    divp_heads: int = 8
    rater_head: int = 16
    hidden: tuple = (64, 128, 256)  # widths inside the confidence embedding
    M: int = 4
    K: int = 2
    steered: bool = False  # the embedded confidences are added to the maps that they query


def config(name, M, K):
    if name == "paper":
        return Config((3, 4, 6, 3), (64, 128, 256, 512), 64, 512, (512, 256, 128, 64), 1024, M=M, K=K)
    if name == "compact":
        return Config((2, 2, 2, 2), (32, 64, 128, 256), 32, 256, (256, 128, 64, 32), 256, M=M, K=K)
    if name == "tiny":
        return Config((1, 1, 1, 1), (8, 16, 16, 16), 8, 16, (16, 16, 16, 16), 16, (8, 8, 8, 8), 8, 2, 4,
                      (8, 16, 32), M=M, K=K)
    raise ValueError(name)


# ---------------------------------------------------------------- parameters

class Init:
    """Creates every parameter once, in file layout and file order.

    He normal: std sqrt(2/fan), fan_out = kh*kw*Cout in the encoder, fan_in = kh*kw*Cin elsewhere (depthwise:
    kh*kw; transposed 2x2/2: Cin, the inputs that one output pixel sees). Linear: Xavier uniform. Biases 0,
    normalisation weights 1, conp.head.bias = logit(share).
    With spread > 0 (goldens) biases and normalisation parameters get normal noise of that size, so that a
    mistake in any of them shows.
    """

    def __init__(self, seed, spread=0.0):
        self.p, self.b = {}, {}
        self.g = torch.Generator().manual_seed(seed)
        self.spread = spread

    def normal(self, *shape):
        return torch.randn(*shape, generator=self.g)

    def bias(self, name, n, value=0.0):
        self.p[name] = torch.full((n,), value) + self.spread * self.normal(n)

    def conv(self, name, k, cin, cout, bias, fan_out=False):
        std = math.sqrt(2 / (k * k * (cout if fan_out else cin)))
        self.p[name + ".weight"] = self.normal(k, k, cin, cout) * std
        if bias:
            self.bias(name + ".bias", cout)

    def depthwise(self, name, k, c):
        self.p[name + ".weight"] = self.normal(k, k, c) * math.sqrt(2 / (k * k))
        self.bias(name + ".bias", c)

    def up(self, name, cin, cout, value=0.0):
        self.p[name + ".weight"] = self.normal(2, 2, cin, cout) * math.sqrt(2 / cin)
        self.bias(name + ".bias", cout, value)

    def linear(self, name, cin, cout, bias=True):
        a = math.sqrt(6 / (cin + cout))
        self.p[name + ".weight"] = (torch.rand(cin, cout, generator=self.g) * 2 - 1) * a
        if bias:
            self.bias(name + ".bias", cout)

    def norm(self, name, c, batch):
        self.bias(name + ".weight", c, 1.0)
        self.bias(name + ".bias", c)
        if batch:
            self.b[name + ".running_mean"] = torch.zeros(c)
            self.b[name + ".running_var"] = torch.ones(c)


def initialise(c, seed, share=0.1, spread=0.0):
    """Returns (parameters, buffers): two dicts of float32 tensors in file layout."""
    t = Init(seed, spread)
    t.conv("encoder.conv1", 7, 3, c.stem, False, True)
    t.norm("encoder.bn1", c.stem, True)
    cin = c.stem
    for layer in range(4):
        cout = c.widths[layer]
        for i in range(c.blocks[layer]):
            n = f"encoder.layer{layer + 1}.{i}"
            t.conv(n + ".conv1", 3, cin, cout, False, True)
            t.norm(n + ".bn1", cout, True)
            t.conv(n + ".conv2", 3, cout, cout, False, True)
            t.norm(n + ".bn2", cout, True)
            if cin != cout or (layer > 0 and i == 0):
                t.conv(n + ".downsample.0", 1, cin, cout, False, True)
                t.norm(n + ".downsample.1", cout, True)
            cin = cout
    t.conv("encoder.bridge.0", 3, cin, c.bridge, False, True)
    t.norm("encoder.bridge.1", c.bridge, True)

    for stage, steps in enumerate(embedding(c)):
        for i, s in enumerate(x for x in steps if x[0] != "up"):
            n = f"conp.confidence.stage{stage + 1}.{i}"
            if s[0] == "dw":
                t.depthwise(n, s[1], s[2])
            else:
                t.conv(n, 1, s[1], s[2], True)
    skips = [c.widths[3], c.widths[2], c.widths[1], c.widths[0]]
    cin = c.bridge
    for i, (C, skip) in enumerate(zip(c.conp, skips)):
        n = f"conp.stage{i + 1}"
        t.up(n + ".up", cin, C)
        for q in ("query", "key", "value", "output"):
            t.linear(f"{n}.attention.{q}", C, C, q != "key")
        t.norm(n + ".norm1", C, False)
        t.linear(n + ".mlp.0", C, C)
        t.linear(n + ".mlp.2", C, C)
        t.norm(n + ".norm2", C, False)
        t.conv(n + ".merge.conv", 3, C + skip, C, False)
        t.norm(n + ".merge.bn", C, True)
        t.conv(n + ".merge.shortcut", 1, C + skip, C, True)
        cin = C
    t.up("conp.head", cin, c.K, math.log(share / (1 - share)))

    t.conv("divp.stem", 8, c.K, c.divp_stem, True)
    t.linear("divp.project", c.divp_stem, c.divp[0])
    cin = c.divp[0]
    for i, C in enumerate(c.divp):
        n = f"divp.blocks.{i}"
        for q in ("query", "key", "value"):
            t.linear(f"{n}.attention.{q}", cin, C, q != "key")
        t.linear(f"{n}.attention.output", C, C)
        if cin != C:
            t.linear(n + ".residual", cin, C)
        t.norm(n + ".norm1", C, False)
        t.linear(n + ".mlp.0", C, C)
        t.linear(n + ".mlp.2", C, C)
        t.norm(n + ".norm2", C, False)
        cin = C
    D = c.rater_head
    for q in ("query", "key", "value", "shortcut"):
        t.linear(f"divp.heads.{q}", cin, c.M * D, q != "key")
    a = math.sqrt(6 / (D + c.K))
    t.p["divp.heads.output.weight"] = (torch.rand(c.M, D, c.K, generator=t.g) * 2 - 1) * a
    t.p["divp.heads.output.bias"] = spread * t.normal(c.M, c.K)
    return t.p, t.b


def embedding(c):
    """The confidence embedding, stage by stage: ("dw", kernel, channels) at stride 2, ("pw", in, out) 1x1,
    ("up",) bilinear x2. A ReLU follows every pw but the last of a stage."""
    mk, (a, b, d), C = c.M * c.K, c.hidden, c.conp
    return [
        [("dw", 5, mk), ("pw", mk, a), ("pw", a, b), ("dw", 3, b), ("pw", b, d), ("pw", d, C[0])],
        [("pw", mk, a), ("dw", 3, a), ("pw", a, b), ("pw", b, C[1])],
        [("pw", mk, a), ("pw", a, C[2])],
        [("up",), ("pw", mk, C[3])],
    ]


# ---------------------------------------------------------------- layers (NCHW)

def positions(h, w, C, like):
    """E (C, h, w): first C/2 channels code y, the others x; p = (i+.5)/n*2pi; channel 2j = sin(p/10000^(2j/(C/2)))."""
    def axis(n):
        p = (torch.arange(n, dtype=torch.float64) + 0.5) / n * 2 * math.pi
        j = torch.arange(C // 4, dtype=torch.float64)
        a = p[None, :] / (10000 ** (2 * j / (C // 2)))[:, None]
        return torch.stack([a.sin(), a.cos()], 1).reshape(C // 2, n)
    y, x = axis(h), axis(w)
    return torch.cat([y[:, :, None].expand(-1, h, w), x[:, None, :].expand(-1, h, w)]).to(like)


def up2(x, factor=2):
    return F.interpolate(x, scale_factor=factor, mode="bilinear", align_corners=False)


def pool_factor(h, w, max_keys):
    r = 1
    while (h // r) * (w // r) > max_keys:
        r *= 2
    return r


def attend(q, k, v, heads):
    """Multi-head attention of token maps (B, C, H, W); q has its own H, W. scale = (C/heads)^-1/2."""
    B, C, H, W = q.shape
    d = C // heads
    def split(t):
        return t.reshape(B, heads, d, -1)
    s = (split(q) * d ** -0.5).transpose(2, 3) @ split(k)
    return (split(v) @ s.softmax(-1).transpose(2, 3)).reshape(B, C, H, W)


def passing_clamp(x, lo, hi):
    """Clamped forward, identity backward: the gradient passes the clamp."""
    return x + (x.clamp(lo, hi) - x).detach()


class Network:
    def __init__(self, c, params, buffers):
        self.c, self.p, self.b, self.training = c, params, buffers, True

    # -- building blocks
    def conv(self, name, x, stride=1, pad=0):
        w = self.p[name + ".weight"].permute(3, 2, 0, 1)
        return F.conv2d(x, w, self.p.get(name + ".bias"), stride, pad)

    def depthwise(self, name, x, pad):
        w = self.p[name + ".weight"].permute(2, 0, 1)[:, None]
        return F.conv2d(x, w, self.p[name + ".bias"], 2, pad, groups=x.shape[1])

    def transposed(self, name, x):
        return F.conv_transpose2d(x, self.p[name + ".weight"].permute(2, 3, 0, 1), self.p[name + ".bias"], 2)

    def linear(self, name, x):
        w = self.p[name + ".weight"].t()[:, :, None, None]
        return F.conv2d(x, w, self.p.get(name + ".bias"))

    def bn(self, name, x):
        return F.batch_norm(x, self.b[name + ".running_mean"], self.b[name + ".running_var"],
                            self.p[name + ".weight"], self.p[name + ".bias"], self.training, 0.1, 1e-5)

    def ln(self, name, x):
        y = F.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],), self.p[name + ".weight"], self.p[name + ".bias"], 1e-5)
        return y.permute(0, 3, 1, 2)

    def mlp(self, name, x):
        return self.linear(name + ".2", F.gelu(self.linear(name + ".0", x)))

    # -- encoder
    def encode(self, x):
        """x (B, 3, S, S) normalised image -> dict e0 (S/2) .. e4 (S/32), f0 (S/64)."""
        f = {}
        e = f["e0"] = F.relu(self.bn("encoder.bn1", self.conv("encoder.conv1", x, 2, 3)))
        e = F.max_pool2d(e, 3, 2, 1)
        for layer in range(4):
            for i in range(self.c.blocks[layer]):
                n = f"encoder.layer{layer + 1}.{i}"
                stride = 2 if layer > 0 and i == 0 else 1
                u = F.relu(self.bn(n + ".bn1", self.conv(n + ".conv1", e, stride, 1)))
                u = self.bn(n + ".bn2", self.conv(n + ".conv2", u, 1, 1))
                if n + ".downsample.0.weight" in self.p:
                    e = self.bn(n + ".downsample.1", self.conv(n + ".downsample.0", e, stride))
                e = F.relu(u + e)
            f[f"e{layer + 1}"] = e
        f["f0"] = F.relu(self.bn("encoder.bridge.1", self.conv("encoder.bridge.0", e, 2, 1)))
        return f

    # -- ConP
    def embed(self, w):
        """w (B, M*K, S/8, S/8) log confidence -> the four stages' queries."""
        out = []
        for stage, steps in enumerate(embedding(self.c)):
            x, i = w, 0
            for n, s in enumerate(steps):
                if s[0] == "up":
                    x = up2(x)
                    continue
                name = f"conp.confidence.stage{stage + 1}.{i}"
                x = self.depthwise(name, x, s[1] // 2) if s[0] == "dw" else self.conv(name, x)
                if s[0] == "pw" and n < len(steps) - 1:
                    x = F.relu(x)
                i += 1
            out.append(x)
        return out

    def conp(self, f, w, features=None):
        """Returns (yHalf (B,K,S/2,S/2), y (B,K,S,S)), probabilities."""
        x = f["f0"]
        for i, we in enumerate(self.embed(w)):
            n, C = f"conp.stage{i + 1}", self.c.conp[i]
            u = self.transposed(n + ".up", x)
            if self.c.steered:
                u = u + we
            e = positions(u.shape[2], u.shape[3], C, u)
            r = pool_factor(u.shape[2], u.shape[3], self.c.max_keys)
            att = attend(self.linear(n + ".attention.query", we + e),
                         self.linear(n + ".attention.key", F.avg_pool2d(u + e, r)),
                         self.linear(n + ".attention.value", F.avg_pool2d(u, r)), max(1, C // 64))
            a = self.ln(n + ".norm1", u + self.linear(n + ".attention.output", att))
            a = self.ln(n + ".norm2", a + self.mlp(n + ".mlp", a))
            c = torch.cat([a, f[f"e{4 - i}"]], 1)
            x = F.relu(self.bn(n + ".merge.bn", self.conv(n + ".merge.conv", c, 1, 1))) + self.conv(n + ".merge.shortcut", c)
            if features is not None:
                features[f"we{i + 1}"], features[f"stage{i + 1}"] = we, x
        half = torch.sigmoid(self.transposed("conp.head", x))
        return half, up2(half)

    # -- DivP
    def divp(self, half):
        """half (B, K, S/2, S/2) -> zHat (B, M, K, S/8, S/8), probabilities."""
        c = self.c
        x = F.max_pool2d(F.relu(self.conv("divp.stem", half, 2, 3)), 3, 2, 1)
        x = self.linear("divp.project", x)
        H, W = x.shape[2:]
        r = pool_factor(H, W, c.max_keys)
        for i, C in enumerate(c.divp):
            n = f"divp.blocks.{i}"
            xe = x + positions(H, W, x.shape[1], x)
            att = attend(self.linear(n + ".attention.query", xe),
                         self.linear(n + ".attention.key", F.avg_pool2d(xe, r)),
                         self.linear(n + ".attention.value", F.avg_pool2d(x, r)), c.divp_heads)
            res = self.linear(n + ".residual", x) if n + ".residual.weight" in self.p else x
            a = self.ln(n + ".norm1", res + self.linear(n + ".attention.output", att))
            x = self.ln(n + ".norm2", a + self.mlp(n + ".mlp", a))
        xe = x + positions(H, W, x.shape[1], x)
        h = attend(self.linear("divp.heads.query", xe), self.linear("divp.heads.key", F.avg_pool2d(xe, r)),
                   self.linear("divp.heads.value", F.avg_pool2d(x, r)), c.M)
        h = h + self.linear("divp.heads.shortcut", x)
        h = h.reshape(h.shape[0], c.M, c.rater_head, H, W)
        logits = torch.einsum("bmdhw,mdk->bmkhw", h, self.p["divp.heads.output.weight"])
        return torch.sigmoid(logits + self.p["divp.heads.output.bias"][None, :, :, None, None])
