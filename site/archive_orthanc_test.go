package site

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/program/programtest"
)

// readers opens the four files of a folder with pydicom, and prints what a person would check.
const readers = `
import sys, pydicom
from pathlib import Path
files = {str(d.Modality) + str(d.SOPClassUID): d for d in map(pydicom.dcmread, sorted(Path(sys.argv[1]).glob("*.dcm")))}
by = {d.SOPClassUID.name: d for d in files.values()}
print(sorted(by))
print({(str(d.PatientName), d.PatientID, d.StudyInstanceUID) for d in by.values()})
report, masks = by["Comprehensive SR Storage"], by["Segmentation Storage"]
def walk(items):
    for one in items:
        yield one
        yield from walk(one.get("ContentSequence", []))
all = list(walk(report.ContentSequence))
print(report.ConceptNameCodeSequence[0].CodeMeaning, report.CompletionFlag, report.VerificationFlag)
referred = {one.ReferencedSOPSequence[0].ReferencedSOPInstanceUID for one in all if one.ValueType == "IMAGE"}
print(masks.SOPInstanceUID in referred, masks.pixel_array.shape[-2:], [s.SegmentLabel for s in masks.SegmentSequence])
print([one.ConceptNameCodeSequence[0].CodeMeaning for one in all if one.ValueType == "NUM" and "ratio" in one.ConceptNameCodeSequence[0].CodeMeaning])
capture = by["Secondary Capture Image Storage"]
print(capture.BurnedInAnnotation, capture.pixel_array.shape[2], list(capture.ImageType))
`

// A photograph that dcmtk made a DICOM file of is segmented and sent. Orthanc then has masks,
// figures, the picture with outlines and the report in the photograph's study, as dcmtk and
// pydicom read them.
func TestPhotographToOrthanc(t *testing.T) {
	t.Parallel()
	address, folder := programtest.NewOrthanc(t, nil).Address, t.TempDir()
	photograph := filepath.Join(folder, "photograph.jpg")
	content, err := os.ReadFile("../../shared/data/hrf/images/01_h.jpg")
	if err != nil { // the photographs of others are not a part of the project
		content = readBuilt(t, "sample.jpg")
	}
	require.NoError(t, os.WriteFile(photograph, content, 0o600))
	run := func(program string, args ...string) string {
		out, err := exec.Command(program, args...).CombinedOutput()
		require.NoError(t, err, "%s %v: %s", program, args, out)
		return string(out)
	}
	const study = "1.2.826.0.1.3680043.8.498.63"
	source := filepath.Join(folder, "eye_OD.dcm")
	run("img2dcm", photograph, source, "-k", "StudyInstanceUID="+study, "-k", "PatientID=P63", "-k", "PatientName=Test^Tess")
	wrapped, err := os.ReadFile(source)
	require.NoError(t, err)

	p := open(t, serveWith(t, "-dicomweb", address+"/dicom-web"), 1440, 900)
	p.ready()
	p.drop("eye_OD.dcm", wrapped)
	p.until(sampleDone + ` && !document.getElementById("archive").hidden`)
	for _, tick := range []string{"save-identity", "archive-capture", "archive-report"} {
		p.click(tick)
	}
	p.click("archive-send")
	p.says("archive-send", "Stored in the archive")

	var instances []string
	answer, err := http.Get(address + "/instances")
	require.NoError(t, err)
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&instances))
	require.Len(t, instances, 4)
	got := filepath.Join(folder, "got")
	require.NoError(t, os.Mkdir(got, 0o700))
	for i, id := range instances {
		answer, err := http.Get(address + "/instances/" + id + "/file")
		require.NoError(t, err)
		data, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(got, fmt.Sprint(i, ".dcm")), data, 0o600))
	}
	said := run("/usr/bin/python3", "-c", readers, got)
	assert.Contains(t, said, "['Comprehensive SR Storage', 'Encapsulated PDF Storage', 'Secondary Capture Image Storage', 'Segmentation Storage']")
	assert.Contains(t, said, "{('Test^Tess', 'P63', '"+study+"')}")
	assert.Contains(t, said, "Optic Disc Key Measurements COMPLETE UNVERIFIED\nTrue (")
	assert.Contains(t, said, "['disc', 'cup']")
	assert.Contains(t, said, "YES 3 ['DERIVED', 'SECONDARY'")
	read := 0
	for i := range instances {
		file := filepath.Join(got, fmt.Sprint(i, ".dcm"))
		switch kind := run("dcmdump", "+P", "0008,0060", file); {
		case strings.Contains(kind, "[SR]"):
			assert.Contains(t, run("dsr2html", file), "Optic Disc Key Measurements")
			read++
		case strings.Contains(kind, "[DOC]"):
			pdf := filepath.Join(folder, "report.pdf")
			run("dcm2pdf", file, pdf)
			assert.Contains(t, run("pdftotext", pdf, "-"), "MrPrism: report of a segmentation")
			read++
		}
	}
	assert.Equal(t, 2, read, "of the four files these are for people")
	p.clean()
}
