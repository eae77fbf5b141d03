"""Masks like those of "segment -roi none": python3 segment.py MODEL.onnx IMAGE writes CLASS.png."""
import json, sys
import numpy as np, onnxruntime
from PIL import Image

def shown(v):  # grey of more than 8 bits, from black 0 to white 1 as the picture's values say
    values, n = np.unique(v, return_counts=True)
    n[n.argmax()] = min(n.max(), 3 * (n.sum() - n.max()))  # an empty background
    below, above = (n.cumsum() - n) / n.sum(), (n[::-1].cumsum()[::-1] - n) / n.sum()
    white = lambda black: black + ((values - black) * np.exp(6 * np.floor(2000 * above) / 2000))[above <= 1 / 8].min()
    dark, stray = (values[(below <= share).nonzero()[0][-1]] for share in (0.064, 0.005))
    black, span = dark, white(dark) - dark
    if dark - stray >= span / 256:
        low = np.minimum(values, 0) - 1.5 * span * np.floor(2000 * below) / 2000
        black = max(dark - 3 * span, low[below <= 1 / 8].max())
    return (v - black) / (white(black) - black)

def read(path):  # (rows, columns, 3), 0..1
    if path.endswith(".dcm"):
        import pydicom
        d = pydicom.dcmread(path)
        v = d.pixel_array * float(d.get("RescaleSlope", 1)) + float(d.get("RescaleIntercept", 0))
        v = (v - d.WindowCenter + 0.5) / (d.WindowWidth - 1) + 0.5 if "WindowWidth" in d else shown(v)
        v = 1 - v if d.PhotometricInterpretation == "MONOCHROME1" else v
    else:
        v = Image.open(path)
        v = shown(np.array(v, float)) if v.mode.startswith("I") else np.array(v.convert("RGB")) / 255
    v = np.floor(255 * v.clip(0, 1) + 0.5) / 255
    return v if v.ndim == 3 else np.stack([v] * 3, 2)

def weights(n, first, step, count, spline=False):  # (count, n): how source pixels make pixels of a step; edges go on
    low, j = first + step * np.arange(count)[:, None], np.arange(int(first) - 4, int(first + step * count) + 5)
    t = abs(low + step / 2 - 0.5 - j)  # reduced by means, enlarged linearly or by a B-spline
    w = (np.minimum(low + step, j + 1) - np.maximum(low, j)).clip(0) / step if step > 1 else (
        np.where(t < 1, 2 / 3 - t**2 + t**3 / 2, (2 - t).clip(0) ** 3 / 6) if spline else (1 - t).clip(0))
    out = np.zeros((count, n))
    np.add.at(out, (slice(None), j.clip(0, n - 1)), w)
    return out

def segment(session, image):  # (rows, columns, 3), 0..1; gives (classes, rows, columns), bool
    about = session.get_modelmeta().custom_metadata_map
    side, passes, standardise, mirrored, single, curves = (
        json.loads(about[key]) for key in ("side", "passes", "standardise", "mirrored", "singlePieces", "calibration"))
    h, w = image.shape[:2]
    whole = max(h, w)  # the side of the square around the image
    y, x, step = -((whole - h) // 2), -((whole - w) // 2), whole / side
    view = weights(h, y, step, side) @ image.transpose(2, 0, 1) @ weights(w, x, step, side).T
    mean, deviation = (np.array(json.loads(about[key]))[:, None, None] for key in ("mean", "deviation"))
    if standardise:
        ends = np.sort(view, None)[[view.size // 20, -1 - view.size // 20]]
        mean, deviation = view.clip(*ends).mean(), max(view.clip(*ends).std(), 0.01)
    view = (view - mean) / deviation
    view = view.clip(-4, 4) if standardise else view
    p, *other = (session.run([f"rec{passes - 1}"], {"x": np.ascontiguousarray(v[None], np.float32)})[0][0]
                 for v in ([view, view[:, :, ::-1]] if mirrored else [view]))
    p = (p + other[0][:, :, ::-1]) / 2 if mirrored else p
    for m, name in zip(p, json.loads(about["classes"])):
        if single and (m > 0.5).any():  # keep the largest piece
            piece, before = np.arange(1, m.size + 1).reshape(m.shape) * (m > 0.1), 0
            while (piece != before).any():
                before, wide = piece, np.pad(piece, 1)
                piece = np.max([wide[i:i + side, j:j + side] for i in range(3) for j in range(3)], 0) * (m > 0.1)
            m[(piece > 0) & (piece != np.bincount(piece[m > 0.5]).argmax())] = 0
        if name in curves:
            m[:] = np.interp(m, curves[name]["from"], curves[name]["to"])
    if step > 1:
        p = np.log((p + 9e-4) / (1 - p + 9e-4))  # an outline of logits has no facets
    return weights(side, -y / step, 1 / step, h, step > 1) @ p @ weights(side, -x / step, 1 / step, w, step > 1).T > (0 if step > 1 else 0.5)

if __name__ == "__main__":
    session = onnxruntime.InferenceSession(sys.argv[1])
    for name, mask in zip(json.loads(session.get_modelmeta().custom_metadata_map["classes"]), segment(session, read(sys.argv[2]))):
        Image.fromarray(mask.astype(np.uint8) * 255).save(name + ".png")
