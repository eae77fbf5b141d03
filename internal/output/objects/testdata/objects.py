"""Compares the files in a folder with the labels in "plain": objects.py FOLDER."""

import json
import sys
import uuid

import nibabel
import numpy
import PIL.Image
import tifffile

folder = sys.argv[1]
with open(folder + "/plain") as file:
    plain = json.load(file)
w, h = plain["w"], plain["h"]
labels = numpy.array(plain["labels"], numpy.uint16).reshape(h, w)
numbers = [int(n) for n in numpy.unique(labels) if n]

png = PIL.Image.open(folder + "/labels-png")
assert png.mode in ("I", "I;16") and png.tile[0][3] == "I;16B", (png.mode, png.tile)
assert (numpy.array(png) == labels).all()

with tifffile.TiffFile(folder + "/labels-tiff") as tiff:
    page = tiff.pages[0]
    assert page.dtype == numpy.uint16 and (page.asarray() == labels).all()
    across = page.tags["XResolution"].value
    assert page.tags["ResolutionUnit"].value == 3 and across[0] / across[1] == 20000, across

with open(folder + "/labels-nifti", "rb") as file:
    import gzip

    volume = nibabel.Nifti1Image.from_bytes(gzip.decompress(file.read()))
assert volume.get_data_dtype() == numpy.uint16
assert volume.shape == (w, h, 1) and (numpy.asarray(volume.dataobj)[:, :, 0].T == labels).all()
assert numpy.allclose(volume.header.get_zooms()[:2], 0.0005), volume.header.get_zooms()


def runs(text):
    """COCO's compressed runs: five bits a character, the least first; differences to the last but one from the fourth on."""
    counts, at = [], 0
    while at < len(text):
        value, bits, more = 0, 0, True
        while more:
            c = ord(text[at]) - 48
            at += 1
            value |= (c & 31) << bits
            bits += 5
            more = bool(c & 32)
        if c & 16:
            value -= 1 << bits
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
    return counts


with open(folder + "/coco") as file:
    coco = json.load(file)
assert coco["images"] == [{"id": 1, "file_name": "plate & 1.png", "width": w, "height": h}]
assert coco["categories"] == [{"id": 1, "name": "=cell <é>"}]
assert [a["id"] for a in coco["annotations"]] == numbers
for a in coco["annotations"]:
    counts = runs(a["segmentation"]["counts"])
    assert a["segmentation"]["size"] == [h, w] and sum(counts) == w * h
    mask = numpy.concatenate([numpy.full(n, i % 2, bool) for i, n in enumerate(counts)]).reshape((h, w), order="F")
    assert (mask == (labels == a["id"])).all(), a["id"]
    ys, xs = numpy.nonzero(mask)
    assert a["bbox"] == [xs.min(), ys.min(), xs.max() + 1 - xs.min(), ys.max() + 1 - ys.min()]
    assert a["area"] == mask.sum() and a["iscrowd"] == 0 and a["category_id"] == a["image_id"] == 1

with open(folder + "/geojson") as file:
    features = json.load(file)["features"]
assert len({uuid.UUID(f["id"]) for f in features}) == len(features)
assert [int(f["properties"]["name"]) for f in features] == numbers
for f in features:
    n, geometry = int(f["properties"]["name"]), f["geometry"]
    polygons = {"Polygon": lambda c: [c], "MultiPolygon": lambda c: c}[geometry["type"]](geometry["coordinates"])
    crossed = numpy.zeros((h, w + 1), int)  # by edges down, less those up
    for line in (line for polygon in polygons for line in polygon):
        assert line[0] == line[-1] and len(line) > 4
        for (x, y), (x2, y2) in zip(line, line[1:]):
            crossed[int(min(y, y2)) : int(max(y, y2)), int(x)] += 1
    assert (numpy.cumsum(crossed, 1)[:, :w] % 2 == (labels == n)).all(), n
    assert f["properties"]["measurements"]["Area px^2"] == (labels == n).sum()

print(len(numbers), "objects")
