// event_probe FOLDER: writes an event file of everything, and beside it what must be read from it: values.json and
// values.f32.
#include <csignal>
#include <cstdio>
#include <fstream>

#include "core/rng.h"
#include "data/png.h"
#include "settings/json.h"
#include "telemetry/event_file.h"

namespace {

using namespace ttt;
using namespace ttt::result;

data::RgbImage toy_image() {
  data::RgbImage image{.height = 5, .width = 7, .pixels = std::vector<std::uint8_t>(5 * 7 * 3)};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 37);
  return image;
}

int run(const std::string& folder) {
  Json scalars = Json::array();
  EventWriter writer(folder, "probe", 3);
  const auto add = [&](const std::string& tag, std::int64_t step, float value, double time) {
    writer.add(EventMessage{.step = step, .values = {{tag, value}}, .wall_time_s = time});
    scalars.push_back({tag, step, value, time});
  };
  for (std::int64_t i = 0; i < 300; ++i)
    add("loss/total", i * 10, 1.0f / static_cast<float>(i + 1), 1.7e9 + static_cast<double>(i) / 8);
  add("zero", 0, 0, 1.7e9), add("negative", std::int64_t{1} << 40, -3.5e-30f, 1.7e9 + 0.5);
  add(std::string(200, 't'), 1, 1e38f, 1.7e9);  // a tag whose length takes two bytes
  writer.add(EventMessage{.step = 4, .values = {{"two/a", 1.5f}, {"two/b", 2.5f}}, .wall_time_s = 1});
  scalars.push_back({"two/a", 4, 1.5, 1.0}), scalars.push_back({"two/b", 4, 2.5, 1.0});

  std::vector<float> values;
  Stream random(3);
  for (int i = 0; i < 50000; ++i)
    values.push_back(static_cast<float>(random.uniform(-1, 1) * random.uniform() * random.uniform()));
  HistogramBuilder builder;
  builder.add(values);
  writer.add(EventMessage{.step = 5, .values = {{"weights/all", builder.finish()}}});
  std::ofstream(folder + "/values.f32", std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));

  const data::RgbImage image = toy_image();
  writer.add([&] {
    return EventMessage{
        .step = 6, .values = {{"picture/1", EncodedImage{image.height, image.width, data::encode_png(image)}}}};
  });
  writer.close();
  std::ofstream(folder + "/values.json") << Json{
      {"scalars", scalars}, {"image", image.pixels}, {"file", writer.path().filename().string()}};
  if (!writer.failure().empty()) std::printf("failure: %s\n", writer.failure().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of the file's size is then an error of write(), as a full disk is
  return argc == 2 ? run(argv[1]) : 2;
}
