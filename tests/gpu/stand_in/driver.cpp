// A libcuda.so.1 for machines without a GPU, so that pycuda and the kernels can be tested: device memory is memory of
// the host, a module is a shared library made by the stand-in of nvcc, and a launch runs at once.
//
// It is stricter than a device. Each block of memory has guards around it, which are compared after every launch that
// got a pointer to it. A pointer argument must point into device memory, copies must stay within it, the arguments must
// have the size that the kernel takes, and memory that was freed is unknown. Fresh and shared memory are poisoned. The
// threads of a block run in one of three orders, and a barrier that only some of them reach is an error. A lazy device
// does the work of streams only when somebody waits for it, so that a wait that is missing shows. Functions
// whose names begin with `stand_in` are for tests. Entry points that are not here are weak and return "not supported".
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#define API extern "C" __attribute__((visibility("default"))) CUresult
#define FOR_TESTS extern "C" __attribute__((visibility("default")))
typedef std::function<CUresult()> Work;

enum { GUARD = 64, FRESH = 0xCB, SHARED_POISON = 0xE7, STACK = 131072, MOST_PARAMETERS = 4096 };

// ---- what emulator.h has, too ----
struct uint3 { unsigned x, y, z; };
struct Extent { unsigned x = 1, y = 1, z = 1; };
struct Emulation {
    uint3 thread, block;
    Extent threads, blocks;
    int lane;
    void (*others_go_on)();
    void (*wait_for_cluster)();
    char* (*shared_of)(unsigned, const void*);
    void (*wait_for_block)();
    void (*wait_for_warp)();
    double* (*slots)();
    void (*fail)(const char*);
};
struct Parameter { int kind, size; };

struct Module { void* library; char *shared, *shared_end; bool barriers; unsigned cluster; };
struct Function {
    Module* module;
    void (*run)(const char*);
    std::vector<Parameter> parameters;
    int size;
    std::string name;
};
struct Node { Function* function; std::vector<Work> works; };        // of a kernel; or NULL: a child graph, a copy
struct Graph { std::vector<Node> nodes; const Graph* from; };         // from: of what it was instantiated
struct NodeHandle { const Graph* graph; size_t number; };
struct Stream {
    Graph* captured = nullptr;
    bool blocking = true;                        // waits for the default stream, which waits for it
    std::deque<Work> waiting;                    // of a lazy device
    size_t begun = 0, ended = 0;                 // how much work it got, and has done
};
struct Event { double milliseconds = 0; Stream* stream = nullptr; size_t after = 0; bool timing = true; };
struct Block { size_t size; int device = 0; bool owned = true; size_t mapped = 0; };      // owned: by a context

static std::recursive_mutex lock;
static thread_local std::vector<CUcontext> contexts;
static std::map<CUdeviceptr, Block> live, pinned, globals;
static Stream default_stream;
static std::vector<const Graph*> graphs;         // that were made node by node
static std::vector<Stream*> streams;             // in the order in which they were made
static int lazy;                                 // work in streams is done when somebody waits for it, and no earlier:
                                                 // 1: the first stream's first, 2: the last one's
static bool only_looks;                          // at launches and their grids: arrays may be as large as they like
static bool counts_as_clock;                     // the time of an event is how many kernels ran before it, in ms
static int ignores_waits;                        // to show that tests see a wait that is missing: 1: of streams for
                                                 // events, 2: of the host for them
static size_t allocations, launches, live_bytes, memory_limit = (size_t)8 << 30;
static long copies_to_device, copies_to_host, fails_after, graphs_launched, nodes_changed;
static bool refuses_changes;                     // of the nodes of graphs
static bool refuses_attributes;                  // to copy them from node to node
static int order, devices = getenv("PHINTYS_STAND_IN_DEVICES") ? atoi(getenv("PHINTYS_STAND_IN_DEVICES")) : 1;
static CUresult broken = CUDA_SUCCESS;           // a kernel failed: the context is of no use any more
static std::string complaint;
static Emulation emulation;

static CUresult complain(CUresult error, const std::string& what) {
    complaint = what;
    fprintf(stderr, "stand-in: %s\n", what.c_str());
    return error;
}

// Do the work of a stream up to a number; the first error stays.
static CUresult catch_up(Stream* stream, size_t number) {
    CUresult error = CUDA_SUCCESS;
    while (stream->ended < number && !stream->waiting.empty()) {
        Work work = stream->waiting.front();
        stream->waiting.pop_front();
        stream->ended++;
        const CUresult found = work();
        if (!error) error = found;
    }
    return error;
}
static CUresult catch_up_all(bool blocking_only) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    CUresult error = CUDA_SUCCESS;
    std::vector<Stream*> turns = streams;
    if (lazy == 2) std::reverse(turns.begin(), turns.end());
    for (Stream* stream : turns)
        if (stream->blocking || !blocking_only)
            if (CUresult found = catch_up(stream, stream->begun)) error = error ? error : found;
    return error;
}
static Function of_a_library{nullptr, nullptr, {}, 0, "a kernel of a library"};
static Function* captured_function;              // what a work is that is captured now, if it is a kernel
static CUresult submit(CUstream stream, Work work) {
    Stream* at = stream > (CUstream)2 ? (Stream*)stream : &default_stream;
    if (at->captured) {
        at->captured->nodes.push_back({captured_function, {work}});
        return CUDA_SUCCESS;
    }
    if (at == &default_stream) {
        const CUresult error = catch_up_all(true);
        return error ? error : work();
    }
    if (!lazy) return work();
    std::lock_guard<std::recursive_mutex> hold(lock);
    at->waiting.push_back(work);
    at->begun++;
    return CUDA_SUCCESS;
}

// ---- memory ----
static unsigned char* guard_of(CUdeviceptr data) { return (unsigned char*)data - GUARD; }

static bool guards_hold(CUdeviceptr data, size_t size) {
    const unsigned char* before = guard_of(data);
    const unsigned char* after = (unsigned char*)data + size;
    for (int i = 0; i < GUARD; i++)
        if (before[i] != FRESH || after[i] != FRESH) return false;
    return true;
}

static std::map<CUdeviceptr, Block>::iterator block_of(std::map<CUdeviceptr, Block>& blocks, CUdeviceptr address) {
    auto found = blocks.upper_bound(address);
    if (found == blocks.begin()) return blocks.end();
    --found;
    return address <= found->first + found->second.size ? found : blocks.end();
}

static bool is_inside(CUdeviceptr address, size_t size) {
    for (auto* blocks : {&live, &globals, &pinned}) {
        auto found = block_of(*blocks, address);
        if (found != blocks->end() && address + size <= found->first + found->second.size) return true;
    }
    return false;
}

static CUresult outside(const char* what, CUdeviceptr address, size_t size) {
    char text[160];
    snprintf(text, sizeof text, "%s of %zu bytes at %llx, which is no device memory", what, size, address);
    return complain(CUDA_ERROR_INVALID_VALUE, text);
}

API cuMemAlloc(CUdeviceptr* result, size_t size) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (broken) return broken;
    if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!size) return CUDA_ERROR_INVALID_VALUE;
    if (live_bytes + size > memory_limit) return CUDA_ERROR_OUT_OF_MEMORY;
    size_t rounded = (size + 255) / 256 * 256 + 512;
    const bool mapped = only_looks;
    char* block = mapped ? (char*)mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                         : (char*)aligned_alloc(256, rounded);
    if (!block || block == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!mapped) memset(block, FRESH, rounded);
    memset(block, FRESH, 256), memset(block + 256 + size, FRESH, GUARD);
    *result = (CUdeviceptr)(block + 256);
    live[*result] = {size, (int)(size_t)contexts.back() - 0x10, true, mapped ? rounded : 0};
    live_bytes += size;
    allocations++;
    return CUDA_SUCCESS;
}
API cuMemFree(CUdeviceptr data) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    catch_up_all(false);
    auto found = live.find(data);
    if (found == live.end()) return complain(CUDA_ERROR_INVALID_VALUE, "memory is freed that is not allocated");
    if (!guards_hold(data, found->second.size)) complain(CUDA_SUCCESS, "memory was written out of its bounds");
    live_bytes -= found->second.size;
    const size_t mapped = found->second.mapped;
    live.erase(found);
    if (mapped) munmap((char*)data - 256, mapped);
    else free((char*)data - 256);
    return CUDA_SUCCESS;
}
API cuMemGetInfo(size_t* available, size_t* total) {
    *total = memory_limit;
    *available = memory_limit - std::min(live_bytes, memory_limit);
    return CUDA_SUCCESS;
}
API cuMemHostAlloc(void** result, size_t size, unsigned) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    *result = malloc(size + 1);
    pinned[(CUdeviceptr)*result] = {size};
    return CUDA_SUCCESS;
}
API cuMemAllocHost(void** result, size_t size) { return cuMemHostAlloc(result, size, 0); }
API cuMemFreeHost(void* data) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    pinned.erase((CUdeviceptr)data);
    free(data);
    return CUDA_SUCCESS;
}
API cuMemHostGetDevicePointer(CUdeviceptr* result, void* data, unsigned) {
    *result = (CUdeviceptr)data;
    return CUDA_SUCCESS;
}
static CUresult to_device(CUdeviceptr target, const void* source, size_t size) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (broken) return broken;
    if (!is_inside(target, size)) return outside("copying to the device", target, size);
    copies_to_device++;
    memcpy((void*)target, source, size);
    return CUDA_SUCCESS;
}
static CUresult to_host(void* target, CUdeviceptr source, size_t size) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (broken) return broken;
    if (!is_inside(source, size)) return outside("copying to the host", source, size);
    copies_to_host++;
    memcpy(target, (void*)source, size);
    return CUDA_SUCCESS;
}
static CUresult within(CUdeviceptr target, CUdeviceptr source, size_t size) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (broken) return broken;
    if (!is_inside(target, size)) return outside("copying to the device", target, size);
    if (!is_inside(source, size)) return outside("copying from the device", source, size);
    if (only_looks) return CUDA_SUCCESS;
    memmove((void*)target, (void*)source, size);
    return CUDA_SUCCESS;
}
template <class T> static CUresult fill(CUdeviceptr target, T value, size_t count) {
    if (!is_inside(target, count * sizeof(T))) return outside("filling", target, count * sizeof(T));
    if (only_looks && count > 4096) return CUDA_SUCCESS;
    std::fill_n((T*)target, count, value);
    return CUDA_SUCCESS;
}
API cuMemcpyHtoD(CUdeviceptr d, const void* s, size_t n) { return submit(0, [=] { return to_device(d, s, n); }); }
API cuMemcpyDtoH(void* d, CUdeviceptr s, size_t n) { return submit(0, [=] { return to_host(d, s, n); }); }
API cuMemcpyDtoD(CUdeviceptr d, CUdeviceptr s, size_t n) { return submit(0, [=] { return within(d, s, n); }); }
API cuMemcpyHtoDAsync(CUdeviceptr d, const void* s, size_t n, CUstream t) {
    std::unique_lock<std::recursive_mutex> hold(lock);
    if (broken) return broken;
    if (!is_inside(d, n)) return outside("copying to the device", d, n);
    hold.unlock();
    return submit(t, [=] { return to_device(d, s, n); });
}
API cuMemcpyDtoHAsync(void* d, CUdeviceptr s, size_t n, CUstream t) {
    return submit(t, [=] { return to_host(d, s, n); });
}
API cuMemcpyDtoDAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream t) {
    return submit(t, [=] { return within(d, s, n); });
}
API cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* c) {
    if (c->dstMemoryType == CU_MEMORYTYPE_ARRAY || c->srcMemoryType == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    const char* from = c->srcMemoryType == CU_MEMORYTYPE_HOST ? (const char*)c->srcHost : (const char*)c->srcDevice;
    char* to = c->dstMemoryType == CU_MEMORYTYPE_HOST ? (char*)c->dstHost : (char*)c->dstDevice;
    for (size_t row = 0; row < c->Height; row++)
        memcpy(to + (c->dstY + row) * c->dstPitch + c->dstXInBytes,
               from + (c->srcY + row) * c->srcPitch + c->srcXInBytes, c->WidthInBytes);
    return CUDA_SUCCESS;
}
API cuMemcpy2D(const CUDA_MEMCPY2D* c) { return cuMemcpy2DUnaligned(c); }
API cuMemsetD8(CUdeviceptr d, unsigned char v, size_t n) { return fill(d, v, n); }
API cuMemsetD16(CUdeviceptr d, unsigned short v, size_t n) { return fill(d, v, n); }
API cuMemsetD32(CUdeviceptr d, unsigned v, size_t n) { return fill(d, v, n); }
API cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream t) {
    return submit(t, [=] { return fill(d, v, n); });
}
API cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream t) {
    return submit(t, [=] { return fill(d, v, n); });
}
API cuPointerGetAttribute(void* result, CUpointer_attribute attribute, CUdeviceptr address) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    auto found = block_of(live, address), at_host = block_of(pinned, address);
    if (found == live.end() && at_host == pinned.end()) return CUDA_ERROR_INVALID_VALUE;
    const Block block = found == live.end() ? at_host->second : found->second;
    if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT && !block.owned) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT) *(CUcontext*)result = (CUcontext)(size_t)(0x10 + block.device);
    else if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(unsigned*)result = found == live.end() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) *(int*)result = block.device;
    else return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

// ---- devices and contexts ----
API cuInit(unsigned) { return devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE; }
API cuDriverGetVersion(int* version) { *version = 13000; return CUDA_SUCCESS; }
API cuDeviceGetCount(int* count) { *count = devices; return CUDA_SUCCESS; }
API cuDeviceGet(CUdevice* device, int number) {
    *device = number;
    return 0 <= number && number < devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
API cuDeviceGetName(char* name, int length, CUdevice) { snprintf(name, length, "CPU stand-in"); return CUDA_SUCCESS; }
API cuDeviceTotalMem(size_t* size, CUdevice) { *size = memory_limit; return CUDA_SUCCESS; }
static const std::map<int, int> attributes = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024}, {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2}, {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152}, {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0}, {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535}, {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024}, {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64}, {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536}};
API cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
    auto found = attributes.find(attribute);
    *value = found == attributes.end() ? 0 : found->second;
    return CUDA_SUCCESS;
}
API cuDeviceComputeCapability(int* major, int* minor, CUdevice) { *major = 9, *minor = 0; return CUDA_SUCCESS; }
API cuGetErrorString(CUresult error, const char** text) {
    static char buffer[64];
    snprintf(buffer, sizeof buffer, "error %d of the stand-in", error);
    *text = buffer;
    return CUDA_SUCCESS;
}
API cuGetErrorName(CUresult error, const char** text) { return cuGetErrorString(error, text); }
static CUcontext context_of(CUdevice device) { return (CUcontext)(size_t)(0x10 + device); }
API cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice device) {
    contexts.push_back(*context = context_of(device));
    return CUDA_SUCCESS;
}
API cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    *context = context_of(device);
    return CUDA_SUCCESS;
}
API cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
API cuCtxPushCurrent(CUcontext context) { contexts.push_back(context); return CUDA_SUCCESS; }
API cuCtxPopCurrent(CUcontext* context) {
    if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context) *context = contexts.back();
    contexts.pop_back();
    return CUDA_SUCCESS;
}
API cuCtxGetCurrent(CUcontext* context) {
    *context = contexts.empty() ? nullptr : contexts.back();
    return CUDA_SUCCESS;
}
API cuCtxSetCurrent(CUcontext context) {
    if (!contexts.empty()) contexts.pop_back();
    if (context) contexts.push_back(context);
    return CUDA_SUCCESS;
}
API cuCtxGetDevice(CUdevice* device) {
    if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *device = (int)(size_t)contexts.back() - 0x10;
    return CUDA_SUCCESS;
}
API cuCtxSynchronize() {
    const CUresult error = catch_up_all(false);
    return error ? error : broken;
}
API cuCtxDetach(CUcontext) { return cuCtxPopCurrent(nullptr); }
API cuCtxDestroy(CUcontext) { return CUDA_SUCCESS; }

// ---- streams, events, graphs ----
API cuStreamCreate(CUstream* stream, unsigned flags) {
    Stream* made = new Stream;
    made->blocking = !(flags & CU_STREAM_NON_BLOCKING);
    streams.push_back(made);
    *stream = (CUstream)made;
    return CUDA_SUCCESS;
}
API cuStreamDestroy(CUstream stream) {
    catch_up_all(false);
    streams.erase(std::find(streams.begin(), streams.end(), (Stream*)stream));
    delete (Stream*)stream;
    return CUDA_SUCCESS;
}
API cuStreamSynchronize(CUstream stream) {
    const CUresult error = catch_up_all(false);
    if (error) return error;
    return stream > (CUstream)2 && ((Stream*)stream)->captured ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : broken;
}
API cuStreamQuery(CUstream) { return broken; }
API cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned) {
    const Event event = *(Event*)handle;
    if (ignores_waits == 1) return CUDA_SUCCESS;
    return submit(stream, [=] { return event.stream ? catch_up(event.stream, event.after) : CUDA_SUCCESS; });
}
API cuEventCreate(CUevent* event, unsigned flags) {
    *event = (CUevent) new Event;
    ((Event*)*event)->timing = !(flags & CU_EVENT_DISABLE_TIMING);
    return CUDA_SUCCESS;
}
API cuEventDestroy(CUevent event) { delete (Event*)event; return CUDA_SUCCESS; }
static double milliseconds() {
    if (counts_as_clock) return (double)launches;
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(now).count();
}
API cuEventRecord(CUevent handle, CUstream stream) {
    Stream* at = stream > (CUstream)2 ? (Stream*)stream : nullptr;
    Event* event = (Event*)handle;
    if (lazy && at && event->timing)                // its time is when the stream comes to it
        submit(stream, [=] { event->milliseconds = milliseconds(); return CUDA_SUCCESS; });
    else
        event->milliseconds = milliseconds();
    event->stream = at;
    event->after = at ? at->begun : 0;
    return CUDA_SUCCESS;
}
API cuEventSynchronize(CUevent handle) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Event* event = (Event*)handle;
    if (ignores_waits == 2) return broken;
    const CUresult error = event->stream ? catch_up(event->stream, event->after) : CUDA_SUCCESS;
    return error ? error : broken;
}
API cuEventQuery(CUevent handle) {
    const Event* event = (Event*)handle;
    return event->stream && event->stream->ended < event->after ? CUDA_ERROR_NOT_READY : broken;
}
static CUresult between(float* elapsed, const Event* from, const Event* to) {
    if (!from->timing || !to->timing) return CUDA_ERROR_INVALID_HANDLE;
    *elapsed = (float)(to->milliseconds - from->milliseconds);
    return CUDA_SUCCESS;
}
API cuEventElapsedTime(float* elapsed, CUevent from, CUevent to) {
    return between(elapsed, (const Event*)from, (const Event*)to);
}
#ifdef cuEventElapsedTime                        // cuda.h renames it; drivers have both names
#undef cuEventElapsedTime
API cuEventElapsedTime(float* elapsed, CUevent from, CUevent to) {
    return between(elapsed, (const Event*)from, (const Event*)to);
}
#endif
API cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
    ((Stream*)stream)->captured = new Graph{};
    return CUDA_SUCCESS;
}
API cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    *graph = (CUgraph)((Stream*)stream)->captured;
    ((Stream*)stream)->captured = nullptr;
    return CUDA_SUCCESS;
}
API cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long) {
    Graph* copy = new Graph(*(Graph*)graph);
    copy->from = (Graph*)graph;
    *made = (CUgraphExec)copy;
    return CUDA_SUCCESS;
}
API cuGraphLaunch(CUgraphExec handle, CUstream stream) {
    const Graph graph = *(Graph*)handle;
    graphs_launched++;
    return submit(stream, [graph] {
        for (auto& node : graph.nodes)
            for (auto& work : node.works)
                if (CUresult error = work()) return error;
        return CUDA_SUCCESS;
    });
}
API cuGraphExecDestroy(CUgraphExec graph) { delete (Graph*)graph; return CUDA_SUCCESS; }
API cuGraphDestroy(CUgraph graph) {
    graphs.erase(std::remove(graphs.begin(), graphs.end(), (Graph*)graph), graphs.end());
    delete (Graph*)graph;
    return CUDA_SUCCESS;
}

// ---- modules ----
static size_t size_of_image(const unsigned char* image) {   // to the end of the table of sections of the ELF file
    return *(uint64_t*)(image + 0x28) + (size_t) * (uint16_t*)(image + 0x3A) * *(uint16_t*)(image + 0x3C);
}
static long loads;
API cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
    if (memcmp(image, "\177ELF", 4)) return CUDA_ERROR_INVALID_IMAGE;
    const size_t size = size_of_image((const unsigned char*)image);
    char path[] = "/tmp/stand_in_module_XXXXXX";     // the linker knows libraries by their names
    const int file = mkstemp(path);
    if (file < 0 || write(file, image, size) != (ssize_t)size) return CUDA_ERROR_INVALID_IMAGE;
    close(file);
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    if (!library) return complain(CUDA_ERROR_INVALID_IMAGE, dlerror());
    loads++;
    Module* made = new Module{library, nullptr, nullptr, true, 1};
    auto bind = (void (*)(Emulation*, char**, char**))dlsym(library, "emulated_bind");
    if (!bind) return complain(CUDA_ERROR_INVALID_IMAGE, "a module that the stand-in of nvcc did not make");
    bind(&emulation, &made->shared, &made->shared_end);
    made->barriers = *(int*)dlsym(library, "emulated_has_barriers");
    made->cluster = *(int*)dlsym(library, "emulated_cluster");
    *module = (CUmodule)made;
    return CUDA_SUCCESS;
}
API cuModuleLoadData(CUmodule* module, const void* image) { return cuModuleLoadDataEx(module, image, 0, 0, 0); }
API cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
API cuModuleGetFunction(CUfunction* result, CUmodule module, const char* name) {
    Module* at = (Module*)module;
    auto run = (void (*)(const char*))dlsym(at->library, (std::string("emulated_run_") + name).c_str());
    auto describe = (int (*)(Parameter*, int*))dlsym(at->library, (std::string("emulated_describe_") + name).c_str());
    if (!run || !describe) return CUDA_ERROR_NOT_FOUND;
    std::vector<Parameter> parameters(MOST_PARAMETERS);
    int size;
    parameters.resize(describe(parameters.data(), &size));
    *result = (CUfunction) new Function{at, run, parameters, size, name};
    return CUDA_SUCCESS;
}
API cuModuleGetGlobal(CUdeviceptr* result, size_t* size, CUmodule module, const char* name) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    void* address = dlsym(((Module*)module)->library, name);
    Dl_info info;
    ElfW(Sym)* symbol = nullptr;
    if (!address || !dladdr1(address, &info, (void**)&symbol, RTLD_DL_SYMENT) || !symbol) return CUDA_ERROR_NOT_FOUND;
    *result = (CUdeviceptr)address;
    globals[*result] = {symbol->st_size};
    if (size) *size = symbol->st_size;
    return CUDA_SUCCESS;
}
API cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return CUDA_SUCCESS;
}
API cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
API cuFuncSetBlockShape(CUfunction, int, int, int) { return CUDA_SUCCESS; }
API cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
API cuFuncSetSharedSize(CUfunction, unsigned) { return CUDA_SUCCESS; }

// ---- running a cluster of blocks, mostly of one: one coroutine for each thread ----
enum State { READY, AT_CLUSTER_BARRIER, AT_BLOCK_BARRIER, AT_WARP_BARRIER, LEFT };
struct Fibre {
    uint3 thread;
    unsigned block;                              // of the cluster
    int lane, warp;
    State state;
    bool begun = false;                          // it has a place where it goes on
    void* place[5];
    char* stack = nullptr;
};
static std::vector<Fibre> fibres;
static Fibre* current;
static void* scheduler[5];
static std::vector<double> slots;
static Function* running;
static const char* running_arguments;
static bool failed;
static uint3 first_block;
static std::vector<std::vector<char>> memories;  // the shared memory of each block of the cluster, but for that of
static unsigned in_place;                        // this block, which is in the module's

__attribute__((noinline)) static void jump(void** place) { __builtin_longjmp(place, 1); }
__attribute__((noinline)) static void leave(State state) {
    Fibre* mine = current;
    mine->state = state;
    if (!__builtin_setjmp(mine->place)) jump(scheduler);
}
static void others_go_on() { leave(READY); }
static void wait_for_cluster() { leave(AT_CLUSTER_BARRIER); }
static void wait_for_block() { leave(AT_BLOCK_BARRIER); }
static void wait_for_warp() { leave(AT_WARP_BARRIER); }
static double* slots_of_warp() { return &slots[current->warp * 32]; }
static char* shared_of(unsigned block, const void* place) {
    const char* mine = (const char*)place;
    return block == in_place ? (char*)mine : &memories[block][mine - running->module->shared];
}
static void fail(const char* what) {
    complain(CUDA_ERROR_LAUNCH_FAILED, running->name + ": " + what);
    failed = true;
}
static void enter(Fibre& fibre) {
    Module* module = running->module;
    current = &fibre;
    if (fibre.block != in_place) {
        memcpy(memories[in_place].data(), module->shared, memories[in_place].size());
        memcpy(module->shared, memories[fibre.block].data(), memories[fibre.block].size());
        in_place = fibre.block;
    }
    emulation.block = first_block;
    emulation.block.x += fibre.block;
    emulation.thread = fibre.thread;
    emulation.lane = fibre.lane;
}
// A fibre runs one thread after another. It is begun by `setcontext`, which sets the mask of signals, and takes turns by
// GCC's own longjmp, which calls nothing: that is half of the time of a kernel with barriers.
static void body() {
    for (;; leave(LEFT)) running->run(running_arguments);
}
__attribute__((noinline)) static void go_on(Fibre& fibre) {
    enter(fibre);
    if (__builtin_setjmp(scheduler)) return;
    if (fibre.begun) jump(fibre.place);
    fibre.begun = true;
    if (!fibre.stack) fibre.stack = (char*)malloc(STACK);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = fibre.stack;
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, body, 0);
    setcontext(&context);
}
static size_t count(size_t first, size_t last, State state) {
    size_t found = 0;
    for (size_t i = first; i < last; i++) found += fibres[i].state == state;
    return found;
}
static void release(size_t first, size_t last, State state) {
    for (size_t i = first; i < last; i++)
        if (fibres[i].state == state) fibres[i].state = READY;
}
// Let threads pass the barriers that all others of their warp, block or cluster have reached; false: none can go on.
static bool pass_barriers(size_t threads, size_t all) {
    bool moved = false;
    for (size_t first = 0; first < all; first = std::min(first + 32, (first / threads + 1) * threads)) {
        const size_t last = std::min((first / threads + 1) * threads, first + 32);
        const size_t waiting = count(first, last, AT_WARP_BARRIER);
        if (waiting && waiting + count(first, last, LEFT) == last - first) {
            release(first, last, AT_WARP_BARRIER);
            moved = true;
        }
    }
    for (size_t first = 0; first < all && !moved; first += threads)
        if (count(first, first + threads, AT_BLOCK_BARRIER) == threads) {
            release(first, first + threads, AT_BLOCK_BARRIER);
            moved = true;
        }
    if (!moved && count(0, all, AT_CLUSTER_BARRIER) == all) {
        release(0, all, AT_CLUSTER_BARRIER);
        moved = true;
    }
    return moved;
}
static void report_divergence(size_t all) {
    char text[240];
    snprintf(text, sizeof text, "divergent barrier in block (%u, %u, %u): of %zu threads %zu wait for the block, %zu for "
             "their warp, %zu for the cluster, and %zu have left", first_block.x, first_block.y, first_block.z, all,
             count(0, all, AT_BLOCK_BARRIER), count(0, all, AT_WARP_BARRIER), count(0, all, AT_CLUSTER_BARRIER),
             count(0, all, LEFT));
    fail(text);
}
static void run_with_barriers(const std::vector<size_t>& turns, size_t threads) {
    while (!failed) {
        for (size_t i : turns)
            if (fibres[i].state == READY) go_on(fibres[i]);
        if (count(0, turns.size(), LEFT) == turns.size()) return;
        if (!pass_barriers(threads, turns.size()) && !count(0, turns.size(), READY)) report_divergence(turns.size());
    }
    for (size_t i : turns) fibres[i].begun = fibres[i].state == LEFT;      // the others are given up
}
static void run_cluster(std::vector<size_t>& turns, std::mt19937& random) {
    Module* module = running->module;
    const size_t threads = turns.size() / module->cluster;
    memset(module->shared, SHARED_POISON, module->shared_end - module->shared);
    memories.assign(module->cluster, std::vector<char>(module->shared, module->shared_end));
    in_place = 0;
    if (order == 2) std::shuffle(turns.begin(), turns.end(), random);
    if (fibres.size() < turns.size()) fibres.resize(turns.size());
    slots.resize((turns.size() / 32 + module->cluster) * 32);
    for (size_t i = 0; i < turns.size(); i++) {
        const unsigned x = emulation.threads.x, y = emulation.threads.y, mine = i % threads;
        fibres[i].thread = {mine % x, mine / x % y, mine / x / y};
        fibres[i].block = i / threads, fibres[i].lane = mine % 32, fibres[i].state = READY;
        fibres[i].warp = fibres[i].block * ((threads + 31) / 32) + mine / 32;
    }
    if (module->barriers) return run_with_barriers(turns, threads);
    for (size_t i : turns) {
        enter(fibres[i]);
        running->run(running_arguments);
    }
}
static CUresult check_arguments(const Function* function, const char* arguments) {
    size_t at = 0;
    for (const Parameter& parameter : function->parameters) {
        const size_t alignment = std::min(parameter.size, 8);
        if (parameter.kind == 'p') {
            at = (at + alignment - 1) / alignment * alignment;
            CUdeviceptr pointer;
            memcpy(&pointer, arguments + at, 8);
            if (pointer && !is_inside(pointer, 0)) return outside(function->name.c_str(), pointer, 0);
        } else if (parameter.size == 1 || parameter.size == 2 || parameter.size == 4 || parameter.size == 8) {
            at = (at + alignment - 1) / alignment * alignment;
        } else {
            at = (at + 7) / 8 * 8;               // a struct: all that kernels take have words of 8 bytes
        }
        at += parameter.size;
    }
    return CUDA_SUCCESS;
}
static CUresult check_guards(const Function* function) {
    for (auto& [data, block] : live)
        if (!guards_hold(data, block.size))
            return complain(CUDA_ERROR_ILLEGAL_ADDRESS, function->name + " wrote out of the bounds of an array of " +
                            std::to_string(block.size) + " bytes");
    return CUDA_SUCCESS;
}
static CUresult run_grid(Function* function, const std::string& arguments, Extent blocks, Extent threads) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (broken) return broken;
    if (fails_after && --fails_after == 0) return complain(CUDA_ERROR_LAUNCH_FAILED, function->name + " fails as asked");
    if (CUresult error = check_arguments(function, arguments.data())) return error;
    if (only_looks) return launches++, CUDA_SUCCESS;
    running = function, running_arguments = arguments.data(), failed = false;
    emulation.threads = threads, emulation.blocks = blocks;
    emulation.wait_for_block = wait_for_block, emulation.wait_for_warp = wait_for_warp;
    emulation.wait_for_cluster = wait_for_cluster, emulation.shared_of = shared_of;
    emulation.others_go_on = others_go_on;
    emulation.slots = slots_of_warp, emulation.fail = fail;
    const unsigned cluster = function->module->cluster;
    if (blocks.x % cluster) return complain(CUDA_ERROR_INVALID_VALUE, function->name + ": a grid of parts of clusters");
    std::vector<size_t> turns((size_t)threads.x * threads.y * threads.z * cluster);
    for (size_t i = 0; i < turns.size(); i++) turns[i] = i;
    if (order == 1) std::reverse(turns.begin(), turns.end());
    std::mt19937 random(7);
    for (unsigned z = 0; z < blocks.z && !failed; z++)
        for (unsigned y = 0; y < blocks.y && !failed; y++)
            for (unsigned x = 0; x < blocks.x && !failed; x += cluster) {
                first_block = {x, y, z};
                run_cluster(turns, random);
            }
    launches++;
    return failed ? CUDA_ERROR_LAUNCH_FAILED : check_guards(function);
}
static CUresult packed(const Function* function, void** parameters, std::string& arguments) {
    size_t at = 0;
    for (size_t i = 0; i < function->parameters.size(); i++) {
        const size_t size = function->parameters[i].size;
        const size_t alignment = size <= 8 && !(size & (size - 1)) ? size : 8;
        at = (at + alignment - 1) / alignment * alignment;
        memcpy(&arguments[at], parameters[i], size);
        at += size;
    }
    return CUDA_SUCCESS;
}
// What a launch will do, if its grid and its arguments are right.
static CUresult checked(Function* function, Extent blocks, Extent threads, void** parameters, void** extra,
                        Work* work) {
    if (!blocks.x || !blocks.y || !blocks.z || !threads.x || !threads.y || !threads.z ||
        (size_t)threads.x * threads.y * threads.z > 1024 || blocks.x > 0x7fffffff ||
        blocks.y > 65535 || blocks.z > 65535)
        return complain(CUDA_ERROR_INVALID_VALUE, function->name + ": a grid that no device runs");
    std::string arguments(function->size, 0);
    const char* buffer = nullptr;
    size_t size = 0;
    for (int i = 0; extra && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = (const char*)extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *(size_t*)extra[i + 1];
    }
    if (!extra) {
        packed(function, parameters, arguments);
    } else {
        if (size != (size_t)function->size)
            return complain(CUDA_ERROR_INVALID_VALUE, function->name + " takes " + std::to_string(function->size) +
                            " bytes of arguments, and got " + std::to_string(size));
        arguments.assign(buffer, size);
    }
    *work = [=] { return run_grid(function, arguments, blocks, threads); };
    return CUDA_SUCCESS;
}
API cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned, CUstream stream, void** parameters, void** extra) {
    Work work;
    const CUresult error = checked((Function*)function, {gx, gy, gz}, {bx, by, bz}, parameters, extra, &work);
    return error ? error : submit(stream, work);
}

// ---- graphs that are made node by node, each after the one before it ----
static CUresult node_of(const CUDA_KERNEL_NODE_PARAMS* p, Node* node) {
    if ((Function*)p->func == &of_a_library) {   // as `cuGraphKernelNodeGetParams` gives it
        *node = *(const Node*)p->kernelParams;
        return CUDA_SUCCESS;
    }
    *node = {(Function*)p->func, {Work()}};
    if (p->kernelParams && p->extra) return complain(CUDA_ERROR_INVALID_VALUE, "arguments of a node in both ways");
    return checked(node->function, {p->gridDimX, p->gridDimY, p->gridDimZ}, {p->blockDimX, p->blockDimY, p->blockDimZ},
                   p->kernelParams, p->extra, &node->works[0]);
}
static Node child_of(const Graph* graph) {
    Node node = {nullptr, {}};
    for (auto& each : graph->nodes) node.works.insert(node.works.end(), each.works.begin(), each.works.end());
    return node;
}
static CUresult add(CUgraphNode* handle, Graph* graph, const CUgraphNode* before, size_t count, const Node& node) {
    const size_t number = graph->nodes.size();
    const NodeHandle* last = count ? (const NodeHandle*)before[0] : nullptr;
    if (count != (number > 0) || (last && (last->graph != graph || last->number + 1 != number)))
        return complain(CUDA_ERROR_INVALID_VALUE, "a node that does not come after the one before it");
    graph->nodes.push_back(node);
    *handle = (CUgraphNode) new NodeHandle{graph, number};
    return CUDA_SUCCESS;
}
static CUresult change(Graph* made, CUgraphNode handle, const Node& node) {
    const NodeHandle* at = (const NodeHandle*)handle;
    if (std::find(graphs.begin(), graphs.end(), at->graph) == graphs.end() || made->from != at->graph)
        return complain(CUDA_ERROR_INVALID_VALUE, "a node of no graph, or of another one, is changed");
    Node& old = made->nodes[at->number];
    if (refuses_changes || old.function != node.function || old.works.size() != node.works.size())
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    old = node;
    nodes_changed++;
    return CUDA_SUCCESS;
}
API cuGraphCreate(CUgraph* graph, unsigned) {
    *graph = (CUgraph) new Graph{};
    graphs.push_back((Graph*)*graph);
    return CUDA_SUCCESS;
}
API cuGraphAddKernelNode(CUgraphNode* handle, CUgraph graph, const CUgraphNode* before, size_t count,
                         const CUDA_KERNEL_NODE_PARAMS* parameters) {
    Node node;
    const CUresult error = node_of(parameters, &node);
    return error ? error : add(handle, (Graph*)graph, before, count, node);
}
API cuGraphAddChildGraphNode(CUgraphNode* handle, CUgraph graph, const CUgraphNode* before, size_t count,
                             CUgraph child) {
    return add(handle, (Graph*)graph, before, count, child_of((Graph*)child));
}
API cuGraphExecKernelNodeSetParams(CUgraphExec made, CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS* parameters) {
    Node node;
    const CUresult error = node_of(parameters, &node);
    return error ? error : change((Graph*)made, handle, node);
}
// Of a graph that was captured.
API cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    Graph* graph = (Graph*)handle;
    for (size_t i = 0; nodes && i < std::min(*count, graph->nodes.size()); i++) nodes[i] = (CUgraphNode)&graph->nodes[i];
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
}
API cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    *type = ((Node*)node)->function ? CU_GRAPH_NODE_TYPE_KERNEL : CU_GRAPH_NODE_TYPE_MEMCPY;
    return CUDA_SUCCESS;
}
API cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
    *parameters = {};
    parameters->func = (CUfunction)((Node*)node)->function;
    parameters->kernelParams = (void**)node;
    return CUDA_SUCCESS;
}
API cuGraphKernelNodeCopyAttributes(CUgraphNode, CUgraphNode) {
    return refuses_attributes ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}
API cuGraphExecChildGraphNodeSetParams(CUgraphExec made, CUgraphNode handle, CUgraph child) {
    return change((Graph*)made, handle, child_of((Graph*)child));
}
API cuProfilerInitialize(const char*, const char*, int) { return CUDA_ERROR_NOT_SUPPORTED; }
API cuProfilerStart() { return CUDA_SUCCESS; }
API cuProfilerStop() { return CUDA_SUCCESS; }

// ---- for tests ----
FOR_TESTS int stand_in_submit(void* stream, const std::function<int()>* work) {   // of the stand-in of cuBLAS
    const std::function<int()> copy = *work;
    captured_function = &of_a_library;
    const CUresult error = submit((CUstream)stream, [copy] { return (CUresult)copy(); });
    captured_function = nullptr;
    return error;
}
FOR_TESTS void stand_in_set_lazy(int value) { catch_up_all(false); lazy = value; }
FOR_TESTS void stand_in_count_as_clock(int value) { counts_as_clock = value; }
FOR_TESTS void stand_in_refuse_attributes(int value) { refuses_attributes = value; }
FOR_TESTS void stand_in_refuse_changes(int value) { refuses_changes = value; }
FOR_TESTS void stand_in_ignore_waits(int value) { ignores_waits = value; }
FOR_TESTS void stand_in_set_order(int value) { order = value; }    // 0 ascending, 1 descending, 2 shuffled
FOR_TESTS void stand_in_set_memory(size_t bytes) { memory_limit = bytes; }
FOR_TESTS void stand_in_set_devices(int count) { devices = count; }
FOR_TESTS void stand_in_move(CUdeviceptr data, int device, int owned) {    // of whom memory says that it is
    live[data].device = device, live[data].owned = owned;
}
FOR_TESTS long stand_in_loads() { return loads; }
FOR_TESTS void stand_in_fail_launch(long number) { fails_after = number; }
FOR_TESTS void stand_in_only_look(int value) { catch_up_all(false); only_looks = value; }
FOR_TESTS void stand_in_break(int error) { broken = (CUresult)error; }
FOR_TESTS const char* stand_in_complaint() { return complaint.c_str(); }
FOR_TESTS void stand_in_forget() { complaint.clear(); }
FOR_TESTS void stand_in_counts(size_t* counts) {
    counts[0] = allocations, counts[1] = launches, counts[2] = live.size(), counts[3] = live_bytes;
    counts[4] = copies_to_device, counts[5] = copies_to_host, counts[6] = graphs_launched;
    counts[7] = nodes_changed;
}
