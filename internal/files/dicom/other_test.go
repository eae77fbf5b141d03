package dicom

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"mrprism/internal/files/dicom/elements"
	"mrprism/internal/files/raster"
)

// What holds no picture is named, and the advice fits.
func TestOtherObjects(t *testing.T) {
	const explicit = "1.2.840.10008.1.2.1"
	for _, c := range []struct{ class, syntax, what, advice string }{
		{"1.2.840.10008.5.1.4.1.1.88.11", explicit, "a DICOM structured report", study},
		{"1.2.840.10008.5.1.4.1.1.104.1", explicit, "a PDF in a DICOM file", "a viewer of PDFs shows it; " + study},
		{"1.2.840.10008.5.1.4.1.1.9.1.1", explicit, "a DICOM waveform, such as an ECG or a sound", study},
		{"1.2.840.10008.1.3.10", explicit, "a DICOMDIR, the list of a disc's files", "open the images in the folders beside it"},
		{"1.2.840.10008.5.1.4.1.1.7", explicit, "a DICOM file without a picture", study},
		{"1.2.840.10008.5.1.4.1.1.77.1.1.1", "1.2.840.10008.1.2.4.102", "a video in a DICOM file (MPEG-4 AVC)", "save single pictures of it as PNG"},
		{"1.2.840.10008.5.1.4.1.1.77.1.1.1", "1.2.840.10008.1.2.4.100.1", "a video in a DICOM file (MPEG-2)", "save single pictures of it as PNG"},
	} {
		var e elements.Set
		e.Text(0x00020010, "UI", c.syntax)
		e.Text(0x00080016, "UI", c.class)
		_, err := Open(append(append(make([]byte, 128), "DICM"...), e...), 0, nil)
		assert.Equal(t, raster.Refused{Problem: "this is " + c.what + ", which MrPrism does not read", Advice: c.advice}, err)
	}
}
