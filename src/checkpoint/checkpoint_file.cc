#include "checkpoint/checkpoint_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <type_traits>
#include <vector>

#include "core/crc32c.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "data/sealed_file.h"
#include "data/shard_writer.h"
#include "result/members.h"

namespace ttt::train {
namespace {

namespace fs = std::filesystem;
using data::h5::Dims;
using data::h5::File;
using result::Json;

std::string why(int error) { return std::strerror(error); }

const data::SealKind& kind() {
  static const data::SealKind kind{
      .magic = "ttt-checkpoint", .name = "The checkpoint", .remedy = "Use the one before it."};
  return kind;
}

void reserve(const std::string& path, std::uint64_t bytes) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  const int error = file.get() < 0 ? errno : ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  // File systems without the call say EOPNOTSUPP or EINVAL; there a full disk is met while writing.
  if (file.get() < 0 || (error != 0 && error != EOPNOTSUPP && error != EINVAL))
    throw Error("The checkpoint '" + path + "' of " + std::to_string(bytes) + " bytes has no room (" + why(error) +
                "). Free space or choose another folder.");
}

template <class T>
void write_checked(File& file, const std::string& name, std::span<const T> values, const Dims& dims) {
  file.write<T>(name, values, dims);
  file.set_attribute("crc32c", static_cast<std::int64_t>(crc32c(values.data(), values.size_bytes())), name);
}

template <class T> std::vector<T> read_checked(const File& file, const std::string& name) {
  std::vector<T> values = file.read<T>(name);
  if (file.int_attribute("crc32c", name) != static_cast<std::int64_t>(crc32c(values.data(), values.size() * sizeof(T))))
    throw DataError(
        "The checkpoint '" + file.path() + "': '" + name + "' does not match its checksum. Use the one before it.");
  return values;
}

void write_text(File& file, const std::string& name, const std::string& text) {
  write_checked<std::uint8_t>(
      file, name, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, {text.size()});
}

std::string read_text(const File& file, const std::string& name) {
  const std::vector<std::uint8_t> bytes = read_checked<std::uint8_t>(file, name);
  return {bytes.begin(), bytes.end()};
}

// The head, and by it every other byte. Returns the version.
int check_bytes(const std::string& path) {
  if (!fs::is_regular_file(path))
    throw UsageError("There is no checkpoint '" + path + "'. Name a file step-*.h5 of a run's checkpoint folder.");
  const int version = data::check_seal(path, kind());
  if (version < 1 || version > kCheckpointVersion)
    throw UsageError("The checkpoint '" + path + "' has version " + std::to_string(version) +
                     ", this program reads versions 1 to " + std::to_string(kCheckpointVersion) +
                     ". Use the build that wrote it.");
  return version;
}

// What version 1 did not name: its only schedule and optimizer, whose momentum lay in a group of its own.
void add_kinds(Json& recipe) {
  if (!recipe.contains("train")) return;
  for (const auto& [group, kind] : {std::pair{"schedule", "step_decay"}, std::pair{"optimizer", "sgd"}})
    if (recipe["train"].contains(group)) recipe["train"][group]["kind"] = kind;
}

}  // namespace

Json state_json(const CheckpointState& s) {
  result::RunRecord past = s.past;  // with the names of the losses, whose values are columns of the file
  past.steps.name_losses(s.steps.loss_names);
  Json j = result::json_of(s);
  j["past"] = result::to_json(past);
  return j;
}

CheckpointState state_from_json(const Json& j) {
  auto s = result::record_from_json<CheckpointState>(j, "");
  s.past = result::run_record_from_json(result::get_object(j, "past", ""));
  return s;
}

std::int64_t write_checkpoint(const std::string& path, const CheckpointState& state, std::uint64_t about_bytes,
    const std::function<void(const AddArray&)>& arrays) {
  const std::string temporary = path + kTemporarySuffix;
  try {
    reserve(temporary, about_bytes);
    {
      File file = File::create(temporary, data::kSealBytes);
      file.set_attribute("format", std::string("ttt-checkpoint"));
      file.set_attribute("format_version", kCheckpointVersion);
      file.set_attribute("step", state.step);
      file.set_attribute("ranks", state.ranks);
      write_text(file, "/state", result::dump(state_json(state), -1));
      result::for_each_column(state.steps, [&](const std::string& name, const auto& column) {
        write_checked<typename std::remove_cvref_t<decltype(column)>::value_type>(
            file, "/steps/" + name, column, {column.size()});
      });
      for (const auto& [name, bytes] : state.sections) write_text(file, "/listeners/" + name, bytes);
      arrays([&](const std::string& dataset, std::span<const float> values, const Dims& dims) {
        write_checked<float>(file, dataset, values, dims);
      });
      file.close();
    }
    data::seal(temporary, kind(), kCheckpointVersion);
    data::sync_to_disk(temporary);
    const auto bytes = static_cast<std::int64_t>(fs::file_size(temporary));
    fs::rename(temporary, path);
    data::sync_to_disk(fs::path(path).parent_path().string());
    return bytes;
  } catch (...) {
    std::error_code ec;
    fs::remove(temporary, ec);
    throw;
  }
}

Checkpoint read_checkpoint(const std::string& path) {
  const int version = check_bytes(path);
  const File file = File::open(path);
  Checkpoint c{.path = path};
  c.state = state_from_json(result::parse(read_text(file, "/state"), "The checkpoint '" + path + "'"));
  if (version == 1) add_kinds(c.state.recipe);
  c.state.steps.name_losses(c.state.past.steps.loss_names);
  result::for_each_column(c.state.steps, [&](const std::string& name, auto& column) {
    column = read_checked<typename std::remove_cvref_t<decltype(column)>::value_type>(file, "/steps/" + name);
  });
  const std::pair<const std::string, std::map<std::string, CheckpointArray>*> groups[] = {
      {"/weights/", &c.weights}, {"/optimizer/", &c.optimizer}, {"/per_rank/", &c.per_rank}};
  const std::string listeners = "/listeners/";
  for (const std::string& name : file.datasets()) {
    if (name.starts_with(listeners)) c.state.sections[name.substr(listeners.size())] = read_text(file, name);
    if (version == 1 && name.starts_with("/momentum/"))
      c.optimizer[name.substr(1)] = {file.dims(name), read_checked<float>(file, name)};
    for (const auto& [prefix, arrays] : groups)
      if (name.starts_with(prefix))
        (*arrays)[name.substr(prefix.size())] = {file.dims(name), read_checked<float>(file, name)};
  }
  return c;
}

}  // namespace ttt::train
