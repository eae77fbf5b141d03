// Package ranks joins the processes that train one network together. With the build tag mpi they
// meet by MPI; without it nothing of MPI is linked.
package ranks

import (
	"os"
	"strconv"

	"mrprism/shaders/tensor"
)

// Ranks are the processes of a training run, of which this is one. All call the same functions in
// the same order, from one goroutine.
type Ranks interface {
	tensor.Group

	// Rank is the number of this process, from 0 on.
	Rank() int

	// Gather returns the bytes of all ranks, by rank; own are those of this rank.
	Gather(own []byte) ([][]byte, error)

	// Leave ends the membership of a rank that has done its work. A rank that fails exits without it,
	// and mpirun then ends the others.
	Leave() error
}

// launched is the number of processes that a launcher such as mpirun or srun started; 1: this one
// alone.
func launched() int {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
	}
	return 1
}
