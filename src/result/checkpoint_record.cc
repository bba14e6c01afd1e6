#include "result/checkpoint_record.h"

#include "result/members.h"

namespace ttt::result {

Json checkpoint_json(const CheckpointSample& s) {
  return {{"step", s.step}, {"wall_s", s.wall_s}, {"stall_s", s.stall_s}, {"write_s", s.write_s}, {"bytes", s.bytes}};
}

CheckpointSample checkpoint_from_json(const Json& object, const std::string& path) {
  return {.step = get<std::int64_t>(object, "step", path),
      .wall_s = get<double>(object, "wall_s", path),
      .stall_s = get<double>(object, "stall_s", path),
      .write_s = get<double>(object, "write_s", path),
      .bytes = get<std::int64_t>(object, "bytes", path)};
}

Json resume_json(const Resume& r) {
  return {{"step", r.step}, {"ranks_before", r.ranks_before}, {"ranks", r.ranks}, {"lost_s", r.lost_s},
      {"checkpoint", r.checkpoint}, {"signal", r.signal}, {"resumed_at", r.resumed_at}, {"changed", r.changed}};
}

Resume resume_from_json(const Json& object, const std::string& path) {
  return {.step = get<std::int64_t>(object, "step", path),
      .ranks_before = get<std::int64_t>(object, "ranks_before", path),
      .ranks = get<std::int64_t>(object, "ranks", path),
      .lost_s = get<double>(object, "lost_s", path),
      .checkpoint = get<std::string>(object, "checkpoint", path),
      .signal = get<std::string>(object, "signal", path),
      .resumed_at = get<std::string>(object, "resumed_at", path),
      .changed = get_array(object, "changed", path)};
}

Json interruption_json(const Interruption& i) {
  return {{"signal", i.signal}, {"step", i.step}, {"checkpoint", i.checkpoint}, {"requeue", i.requeue}};
}

Interruption interruption_from_json(const Json& object, const std::string& path) {
  return {.signal = get<std::string>(object, "signal", path),
      .step = get<std::int64_t>(object, "step", path),
      .checkpoint = get<std::string>(object, "checkpoint", path),
      .requeue = get<bool>(object, "requeue", path)};
}

}  // namespace ttt::result
