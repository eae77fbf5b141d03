package dicom

// Series is the Series Instance UID (0020,000E); empty if the file has none.
func (h *Header) Series() string { return h.series }

// Space is the Frame of Reference UID (0020,0052); empty if the file has none.
func (h *Header) Space() string { return h.space }

// apart is raster.Frame.Apart. Frames with a Frame Time (PS3.3 C.7.6.5) and no places are a film.
func (f *frame) apart() string {
	switch placed := len(f.numbers(0x00200032, "DS")) == 3; {
	case f.samples > 1 || f.photometric == "PALETTE COLOR":
		return "it is in colour"
	case f.frames > 1 && !placed && len(f.numbers(0x00181063, "DS"))+len(f.numbers(0x00181065, "DS")) > 0:
		return "its frames follow each other in time"
	}
	return ""
}
