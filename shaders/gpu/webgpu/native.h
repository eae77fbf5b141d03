// These functions replace calls of the Go bindings. They give wgpu-native no uninitialised fields.
// They record errors and the loss of a device, which would abort the process. They keep no address
// of a Go variable. C calls no Go here.

#ifndef MRPRISM_NATIVE_H
#define MRPRISM_NATIVE_H

#include <stddef.h>
#include <stdint.h>

// Types of errors, as in webgpu.h.
enum { native_no_error = 0, native_validation = 1, native_out_of_memory = 2, native_internal = 3, native_device_lost = 5 };

// native_errors holds the first error since Go cleared it, and the loss of the device. It is in C
// memory and lives as long as the process.
typedef struct {
	int type; // native_no_error, native_validation, …
	int lost;
	int map_status; // of the latest native_map
	char message[8192];
	char lost_message[1024];
} native_errors;

// native_create_instance returns an instance of Vulkan, Metal and Direct3D 12, or NULL.
void *native_create_instance(void);

// native_request_device makes a device with WebGPU's default limits, but for two: bindings and
// buffers may be as large as the adapter allows, up to *storage_binding and *buffer_size bytes.
// Both become the limits of the device. If the adapter refuses, the result is NULL, with a message
// in errors.
void *native_request_device(void *adapter, uint64_t *storage_binding, uint64_t *buffer_size, native_errors *errors);

// native_map waits until bytes [0, size) of the buffer are readable, and returns their address, or
// NULL.
void const *native_map(void *device, void *buffer, size_t size, native_errors *errors);

#endif
