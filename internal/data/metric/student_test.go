package metric

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// scipy.stats.t.ppf(.975, n), SciPy 1.10.
func TestStudentQuantile(t *testing.T) {
	for degrees, want := range map[float64]float64{1: 12.706204736432095, 2: 4.302652729696142, 9: 2.2621571627409915, 33: 2.0345152974493383} {
		assert.InDelta(t, want, StudentQuantile(.975, degrees), 1e-9)
	}
}
