"""The PyTorch twin of package model: the same network, losses and step, written once more.

Development only (Debian's python3-torch 1.13, CPU). Parameters live in one dict, name -> tensor, in the
layouts of our weight files: convolution [kh,kw,Cin,Cout], depthwise [kh,kw,C], transposed convolution
2x2/2 [2,2,Cin,Cout], linear [Cin,Cout], rater output [M,D,K]. Activations are NCHW here and NHWC in the
goldens; rater maps are (B, M, K, H, W) here and (B, H, W, M, K) in the goldens.
"""
import math
from dataclasses import dataclass, field

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


# ---------------------------------------------------------------- fusion

def resize_raters(z, factor):
    B, M, K, H, W = z.shape
    return up2(z.reshape(B, M * K, H, W), factor).reshape(B, M, K, H * factor, W * factor)


def fuse(ell, z, valid):
    """Fuse(l, z) = sum_m softmax_m(l^m) z^m. ell broadcastable to (B,M,K,S,S), z (B,M,K,S,S), valid (B,M,K) 0/1.
    The softmax runs over the valid raters; where none is valid the result is 0."""
    v = valid[..., None, None]
    ell = ell.expand(z.shape).masked_fill(v == 0, -1e30)
    e = (ell - ell.max(1, keepdim=True)[0].detach()).exp() * v
    return (e / e.sum(1, keepdim=True).clamp_min(1e-30) * z).sum(1)


def window(S, like):
    """Unnormalised Gaussian g(t) = exp(-t^2/2s^2), s = 4*S/256 px, |t| <= ceil(3s)."""
    s = 4 * S / 256
    r = math.ceil(3 * s)
    t = torch.arange(-r, r + 1, dtype=torch.float64)
    return torch.exp(-t * t / (2 * s * s)).to(like)


def blur(x, g):
    """Separable, zero-padded convolution of (B, ..., H, W) with g along both axes."""
    shape, r = x.shape, len(g) // 2
    x = x.reshape(-1, 1, *shape[-2:])
    x = F.conv2d(x, g[None, None, :, None], padding=(r, 0))
    return F.conv2d(x, g[None, None, None, :], padding=(0, r)).reshape(shape)


def disputed(z, valid):
    """(B,K,S,S) 1 where the valid raters do not all say the same."""
    v = valid[..., None, None]
    n, s = v.sum(1), (z * v).sum(1)
    return ((s > 0) & (s < n)).to(z)


def log_weights(rule, zup, z, valid, y):
    """l (B,M,K,S,S) of PAPER.md 3.3. zup: clamped estimates; y: calibrated mask (B,K,S,S), used by `agreement`, detached.
    likelihood: l = z log zup + (1-z) log(1-zup), 0 for a missing rater; averaged over a Gaussian window of disputed
    pixels: blur(d*l)/max(blur(d), 1e-12), which is 0 (equal weights) where no disputed pixel lies in the window."""
    if rule == "mean":
        return torch.zeros_like(zup)
    if rule == "code":
        return zup.log()
    if rule == "agreement":
        y = y.detach()[:, None]
        return (zup * y + (1 - zup) * (1 - y)).log()
    assert rule == "likelihood"
    ell = (z * zup.log() + (1 - z) * (1 - zup).log()) * valid[..., None, None]
    g, d = window(z.shape[-1], z), disputed(z, valid)
    return blur(ell * d[:, None], g) / blur(d, g).clamp_min(1e-12)[:, None]


def shuffled(ell, permutation, scale, offset):
    """One weighting of L_sff: (l^pi)^m = scale * l^{pi(m)} + offset^m. A permutation has scale 1 and offset 0;
    a random draw has scale 0 and offset log psi, psi ~ U(.1,.9). permutation (M,) int, scale (), offset (M,)."""
    return scale * ell[:, permutation] + offset[None, :, None, None, None]


# ---------------------------------------------------------------- losses

def ssim(a, b):
    """SSIM map (B,K,S,S): 11x11 Gaussian, sigma 1.5, sum 1, zero padding, C1 = 1e-4, C2 = 9e-4."""
    t = torch.arange(-5, 6, dtype=torch.float64)
    g = torch.exp(-t * t / (2 * 1.5 ** 2))
    g = (g / g.sum()).to(a)
    ma, mb = blur(a, g), blur(b, g)
    va, vb, cov = blur(a * a, g) - ma * ma, blur(b * b, g) - mb * mb, blur(a * b, g) - ma * mb
    return ((2 * ma * mb + 1e-4) * (2 * cov + 9e-4)) / ((ma * ma + mb * mb + 1e-4) * (va + vb + 9e-4))


def loss_ssim(a, b, present):
    """sum_k mean_b mean_pixels present_bk (1 - SSIM); present (B,K) 1 where any rater labelled structure k."""
    return ((1 - ssim(a, b)).mean((2, 3)) * present).sum() / a.shape[0]


def cross_entropy(p, t, lo):
    """-t log p - (1-t) log(1-p) a pixel, p clamped to [lo, 1-lo], the gradient passing the clamp."""
    p = passing_clamp(p, lo, 1 - lo)
    return -(t * p.log() + (1 - t) * (1 - p).log())


def loss_shuffle(ell, zraw, z, valid, present, shuffles):
    """L_sff: mean over weightings of sum_k mean_b mean_pixels CE(Fuse(l^pi, zUp), Fuse(l^pi, z)), clamp 0.01.
    l^pi is detached, so the gradient reaches zUp as a summand only."""
    total = 0
    for permutation, scale, offset in shuffles:
        e = shuffled(ell.detach(), permutation, scale, offset)
        own = fuse(e, passing_clamp(zraw, CLAMP, 1 - CLAMP), valid)
        ce = cross_entropy(own, fuse(e, z, valid).detach(), 0.01)
        total = total + (ce.mean((2, 3)) * present).sum() / z.shape[0]
    return total / len(shuffles)


def loss_heads(zraw, z, valid):
    """L_MH: sum_k mean_b mean over valid raters, mean over pixels, of CE(zUp^m, z^m), clamp 1e-3."""
    share = valid / valid.sum(1, keepdim=True).clamp_min(1)
    return (cross_entropy(zraw, z, CLAMP).mean((3, 4)) * share).sum() / z.shape[0]


@dataclass
class Step:
    """What a training step is asked to do; all draws are data."""
    rule: str = "likelihood"
    shuffle_weight: float = 0.3   # zeta
    heads_weight: float = 1.0     # weight of L_MH
    fade: float = 0.0             # weight of CE(y_i, yFuse_{i-1}), PAPER.md 3.12
    levels: bool = False          # agreement levels: equal weights, no shuffle
    feature_dump: dict = field(default=None)


def train_forward(net, x, z, valid, w0, shuffles, s):
    """Algorithm 1 (PAPER.md 4). x (B,3,S,S); z (B,M,K,S,S) 0/1; valid (B,M,K) 0/1; w0 (B,M,K,S/8,S/8) log
    confidence; shuffles: tau lists of (permutation, scale, offset). Returns (loss, dict of the terms, lists by
    recurrence). tau = len(shuffles)."""
    B, M, K = valid.shape
    present = (valid.sum(1) > 0).to(x)
    f = net.encode(x)
    rule = "mean" if s.levels else s.rule
    w = w0
    yfuse = fuse(torch.zeros_like(z) if s.levels else resize_raters(w0, 8), z, valid)
    out = {"f": f, "yFuse": [yfuse], "y": [], "half": [], "zHat": [], "ell": [], "features": [],
           "rec_y": [], "rec_fuse": [], "shuffle": [], "heads": [], "fade": []}
    loss = 0
    for shuffle in shuffles:
        features = {}
        half, y = net.conp(f, w.reshape(B, M * K, *w.shape[3:]), features)
        zhat = net.divp(half.detach())
        zraw = resize_raters(zhat, 8)
        zup = passing_clamp(zraw, CLAMP, 1 - CLAMP)
        ell = log_weights(rule, zup, z, valid, y)
        yfuse2 = fuse(ell, z, valid)
        terms = {"rec_y": loss_ssim(y, yfuse.detach(), present),
                 "rec_fuse": loss_ssim(yfuse2, y.detach(), present),
                 "shuffle": torch.zeros(()), "heads": loss_heads(zraw, z, valid),
                 "fade": (cross_entropy(y, yfuse.detach(), CLAMP).mean((2, 3)) * present).sum() / B}
        if s.shuffle_weight and not s.levels:
            terms["shuffle"] = loss_shuffle(ell, zraw, z, valid, present, shuffle)
        loss = loss + terms["rec_y"] + terms["rec_fuse"] + s.shuffle_weight * terms["shuffle"] \
            + s.heads_weight * terms["heads"] + s.fade * terms["fade"]
        w = zhat.detach().clamp_min(CLAMP).log()
        yfuse = yfuse2
        for k, v in terms.items():
            out[k].append(v)
        for k, v in (("y", y), ("half", half), ("zHat", zhat), ("ell", ell), ("yFuse", yfuse2), ("features", features)):
            out[k].append(v)
    return loss, out


def infer(net, x, passes=4, w0=None):
    """passes ConP passes from the constant log 0.5 (Rec0, Rec1, ...). Returns lists y (B,K,S,S), zHat (B,M,K,S/8,S/8)."""
    c, B, S = net.c, x.shape[0], x.shape[2]
    training, net.training = net.training, False
    f = net.encode(x)
    w = torch.full((B, c.M * c.K, S // 8, S // 8), math.log(0.5)).to(x) if w0 is None else w0.reshape(B, c.M * c.K, S // 8, S // 8)
    ys, zs = [], []
    for _ in range(passes):
        half, y = net.conp(f, w)
        z = net.divp(half)
        ys.append(y)
        zs.append(z)
        w = z.clamp_min(CLAMP).log().reshape(B, c.M * c.K, S // 8, S // 8)
    net.training = training
    return ys, zs


def initial_confidence(generator, B, M, K, side):
    """w0 = log clip(psi + eps, 1e-3, 1), psi ~ U(.1,.9) a rater (one draw a batch), eps ~ N(0, .2^2) an element."""
    psi = torch.rand(1, M, 1, 1, 1, generator=generator) * 0.8 + 0.1
    eps = torch.randn(B, M, K, side, side, generator=generator) * 0.2
    return (psi + eps).clamp(1e-3, 1).log()


def draw_shuffles(generator, tau, M, permutations=2, draws=1):
    """tau lists: `permutations` non-identity permutations and `draws` random weightings log U(.1,.9)."""
    out = []
    for _ in range(tau):
        row = []
        for _ in range(permutations):
            while True:
                p = torch.randperm(M, generator=generator)
                if M == 1 or not bool((p == torch.arange(M)).all()):
                    break
            row.append((p, 1.0, torch.zeros(M)))
        for _ in range(draws):
            row.append((torch.arange(M), 0.0, (torch.rand(M, generator=generator) * 0.8 + 0.1).log()))
        out.append(row)
    return out


class Adam:
    """Adam (Kingma & Ba), PyTorch's form: p -= lr * mhat / (sqrt(vhat) + eps); weight decay, where given, is
    decoupled and only for tensors of two or more dimensions: p -= lr * decay * p."""

    def __init__(self, params, b1=0.9, b2=0.999, eps=1e-8, decay=0.0):
        self.params, self.b1, self.b2, self.eps, self.decay, self.t = params, b1, b2, eps, decay, 0
        self.m = {k: torch.zeros_like(v) for k, v in params.items()}
        self.v = {k: torch.zeros_like(v) for k, v in params.items()}

    @torch.no_grad()
    def step(self, lr):
        self.t += 1
        c1, c2 = 1 - self.b1 ** self.t, 1 - self.b2 ** self.t
        for k, p in self.params.items():
            if p.grad is None:
                continue
            if self.decay and p.dim() > 1:
                p.mul_(1 - lr * self.decay)
            self.m[k].mul_(self.b1).add_(p.grad, alpha=1 - self.b1)
            self.v[k].mul_(self.b2).addcmul_(p.grad, p.grad, value=1 - self.b2)
            p.addcdiv_(self.m[k], (self.v[k] / c2).sqrt_().add_(self.eps), value=-lr / c1)
            p.grad = None
