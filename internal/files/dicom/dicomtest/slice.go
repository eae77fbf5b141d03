package dicomtest

import (
	"fmt"
	"maps"
	"slices"

	"mrprism/internal/files/dicom/elements"
)

// kinds are the value representations of the texts of Slice.
var kinds = map[uint32]string{
	Class: "UI", Instance: "UI", Study: "UI", Series: "UI", 0x00180050: "DS", 0x00181063: "DS", 0x00200032: "DS", 0x00200037: "DS",
	0x00200052: "UI", 0x00280008: "IS", 0x00280030: "DS",
	0x00080005: "CS", 0x00080020: "DA", 0x00100010: "PN", 0x00100020: "LO", 0x00100030: "DA",
}

// Slice is Grey with a place: in mm from the patient's left over its right, rows from front to back,
// z towards the head; pixels of 0.8 × 0.8 mm. texts replace these, or leave them out if they are
// empty. Further frames lie at the zs of frames.
func Slice(w, h int, pixels []uint8, z float64, texts map[uint32]string, frames ...float64) []byte {
	all := map[uint32]string{
		Class: "1.2.840.10008.5.1.4.1.1.4", Instance: fmt.Sprintf("1.2.3.1.%d", int(1000+10*z)), Study: "1.2.3.2", Series: "1.2.3.3",
		0x00180050: "2", 0x00200032: fmt.Sprintf(`-10\-20\%g`, z), 0x00200037: `1\0\0\0\1\0`, 0x00200052: "1.2.3.4", 0x00280030: `0.8\0.8`,
	}
	if len(frames) > 0 {
		delete(all, 0x00200032)
		all[0x00280008] = fmt.Sprint(len(frames) + 1)
	}
	maps.Copy(all, texts)
	var set elements.Set
	text := func(below uint32) {
		for _, tag := range slices.Sorted(maps.Keys(all)) {
			if tag < below && all[tag] != "" {
				set.Bytes(tag, kinds[tag], []byte(all[tag]))
			}
			if tag < below {
				delete(all, tag)
			}
		}
	}
	text(0x00280000)
	set.Words(0x00280002, 1)
	set.Text(0x00280004, "CS", "MONOCHROME2")
	text(0x00280010)
	set.Words(0x00280010, h)
	set.Words(0x00280011, w)
	text(0x00280100)
	for i, tag := range []uint32{0x00280100, 0x00280101, 0x00280102, 0x00280103} {
		set.Words(tag, []int{8, 8, 7, 0}[i])
	}
	if len(frames) > 0 {
		var groups []elements.Set
		for _, z := range append([]float64{z}, frames...) {
			var place, group elements.Set
			place.Decimals(0x00200032, -10, -20, z)
			group.Sequence(0x00209113, place)
			groups = append(groups, group)
		}
		set.Sequence(0x52009230, groups...)
	}
	set.Bytes(0x7fe00010, "OB", pixels)
	return file(set)
}
