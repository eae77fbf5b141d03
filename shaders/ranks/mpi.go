//go:build mpi

package ranks

// #cgo pkg-config: ompi-c
// #include <mpi.h>
// #include <stdlib.h>
//
// static int mrprism_init(int *rank, int *size) {
//   int provided;
//   int failed = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
//   if (!failed && provided < MPI_THREAD_FUNNELED) failed = MPI_ERR_OTHER;
//   if (!failed) failed = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
//   if (!failed) failed = MPI_Comm_rank(MPI_COMM_WORLD, rank);
//   return failed ? failed : MPI_Comm_size(MPI_COMM_WORLD, size);
// }
// static int mrprism_sum(const void *from, void *to, int n, MPI_Request *request) {
//   return MPI_Iallreduce(from, to, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, request);
// }
// static int mrprism_gather(const void *from, void *to, int n) {
//   return MPI_Allgather(from, n, MPI_BYTE, to, n, MPI_BYTE, MPI_COMM_WORLD);
// }
// static int mrprism_test(MPI_Request *request, int *done) {
//   return MPI_Test(request, done, MPI_STATUS_IGNORE);
// }
import "C"

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

// Join returns the ranks that a launcher started, or nil if this process trains alone. Call it once.
func Join() (Ranks, error) {
	n := launched()
	if n == 1 {
		return nil, nil
	}
	w := &world{asked: make(chan task)}
	joined := make(chan error)
	go w.serve(joined)
	if err := <-joined; err != nil {
		return nil, err
	}
	if w.size == 1 {
		return nil, fmt.Errorf("%d processes were started, and MPI shows each of them none of the others: start them by Open MPI's mpirun, or by srun --mpi=pmix", n)
	}
	return w, nil
}

// world is all processes of an mpirun. One goroutine, on a thread of its own, makes all calls of
// MPI: these then need not be safe for threads.
type world struct {
	rank, size int
	asked      chan task
}

// task is work for MPI. begin starts it. ended says whether it has ended; nil: begin does it all.
type task struct {
	begin func() error
	ended func() (bool, error)
	done  chan error
}

// MPI moves data only while it is called. Short messages arrive within a few looks at the tasks
// under way. Looking without a pause would take a core from the training.
const (
	looks   = 200
	between = 50 * time.Microsecond // the pause between two looks, after so many without a pause
)

// serve starts tasks in the order in which they are asked for, and ends when asked is closed.
func (w *world) serve(joined chan<- error) {
	runtime.LockOSThread()
	var rank, size C.int
	err := failure("MPI_Init", C.mrprism_init(&rank, &size))
	w.rank, w.size = int(rank), int(size)
	joined <- err
	var under []task
	for looked := 0; ; looked++ {
		if len(under) == 0 {
			looked = 0
			t, more := <-w.asked
			if !more {
				return
			}
			under = w.start(under, t)
			continue
		}
		select {
		case t := <-w.asked:
			under = w.start(under, t)
		default:
			if looked < looks {
				runtime.Gosched()
			} else {
				time.Sleep(between)
			}
		}
		under = look(under)
	}
}

// start begins a task and adds it to those under way, unless it is done.
func (w *world) start(under []task, t task) []task {
	err := t.begin()
	if err != nil || t.ended == nil {
		t.done <- err
		return under
	}
	return append(under, t)
}

// look wakes those who wait for tasks that have ended, and returns the other tasks.
func look(under []task) (rest []task) {
	for _, t := range under {
		if ended, err := t.ended(); ended || err != nil {
			t.done <- err
		} else {
			rest = append(rest, t)
		}
	}
	return rest
}

func (w *world) ask(t task) <-chan error {
	t.done = make(chan error, 1)
	w.asked <- t
	return t.done
}

func (w *world) Rank() int { return w.rank }

func (w *world) Size() int { return w.size }

// Mean sums by MPI_Iallreduce, which gives all ranks the same bits, and the same in each run of
// equal ranks.
func (w *world) Mean(values []float32) (wait func() error) {
	if len(values) == 0 {
		return func() error { return nil }
	}
	own := append([]float32(nil), values...)
	request := (*C.MPI_Request)(C.malloc(C.size_t(unsafe.Sizeof(C.MPI_Request(nil)))))
	var pinned runtime.Pinner
	free := func() { // also if nobody waits: a failed run does not wait
		pinned.Unpin()
		C.free(unsafe.Pointer(request))
	}
	done := w.ask(task{
		begin: func() error {
			pinned.Pin(&own[0])
			pinned.Pin(&values[0])
			err := failure("MPI_Iallreduce", C.mrprism_sum(unsafe.Pointer(&own[0]), unsafe.Pointer(&values[0]), C.int(len(values)), request))
			if err != nil {
				free()
			}
			return err
		},
		ended: func() (bool, error) {
			var ended C.int
			err := failure("MPI_Test", C.mrprism_test(request, &ended))
			if ended != 0 || err != nil {
				free()
			}
			return ended != 0, err
		},
	})
	return func() error {
		err := <-done
		for i := range values {
			values[i] /= float32(w.size)
		}
		return err
	}
}

// Gather implements Ranks. It first tells all ranks the lengths.
func (w *world) Gather(own []byte) ([][]byte, error) {
	lengths, err := w.gather(binary.LittleEndian.AppendUint64(nil, uint64(len(own))))
	if err != nil {
		return nil, err
	}
	longest, sizes := 1, make([]int, w.size)
	for i, b := range lengths {
		sizes[i] = int(binary.LittleEndian.Uint64(b))
		longest = max(longest, sizes[i])
	}
	all, err := w.gather(append(own[:len(own):len(own)], make([]byte, longest-len(own))...))
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i] = all[i][:sizes[i]]
	}
	return all, nil
}

// gather is Gather for slices of equal length.
func (w *world) gather(own []byte) ([][]byte, error) {
	together := make([]byte, w.size*len(own))
	err := <-w.ask(task{begin: func() error {
		return failure("MPI_Allgather", C.mrprism_gather(unsafe.Pointer(&own[0]), unsafe.Pointer(&together[0]), C.int(len(own))))
	}})
	all := make([][]byte, w.size)
	for i := range all {
		all[i] = together[i*len(own) : (i+1)*len(own)]
	}
	return all, err
}

func (w *world) Leave() error {
	err := <-w.ask(task{begin: func() error { return failure("MPI_Finalize", C.MPI_Finalize()) }})
	close(w.asked)
	return err
}

// failure is the error of a call of MPI that did not succeed.
func failure(call string, code C.int) error {
	if code == C.MPI_SUCCESS {
		return nil
	}
	var text [C.MPI_MAX_ERROR_STRING]C.char
	var length C.int
	C.MPI_Error_string(code, &text[0], &length)
	return fmt.Errorf("%s: %s", call, C.GoStringN(&text[0], length))
}
