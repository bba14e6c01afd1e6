#include "telemetry/telemetry.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <regex>

#include "core/clock.h"
#include "core/error.h"
#include "data/png.h"

namespace ttt::train {
namespace {

using result::EventMessage;

void add_scalar(EventMessage& event, std::string tag, double value) {
  if (std::isfinite(value)) event.values.push_back({std::move(tag), static_cast<float>(value)});
}

std::vector<std::regex> expressions(const TelemetryConfig& c) {
  std::vector<std::regex> all;
  for (const std::string& text : c.groups) {
    try {
      all.emplace_back(text);
    } catch (const std::regex_error& e) {
      throw UsageError("train.telemetry.groups: '" + text + "' is no regular expression (" + e.what() +
                       "). Escape a special character with two backslashes.");
    }
  }
  return all;
}

// Throws UsageError for an expression that no parameter belongs to: its curve would be missing.
void check_used(const TelemetryConfig& c, const std::vector<LayerGroup>& groups, model::Model& model) {
  for (const std::string& text : c.groups)
    if (std::none_of(groups.begin(), groups.end(), [&](const LayerGroup& g) { return g.name == text; }))
      throw UsageError("train.telemetry.groups: no trainable parameter is left for '" + text +
                       "'. Their names are like '" + model.parameters().trainable().back()->name + "'.");
}

std::vector<LayerGroup> layer_groups(const TelemetryConfig& c, model::Model& model) {
  std::vector<LayerGroup> groups;
  const std::vector<std::regex> wanted = expressions(c);
  const auto name_of = [&](const std::string& parameter) -> std::string {
    if (wanted.empty()) return model.layer_group(parameter);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (std::regex_search(parameter, wanted[i])) return c.groups[i];
    return "others";
  };
  const auto& parameters = model.parameters().trainable();  // from the last layer to the first
  for (auto p = parameters.rbegin(); p != parameters.rend(); ++p) {
    const std::string name = name_of((*p)->name);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const LayerGroup& g) { return g.name == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), LayerGroup{.name = name});
    group->ranges.push_back(
        {static_cast<std::size_t>((*p)->offset), static_cast<std::size_t>((*p)->offset + (*p)->count)});
  }
  check_used(c, groups, model);
  return groups;
}

// The title as a path: "box/AP".
std::string metric_tag(const std::string& name) {
  std::string tag = result::metric_title(name);
  std::replace(tag.begin(), tag.end(), ' ', '/');
  return tag;
}

// Where the tensor is in host memory already, it is not copied.
at::Tensor on_host(const at::Tensor& flat) { return flat.detach().to(at::kCPU); }
std::span<const float> span_of(const at::Tensor& flat) {
  return {flat.const_data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
}

double total(const std::vector<double>& norms) {
  double sum = 0;
  for (const double n : norms) sum += n * n;
  return std::sqrt(sum);
}

}  // namespace

void check(const TelemetryConfig& c) {
  if (c.histograms_every % c.every_steps != 0)
    throw UsageError("train.telemetry.histograms_every = " + std::to_string(c.histograms_every) +
                     " is no multiple of train.telemetry.every_steps = " + std::to_string(c.every_steps) +
                     ". Choose a multiple, or 0 for no histograms.");
  expressions(c);
}

Telemetry::Telemetry(const TelemetryConfig& config, TelemetrySources sources)
    : config_(config), sources_(std::move(sources)), groups_(layer_groups(config, sources_.model)),
      update_(sources_.model.parameters(), groups_, sources_.kernels, config_.norms),
      reductions_(sources_.model.parameters(), groups_, config_.reductions),
      writer_(std::filesystem::path(config.folder) / sources_.run_id, sources_.run_id) {
  since_.loss.resize(sources_.model.loss_names().size());
  if (!sources_.recorder) return;
  result::TelemetrySeries series{.every_steps = config_.every_steps};
  for (const LayerGroup& g : groups_) {
    result::TelemetryGroup& own =
        series.groups.emplace_back(result::TelemetryGroup{.name = g.name, .parameters = g.parameters()});
    for (const char* of : {"gradient", "weight"})
      for (const std::string& reduction : config_.reductions) own.reductions.push_back({.of = of, .kind = reduction});
  }
  if (const StepWithPartNorm* part = sources_.part_norm)
    series.noise = {
        .part_images = sources_.global_batch / (sources_.ranks * part->parts()), .batch_images = sources_.global_batch};
  sources_.recorder->update([&](result::RunRecord& r) {
    // else it goes on from before an interruption
    if (!r.telemetry || !r.telemetry->has_columns_of(series)) r.telemetry = std::move(series);
  });
}

Telemetry::~Telemetry() {
  writer_.close();
  if (const std::string failure = writer_.failure(); !failure.empty() && sources_.recorder)
    sources_.recorder->warn("Telemetry is not complete: " + failure + ". The norms in this result are.");
}

// What an interrupted run did after its checkpoint is done again, beginning with the evaluation after as many steps:
// unless the checkpoint has it already.
void Telemetry::run_started(const Position& at) {
  if (at.step == 0 || !sources_.recorder) return;
  const std::vector<result::Evaluation> evaluations = sources_.recorder->past().accuracy;
  const bool evaluated = !evaluations.empty() && evaluations.back().step == at.step;
  writer_.add(EventMessage{.step = evaluated ? at.step + 1 : at.step, .starts_again = true});
}

void Telemetry::save(Sections& sections) {
  std::string& bytes = sections["telemetry"];
  for_each_kept([&](void* value, std::size_t size) { bytes.append(static_cast<const char*>(value), size); });
}

void Telemetry::restore(const Sections& sections) {
  const auto own = sections.find("telemetry");
  std::size_t total = 0, at = 0;
  for_each_kept([&](void*, std::size_t size) { total += size; });
  // a run that began without telemetry, or with another version
  if (own == sections.end() || own->second.size() != total) return;
  for_each_kept([&](void* value, std::size_t size) {
    std::memcpy(value, own->second.data() + at, size);
    at += size;
  });
}

void Telemetry::step_starts(const Position& at) {
  if (!is_sampled(at.step)) return;
  const double start_s = now_s();
  update_.step_starts();
  copy_s_ = now_s() - start_s;
}

void Telemetry::step_ended(const Position&, const result::StepSample& sample) {
  for (std::size_t i = 0; i < since_.loss.size(); ++i) since_.loss[i] += sample.loss[i];
  for (std::size_t i = 0; i < since_.phase_s.size(); ++i) since_.phase_s[i] += sample.phase_s[i];
  since_.step_s += sample.step_s, since_.images += sample.images, ++since_.steps;
  if (!is_sampled(sample.step)) return;
  const double start_s = now_s();
  EventMessage event{.step = sample.step};
  add_losses_and_times(event);
  add_scalar(event, "learning_rate", sample.learning_rate);
  since_ = {.loss = std::vector<double>(since_.loss.size())};
  result::TelemetrySample found = norms(sample.step);
  add_norms(found, event);
  if (config_.histograms_every > 0 && sample.step % config_.histograms_every == 0) add_histograms(event);
  found.cost_s = copy_s_ + now_s() - start_s;
  add_scalar(event, "telemetry/cost_s", found.cost_s);
  writer_.add(std::move(event));
  if (sources_.recorder) sources_.recorder->telemetry(found);
}

void Telemetry::add_losses_and_times(EventMessage& event) const {
  const auto mean = [&](double sum) { return sum / static_cast<double>(since_.steps); };
  double all = 0;
  for (std::size_t i = 0; i < since_.loss.size(); ++i) {
    add_scalar(event, "loss/" + sources_.model.loss_names()[i], mean(since_.loss[i]));
    all += mean(since_.loss[i]);
  }
  add_scalar(event, "loss/total", all);
  for (std::size_t i = 0; i < since_.phase_s.size(); ++i)
    add_scalar(event, "phase_s/" + std::string(result::kPhaseNames[i]), mean(since_.phase_s[i]));
  add_scalar(event, "images_per_second", static_cast<double>(since_.images) / since_.step_s);
}

double Telemetry::gradient_scale() const {
  const double scale = sources_.scaler ? on_host(sources_.scaler->last_scale()).const_data_ptr<float>()[0] : 1;
  return 1 / (scale * sources_.ranks);
}

result::TelemetrySample Telemetry::norms(std::int64_t step) const {
  const double unscaled = gradient_scale();
  result::TelemetrySample s{.step = step};
  for (const kernels::SquaredNorms& group : update_.step_ended()) {
    s.gradient_norm.push_back(std::sqrt(group.gradient) * unscaled);
    s.weight_norm.push_back(std::sqrt(group.weight));
    s.update_norm.push_back(std::sqrt(group.change));
  }
  if (config_.weight_split)
    for (const double product : update_.weights_times_gradients()) s.weight_gradient.push_back(product * unscaled);
  if (!config_.reductions.empty()) s.reductions = reductions_.take(unscaled);
  if (const StepWithPartNorm* part = sources_.part_norm)  // whose ranks are not added yet
    s.part_gradient_norm = std::sqrt(part->squared_norm()) * unscaled * sources_.ranks * part->parts();
  return s;
}

void Telemetry::add_norms(const result::TelemetrySample& s, EventMessage& event) const {
  const auto add = [&](const std::string& group, double gradient, double weight, double update) {
    add_scalar(event, "gradient_norm/" + group, gradient);
    add_scalar(event, "weight_norm/" + group, weight);
    add_scalar(event, "update_to_weight/" + group, update / weight);  // not written where all weights are 0
  };
  for (std::size_t g = 0; g < groups_.size(); ++g)
    add(groups_[g].name, s.gradient_norm[g], s.weight_norm[g], s.update_norm[g]);
  add("all", total(s.gradient_norm), total(s.weight_norm), total(s.update_norm));
  auto value = s.reductions.begin();
  for (const LayerGroup& g : groups_)
    for (const char* of : {"gradient_", "weight_"})
      for (const std::string& reduction : config_.reductions)
        if (value != s.reductions.end()) add_scalar(event, of + reduction + "/" + g.name, *value++);
  if (s.part_gradient_norm) add_scalar(event, "gradient_norm_of_part/all", *s.part_gradient_norm);
}

void Telemetry::add_histograms(EventMessage& event) const {
  model::ParameterStore& store = sources_.model.parameters();
  const auto add = [&](const char* what, const at::Tensor& flat, float scale) {
    for (const LayerGroup& g : groups_) {
      result::HistogramBuilder builder;
      for (const auto& [begin, end] : g.ranges) builder.add(span_of(flat).subspan(begin, end - begin), scale);
      event.values.push_back({what + g.name, builder.finish()});
    }
  };
  add("gradients/", on_host(store.flat_gradients()), static_cast<float>(gradient_scale()));
  add("weights/", on_host(store.flat_values()), 1);
}

void Telemetry::evaluation_predicted(const Position& at, bool) {
  if (!sources_.gallery || sources_.gallery->size() == 0 || static_cast<double>(at.epoch) < next_pictures_epoch_)
    return;
  next_pictures_epoch_ = static_cast<double>(at.epoch) + config_.pictures_every_epochs;
  add_pictures(at.step);
}

void Telemetry::evaluated(const Position&, const result::Evaluation& e) {
  EventMessage event{.step = e.step};
  for (const result::Metric& m : e.metrics)  // COCO's -1: there is no such object
    if (m.value >= 0) add_scalar(event, metric_tag(m.name), m.value);
  add_scalar(event, "evaluation_s", e.duration_s);
  writer_.add(std::move(event));
}

// Predicted here; drawn and compressed on the writer's thread.
void Telemetry::add_pictures(std::int64_t step) {
  const double start_s = now_s();
  for (std::int64_t i = 0; i < sources_.gallery->size(); ++i)
    writer_.add([step, draw = sources_.gallery->predict(i)] {
      const eval::Picture picture = draw();
      return EventMessage{.step = step,
          .values = {{"picture/" + picture.name,
              result::EncodedImage{picture.image.height, picture.image.width, data::encode_png(picture.image)}}}};
    });
  if (sources_.recorder) sources_.recorder->pictures(step, now_s() - start_s);
}

}  // namespace ttt::train
