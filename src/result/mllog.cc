#include "result/mllog.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/text.h"

namespace ttt::result {
namespace {

constexpr const char* kTypes[] = {"POINT_IN_TIME", "INTERVAL_START", "INTERVAL_END"};

// json.dumps' separators; our own dump() has none on one line.
void append_spaced(const Json& value, std::string& out) {
  if (!value.is_structured()) {
    out += value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
    return;
  }
  out += value.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, member] : value.items()) {
    if (!first) out += ", ";
    first = false;
    if (value.is_object()) out.append(Json(key).dump(-1, ' ', true, Json::error_handler_t::replace)).append(": ");
    append_spaced(member, out);
  }
  out += value.is_object() ? '}' : ']';
}

// Python's reader takes NaN, Infinity and -Infinity outside of strings; strict JSON has none of them.
std::string without_python_numbers(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\' && i + 1 < text.size()) {
      out += text[i++];
      out += text[i];
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    std::size_t length = 0;
    if (!quoted)
      for (const std::string_view word : {"-Infinity", "Infinity", "NaN"})
        if (length == 0 && text.compare(i, word.size(), word) == 0) length = word.size();
    if (length == 0) {
      out += text[i];
      continue;
    }
    out += "null";
    i += length - 1;
  }
  return out;
}

// From the source tree on: where it was built is nobody's business.
std::string in_tree(const std::string& file) {
  const std::size_t source = file.rfind("/src/");
  return source == std::string::npos ? file : file.substr(source + 1);
}

std::string from_latin1(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
      continue;
    }
    out += static_cast<char>(0xC0 | (byte >> 6));
    out += static_cast<char>(0x80 | (byte & 0x3F));
  }
  return out;
}

// float() of the checker: a number, or a text that is one.
std::optional<double> milliseconds(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto text = value.get<std::string>();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Fills `record`, or says why it cannot.
std::string read_record(const std::string& body, MllogRecord& record) {
  Json object = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) object = Json::parse(from_latin1(body), nullptr, false);
  if (object.is_discarded()) return "is not JSON";
  if (!object.is_object()) return "is no JSON object";
  for (const char* key : {"time_ms", "key", "value", "metadata"})
    if (!object.contains(key)) return std::string("has no \"").append(key).append("\"");
  const auto time = milliseconds(object["time_ms"]);
  if (!time) return "has a time_ms that is no number";
  if (!object["key"].is_string()) return "has a key that is no text";
  record.time_ms = *time;
  record.key = object["key"].get<std::string>();
  record.value = std::move(object["value"]);
  record.metadata = std::move(object["metadata"]);
  return {};
}

}  // namespace

std::string mllog_text(const MllogLine& line) {
  Json metadata = {{"file", in_tree(line.where.file_name())}, {"lineno", line.where.line()}};
  for (const auto& [key, value] : line.metadata.items()) metadata[key] = value;
  std::string out = kMllogToken;
  append_spaced({{"namespace", ""}, {"time_ms", line.time_ms}, {"event_type", kTypes[static_cast<int>(line.type)]},
                    {"key", line.key}, {"value", line.value}, {"metadata", std::move(metadata)}},
      out);
  return out;
}

MllogFile::MllogFile(const std::filesystem::path& path, bool force) : path_(path), file_(nullptr, &std::fclose) {
  // Exclusively: an existing log is somebody's run.
  const int fd = ::open(path_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0644);
  if (fd < 0 && errno == EEXIST)
    throw UsageError("The MLPerf log " + quote(path_) +
                     " exists already. Replace it with --force, or name another result with --out.");
  if (fd < 0)
    throw UsageError("Cannot write the MLPerf log " + quote(path_) + " (" + std::strerror(errno) +
                     "). Name a result in a writable folder with --out.");
  file_.reset(::fdopen(fd, "a"));
}

bool MllogFile::write(const MllogLine& line) {
  if (!file_) return true;  // said once
  const std::string text = mllog_text(line) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() && std::fflush(file_.get()) == 0)
    return true;
  file_.reset();
  return false;
}

std::filesystem::path mllog_path(const std::filesystem::path& result) {
  std::filesystem::path path = result;
  return path.replace_extension(".mllog.txt");
}

MllogText parse_mllog(const std::string& text) {
  MllogText log;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t token = line.rfind(kMllogToken);
    if (token == std::string::npos) continue;
    std::string body = line.substr(token + std::strlen(kMllogToken));
    while (!body.empty() && std::strchr(" \t\r\f\v", body.back())) body.pop_back();
    MllogRecord record{.line = number};
    const std::string wrong = read_record(without_python_numbers(body), record);
    if (wrong.empty()) log.records.push_back(std::move(record));
    else log.faults.push_back({number, wrong});
  }
  return log;
}

}  // namespace ttt::result
