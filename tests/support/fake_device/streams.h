// Streams of the fake device, in the order that finds most mistakes. Work of the default stream is done at once. A copy
// that nobody waits for is done as late as its stream allows, and until then its target holds rubbish. Only an event,
// or later work of the same stream, brings it about.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <initializer_list>

namespace ttt::test {

c10::StreamId current_stream();  // of this thread
c10::StreamId exchange_stream(c10::StreamId stream);
inline constexpr c10::StreamId kCopyStream = 1;  // the one of the pool

// Copies by the current stream, for which the host does not wait. Both fill `to` with rubbish first.
void copy_to_device_later(const at::Tensor& from, const at::Tensor& to);
void copy_to_host_later(const at::Tensor& from, const at::Tensor& to);

// Work of the current stream comes: copies to the device before it are done. The tensors are used by this stream.
void work_comes(std::initializer_list<at::Tensor> tensors = {});
void use(const at::Tensor& t);
// The host waits for the current stream.
void finish_stream();

// Events.
void record_event(void** event, c10::StreamId stream);
void destroy_event(void* event);
void finish_event(void* event);
bool event_has_come(void* event);

// Memory, by its address, and the stream that it was taken by.
void memory_taken(const void* data);
void memory_kept_for(const at::Tensor& t, c10::StreamId stream);  // record_stream
void memory_given_back(const void* data);

}  // namespace ttt::test
