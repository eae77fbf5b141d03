//go:build !mpi

package ranks

import "fmt"

// Join returns the ranks that a launcher started, or nil if this process trains alone. This build
// has no MPI: it refuses to be one of several.
func Join() (Ranks, error) {
	if n := launched(); n > 1 {
		return nil, fmt.Errorf("%d processes were started to train together, and this program was built without MPI: build it with \"make mpi\", "+
			"or start it without mpirun and srun", n)
	}
	return nil, nil
}
