//go:build !js

#include "native.h"

#include <string.h>

// These are the parts of wgpu-native's C interface that this file uses, as in the version inside
// github.com/cogentcore/webgpu v0.23.0. That module links the library. Its header is not on the
// include path of other modules.

typedef void (*device_lost_callback)(int reason, char const *message, void *userdata);
typedef void (*error_callback)(int type, char const *message, void *userdata);
typedef void (*request_device_callback)(int status, void *device, char const *message, void *userdata);
typedef void (*map_callback)(int status, void *userdata);

typedef struct {
	void const *next;
	uint32_t type;
} chained;

typedef struct {
	chained chain;
	uint32_t backends;
	uint32_t flags;
	uint32_t shader_compiler;
	uint32_t gles_version;
	char const *dxil_path;
	char const *dxc_path;
} instance_extras;

enum { instance_extras_type = 0x00030006, backend_vulkan = 1 << 0, backend_metal = 1 << 2, backend_direct3d_12 = 1 << 3 };

typedef struct {
	uint32_t textures[4];
	uint32_t bindings[10];
	uint64_t uniform_binding_size;
	uint64_t storage_binding_size;
	uint32_t alignments[2];
	uint32_t vertex_buffers;
	uint64_t buffer_size;
	uint32_t others[12];
} device_limits;

typedef struct {
	void const *next;
	device_limits limits;
} chained_limits;

typedef struct {
	void const *next;
	char const *label;
	size_t feature_count;
	void const *features;
	chained_limits const *limits;
	struct {
		void const *next;
		char const *label;
	} queue;
	device_lost_callback lost;
	void *lost_userdata;
	struct {
		void const *next;
		error_callback callback;
		void *userdata;
	} uncaptured;
} device_descriptor;

extern void *wgpuCreateInstance(void const **descriptor);
extern uint32_t wgpuAdapterGetLimits(void *adapter, chained_limits *limits);
extern void wgpuAdapterRequestDevice(void *adapter, device_descriptor const *descriptor, request_device_callback callback, void *userdata);
extern void wgpuBufferMapAsync(void *buffer, uint32_t mode, size_t offset, size_t size, map_callback callback, void *userdata);
extern void const *wgpuBufferGetConstMappedRange(void *buffer, size_t offset, size_t size);
extern uint32_t wgpuDevicePoll(void *device, uint32_t wait, void const *submission);

static void copy_text(char *to, size_t size, char const *from) {
	strncpy(to, from ? from : "", size - 1);
	to[size - 1] = 0;
}

static void on_error(int type, char const *message, void *userdata) {
	native_errors *errors = userdata;
	if (errors->type == native_no_error) {
		errors->type = type;
		copy_text(errors->message, sizeof errors->message, message);
	}
}

static void on_lost(int reason, char const *message, void *userdata) {
	native_errors *errors = userdata;
	(void)reason;
	if (!errors->lost) {
		errors->lost = 1;
		copy_text(errors->lost_message, sizeof errors->lost_message, message);
	}
}

typedef struct {
	void *device;
	native_errors *errors;
} device_request;

static void on_device(int status, void *device, char const *message, void *userdata) {
	device_request *request = userdata;
	if (status == 0) {
		request->device = device;
	} else {
		on_error(native_validation, message, request->errors);
	}
}

void *native_create_instance(void) {
	instance_extras extras;
	void const *descriptor = &extras; // a descriptor has only the address of its extras
	memset(&extras, 0, sizeof extras);
	extras.chain.type = instance_extras_type;
	extras.backends = backend_vulkan | backend_metal | backend_direct3d_12;
	return wgpuCreateInstance(&descriptor);
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

void *native_request_device(void *adapter, uint64_t *storage_binding, uint64_t *buffer_size, native_errors *errors) {
	chained_limits offered, required;
	device_descriptor descriptor;
	device_request request = {NULL, errors};
	memset(&offered, 0, sizeof offered);
	wgpuAdapterGetLimits(adapter, &offered);
	*storage_binding = least(*storage_binding, offered.limits.storage_binding_size);
	*buffer_size = least(*buffer_size, offered.limits.buffer_size);
	memset(&descriptor, 0, sizeof descriptor);
	memset(&required.limits, 0xff, sizeof required.limits); // all bits set: WebGPU's default
	required.next = NULL;
	required.limits.storage_binding_size = *storage_binding;
	required.limits.buffer_size = *buffer_size;
	descriptor.limits = &required;
	descriptor.lost = on_lost;
	descriptor.lost_userdata = errors;
	descriptor.uncaptured.callback = on_error;
	descriptor.uncaptured.userdata = errors;
	wgpuAdapterRequestDevice(adapter, &descriptor, on_device, &request); // calls back before it returns
	return request.device;
}

static void on_map(int status, void *userdata) { ((native_errors *)userdata)->map_status = status; }

void const *native_map(void *device, void *buffer, size_t size, native_errors *errors) {
	errors->map_status = -1;
	wgpuBufferMapAsync(buffer, 1, 0, size, on_map, errors);
	wgpuDevicePoll(device, 1, NULL); // blocks until the queue is empty and has called back
	if (errors->map_status != 0) {
		return NULL;
	}
	return wgpuBufferGetConstMappedRange(buffer, 0, size);
}
