#include "data/hdf5.h"

#include <hdf5.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/error.h"

namespace ttt::data::h5 {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t>, "File::id_ holds an hid_t");

// HDF5 is one process-wide state machine, so its lock is process-wide too. While a thread holds it, the library's own
// printing of error stacks is off: our exceptions carry the innermost message.
std::mutex& library_mutex() {
  static std::mutex mutex;
  // Before the library's first use: every object here is closed by its owner, and the library's own clean-up at exit
  // prints "infinite loop closing library" after a damaged file, of which it keeps objects that cannot be closed.
  static const herr_t no_exit_handler = H5dont_atexit();
  (void)no_exit_handler;
  return mutex;
}
class Guard {
 public:
  Guard() : lock_(library_mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Guard() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

 private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

// An open object; closes itself.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }  // NOLINT: used as the C API uses it
  hid_t release() { return std::exchange(id_, -1); }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// The innermost line of HDF5's error stack: where the trouble began.
std::string innermost_error() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
        if (n == 0 && error->desc) *static_cast<std::string*>(out) = error->desc;
        return 0;
      },
      &text);
  return text.empty() ? "unknown error" : text;
}

[[noreturn]] void fail_write(const std::string& path, const std::string& what) {
  throw Error("Writing " + what + " of " + path + " failed (HDF5: " + innermost_error() + "): free space or choose another folder.");
}
[[noreturn]] void fail_read(const std::string& path, const std::string& what) {
  throw DataError(what + " of " + path + " cannot be read (HDF5: " + innermost_error() +
                  "): the file is damaged or cut short; copy or pack it again.");
}

template <class T>
hid_t memory_type() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return H5T_NATIVE_UINT16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_NATIVE_UINT32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
  if constexpr (std::is_same_v<T, std::int32_t>) return H5T_NATIVE_INT32;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
  if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
  if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
}
template <class T>
hid_t file_type() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_STD_U8LE;
  if constexpr (std::is_same_v<T, std::uint16_t>) return H5T_STD_U16LE;
  if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_STD_U32LE;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_STD_U64LE;
  if constexpr (std::is_same_v<T, std::int32_t>) return H5T_STD_I32LE;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_STD_I64LE;
  if constexpr (std::is_same_v<T, float>) return H5T_IEEE_F32LE;
  if constexpr (std::is_same_v<T, double>) return H5T_IEEE_F64LE;
}

// Makes a dataset that lies in one place from the start; the caller writes it.
hid_t make_dataset(hid_t file, const std::string& name, hid_t type, const Dims& dims) {
  const std::vector<hsize_t> shape(dims.begin(), dims.end());
  const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
  const Handle link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(link, 1);
  const Handle create(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(create, H5D_CONTIGUOUS);
  H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(create, H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(create, 0);  // the same content gives the same file
  return H5Dcreate2(file, name.c_str(), type, space, link, create, H5P_DEFAULT);
}

// Everything that is read must lie in the file itself: a link or storage elsewhere would read any file of this user.
herr_t find_foreign(hid_t group, const char* name, const H5L_info_t* info, void* out) {
  auto& found = *static_cast<std::string*>(out);
  if (info->type != H5L_TYPE_HARD) {
    found = std::string("'/") + name + "' is a soft or external link";
    return 1;
  }
  const Handle object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
  if (object < 0 || H5Iget_type(object) != H5I_DATASET) return 0;
  const Handle create(H5Dget_create_plist(object), H5Pclose);
  if (create >= 0 && H5Pget_external_count(create) > 0) found = std::string("'/") + name + "' has external storage";
  if (create >= 0 && H5Pget_layout(create) == H5D_VIRTUAL) found = std::string("'/") + name + "' is a virtual dataset";
  return found.empty() ? 0 : 1;
}

void refuse_foreign_data(hid_t file, const std::string& path) {
  std::string found;
  H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, find_foreign, &found);  // a damaged structure is named where it is read
  if (!found.empty()) throw DataError(path + ": " + found + ", and only data inside the file is read. Copy the data into the file.");
}

Handle open_dataset(hid_t file, const std::string& name) { return {H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose}; }

Dims dims_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> shape(static_cast<std::size_t>(std::max(rank, 0)));
  if (rank > 0) H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  return {shape.begin(), shape.end()};
}

// Bytes that the elements of a dataset need in memory, refused where the file cannot hold them: a damaged shape must
// not become an allocation of terabytes.
std::uint64_t checked_count(hid_t dataset, std::size_t stored_element, const std::string& path, const std::string& name) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) fail_read(path, name);
  const auto file_bytes = static_cast<std::uint64_t>(info.st_size);
  std::uint64_t count = 1;
  for (const std::uint64_t d : dims_of(dataset)) {
    if (d != 0 && count > file_bytes / d) throw DataError(name + " of " + path + " claims more values than the file holds: copy or pack it again.");
    count *= d;
  }
  if (count * stored_element > file_bytes)
    throw DataError(name + " of " + path + " claims more values than the file holds: copy or pack it again.");
  return count;
}

Handle fixed_string(std::size_t length) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, std::max<std::size_t>(length, 1));
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return {type, H5Tclose};
}

}  // namespace

File File::create(const std::string& path, std::uint64_t user_block) {
  const Guard guard;
  const Handle create(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_userblock(create, user_block);
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access, 0, 1);
#endif
  const hid_t id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, create, access);
  if (id < 0) fail_write(path, "the head");
  return {id, path};
}

File File::open(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) throw UsageError(path + " is not a file: check the path.");
  const Guard guard;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access, 0, 1);  // immutable files, often on file systems without locks
#endif
  Handle id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose);  // no File yet: its destructor takes the lock
  if (id < 0)
    throw DataError(path + " is not an HDF5 file or is cut short (HDF5: " + innermost_error() + "): copy or pack it again.");
  refuse_foreign_data(id, path);
  return {id.release(), path};
}

File::~File() {
  if (id_ < 0) return;
  const Guard guard;
  H5Fclose(id_);
}
File::File(File&& other) noexcept : id_(std::exchange(other.id_, -1)), path_(std::move(other.path_)) {}
File& File::operator=(File&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(path_, other.path_);
  return *this;
}

void File::close() {
  const Guard guard;
  if (H5Fclose(std::exchange(id_, -1)) < 0) fail_write(path_, "the end");
}
void File::flush() {
  const Guard guard;
  if (H5Fflush(id_, H5F_SCOPE_LOCAL) < 0) fail_write(path_, "the head");
}

bool File::has(const std::string& name) const {
  const Guard guard;
  for (std::size_t slash = name.find('/', 1);; slash = name.find('/', slash + 1)) {
    if (H5Lexists(id_, name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
    if (slash == std::string::npos) return true;
  }
}

Dims File::dims(const std::string& name) const {
  const Guard guard;
  const Handle dataset = open_dataset(id_, name);
  if (dataset < 0) fail_read(path_, name);
  return dims_of(dataset);
}

std::vector<std::string> File::datasets() const {
  const Guard guard;
  std::vector<std::string> names;
  const herr_t status = H5Ovisit(
      id_, H5_INDEX_NAME, H5_ITER_INC,
      [](hid_t, const char* name, const H5O_info_t* info, void* out) -> herr_t {
        if (info->type == H5O_TYPE_DATASET) static_cast<std::vector<std::string>*>(out)->push_back(std::string("/") + name);
        return 0;
      },
      &names);
  if (status < 0) fail_read(path_, "The list of datasets");
  return names;
}

template <Element T>
void File::write(const std::string& name, std::span<const T> values, const Dims& dims) {
  const Guard guard;
  const Handle dataset(make_dataset(id_, name, file_type<T>(), dims), H5Dclose);
  if (dataset < 0) fail_write(path_, name);
  if (!values.empty() && H5Dwrite(dataset, memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) fail_write(path_, name);
}

template <Element T>
std::vector<T> File::read(const std::string& name) const {
  const Guard guard;
  const Handle dataset = open_dataset(id_, name);
  if (dataset < 0) fail_read(path_, name);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const H5T_class_t stored = H5Tget_class(type);
  if (stored != (std::is_floating_point_v<T> ? H5T_FLOAT : H5T_INTEGER))
    throw DataError(name + " of " + path_ + " has another type than it should: pack it again.");
  std::vector<T> values(checked_count(dataset, H5Tget_size(type), path_, name));
  if (!values.empty() && H5Dread(dataset, memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) fail_read(path_, name);
  return values;
}

#define TTT_H5_INSTANTIATE(T)                                                                       \
  template void File::write<T>(const std::string&, std::span<const T>, const Dims&);                \
  template std::vector<T> File::read<T>(const std::string&) const;
TTT_H5_INSTANTIATE(std::uint8_t)
TTT_H5_INSTANTIATE(std::uint16_t)
TTT_H5_INSTANTIATE(std::uint32_t)
TTT_H5_INSTANTIATE(std::uint64_t)
TTT_H5_INSTANTIATE(std::int32_t)
TTT_H5_INSTANTIATE(std::int64_t)
TTT_H5_INSTANTIATE(float)
TTT_H5_INSTANTIATE(double)
#undef TTT_H5_INSTANTIATE

void File::create_bytes(const std::string& name, std::uint64_t count) {
  const Guard guard;
  const Handle dataset(make_dataset(id_, name, H5T_STD_U8LE, {count}), H5Dclose);
  if (dataset < 0) fail_write(path_, name);
}

std::optional<std::uint64_t> File::byte_offset(const std::string& name) const {
  const Guard guard;
  const Handle dataset = open_dataset(id_, name);
  if (dataset < 0) fail_read(path_, name);
  const Handle create(H5Dget_create_plist(dataset), H5Pclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const bool plain = H5Pget_layout(create) == H5D_CONTIGUOUS && H5Pget_nfilters(create) == 0 && H5Pget_external_count(create) == 0 &&
                     H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 1;
  const haddr_t offset = plain ? H5Dget_offset(dataset) : HADDR_UNDEF;
  if (offset == HADDR_UNDEF) return std::nullopt;
  return offset;
}

void File::read_bytes(const std::string& name, std::uint64_t offset, std::uint64_t count, std::uint8_t* out) const {
  const Guard guard;
  const Handle dataset = open_dataset(id_, name);
  const Handle space(dataset < 0 ? -1 : H5Dget_space(dataset), H5Sclose);
  const hsize_t start = offset, length = count;
  const Handle memory(H5Screate_simple(1, &length, nullptr), H5Sclose);
  if (space < 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, nullptr, &length, nullptr) < 0 ||
      H5Dread(dataset, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, out) < 0)
    fail_read(path_, name);
}

void File::write_strings(const std::string& name, const std::vector<std::string>& values) {
  std::size_t length = 1;
  for (const std::string& v : values) length = std::max(length, v.size());
  std::string packed(length * values.size(), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) std::copy(values[i].begin(), values[i].end(), packed.begin() + static_cast<long>(i * length));
  const Guard guard;
  const Handle type = fixed_string(length);
  const Handle dataset(make_dataset(id_, name, type, {values.size()}), H5Dclose);
  if (dataset < 0 || (!values.empty() && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed.data()) < 0)) fail_write(path_, name);
}

std::vector<std::string> File::read_strings(const std::string& name) const {
  const Guard guard;
  const Handle dataset = open_dataset(id_, name);
  if (dataset < 0) fail_read(path_, name);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0)
    throw DataError(name + " of " + path_ + " has another type than it should: pack it again.");
  const std::size_t length = H5Tget_size(type);
  const std::uint64_t count = checked_count(dataset, length, path_, name);
  std::string packed(length * count, '\0');
  if (count != 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed.data()) < 0) fail_read(path_, name);
  std::vector<std::string> values;
  for (std::uint64_t i = 0; i < count; ++i) values.emplace_back(packed.data() + i * length, strnlen(packed.data() + i * length, length));
  return values;
}

bool File::has_attribute(const std::string& name, const std::string& of) const {
  const Guard guard;
  const htri_t found = H5Aexists_by_name(id_, of.c_str(), name.c_str(), H5P_DEFAULT);
  if (found < 0) fail_read(path_, "Attribute " + name);
  return found > 0;
}

void File::set_attribute(const std::string& name, std::int64_t value, const std::string& of) {
  const Guard guard;
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(H5Acreate_by_name(id_, of.c_str(), name.c_str(), H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (attribute < 0 || H5Awrite(attribute, H5T_NATIVE_INT64, &value) < 0) fail_write(path_, "attribute " + name);
}

void File::set_attribute(const std::string& name, const std::string& value, const std::string& of) {
  const Guard guard;
  const Handle type = fixed_string(value.size());
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(H5Acreate_by_name(id_, of.c_str(), name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (attribute < 0 || H5Awrite(attribute, type, value.c_str()) < 0) fail_write(path_, "attribute " + name);
}

std::int64_t File::int_attribute(const std::string& name, const std::string& of) const {
  const Guard guard;
  const Handle attribute(H5Aopen_by_name(id_, of.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (attribute < 0) fail_read(path_, "Attribute " + name);
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  std::int64_t value = 0;
  if (H5Tget_class(type) != H5T_INTEGER || H5Sget_simple_extent_npoints(space) != 1 || H5Aread(attribute, H5T_NATIVE_INT64, &value) < 0)
    fail_read(path_, "Attribute " + name);
  return value;
}

std::string File::string_attribute(const std::string& name, const std::string& of) const {
  const Guard guard;
  const Handle attribute(H5Aopen_by_name(id_, of.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (attribute < 0) fail_read(path_, "Attribute " + name);
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 || H5Sget_simple_extent_npoints(space) != 1)
    fail_read(path_, "Attribute " + name);
  std::string value(H5Tget_size(type), '\0');
  if (H5Aread(attribute, type, value.data()) < 0) fail_read(path_, "Attribute " + name);
  value.resize(strnlen(value.data(), value.size()));
  return value;
}

std::string library_version() {
  const Guard guard;
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace ttt::data::h5
