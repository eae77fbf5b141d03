package dataset

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// diagnosis.csv labels images, and the labels reach the batches.
func TestDiagnosis(t *testing.T) {
	dir := write(t, 7)
	put(t, filepath.Join(dir, DiagnosisFile), []byte("name,label\neye01,1\neye00, 0\n# later\neye04.png,1\n"))
	d, err := Open(dir)
	require.NoError(t, err)
	var labels []Diagnosis
	for _, c := range d.Cases {
		labels = append(labels, c.Diagnosis)
	}
	assert.Equal(t, []Diagnosis{Negative, Positive, Undiagnosed, Undiagnosed, Positive, Undiagnosed, Undiagnosed}, labels)

	samples, _, err := LoadSamples(context.Background(), d, d.Cases, "", nil)
	require.NoError(t, err)
	s, err := NewSampler(d, samples, Options{Size: 64, Batch: 7})
	require.NoError(t, err)
	b := s.Batch(0)
	for i, name := range b.Names {
		want := float32(0)
		if name == "eyes/eye01" || name == "eyes/eye04" {
			want = 1
		}
		assert.Equal(t, want, b.Diagnosis[i], name)
	}
}

// Every fault of the file is named with its line.
func TestFaultsOfTheDiagnosis(t *testing.T) {
	dir := write(t, 5)
	put(t, filepath.Join(dir, DiagnosisFile), []byte("eye00,1\neye00,0\neye01,yes\neye02\n"))
	_, err := Open(dir)
	require.Error(t, err)
	for _, fault := range []string{
		`line 2: says "0" of "eye00", and line 1 says "1"`, `line 3: says "yes" of "eye01": give 0 or 1`, "give lines such as case0001,1",
	} {
		assert.ErrorContains(t, err, fault)
	}
}
