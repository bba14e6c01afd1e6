#include "telemetry/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/text.h"

namespace ttt::result {
namespace {

namespace fs = std::filesystem;

// Numbers are little-endian in both formats, as on every machine that this suite is built for.
static_assert(std::endian::native == std::endian::little);

template <class T> void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The wire format of protocol buffers: a key (field number and wire type), then the value.
class Message {
 public:
  void number(int field, std::uint64_t value) { key(field, 0), varint(value); }
  void real(int field, double value) { key(field, 1), append(bytes_, value); }
  void real32(int field, float value) { key(field, 5), append(bytes_, value); }
  void bytes(int field, std::string_view value) { key(field, 2), varint(value.size()), bytes_.append(value); }
  void reals(int field, const std::vector<double>& values) {  // packed
    bytes(field, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
  }
  const std::string& text() const { return bytes_; }

 private:
  void key(int field, int type) { varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type)); }
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Of Summary.Value (summary.proto).
void add_value(Message& value, float scalar) { value.real32(2, scalar); }
void add_value(Message& value, const EncodedImage& image) {
  Message m;
  m.number(1, static_cast<std::uint64_t>(image.height)), m.number(2, static_cast<std::uint64_t>(image.width));
  m.number(3, 3);  // colourspace: RGB
  m.bytes(4, image.png);
  value.bytes(4, m.text());
}
void add_value(Message& value, const Histogram& h) {
  Message m;
  m.real(1, h.min), m.real(2, h.max), m.real(3, h.num), m.real(4, h.sum), m.real(5, h.sum_squares);
  m.reals(6, h.limit), m.reals(7, h.count);
  value.bytes(5, m.text());
}

// A checksum of data that holds checksums is weak; so they are stored turned and shifted (TensorFlow's crc32c::Mask).
std::uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes.data(), bytes.size()), 15) + 0xA282EAD8u;
}

std::string first_event() {
  Message event;
  event.real(1, unix_s());
  event.bytes(3, "brain.Event:2");  // file_version
  return frame_record(event.text());
}

fs::path new_file(const fs::path& folder, const std::string& run) {
  std::error_code error;
  fs::create_directories(folder, error);  // a failure shows at open()
  const std::string name = "events.out.tfevents." + std::to_string(static_cast<long long>(unix_s())) + "." + run;
  fs::path path = folder / name;
  for (int i = 1; fs::exists(path, error); ++i) path = folder / (name + "." + std::to_string(i));
  return path;
}

}  // namespace

std::string encode_event(const EventMessage& event) {
  Message m;
  m.real(1, event.wall_time_s);
  m.number(2, static_cast<std::uint64_t>(event.step));
  if (event.starts_again) {
    Message session;
    session.number(1, 1);  // START
    m.bytes(7, session.text());
    return m.text();
  }
  Message summary;
  for (const Summary& s : event.values) {
    Message value;
    value.bytes(1, s.tag);
    std::visit([&](const auto& v) { add_value(value, v); }, s.value);
    summary.bytes(1, value.text());
  }
  m.bytes(5, summary.text());
  return m.text();
}

std::string frame_record(std::string_view message) {
  std::string out;
  append(out, static_cast<std::uint64_t>(message.size()));
  append(out, masked_crc(out));
  out.append(message);
  append(out, masked_crc(message));
  return out;
}

EventWriter::EventWriter(const fs::path& folder, const std::string& run, std::size_t capacity)
    : path_(new_file(folder, run)), capacity_(capacity) {
  fd_ = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0)
    throw UsageError("Cannot write event files into " + quote(folder) + " (" + std::strerror(errno) +
                     "). Name a folder that can be made and written.");
  thread_ = std::thread([this] { work(); });
}

void EventWriter::add(EventMessage event) {
  add([event = std::move(event)] { return event; });
}

void EventWriter::add(std::function<EventMessage()> make) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return queue_.size() < capacity_; });
  queue_.push_back(std::move(make));
  work_.notify_one();
}

void EventWriter::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  work_.notify_one();
  thread_.join();
  ::close(fd_);
}

std::string EventWriter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void EventWriter::work() {
  bool writable = true;
  const auto attempt = [&](auto&& action) {
    try {
      action();
      return true;
    } catch (const std::exception& e) {
      const std::lock_guard lock(mutex_);
      failure_ = e.what();
      return false;
    }
  };
  for (std::string bytes = first_event();;) {
    // Everything that waits goes to the kernel in one call, and so becomes visible to a reader at once. After a
    // failure, nothing: what follows a record that was torn cannot be read.
    if (writable) writable = attempt([&] { write(bytes); });
    bytes.clear();
    std::deque<std::function<EventMessage()>> taken;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      taken.swap(queue_);
    }
    room_.notify_all();
    for (const auto& make : taken) attempt([&] { bytes += frame_record(encode_event(make())); });
  }
}

void EventWriter::write(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(std::string(std::strerror(errno)) + " while writing " + quote(path_));
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace ttt::result
