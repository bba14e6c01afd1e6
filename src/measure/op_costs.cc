#include "measure/op_costs.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "measure/op_flops.h"

namespace ttt::roofline {
namespace {

// The callbacks are plain functions: what they record lies here, for the thread of the one that is alive.
struct Tape {
  bool on = false;
  int depth = 0;
  int flops_depth = 0;  // at which a call began whose flops are known: they stand for those of the calls in it
  OpCost open;
  std::set<const void*> given;  // storages of its arguments
  std::vector<OpCost> costs;
  std::string error;
};
thread_local Tape tape;

bool is_ours(const at::RecordFunction& call) { return std::string_view(call.name()).starts_with("ttt::"); }
// else a node of autograd
bool counts(const at::RecordFunction& call) { return call.operator_name() || is_ours(call); }

// Visits every tensor of an argument, those in lists too.
template <class Visit> void each_tensor(const c10::IValue& v, const Visit& visit) {
  if (v.isTensor()) {
    if (v.toTensor().defined()) visit(v.toTensor());
  } else if (v.isTensorList()) {
    for (const at::Tensor& t : v.toTensorVector()) visit(t);
  } else if (v.isList()) {
    for (const c10::IValue& item : v.toListRef()) each_tensor(item, visit);
  }
}

// Whether the first argument is written without being read.
bool overwrites(std::string_view name) {
  return name == "aten::copy_" || name == "aten::zero_" || name == "aten::fill_";
}

bool writes_arguments(const at::RecordFunction& call) {
  const auto name = call.operator_name();
  const auto schema = name ? c10::Dispatcher::singleton().findSchema(*name) : std::nullopt;
  if (!schema) return true;  // a kernel of ours
  const auto& arguments = schema->schema().arguments();
  return std::any_of(arguments.begin(), arguments.end(),
      [](const c10::Argument& a) { return a.alias_info() && a.alias_info()->isWrite(); });
}

void add(OpCost& cost, const at::Tensor& t) {
  // What is expanded is read from where it lies: no more than its storage.
  const auto bytes = std::min<std::int64_t>(
      t.numel() * static_cast<std::int64_t>(t.itemsize()), static_cast<std::int64_t>(t.storage().nbytes()));
  (t.scalar_type() == at::kFloat ? cost.float_bytes : cost.other_bytes) += bytes;
}

// Arguments are there only when a call begins, results only when it ends.
void open(const at::RecordFunction& call) {
  tape.open = {.name = call.name()};
  tape.given.clear();
  std::set<const void*> read;  // an argument given twice is read once; one that is changed in place is a result too
  bool skip = overwrites(tape.open.name);
  for (const c10::IValue& v : call.inputs()) {
    each_tensor(v, [&](const at::Tensor& t) {
      tape.given.insert(t.storage().unsafeGetStorageImpl());
      if (!skip && (is_ours(call) || read.insert(t.unsafeGetTensorImpl()).second)) add(tape.open, t);
    });
    skip = false;
  }
}

// Whether the operator gave back memory of its arguments without writing it: a view, or a copy that was not needed.
bool moves_nothing(const at::RecordFunction& call) {
  if (writes_arguments(call) || call.outputs().empty()) return false;
  bool all_given = true;
  for (const c10::IValue& v : call.outputs()) {
    if (!v.isTensor() && !v.isTensorList()) return false;
    each_tensor(v, [&](const at::Tensor& t) { all_given &= tape.given.contains(t.storage().unsafeGetStorageImpl()); });
  }
  return all_given;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) {
  if (!tape.on || !counts(call)) return nullptr;
  ++tape.depth;
  try {
    if (tape.depth == 1) open(call);
    if (tape.flops_depth > 0 || is_ours(call)) return nullptr;
    if (const auto flops = op_flops(call.name(), call.inputs()))
      tape.open.flops += *flops, tape.flops_depth = tape.depth;
  } catch (const std::exception& e) { tape.error = std::string(call.name()) + ": " + e.what(); }
  return nullptr;
}

void end(const at::RecordFunction& call, at::ObserverContext*) {
  if (!tape.on || !counts(call)) return;
  if (tape.flops_depth == tape.depth) tape.flops_depth = 0;
  if (--tape.depth > 0) return;
  try {
    if (tape.open.name.starts_with("aten::empty") || moves_nothing(call)) return;
    for (const c10::IValue& v : call.outputs()) each_tensor(v, [](const at::Tensor& t) { add(tape.open, t); });
    tape.costs.push_back(std::move(tape.open));
  } catch (const std::exception& e) { tape.error = std::string(call.name()) + ": " + e.what(); }
}

}  // namespace

OpCosts::OpCosts() {
  if (tape.on)
    throw Error("Two recorders of operators at a time would record the same calls twice. Destroy the first one first.");
  tape = {.on = true};
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(begin, end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
}

OpCosts::~OpCosts() {
  at::removeCallback(handle_);
  tape.on = false;
}

const std::vector<OpCost>& OpCosts::all() const {
  if (!tape.error.empty()) throw Error("Operators cannot be recorded: " + tape.error);
  return tape.costs;
}

}  // namespace ttt::roofline
