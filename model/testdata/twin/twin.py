"""The PyTorch twin of package model: fusion, losses and one training step (network.py holds the network)."""
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from network import CLAMP, Network, config, initialise, passing_clamp, up2  # noqa: F401


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

def ssim_window(like):
    """The 11 weights of SSIM's Gaussian along an axis: sigma 1.5, sum 1."""
    t = torch.arange(-5, 6, dtype=torch.float64)
    g = torch.exp(-t * t / (2 * 1.5 ** 2))
    return (g / g.sum()).to(like)


def ssim(a, b):
    """SSIM map (B,K,S,S): zero padding, C1 = 1e-4, C2 = 9e-4."""
    g = ssim_window(a)
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
    prior: torch.Tensor = None    # (B, M): log of the raters' weights, kept through the passes


def train_forward(net, x, z, valid, w0, shuffles, s):
    """Algorithm 1 (PAPER.md 4). x (B,3,S,S); z (B,M,K,S,S) 0/1; valid (B,M,K) 0/1; w0 (B,M,K,S/8,S/8) log
    confidence; shuffles: tau lists of (permutation, scale, offset). Returns (loss, dict of the terms, lists by
    recurrence). tau = len(shuffles)."""
    B, M, K = valid.shape
    present = (valid.sum(1) > 0).to(x)
    f = net.encode(x)
    rule = "mean" if s.levels else s.rule
    prior = torch.zeros(B, M).to(x) if s.prior is None else s.prior
    prior = prior[:, :, None, None, None]
    w = w0 + prior
    yfuse = fuse(torch.zeros_like(z) if s.levels else resize_raters(w, 8), z, valid)
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
        yfuse2 = fuse(ell + prior, z, valid)
        terms = {"rec_y": loss_ssim(y, yfuse.detach(), present),
                 "rec_fuse": loss_ssim(yfuse2, y.detach(), present),
                 "shuffle": torch.zeros(()), "heads": loss_heads(zraw, z, valid),
                 "fade": (cross_entropy(y, yfuse.detach(), CLAMP).mean((2, 3)) * present).sum() / B}
        if s.shuffle_weight and not s.levels:
            terms["shuffle"] = loss_shuffle(ell, zraw, z, valid, present, shuffle)
        loss = loss + terms["rec_y"] + terms["rec_fuse"] + s.shuffle_weight * terms["shuffle"] \
            + s.heads_weight * terms["heads"] + s.fade * terms["fade"]
        w = zhat.detach().clamp_min(CLAMP).log() + prior
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
