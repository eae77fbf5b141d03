package dicom

import (
	"strings"

	"mrprism/internal/files/raster"
)

// study is the advice for objects that belong to the images of a study.
const study = "open an image of the same study"

// objects are the contents of files without pictures, by the beginning of the SOP class UID, longer
// ones first. Source: PS3.6 A.
var objects = []struct{ class, what, advice string }{
	{"1.2.840.10008.5.1.4.1.1.104.1", "a PDF in a DICOM file", "a viewer of PDFs shows it; " + study},
	{"1.2.840.10008.5.1.4.1.1.104.", "a document or a model in a DICOM file", study},
	{"1.2.840.10008.5.1.4.1.1.88.", "a DICOM structured report", study},
	{"1.2.840.10008.5.1.4.1.1.9.", "a DICOM waveform, such as an ECG or a sound", study},
	{"1.2.840.10008.5.1.4.1.1.11.", "a DICOM presentation state, which says how an image is shown", "open the image itself"},
	{"1.2.840.10008.5.1.4.1.1.481.3", "a DICOM structure set: contours for radiotherapy", study},
	{"1.2.840.10008.5.1.4.1.1.481.", "a DICOM plan or record of radiotherapy", study},
	{"1.2.840.10008.5.1.4.34.", "a DICOM plan or record of radiotherapy", study},
	{"1.2.840.10008.5.1.4.1.1.66", "DICOM raw data, a registration or a surface", study},
	{"1.2.840.10008.5.1.4.1.1.4.2", "DICOM spectra", study},
	{"1.2.840.10008.5.1.4.1.1.78.", "DICOM measurements of an eye", study},
	{"1.2.840.10008.5.1.4.1.1.79.1", "DICOM measurements of an eye", study},
	{"1.2.840.10008.5.1.4.1.1.80.1", "DICOM measurements of an eye", study},
	{"1.2.840.10008.1.3.10", "a DICOMDIR, the list of a disc's files", "open the images in the folders beside it"},
	{"", "a DICOM file without a picture", study},
}

// videos are the transfer syntaxes of videos.
var videos = []struct{ syntax, name string }{
	{"1.2.840.10008.1.2.4.100", "MPEG-2"}, {"1.2.840.10008.1.2.4.101", "MPEG-2"}, {"1.2.840.10008.1.2.4.102", "MPEG-4 AVC"},
	{"1.2.840.10008.1.2.4.103", "MPEG-4 AVC"}, {"1.2.840.10008.1.2.4.104", "MPEG-4 AVC"}, {"1.2.840.10008.1.2.4.105", "MPEG-4 AVC"},
	{"1.2.840.10008.1.2.4.106", "MPEG-4 AVC"}, {"1.2.840.10008.1.2.4.107", "HEVC"}, {"1.2.840.10008.1.2.4.108", "HEVC"},
	{"1.2.840.10008.1.2.7.", "SMPTE ST 2110"},
}

// noPicture is the error of a file that holds no picture, or nil if it does.
func (f *frame) noPicture() *raster.Refused {
	for _, video := range videos {
		if f.syntax == video.syntax || strings.HasPrefix(f.syntax, strings.TrimSuffix(video.syntax, ".")+".") {
			return &raster.Refused{Problem: "this is a video in a DICOM file (" + video.name + "), which MrPrism does not read", Advice: "save single pictures of it as PNG"}
		}
	}
	if f.syntax == "1.2.840.10008.1.2.4.94" || f.syntax == "1.2.840.10008.1.2.4.95" {
		return &raster.Refused{Problem: "this is a DICOM file whose pixels are on a server (JPIP), which MrPrism does not read", Advice: "export it with its pixels"}
	}
	_, floats := f.found[0x7fe00008]
	_, doubles := f.found[0x7fe00009]
	if f.pieces != nil || floats || doubles {
		return nil
	}
	class := text(f.found[0x00080016])
	if class == "" {
		class = text(f.found[0x00020002])
	}
	for _, object := range objects {
		if strings.HasPrefix(class, object.class) {
			return &raster.Refused{Problem: "this is " + object.what + ", which MrPrism does not read", Advice: object.advice}
		}
	}
	return nil
}
