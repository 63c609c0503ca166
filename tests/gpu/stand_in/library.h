// What the stand-ins of NVIDIA's libraries share: their work is put into a stream of the driver's stand-in, so that it
// is done in order and can be captured.
#include <functional>
#define EXPORT extern "C" __attribute__((visibility("default")))
extern "C" int stand_in_submit(void* stream, const std::function<int()>* work) __attribute__((weak));
static void* stream_of_library;
static int submitted(const std::function<int()>& work) {
    return stand_in_submit ? stand_in_submit(stream_of_library, &work) : work();
}
