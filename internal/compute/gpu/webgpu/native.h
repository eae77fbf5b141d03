// What this package asks of wgpu-native besides the Go bindings: structures without uninitialised fields, a device whose errors and
// loss are recorded instead of aborting the process, and mapping whose callback keeps no address of a Go variable. C calls no Go here.

#ifndef MRPRISM_NATIVE_H
#define MRPRISM_NATIVE_H

#include <stddef.h>
#include <stdint.h>

// Error types of webgpu.h that errors are told apart by.
enum { native_no_error = 0, native_validation = 1, native_out_of_memory = 2, native_internal = 3, native_device_lost = 5 };

// native_errors holds the first error since it was last cleared, and the loss of the device. It lives in C memory as long as the
// device.
typedef struct {
	int type; // native_no_error and so on
	int lost;
	int map_status; // of the latest native_map
	char message[8192];
	char lost_message[1024];
} native_errors;

// native_create_instance gives an instance of Vulkan, Metal and Direct3D 12, or NULL.
void *native_create_instance(void);

// native_request_device makes a device with WebGPU's default limits, save that bindings and buffers may be as
// large as the adapter allows, but not beyond *storage_binding and *buffer_size bytes, which become what was granted. It gives NULL,
// with a message in errors, when refused.
void *native_request_device(void *adapter, uint64_t *storage_binding, uint64_t *buffer_size, native_errors *errors);

// native_map waits until bytes [0, size) of the buffer are readable and gives their address, or NULL.
void const *native_map(void *device, void *buffer, size_t size, native_errors *errors);

#endif
