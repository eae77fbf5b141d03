"""What nibabel and pydicom read of the files of a solid, and of the slices IM* beside them, as JSON."""
import glob, gzip, json, os, sys
import nibabel, numpy, pydicom

folder = sys.argv[1]



def volume(name):
    with gzip.open(os.path.join(folder, name)) as f:
        return nibabel.Nifti1Image.from_bytes(f.read())


mask, levels = volume("nifti-mask"), volume("nifti")
voxel = abs(numpy.linalg.det(mask.affine[:3, :3])) / 1000
inside = numpy.argwhere(mask.get_fdata() > 0.5)
centre = nibabel.affines.apply_affine(mask.affine, inside.mean(axis=0))
sources = {}
for path in glob.glob(os.path.join(folder, "IM*")):
    s = pydicom.dcmread(path, force=True)
    sources[float(s.ImagePositionPatient[2])] = s
frames, unlike, near, same, listed = {}, {}, True, True, True
for name in ["dicom-seg", "dicom-seg-fractional"]:
    seg = pydicom.dcmread(os.path.join(folder, name))
    frames[name], unlike[name] = int(seg.NumberOfFrames), 0
    known = {i.ReferencedSOPInstanceUID for i in seg.ReferencedSeriesSequence[0].ReferencedInstanceSequence}
    shared = seg.SharedFunctionalGroupsSequence[0]
    near &= [float(v) for v in shared.PixelMeasuresSequence[0].PixelSpacing] == [0.8, 0.8] and float(shared.PixelMeasuresSequence[0].SpacingBetweenSlices) == 2
    places, uids = [], set()
    for group, pixels in zip(seg.PerFrameFunctionalGroupsSequence, seg.pixel_array):
        place = [float(v) for v in group.PlanePositionSequence[0].ImagePositionPatient]
        source = sources[place[2]]
        near &= place == [float(v) for v in source.ImagePositionPatient]
        uid = group.DerivationImageSequence[0].SourceImageSequence[0].ReferencedSOPInstanceUID
        same &= uid == source.SOPInstanceUID and seg.StudyInstanceUID == source.StudyInstanceUID and seg.FrameOfReferenceUID == source.FrameOfReferenceUID
        listed &= uid in known
        uids.add(uid)
        unlike[name] += not numpy.array_equal(pixels > 0, source.pixel_array > 0)
        places.append(list(group.FrameContentSequence[0].DimensionIndexValues))
    near &= places == [[1, i + 1] for i in range(frames[name])]
    listed &= len(uids) == frames[name]
print(json.dumps({
    "ML": len(inside) * voxel, "Levels": float(levels.get_fdata().sum()) * voxel, "Shape": mask.shape, "Centre": centre.tolist(),
    "Frames": frames, "Unlike": unlike, "Near": bool(near), "Same": bool(same), "Listed": bool(listed)}))
