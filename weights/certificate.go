package weights

import (
	"fmt"
	"math"
)

// certificateKey is the entry of the metadata that holds the certificate. Earlier programs ignore
// it.
const certificateKey = "certificate"

// Certificate says how a model's vertical ratio does on the photographs of one camera. Eyes that
// people marked there taught it. Package trust makes and uses it.
type Certificate struct {
	Camera   string `json:"camera"` // the data set of the eyes
	Date     string `json:"date"`   // 2026-11-29
	Eyes     int    `json:"eyes"`
	Patients int    `json:"patients"`
	Method   string `json:"method"`
	// The camera's ratio is Shift + Slope times the ratio of the model's masks. In a share,
	// Coverage, of new patients what people mark lies at most Reach from it.
	Shift    float64 `json:"shift"`
	Slope    float64 `json:"slope"`
	Coverage float64 `json:"coverage"`
	Reach    float64 `json:"reach"`
	Width    float64 `json:"width"` // mean of the intervals of the eyes; they end at 0 and at 1
	Weights  string  `json:"weights"`
	// Photographs are the figures of the eyes' photographs, one list an eye: see
	// trust.Appearances. A camera that drifts is told by them.
	Photographs [][]float64 `json:"photographs"`
}

// At is the camera's ratio for one of the model's masks.
func (c *Certificate) At(ratio float64) float64 { return min(max(c.Shift+c.Slope*ratio, 0), 1) }

// Certify gives a file the certificate, with the sum of what it certifies. Seal the file after it.
func (f *File) Certify(c Certificate) {
	c.Weights = f.sum(certificateKey)
	f.Metadata[certificateKey] = asJSON(c)
}

// certified is the certificate of a file, if it is that of these weights; otherwise nil. What else
// the metadata say counts too: they decide how the masks are made.
func (f *File) certified(c *Certificate) *Certificate {
	if c == nil || c.Weights != f.sum(certificateKey) {
		return nil
	}
	return c
}

// faults lists wrong values.
func (c *Certificate) faults() (faults []string) {
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, "certificate: "+fmt.Sprintf(format, args...))
		}
	}
	fault(!finite(c.Shift) || !finite(c.Slope) || c.Slope < 0, "shift %v, slope %v", c.Shift, c.Slope)
	fault(!finite(c.Reach) || c.Reach < 0 || !(c.Coverage > 0 && c.Coverage < 1), "reach %v, coverage %v", c.Reach, c.Coverage)
	for _, one := range c.Photographs {
		for _, v := range one {
			fault(len(one) != len(c.Photographs[0]) || math.IsNaN(v) || math.IsInf(v, 0), "figures of a photograph: %v", one)
		}
	}
	return faults[:min(len(faults), mostFaults)]
}
