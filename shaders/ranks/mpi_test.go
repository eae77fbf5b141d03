//go:build mpi

package ranks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Under mpirun: means and what is gathered are right on every rank, and how long a mean takes. See
// cmd/train/CLUSTER.md.
func TestUnderMPIRun(t *testing.T) {
	r, err := Join()
	require.NoError(t, err)
	if r == nil {
		t.Skip("start it by mpirun: go test -tags mpi -c ./shaders/ranks && mpirun -n 2 ./ranks.test -test.v")
	}
	given, err := r.Gather(make([]byte, r.Rank()))
	require.NoError(t, err)
	require.Len(t, given, r.Size())
	for i, g := range given {
		require.Len(t, g, i)
	}
	for _, mebibytes := range []int{0, 4, 24} {
		values := make([]float32, max(1, mebibytes<<20/4))
		const times = 20
		began := time.Now()
		for range times {
			for i := range values {
				values[i] = float32(r.Rank())
			}
			require.NoError(t, r.Mean(values)())
		}
		require.Equal(t, float32(r.Size()-1)/2, values[len(values)-1])
		if r.Rank() == 0 {
			t.Logf("%d ranks: a mean of %d MiB takes %v", r.Size(), mebibytes, time.Since(began)/times)
		}
	}
	require.NoError(t, r.Leave())
}
