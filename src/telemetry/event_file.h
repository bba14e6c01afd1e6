// TensorBoard's event files, without TensorFlow: records of TFRecord files, each an Event message of protocol buffers.
//
// Sources: record_writer.h (framing), event.proto, summary.proto and histogram.proto of TensorFlow. Scalars are
// simple_value, histograms histo and images image: the forms that every TensorBoard has read, and that the present one
// turns into its own when it reads them.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "result/histogram.h"

namespace ttt::result {

struct EncodedImage {
  std::int32_t height = 0, width = 0;
  std::string png;  // the file's bytes, RGB
};

struct Summary {
  std::string tag;  // TensorBoard groups by what stands before the first '/'
  std::variant<float, Histogram, EncodedImage> value;
};

struct EventMessage {
  std::int64_t step = 0;
  std::vector<Summary> values;
  // without values: the run continues here, so what earlier files say of this step and later ones is void (SessionLog
  // START)
  bool starts_again = false;
  double wall_time_s = unix_s();
};

std::string encode_event(const EventMessage& event);  // the message
std::string frame_record(std::string_view message);   // length, its masked CRC-32C, the message, its masked CRC-32C

// Writes events on a thread of its own, in the order in which they were added.
class EventWriter {
 public:
  // Makes `folder` where it is missing, and in it a new file "events.out.tfevents.<seconds>.<run>": TensorBoard takes
  // the files of one folder for one run, in the order of their names. Throws UsageError where that cannot be done.
  EventWriter(const std::filesystem::path& folder, const std::string& run, std::size_t capacity = 64);
  ~EventWriter() { close(); }
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // Waits while `capacity` events are not yet written: nothing is dropped.
  void add(EventMessage event);
  // The same for an event that costs time to make (an image to be compressed): made on the writer's thread.
  void add(std::function<EventMessage()> make);
  void close();  // when everything is written

  // "" or what went wrong last: a `make` that threw (its event is lost), a full disk (nothing more is written, so that
  // what is there can be read).
  std::string failure() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  void work();
  void write(const std::string& bytes);  // throws Error

  const std::filesystem::path path_;
  const std::size_t capacity_;
  int fd_ = -1;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable room_, work_;
  std::deque<std::function<EventMessage()>> queue_;
  bool closing_ = false;
  std::string failure_;
  std::thread thread_;
};

}  // namespace ttt::result
